# SPDX-License-Identifier: BSD-3-Clause
#
# The rings of lines, model checked (line.pml says what is checked): each rule has a variant without it that fails.
set -eu
model=line.pml fair=-f
. "$NBCOLL_SOURCE/test/model/search.sh"

holds
holds -DROW
ends -DROW
breaks NO_LAP "$bytes"
breaks WORD_FIRST "$bytes"
breaks NO_ROOM "$bytes"
breaks ROOM_OF_ENTRIES "$bytes"
breaks GIVE_BACK_AT_ONCE "$bytes"
breaks LATE_HEAD "$sleeps"
breaks SLEEP_OVER_DUE "$sleeps"
breaks NO_SECOND_LOOK "$sleeps"
breaks HUNGRY_FIRST "$sleeps"
breaks NARROW_ROW "$loops_for_ever" -DROW
breaks SEEN_AS_TOLD "$loops_for_ever" -DROW
