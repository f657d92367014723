# SPDX-License-Identifier: BSD-3-Clause
#
# A guest whose link, then power, is lost is found to be lost by the other one.
exec sh "$(dirname "$0")/guest.sh" --guests 2 --vanishes --limit 400 "$NBCOLL_BINARY/test/vm/apart"
