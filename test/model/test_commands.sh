# SPDX-License-Identifier: BSD-3-Clause
#
# How a rank and an agent's process sleep and ring, with store buffers, model checked (commands.pml says what is checked):
# a rank by one word for all that it waits for, and the process by one with each rank. It no longer holds when one of
# the rules is left out.
set -eu
model=commands.pml
. "$NBCOLL_SOURCE/test/model/search.sh"

for words in 1 2; do
    holds -DWORDS=$words
    for rule in WEAK_STORE WEAK_WORD LOOK_FIRST NO_SECOND_LOOK HUSH_LATE; do
        breaks $rule "$sleeps" -DWORDS=$words
    done
done
breaks HUSH_EACH "$sleeps" -DWORDS=1
breaks SAID_LATE "$sleeps" -DWORDS=1
breaks LOOK_BEFORE_ALL "$sleeps" -DWORDS=2
