# SPDX-License-Identifier: BSD-3-Clause
#
# Large and small data go over the verbs transport as they should, in a guest.
exec sh "$(dirname "$0")/guest.sh" --devices 2 --limit 300 "$NBCOLL_BINARY/test/vm/bulk"
