# SPDX-License-Identifier: BSD-3-Clause
#
# The agent of `nbcoll run --agent=verbs` carries programs out over the device, in a guest.
command=$NBCOLL_BINARY/nbcoll
exec sh "$(dirname "$0")/guest.sh" --limit 300 --with /bin/sh --with "$command" \
    "$NBCOLL_BINARY/test/vm/launched" "$command"
