/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sleeping and ringing over the command area of an agent's process (src/offload/commands.h) for the model checker spin, with the
 * store buffers of the cores, as in wakeup.pml. Two posters publish in a place each, by stores, and look after each at
 * the sleeper's word; who finds it set takes it back and rings, a byte on a socket. The sleeper takes what the socket
 * has, sets its word, looks at the place, and does so for each place; then it sleeps until something rings, takes its
 * word back by a store that nothing waits for, and takes what has rung. With WORDS 1 the sleeper is a rank, whose slots
 * and whose node's store share its command area's word and socket: the store's poster rings only once it sees which command area the
 * rank has said to be its. With WORDS 2 the sleeper is the process, which has a command area with each poster, and sets all
 * words before it looks at all places. It is checked that
 *
 *     ends      there is no state in which the sleeper sleeps for good beside what is visible or will be
 *
 * A seq_cst store that a seq_cst look follows empties its core's buffer before that look; where one of the two is
 * weaker it need not. A BROKEN_... leaves one rule out; test_commands.sh expects an error of each. */

#ifndef STORES
#define STORES 2
#endif
#ifndef WORDS
#define WORDS 1
#endif
#define SAID WORDS              /* the rank has said its command area: a word that is set once */
#define WORD(place) (place % WORDS)

byte stored[2], visible[2]; /* how much each poster has stored, and how much of it others see */
bool word[WORDS + 1], bell[WORDS];
chan buffer = [8] of { byte, bool }; /* the sleeper's: words, and what they become */

inline empty_posters(place)
{
    visible[place] = stored[place]
}

inline empty_sleepers()
{
    do
    :: buffer ? at, value -> word[at] = value
    :: empty(buffer) -> break
    od;
    at = 0;
    value = 0
}

inline look(place)
{
#if WORDS == 1
    seen = word[WORD(place)] && (place == 0 || word[SAID])
#else
    seen = word[WORD(place)]
#endif
}

proctype poster(byte place)
{
    byte n;
    bool seen;

    do
    :: n < STORES ->
#ifdef BROKEN_LOOK_FIRST
        look(place);
        stored[place]++;
#else
        stored[place]++;
#ifndef BROKEN_WEAK_STORE
        empty_posters(place);
#endif
        look(place);
#endif
        if
        :: seen ->
            atomic { /* an exchange */
                empty_posters(place);
                seen = word[WORD(place)];
                word[WORD(place)] = 0
            };
            if
            :: seen -> bell[WORD(place)] = 1
            :: else
            fi;
            seen = 0
        :: else
        fi;
        n++
    :: else -> break
    od
}

/* Stores become visible, in their order. */
active proctype cores()
{
    byte at;
    bool value;

end:
    do
    :: atomic { visible[0] < stored[0] -> visible[0]++ }
    :: atomic { visible[1] < stored[1] -> visible[1]++ }
    :: atomic { buffer ? at, value -> word[at] = value; at = 0; value = 0 }
    od
}

inline hush(w)
{
    bell[w] = 0
}

inline set(w)
{
    buffer ! w, 1;
#ifndef BROKEN_WEAK_WORD
    atomic { empty_sleepers() }
#endif
}

inline say()
{
    buffer ! SAID, 1;
    atomic { empty_sleepers() }
}

inline look_again(place)
{
#ifdef BROKEN_NO_SECOND_LOOK
    skip
#else
    has_come = has_come || visible[place] > taken[place]
#endif
}

inline arm()
{
#ifdef BROKEN_HUSH_LATE
    set(0);
    hush(0);
#else
    hush(0);
    set(0);
#endif
#if WORDS == 1
    look_again(0);
#ifdef BROKEN_HUSH_EACH
    hush(0);
#endif
    set(0);
    look_again(1)
#else
    hush(1);
#ifdef BROKEN_LOOK_BEFORE_ALL
    look_again(0);
    look_again(1);
    set(1)
#else
    set(1);
    look_again(0);
    look_again(1)
#endif
#endif
}

active proctype sleeper()
{
    byte taken[2], at;
    bool value, has_come;

    run poster(0);
    run poster(1);
#if WORDS == 1 && !defined BROKEN_SAID_LATE
    say();
#endif
    do
    :: taken[0] + taken[1] < 2 * STORES ->
        if
        :: visible[0] > taken[0] -> taken[0]++
        :: visible[1] > taken[1] -> taken[1]++
        :: else ->
            arm();
#if WORDS == 1 && defined BROKEN_SAID_LATE
            say();
#endif
            if
            :: has_come
            :: else -> /* asleep */
#if WORDS == 1
                bell[0]
#else
                bell[0] || bell[1]
#endif
            fi;
            has_come = 0;
            buffer ! 0, 0;
            hush(0);
#if WORDS == 2
            buffer ! 1, 0;
            hush(1)
#endif
        fi
    :: else -> break
    od
}
