# SPDX-License-Identifier: BSD-3-Clause
#
# Agents move relays over the verbs transport, in a guest.
exec sh "$(dirname "$0")/guest.sh" --limit 300 "$NBCOLL_BINARY/test/vm/relays"
