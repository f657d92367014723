# SPDX-License-Identifier: BSD-3-Clause
#
# Of hierarchical operations whose leaders' agents are over verbs a leader is killed, in a guest.
exec sh "$(dirname "$0")/guest.sh" --limit 300 "$NBCOLL_BINARY/test/vm/leaders"
