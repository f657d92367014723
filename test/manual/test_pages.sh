# SPDX-License-Identifier: BSD-3-Clause
#
# The tutorial, and the page about offload: their listings are compiled as they stand, their commands run in their order,
# in an empty folder for each page and with an installed nbcoll. They print what stands below them, and draw the pictures
# in docs/pictures.
. "$NBCOLL_SOURCE/test/manual/page.sh"
[ -x "$NBCOLL_BINARY/nbcoll" ] || exit 77

cmake --install "$NBCOLL_BINARY" --prefix "$work/usr" >/dev/null
use "$work/usr"
follow "$NBCOLL_SOURCE/docs/tutorial.md"
follow "$NBCOLL_SOURCE/docs/offload.md"
