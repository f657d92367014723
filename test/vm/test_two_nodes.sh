# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives of ranks on two nodes, over shm within them and verbs between them: each node is a guest.
exec sh "$(dirname "$0")/guest.sh" --guests 2 --limit 400 "$NBCOLL_BINARY/test/vm/nodes"
