# SPDX-License-Identifier: BSD-3-Clause
#
# The pages with listings: these are compiled as they stand, the pages' commands run in their order, in an empty folder
# and with an installed nbcoll. They print what stands below them, and draw the pictures in docs/pictures.
. "$NBCOLL_SOURCE/test/manual/page.sh"

follow "$NBCOLL_SOURCE/docs/tutorial.md"
follow "$NBCOLL_SOURCE/README.md"
