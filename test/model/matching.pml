/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How messages meet receives (src/message/match.c) for the model checker spin: two senders, of which the first one sends
 * FIRST messages and the second one SECOND, and a receiver that posts RECEIVES receives. Tags, sources and wildcards are
 * any of all. The wire delivers in any order. A message is short, if its sender has one of CREDITS credits, or
 * announced; an announced one may be withdrawn. Credits are owed before they come back. The receiver probes PROBES times,
 * and receives later what it has got so. One step is a call of one rank, or what it does with one letter. It is checked
 * that
 *
 *     order     no message is matched while an earlier one of its sender fits the same receive, nor with a receive
 *               while one that was posted earlier fits the message
 *     bound     never more short messages are kept of a sender, or credits owed to it, than it has credits
 *     once      what was withdrawn is not matched, and what was probed by its probe's receive alone
 *     meet      when nothing is under way no receive is left that fits a message that is left
 *     answers   nor one whose sender waits for the answer to its WITHDRAW
 *
 * A BROKEN_... leaves one rule out; test_matching.sh expects an error of each. */

#ifndef FIRST
#define FIRST 2 /* at most 3; so is SECOND */
#endif
#ifndef SECOND
#define SECOND 1
#endif
#ifndef RECEIVES
#define RECEIVES 2
#endif
#ifndef CREDITS
#define CREDITS 1
#endif
#ifndef PROBES
#define PROBES 0
#endif
#ifndef WITHDRAWS
#define WITHDRAWS 1
#endif
#define SENDERS 2
#define MOST 3
#define COUNT(s) (s == 0 -> FIRST : SECOND)
#define ANY 2 /* source, or tag */
#define NONE 255

#define UNSENT 0
#define SENT 1 /* on its way */
#define EARLY 2  /* kept out of turn */
#define KEPT 3   /* in turn */
#define MATCHED 4
#define WITHDRAWN 5
#define PROBED 6
#define IS_TAKEN(n) (state[n] == MATCHED || state[n] == WITHDRAWN || state[n] == PROBED)

#define AT(s, i) ((s) * MOST + (i))
byte state[SENDERS * MOST], tag[SENDERS * MOST], came[SENDERS * MOST];
bool small[SENDERS * MOST];
bool asks[SENDERS * MOST], told[SENDERS * MOST]; /* a WITHDRAW is on its way; its sender takes it for withdrawn */
bool waits[MOST]; /* the first sender's: its WITHDRAW came before its turn */
byte asked;       /* 1 + the last such number */
byte credits[SENDERS] = CREDITS, owed[SENDERS], expected[SENDERS], sent[SENDERS];
byte arrivals;

byte from[RECEIVES + 1], wants[RECEIVES + 1]; /* the last ones: a probe's */
bool posted[RECEIVES + 1];
byte posts, probes, held = NONE; /* which has got that one */

#define FITS(r, s, i) ((from[r] == ANY || from[r] == s) && (wants[r] == ANY || wants[r] == tag[AT(s, i)]))

/* They meet: r and message i of s. */
inline meet(r, s, i)
{
    k = 0;
    do
    :: k < i -> assert(IS_TAKEN(AT(s, k)) || !FITS(r, s, k)); k++
    :: else -> break
    od;
    k = 0;
    do
    :: k < r -> assert(!posted[k] || !FITS(k, s, i)); k++
    :: else -> break
    od;
    assert(!told[AT(s, i)]);
    posted[r] = 0;
    state[AT(s, i)] = MATCHED;
    if
    :: small[AT(s, i)] -> owed[s]++
    :: else
    fi;
    /* what means nothing any more */
    came[AT(s, i)] = 0; tag[AT(s, i)] = 0; small[AT(s, i)] = 0;
    from[r] = 0; wants[r] = 0
}

/* A letter in turn: to the first of its sender's receives that fits, or of those from any source, whichever was posted
 * earlier; or it is kept. */
inline deliver(s, i)
{
    one = NONE;
    any = NONE;
    k = 0;
    do
    :: k < posts ->
        if
        :: posted[k] && FITS(k, s, i) && from[k] != ANY && one == NONE -> one = k
        :: posted[k] && FITS(k, s, i) && from[k] == ANY && any == NONE -> any = k
        :: else
        fi;
        k++
    :: else -> break
    od;
#ifdef BROKEN_EXACT_FIRST
    if
    :: one == NONE -> one = any
    :: else
    fi;
#else
    if
    :: any < one -> one = any
    :: else
    fi;
#endif
    r = one;
    if
    :: r != NONE -> meet(r, s, i)
    :: else -> state[AT(s, i)] = KEPT; came[AT(s, i)] = arrivals; arrivals++
    fi
}

#define NEXT_IS(what) (expected[s] < COUNT(s) && state[AT(s, expected[s])] == what)

/* A letter has come. */
inline arrive(s, i)
{
#ifdef BROKEN_NO_NUMBERS
    deliver(s, i);
#else
    if
    :: i == expected[s] ->
        expected[s]++;
        deliver(s, i);
        do
        :: NEXT_IS(EARLY) -> j = expected[s]; expected[s]++; deliver(s, j)
        :: else -> break
        od
    :: else -> state[AT(s, i)] = EARLY
    fi;
    /* AGAIN: all such are withdrawn again */
#ifdef BROKEN_NOT_AGAIN
    if
    :: s == 0 && asked && asked <= expected[0] -> asked = 0
#else
    k = 0;
    if
    :: s == 0 && asked && asked <= expected[0] ->
        asked = 0;
        do
        :: k < FIRST -> asks[k] = asks[k] || waits[k]; waits[k] = 0; k++
        :: else -> break
        od
#endif
    :: else
    fi;
#endif
    k = 0; j = 0;
    do
    :: k < COUNT(s) ->
        j = j + (small[AT(s, k)] && (state[AT(s, k)] == KEPT || state[AT(s, k)] == EARLY || state[AT(s, k)] == PROBED));
        k++
    :: else -> break
    od;
    assert(j + owed[s] <= CREDITS);
    j = 0
}

/* A receive is posted: it takes the first kept letter that fits, of its source, or of all as they came. */
inline post(r)
{
    one = NONE;
    i = 0;
    do
    :: i < SENDERS * MOST ->
        if
        :: state[i] == KEPT && FITS(r, i / MOST, i % MOST) && (one == NONE || came[i] < came[one]) -> one = i
        :: else
        fi;
        i++
    :: else -> break
    od;
    posted[r] = 1;
    posts++;
#ifdef BROKEN_KEPT_ARE_PASSED_OVER
    if
    :: one != NONE && from[r] != ANY -> s = one / MOST; i = one % MOST; meet(r, s, i)
    :: else
    fi;
#else
    if
    :: one != NONE -> s = one / MOST; i = one % MOST; meet(r, s, i)
    :: else
    fi;
#endif
    i = 0; s = 0; one = 0
}

/* A probe takes the first kept letter that fits out of the queue. Till it is received its credit is not given back. */
inline probe()
{
    one = NONE;
    i = 0;
    do
    :: i < SENDERS * MOST ->
        if
        :: state[i] == KEPT && FITS(RECEIVES, i / MOST, i % MOST) && (one == NONE || came[i] < came[one]) -> one = i
        :: else
        fi;
        i++
    :: else -> break
    od;
    if
    :: one != NONE ->
        s = one / MOST;
        i = one % MOST;
        k = 0;
        do
        :: k < i -> assert(IS_TAKEN(AT(s, k)) || !FITS(RECEIVES, s, k)); k++
        :: else -> break
        od;
        held = one;
        came[one] = 0;
#ifdef BROKEN_PROBED_STAYS
        came[one] = 1;
#else
        state[one] = PROBED;
#endif
#ifdef BROKEN_CREDIT_OF_A_PROBE
        owed[s] = owed[s] + small[one]
#endif
    :: else
    fi;
    probes++;
    from[RECEIVES] = 0; wants[RECEIVES] = 0;
    i = 0; s = 0; one = 0; k = 0
}

/* What it has got is received. */
inline receive_probed()
{
    assert(state[held] == PROBED && !told[held]);
    state[held] = MATCHED;
#ifndef BROKEN_CREDIT_OF_A_PROBE
    owed[held / MOST] = owed[held / MOST] + small[held];
#endif
    tag[held] = 0; small[held] = 0;
    held = NONE
}

/* A WITHDRAW has come. Before its turn it is said again; what has been matched has been answered. */
inline withdraw(s, i)
{
    if
    :: state[AT(s, i)] == KEPT -> state[AT(s, i)] = WITHDRAWN; came[AT(s, i)] = 0; tag[AT(s, i)] = 0; asks[AT(s, i)] = 0; told[AT(s, i)] = 1
#ifdef BROKEN_MATCHED_WITHDRAWN
    :: state[AT(s, i)] == MATCHED -> asks[AT(s, i)] = 0; told[AT(s, i)] = 1
#else
    :: state[AT(s, i)] == MATCHED -> asks[AT(s, i)] = 0
#endif
#ifdef BROKEN_PROBED_WITHDRAWN
    :: state[AT(s, i)] == PROBED -> asks[AT(s, i)] = 0; told[AT(s, i)] = 1
#else
    :: state[AT(s, i)] == PROBED -> asks[AT(s, i)] = 0
#endif
    :: state[AT(s, i)] == SENT || state[AT(s, i)] == EARLY ->
        asks[AT(s, i)] = 0;
        waits[i] = 1;
        asked = (asked > i + 1 -> asked : i + 1)
    :: else -> asks[AT(s, i)] = 0
    fi
}

proctype sender(byte me)
{
    do
    :: sent[me] < COUNT(me) ->
        atomic {
            if
            :: tag[AT(me, sent[me])] = 0
            :: tag[AT(me, sent[me])] = 1
            fi;
            if
            :: credits[me] > 0 -> credits[me]--; small[AT(me, sent[me])] = 1
#ifdef BROKEN_ANNOUNCED_WAIT
            :: credits[me] > 1 -> skip
#else
            :: skip /* announced */
#endif
            fi;
            state[AT(me, sent[me])] = SENT;
            sent[me]++
        }
    :: else -> break
    od
}

/* Somebody withdraws announced messages, each once. */
proctype withdrawer()
{
    byte w, n;
    do
    :: atomic {
        w < FIRST && n < WITHDRAWS && state[AT(0, w)] != UNSENT && !small[AT(0, w)] ->
        asks[AT(0, w)] = 1; w++; n++
       }
    :: atomic { w < FIRST - 1 -> w++ }
    :: break
    od
}

#define IS(n) (state[n] == SENT)
#define QUIET (!IS(0) && !IS(1) && !IS(2) && !IS(3) && !IS(4) && !IS(5) && !asks[0] && !asks[1] && !asks[2])

/* Credits go back, with a letter or by themselves. */
#ifdef BROKEN_CREDITS_GROW
#define GIVE(s) credits[s] = credits[s] + owed[s] + 1; owed[s] = 0
#else
#define GIVE(s) credits[s] = credits[s] + owed[s]; owed[s] = 0
#endif

active proctype receiver()
{
    byte s, i, j, k, r, one, any;

    atomic {
        run sender(0);
        run sender(1);
        run withdrawer()
    }
    do
    :: atomic {
        posts < RECEIVES ->
        if
        :: from[posts] = 0
        :: from[posts] = 1
        :: from[posts] = ANY
        fi;
        if
        :: wants[posts] = 0
        :: wants[posts] = 1
        :: wants[posts] = ANY
        fi;
        r = posts;
        d_step { post(r); r = 0; k = 0 }
       }
    :: atomic {
        probes < PROBES && held == NONE ->
        if
        :: from[RECEIVES] = 0
        :: from[RECEIVES] = 1
        :: from[RECEIVES] = ANY
        fi;
        if
        :: wants[RECEIVES] = 0
        :: wants[RECEIVES] = 1
        :: wants[RECEIVES] = ANY
        fi;
        d_step { probe() }
       }
    :: d_step { held != NONE -> receive_probed() }
    :: d_step { owed[0] > 0 -> GIVE(0) }
    :: d_step { owed[1] > 0 -> GIVE(1) }
    :: atomic {
        if /* any that is on its way */
        :: IS(0) -> s = 0; i = 0
        :: IS(1) -> s = 0; i = 1
        :: IS(2) -> s = 0; i = 2
        :: IS(3) -> s = 1; i = 0
        :: IS(4) -> s = 1; i = 1
        :: IS(5) -> s = 1; i = 2
        fi;
        d_step { arrive(s, i); s = 0; i = 0; k = 0; r = 0; one = 0; any = 0 }
       }
    :: atomic {
        asks[0] || asks[1] || asks[2] ->
        i = 0;
        do
        :: asks[AT(0, i)] -> break
        :: else -> i++
        od;
        d_step { withdraw(0, i); i = 0 }
       }
    :: atomic { posts == RECEIVES && _nr_pr == 1 && QUIET && held == NONE && !owed[0] && !owed[1] -> break }
    od;
    i = 0;
    d_step {
        do
        :: i < SENDERS * MOST ->
            assert(state[i] != EARLY && !waits[i % MOST]);
            assert(!told[i] || state[i] == WITHDRAWN);
            k = 0;
            do
            :: k < RECEIVES -> assert(!(posted[k] && state[i] == KEPT && FITS(k, i / MOST, i % MOST))); k++
            :: else -> break
            od;
            i++
        :: else -> break
        od
    }
}
