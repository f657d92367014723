# SPDX-License-Identifier: BSD-3-Clause
#
# A node whose ranks are all stopped passes on what its agent's process relays over verbs, in a guest.
exec sh "$(dirname "$0")/guest.sh" --limit 300 "$NBCOLL_BINARY/test/vm/stopped"
