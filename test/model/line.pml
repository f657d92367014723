/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rings of shm (transports/shm/queue.c) for the model checker spin: one sender, which posts lines and messages with
 * a payload in any order, and one receiver. Each sleeps when it has nothing to do, without a time limit. One step is
 * one access to what both share; all interleavings are tried. It is checked that
 *
 *     bytes     what the receiver's core reads, at any moment up to its next progress, is what was posted, in the order
 *               of the posts: nothing of another lap, nothing before its time, nothing overwritten while it is read
 *     ends      there is no state in which both sleep, or one for good, and something is left to post or to take
 *     no loops  no fair execution goes on for ever without a post or an arrival
 *
 * Stores are seen in their order, as release and acquire have it; the bargain of sleepers with store buffers is
 * wakeup.pml's. The receiver looks at its row of bytes, not at the ring, where ROW is defined. A BROKEN_... leaves one
 * rule out; test_line.sh expects an error of each. */

#ifndef POSTS
#define POSTS 6
#endif
#define DEPTH 4
#define AREAS 2
#define BATCH 2 /* at most handed out by a progress */
#ifdef BROKEN_LATE_HEAD
#define QUARTER 4
#else
#define QUARTER 2 /* at most AREAS */
#endif
#ifdef BROKEN_NARROW_ROW
#define TOLD(n) ((n) % DEPTH)
#else
#define TOLD(n) ((n) % (2 * DEPTH))
#endif
#ifdef BROKEN_NO_LAP
#define LAP(n) 1
#else
#define LAP(n) ((n) / DEPTH + 1)
#endif
#define VALUE(n) ((n) + 1)

/* The ring: of each entry its word and what it carries; the areas; what the receiver has told, and what the sender has
 * asked for. */
byte word[DEPTH], is_message[DEPTH], value[DEPTH], area[AREAS];
byte head, row;
bool hungry;
bool armed[2], bell[2]; /* of the sender, of the receiver */
#define SENDER 0
#define RECEIVER 1

/* Takes the sleeper's word, and rings. */
inline ring(who)
{
    d_step {
        if
        :: armed[who] -> armed[who] = 0; bell[who] = 1
        :: else
        fi
    }
}

/* The bell may have been rung by someone who took the word a little earlier. */
inline silence(who)
{
    d_step {
        armed[who] = 0;
        bell[who] = 0
    }
}

inline publish_word()
{
    atomic {
        word[sent % DEPTH] = LAP(sent);
        is_message[sent % DEPTH] = message
    }
}

inline write_payload()
{
    if
    :: message -> area[sent % AREAS] = VALUE(sent)
    :: else -> value[sent % DEPTH] = VALUE(sent)
    fi
}

#if defined BROKEN_NO_ROOM
#define MOST 100
#elif defined BROKEN_ROOM_OF_ENTRIES
#define MOST DEPTH
#else
#define MOST (message -> AREAS : DEPTH)
#endif
#define HAS_ROOM(head) (sent - (head) < MOST)

active proctype sender()
{
    byte sent, done;
    bool message;

    do
    :: sent < POSTS ->
        if
        :: message = 0
        :: message = 1
        fi;
        do
        :: HAS_ROOM(done) -> break
        :: else ->
            done = head;
            if
            :: HAS_ROOM(done)
            :: else ->
                armed[SENDER] = 1;
                hungry = 1;
#ifndef BROKEN_NO_SECOND_LOOK
                if
                :: HAS_ROOM(head)
                :: else -> bell[SENDER]
                fi;
#else
                bell[SENDER];
#endif
                silence(SENDER)
            fi
        od;
#ifdef BROKEN_WORD_FIRST
        publish_word();
        write_payload();
#else
        write_payload();
        publish_word();
#endif
progress_posted:
        sent++;
#ifdef ROW
        row = TOLD(sent);
#endif
        ring(RECEIVER)
    :: else -> break
    od
}

#define IS_THERE (taken < POSTS && word[taken % DEPTH] == LAP(taken))

inline give_back()
{
#ifdef BROKEN_HUNGRY_FIRST
    wanted = hungry;
    hungry = 0;
    head = taken;
#else
    head = taken;
    d_step {
        wanted = hungry;
        hungry = 0
    };
#endif
    if
    :: wanted -> ring(SENDER)
    :: else
    fi;
    wanted = 0;
    due = 0
}

/* The core reads what was handed out. */
inline read()
{
    do
    :: begun < taken ->
        atomic {
            if
            :: is_message[begun % DEPTH] -> assert(area[begun % AREAS] == VALUE(begun))
            :: else -> assert(value[begun % DEPTH] == VALUE(begun))
            fi;
            begun++
        }
    :: else -> break
    od
}

active proctype receiver()
{
    byte taken, begun, seen, told;
    bool due, wanted;

    do
    :: begun < POSTS ->
        if
        :: due -> give_back()
        :: else
        fi;
#ifdef ROW
        told = row;
        if
        :: told != seen ->
#else
        if
        :: true ->
#endif
            do
            :: taken - begun < BATCH && IS_THERE ->
progress_taken:
                taken++;
                due = due || taken % QUARTER == 0
            :: taken - begun == BATCH -> break
            :: taken - begun < BATCH && !IS_THERE -> break
            od;
#ifdef BROKEN_SEEN_AS_TOLD
            seen = told;
#else
            seen = TOLD(taken);
#endif
            told = 0
        :: else
        fi;
#ifdef BROKEN_GIVE_BACK_AT_ONCE
        if
        :: due -> give_back()
        :: else
        fi;
#endif
        if
        :: begun < taken -> read()
        :: else
        fi;
        if
        :: begun < POSTS -> /* the host may sleep after any progress */
            armed[RECEIVER] = 1;
#ifdef BROKEN_SLEEP_OVER_DUE
            if
            :: IS_THERE
            :: else -> bell[RECEIVER]
            fi;
#else
            if
            :: IS_THERE || due
            :: else -> bell[RECEIVER]
            fi;
#endif
            silence(RECEIVER)
        :: else
        fi
    :: else -> break
    od
}
