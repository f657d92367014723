/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of one triple that agents carry (src/message/routes.h) for the model checker spin: a sender with MESSAGES
 * messages, any of which may not suit, or be withdrawn, and a receiver that posts RECEIVES receives, any of which may not
 * suit, or be a wildcard, which also fits another sender's message, and cancels one. The queue pair may deliver whenever
 * both ends have posted. Announcements come in any order, and are taken in turn; matching is that of matching.pml. It is
 * checked that
 *
 *     pairs     what the queue pair has delivered has met the receive in whose memory it is
 *     once      no message is received twice, or withdrawn or fetched although it was delivered; no receive is over while
 *               the queue pair may write to its memory
 *     meet      when nothing is under way no receive is left that fits a message that is left
 *
 * A BROKEN_... leaves one rule out; test_routes.sh expects an error of each. */

#ifndef MESSAGES
#define MESSAGES 3 /* 2 or 3 */
#endif
#ifndef RECEIVES
#define RECEIVES 3
#endif
#define NONE 255

/* Messages: the last one is the other sender's, which fits wildcards alone. */
#define OTHER MESSAGES
#define ALL (MESSAGES + 1)
mtype = {UNSENT, SENT, EARLY, KEPT, MATCHED, WITHDRAWN};
mtype at[ALL] = UNSENT;
byte place[ALL] = NONE;  /* on the route */
byte met[ALL] = NONE;    /* the receive */
bool asks[ALL];          /* a WITHDRAW is on its way */
byte expected;           /* in turn */

bool posted[RECEIVES], wild[RECEIVES], over[RECEIVES];
byte its[RECEIVES] = NONE; /* place of a receive */
byte got[RECEIVES] = NONE; /* message */
byte posts;

/* The queue pair: `delivered` sends have met as many receives. */
byte send[MESSAGES] = NONE, receive[RECEIVES] = NONE; /* what is posted there, by places */
byte sends, receives, delivered;
bool is_closed;   /* the receiver's end */

/* The sender's side, and the receiver's: OPEN, ENDING, CLOSED. */
mtype = {NEVER, OPEN, ENDING, CLOSED};
mtype goes = OPEN, comes = NEVER;
byte come;        /* place of the next announcement in turn */
byte taken = NONE; /* what the receiver has counted */

inline end_route()
{
    if
    :: comes == OPEN -> comes = ENDING
    :: else
    fi
}

/* A receive gets the next place. */
inline put(q)
{
    its[q] = receives;
    receive[receives] = q;
    receives++
}

/* They meet: a message that is kept, or in turn, and a receive, which joins the route if the message has the next place
 * there. */
inline meet(q, i)
{
    posted[q] = 0;
    at[i] = MATCHED;
    met[i] = q;
    got[q] = i;
    if
    :: comes == OPEN && place[i] != NONE && its[q] == NONE ->
        if
        :: place[i] == receives -> put(q)
        :: else -> end_route()
        fi
    :: else
    fi
}

#define FITS(q, i) (wild[q] || i != OTHER)

inline deliver(i)
{
    q = 0;
    do
    :: q < posts && !(posted[q] && FITS(q, i)) -> q++
    :: else -> break
    od;
    if
    :: q < posts -> meet(q, i)
    :: else -> at[i] = KEPT
    fi;
    q = 0
}

/* The first announcement of the route: the receives that wait get places, unless a wildcard is among them. */
inline begin()
{
    comes = OPEN;
    q = 0;
    do
    :: q < posts && posted[q] && wild[q] -> comes = CLOSED; taken = 0; break
    :: q < posts && !(posted[q] && wild[q]) -> q++
    :: else -> break
    od;
    q = 0;
    do
    :: q < posts && comes == OPEN ->
        if
        :: posted[q] -> put(q)
        :: else
        fi;
        q++
    :: else -> break
    od;
    q = 0
}

/* In turn: what it is for the route. */
inline arrives(i)
{
    if
    :: comes == NEVER && place[i] == 0 -> begin()
    :: else
    fi;
    if
    :: place[i] != NONE && place[i] == come -> come++
    :: else -> end_route()
    fi;
    deliver(i)
}

inline in_turn()
{
    do
    :: expected < MESSAGES && at[expected] == EARLY -> i = expected; expected++; arrives(i)
#ifdef BROKEN_EARLY_WITHDRAWN
    :: expected < MESSAGES && at[expected] == WITHDRAWN && !asks[expected] -> expected++
#endif
    :: else -> break
    od
}

inline post(is_wild, suits)
{
    r = posts;
    posts++;
    posted[r] = 1;
    wild[r] = is_wild;
    i = 0;
    do
    :: i < ALL && !(at[i] == KEPT && FITS(r, i)) -> i++
    :: else -> break
    od;
    if
    :: i < ALL && suits -> meet(r, i)
    :: i < ALL && !suits -> end_route(); meet(r, i)
#ifdef BROKEN_WILDCARD_STAYS
    :: i == ALL && is_wild -> skip
#else
    :: i == ALL && is_wild -> end_route()
#endif
    :: i == ALL && !is_wild && comes == OPEN ->
        if
        :: suits && receives >= come -> put(r)
        :: else -> end_route()
        fi
    :: else
    fi;
    i = 0; r = 0
}

proctype sender()
{
    byte n;
    do
    :: n < MESSAGES -> atomic {
        if
#ifdef BROKEN_SENDER_GOES_ON
        :: sends < MESSAGES && taken == NONE -> place[n] = sends; send[sends] = n; sends++
        :: skip
#else
        :: goes == OPEN && taken == NONE -> place[n] = sends; send[sends] = n; sends++
        :: goes = ENDING /* it does not suit */
#endif
        fi;
        at[n] = SENT;
        n++
       }
    :: else -> break
    od
}

proctype withdrawer()
{
    byte w;
    do
    :: atomic { at[w] != UNSENT -> asks[w] = 1; break }
    :: atomic { w < MESSAGES - 1 -> w++ }
    :: break
    od
}

/* Has the queue pair delivered that message? Its sender's request is over then. */
#define IS_DELIVERED(i) (place[i] != NONE && place[i] < delivered)

proctype pair()
{
end:
    do
    :: d_step {
        !is_closed && delivered < sends && delivered < receives ->
        assert(!over[receive[delivered]]);
        assert(at[send[delivered]] != WITHDRAWN);
        assert(got[receive[delivered]] == NONE || got[receive[delivered]] == send[delivered]);
        delivered++
       }
    od
}

#define IS(n) (at[n] == SENT)

/* A receive that has been matched is over: when the route has delivered it, or is closed. */
#define CAN_END(q) (got[q] != NONE && !over[q] && (its[q] == NONE || comes == CLOSED || its[q] < delivered))

/* Who has a place there below what was delivered has just that message. */
inline finish(q)
{
    assert(comes != CLOSED || !IS_DELIVERED(got[q]) || place[got[q]] < taken);
    if
    :: its[q] != NONE && its[q] < delivered -> assert(got[q] == send[its[q]])
    :: else -> assert(!IS_DELIVERED(got[q]))
    fi;
    over[q] = 1
}

active proctype receiver()
{
    byte i, q, r;
    bool cancelled;

    atomic { run pair(); run sender(); run withdrawer(); at[OTHER] = SENT }
    do
    :: atomic {
        posts < RECEIVES ->
        if
        :: post(0, 1)
        :: post(0, 0)
        :: post(1, 1)
        fi
       }
    :: d_step { at[OTHER] == SENT -> deliver(OTHER) }
    :: atomic {
        if
        :: IS(0) -> i = 0
#if MESSAGES > 1
        :: IS(1) -> i = 1
#endif
#if MESSAGES > 2
        :: IS(2) -> i = 2
#endif
        fi;
        d_step { at[i] = EARLY; in_turn(); i = 0; q = 0 }
       }
    :: d_step { /* a receive is cancelled: without a place at once, with one when the route is closed */
        !cancelled && posts > 0 && posted[posts - 1] && its[posts - 1] == NONE ->
        cancelled = 1; posted[posts - 1] = 0; over[posts - 1] = 1
       }
    :: d_step { !cancelled && posts > 0 && posted[posts - 1] && its[posts - 1] != NONE -> cancelled = 1; end_route() }
    :: d_step { /* the agent closes it, and counts */
        comes == ENDING ->
#ifdef BROKEN_COUNTS_BEFORE
        if
        :: taken == NONE -> taken = delivered
        :: else -> is_closed = 1; comes = CLOSED
        fi
#else
        is_closed = 1; taken = delivered; comes = CLOSED
#endif
       }
    :: d_step { /* WITHDRAW: before its turn it is said again */
        asks[0] || asks[1] || asks[2] ->
        i = (asks[0] -> 0 : (asks[1] -> 1 : 2));
        if
#ifdef BROKEN_EARLY_WITHDRAWN
        :: at[i] == EARLY -> assert(!IS_DELIVERED(i)); at[i] = WITHDRAWN; asks[i] = 0; in_turn()
#endif
        :: at[i] == KEPT -> end_route(); assert(!IS_DELIVERED(i)); at[i] = WITHDRAWN; asks[i] = 0
        :: at[i] == MATCHED -> asks[i] = 0
        :: else
        fi;
        i = 0
       }
    :: d_step { CAN_END(0) -> finish(0) }
#if RECEIVES > 1
    :: d_step { CAN_END(1) -> finish(1) }
#endif
#if RECEIVES > 2
    :: d_step { CAN_END(2) -> finish(2) }
#endif
    :: atomic {
        posts == RECEIVES && _nr_pr <= 2 && expected == MESSAGES && at[OTHER] != SENT && comes != ENDING &&
        !asks[0] && !asks[1] && !asks[2] -> break
       }
    od;
    i = 0;
    d_step {
        do
        :: i < ALL ->
            assert(at[i] != EARLY && at[i] != SENT);
            q = 0;
            do
            :: q < RECEIVES -> assert(!(posted[q] && at[i] == KEPT && FITS(q, i))); q++
            :: else -> break
            od;
            i++
        :: else -> break
        od;
        q = 0; i = 0
    }
}
