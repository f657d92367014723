/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams (src/engine/exposures/staging.h) for the model checker spin: an owner that writes TAGS parts of PIECES pieces, one
 * after the other, into one ring of WINDOW pieces, and two readers, who take out whole elements of UNIT pieces. The
 * second one may fail at any moment: it raises its word and reads no more. What the cells say (cells.pml) is one step
 * here: that the part of a tag is shown, and the readers' words. Each rank sleeps when it has nothing to do, without a
 * time limit. One step is one access to what ranks share; all interleavings are tried. It is checked that
 *
 *     bytes     what a reader takes is what the owner wrote there for this tag: nothing before its time, nothing that
 *               has been overwritten, nothing of another tag
 *     ends      there is no state in which all sleep and something is left to write, or to take
 *     no loops  no execution goes on for ever without a piece written or taken
 *
 * A BROKEN_... leaves one rule out; test_stream.sh expects an error of each. */

#ifndef TAGS
#define TAGS 2
#endif
#ifndef PIECES
#define PIECES 2
#endif
#ifndef UNIT
#define UNIT 1
#endif
#ifndef WINDOW
#define WINDOW 1
#endif
#define READERS 2
#define OWNER READERS
#define VALUE(t, n) (1 + (t) * PIECES + (n))

byte shown;                /* tags whose part is shown */
byte ready[READERS];       /* pieces written, as each reader is told */
byte through[READERS];     /* pieces that it needs no more */
byte word[READERS];        /* tags that it is through with, well or not */
byte ring[WINDOW];
bool armed[READERS + 1], bell[READERS + 1];

inline wake(who)
{
    d_step {
        if
        :: armed[who] -> armed[who] = 0; bell[who] = 1
        :: else
        fi
    }
}

inline sleep(who, there)
{
#ifdef BROKEN_NO_SECOND_LOOK
    if
    :: there
    :: else -> armed[who] = 1; bell[who]; bell[who] = 0
    fi
#else
    armed[who] = 1;
    if
    :: there -> armed[who] = 0
    :: else -> bell[who]; bell[who] = 0
    fi
#endif
}

#ifdef BROKEN_NO_THROUGH
#define HELD(r) 0
#else
#define HELD(r) (written - through[r])
#endif
#ifdef BROKEN_WAIT_FOR_FAILED
#define FREE(r) (HELD(r) < WINDOW)
#else
#define FREE(r) (HELD(r) < WINDOW || word[r] > tag)
#endif
#ifdef BROKEN_ONE_READER
#define ROOM FREE(0)
#else
#define ROOM (FREE(0) && FREE(1))
#endif
#ifdef BROKEN_REUSE_AT_ONCE
#define OVER 1
#else
#define OVER (word[0] >= tag && word[1] >= tag)
#endif

active proctype owner()
{
    byte tag, written, r;

    do
    :: tag < TAGS ->
        do
        :: OVER -> break
        :: else -> sleep(OWNER, OVER)
        od;
        ready[0] = 0; through[0] = 0; ready[1] = 0; through[1] = 0;
        written = 0;
        shown = tag + 1;
        wake(0); wake(1);
        do
        :: written == PIECES -> break
        :: written < PIECES && ROOM ->
progress_write:
#ifdef BROKEN_READY_FIRST
            ready[0] = written + 1; ready[1] = written + 1;
            ring[written % WINDOW] = VALUE(tag, written);
#else
            ring[written % WINDOW] = VALUE(tag, written);
            ready[0] = written + 1; ready[1] = written + 1;
#endif
            written++;
            wake(0); wake(1)
        :: else -> sleep(OWNER, ROOM)
        od;
        tag++
    :: else -> break
    od
}

#define THERE (shown > tag && ready[me] - used >= UNIT)

proctype reader(byte me)
{
    byte tag, used, i;
    bool failed;

    do
    :: tag < TAGS ->
        used = 0;
        failed = 0;
        do
        :: used == PIECES || failed -> break
        :: used < PIECES && !failed && me == 1 && shown > tag -> failed = 1
        :: used < PIECES && !failed && THERE ->
progress_read:
#ifdef BROKEN_THROUGH_FIRST
            through[me] = used + UNIT;
#endif
            i = 0;
            do
            :: i < UNIT -> assert(ring[(used + i) % WINDOW] == VALUE(tag, used + i)); i++
            :: else -> break
            od;
            used = used + UNIT;
#ifndef BROKEN_THROUGH_FIRST
            through[me] = used;
#endif
#ifndef BROKEN_NO_WAKE
            wake(OWNER)
#endif
        :: used < PIECES && !failed && !THERE -> sleep(me, THERE)
        od;
        word[me] = tag + 1;
        wake(OWNER);
        tag++
    :: else -> break
    od
}

init
{
    atomic { run reader(0); run reader(1) }
}
