# SPDX-License-Identifier: BSD-3-Clause
#
# A rank is killed while agents carry messages over verbs to it and from it, in a guest.
exec sh "$(dirname "$0")/guest.sh" --limit 400 "$NBCOLL_BINARY/test/vm/routes"
