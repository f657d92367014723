# SPDX-License-Identifier: BSD-3-Clause
#
# Programs are executed over the verbs transport, in a guest.
exec sh "$(dirname "$0")/guest.sh" --limit 300 "$NBCOLL_BINARY/test/vm/programs"
