# SPDX-License-Identifier: BSD-3-Clause
#
# Agents move relays over the verbs transport, by one device and by two, in a guest.
exec sh "$(dirname "$0")/guest.sh" --devices 2 --limit 300 "$NBCOLL_BINARY/test/vm/relays"
