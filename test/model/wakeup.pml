/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sleeper's bargain (src/host/wakeup.h) for the model checker spin, with the store buffers of the cores. A poster
 * publishes lines, each by one store, and looks at the sleeper's word `armed` after each; the sleeper sets the word,
 * has all cores make their stores visible (membarrier), and looks once more for a line. What a core has stored stays
 * in its buffer, where only that core sees it, until any later moment; an exchange or a fence of that core, or the
 * barrier, empties the buffer. It is checked that
 *
 *     ends      there is no state in which the sleeper sleeps for good beside a line that is visible or will be
 *     bell      no ring is owed for good: who took the word has rung
 *
 * With FENCED the poster's store is seq_cst and empties its own buffer, as where the kernel has no such barrier. A
 * BROKEN_... leaves one rule out; test_wakeup.sh expects an error of each. */

#ifndef LINES
#define LINES 3
#endif

byte stored, line; /* lines that the poster has stored, and of these the visible ones */
bool arming, armed; /* the word is set in the sleeper's buffer; is set for all to see */
bool bell;

#define EMPTY_POSTERS line = stored
#define EMPTY_SLEEPERS armed = armed || arming; arming = 0

/* Looks at the word, which in the poster's view is the visible one, and takes it back if it is set: an exchange, of a
 * look that has found it set. */
inline look()
{
    seen = armed
}

inline ring()
{
    if
    :: seen ->
        atomic {
            EMPTY_POSTERS;
            seen = armed;
            armed = 0
        };
        if
        :: seen -> bell = 1
        :: else
        fi;
        seen = 0
    :: else
    fi
}

active proctype poster()
{
    byte n;
    bool seen;

    do
    :: n < LINES ->
#ifdef BROKEN_LOOK_FIRST
        look();
        stored++;
#else
        stored++;
#ifdef FENCED
        EMPTY_POSTERS;
#endif
        look();
#endif
        ring();
        n++
    :: else -> break
    od
}

/* Stores become visible, in their order. */
active proctype cores()
{
end:
    do
    :: atomic { line < stored -> line++ }
    :: atomic { arming -> EMPTY_SLEEPERS }
    od
}

inline barrier()
{
    atomic {
        EMPTY_SLEEPERS;
#if !defined FENCED && !defined BROKEN_NO_BARRIER
        EMPTY_POSTERS
#endif
    }
}

inline arm()
{
#ifdef BROKEN_BARRIER_FIRST
    barrier();
    arming = 1
#else
    arming = 1;
    barrier()
#endif
}

/* The exchange says whether someone has taken the word, and so rings or has rung. */
inline disarm()
{
    atomic {
        EMPTY_SLEEPERS;
        owed = (armed -> owed : 1);
        armed = 0
    };
    atomic {
        if
        :: bell -> bell = 0; owed = 0
        :: else
        fi
    }
}

active proctype sleeper()
{
    byte taken;
    bool owed;

    do
    :: taken < LINES ->
        if
        :: line > taken -> taken++
        :: else ->
            arm();
#ifndef BROKEN_NO_SECOND_LOOK
            if
            :: line > taken
            :: else -> bell /* asleep */
            fi;
#else
            bell;
#endif
            disarm()
        fi
    :: else -> break
    od;
    if
    :: owed -> bell; bell = 0
    :: else
    fi
}
