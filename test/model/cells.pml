/* SPDX-License-Identifier: BSD-3-Clause
 * The protocol of cells (src/engine/exposures/cells.h), for the model checker spin. Each rank is a process that starts
 * the operations 0 .. TAGS-1 in order, whenever it likes, makes passes over what it waits for, and sleeps when nothing
 * moves. The words in brackets are those at the functions of cells.h. It is checked that
 *
 *     bytes     whoever reads a cell or memory by reference finds the value of its own operation, in both halves of
 *               the copy: nothing of another tag, nothing overwritten while it may be read, no piece before its time
 *     ends      there is no state in which all ranks sleep and an operation has not ended: no deadlock, no lost
 *               wake-up (sleep here has no time limit), also when CANCELS operations are cancelled, by any rank, at
 *               any moment, queued or active
 *     no loops  no execution is endless (with -DNP: without progress labels each cycle is reported); so, with the
 *               above, each operation ends whatever the scheduler does
 *
 * One step is one access to what ranks share, or one look at a few words that stay as they are once they are what is
 * waited for; all interleavings of steps are tried. The code stores and loads stamp, ready, word and armed seq_cst, so
 * these have one order, as here. All else that is shared (parts, payload, memory) is written before a stamp or ready
 * that its reader has seen, and read before a word that its writer has seen: release and acquire are implied. Memory
 * models are not checked beyond this argument.
 *
 * A configuration: RANKS, TAGS, SLOTS; TOPOLOGY, who fetches from whom; PIECES of each transfer, in one cell that grows
 * or, with APART, in a cell each; REFERENCE, else inline; with SPREAD the payload of a piece lies half in its cell and
 * half in the next one, whose generation stays as it is; CANCELS. With TWO_LOOKS a reader that has seen the stamp
 * looks at the rest of the cell in another step (and its fruitless looks are cycles). With PATIENCE, a rank that knows
 * of a failed operation waits until it has ended elsewhere before it starts its own. A BROKEN_... leaves one rule out;
 * test_cells.sh expects an error of each. Left out: death of a rank and ranks that leave (one that has ended its
 * operations still answers messages), deadlines (they are cancels), operations that do not fit each other. */

#ifndef RANKS
#define RANKS 2
#endif
#ifndef TAGS
#define TAGS 3
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef PIECES
#define PIECES 1 /* at most 2 */
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef TOPOLOGY
#define TOPOLOGY STAR
#endif

#define STAR 1      /* rank 0 to all others */
#define TURNS 2     /* two ranks: by turns the owner */
#define EXCHANGE 3  /* two ranks: both are owner and reader */
#define CHAIN 4     /* each from the one before; a piece is exposed when it has been fetched */

#define NOBODY 9
#if TOPOLOGY == STAR
#define SOURCE(r, t) ((r) > 0 -> 0 : NOBODY)
#define OWNS(r, t) (!(r))
#elif TOPOLOGY == TURNS
#define SOURCE(r, t) ((r) == (t) % 2 -> NOBODY : 1 - (r))
#define OWNS(r, t) ((r) == (t) % 2)
#elif TOPOLOGY == EXCHANGE
#define SOURCE(r, t) (1 - (r))
#define OWNS(r, t) 1
#else
#define SOURCE(r, t) ((r) == 0 -> NOBODY : (r) - 1)
#define OWNS(r, t) ((r) < RANKS - 1)
#endif

#ifdef REFERENCE
#define INLINE 0
#else
#define INLINE 1
#endif
#ifdef SPREAD /* and APART: a piece takes two cells */
#define CELLS (2 * PIECES)
#ifdef BROKEN_OVERLAP
#define CELL(p) (p)
#else
#define CELL(p) (2 * (p))
#endif
#define PIECE(p) 0
#define HALF(s, owner, p, half) payload[AT(s, owner, p) + half]
#define SHOWN(t, p) (VALUE(t) + (p) * (TAGS + 1))
#elif defined APART
#define CELLS PIECES
#define CELL(p) (p)
#define PIECE(p) 0
#else
#define CELLS 1
#define CELL(p) 0
#define PIECE(p) (p)
#endif

#ifndef SPREAD
#define HALF(s, owner, p, half) payload[2 * AT(s, owner, p) + half]
#define SHOWN(t, p) VALUE(t)
#endif

#define VALUE(t) ((t) + 1) /* what the bytes of an operation look like; 0: the program has overwritten them */
#define SLOT(t) ((t) % SLOTS)
#define ALL 15
#define WORD(t, count) ((t) / SLOTS * 16 + (count)) /* never 0 for what is waited for */
#define EVERY ((1 << PIECES) - 1)
#define IN_ORDER(got) ((got) & 1 -> ((got) & 2 -> 2 : 1) : 0)

/* ---- what ranks share -------------------------------------------------------------------------------------------- */

#define AT(s, owner, p) (((s) * RANKS + (owner)) * CELLS + CELL(p))
byte stamp[SLOTS * RANKS * CELLS]; /* tag + 1 */
byte ready[SLOTS * RANKS * CELLS];
byte parts[SLOTS * RANKS * CELLS]; /* the description of the exposure: VALUE */
byte payload[SLOTS * RANKS * CELLS * 2];
#define OF(s, reader, owner) (((s) * RANKS + (reader)) * RANKS + (owner))
byte word[SLOTS * RANKS * RANKS];
#define MEMORY(r, t, p) memory[((r) * TAGS + (t)) * PIECES + (p)]
byte memory[RANKS * TAGS * PIECES]; /* of the programs; each operation has its own buffer */
bool armed[RANKS];
bool bell[RANKS];

/* Messages, which arrive in any order. */
#define REVOKE 0
#define WANTED 1 /* a REVOKE whose sender waits for our word */
#define BIT(type, from, t) (1 << (((type) * RANKS + (from)) * TAGS + (t)))
int inbox[RANKS];

byte cancels = CANCELS;
byte settling; /* PATIENCE: operations of rank 0 that have failed and not ended */

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

#define NEW 0
#define QUEUED 1 /* started; an earlier operation has the slot */
#define ACTIVE 2
#define FAILED 3 /* settling */
#define ENDED 4
#define NEED(s, r) need[(s) * RANKS + (r)]

/* Of a process: `me`, and what it works on: the operation `t` in its slot `s`, the piece `p`, and `r`, a rank. What it
 * waits for, of the active operation of a slot: each stays true once it is, so it does not matter that a look at
 * several words is one step here. */

#define NOW(s) (running[s] - 1)
#define IS(s, status) (running[s] && st[NOW(s)] == status)
#define FROM(s) SOURCE(me, NOW(s))
#define EACH_RANK(holds, s) (holds(s, 0) && holds(s, 1) && (RANKS < 3 || holds(s, 2 % RANKS)))
#define EITHER_SLOT(holds) (holds(0) || (SLOTS > 1 && holds(SLOTS - 1)))

#ifdef BROKEN_NO_REUSE
#define LEFT(s, r) 1
#else
#define LEFT(s, r) (!NEED(s, r) || word[OF(s, r, me)] >= WORD(used[s] - 1, NEED(s, r)))
#endif
#define HAS_FETCHED(s, r, count) (SOURCE(r, NOW(s)) != me || word[OF(s, r, me)] >= WORD(NOW(s), count))
#define NEXT_FETCHED(s, r) (HAS_FETCHED(s, r, owned[s] + 1) && !HAS_RAISED(s, r))
#define HAS_RAISED(s, r) (SOURCE(r, NOW(s)) == me && word[OF(s, r, me)] == WORD(NOW(s), ALL))
#define THROUGH(s, r) HAS_FETCHED(s, r, shown[s])

/* [REUSE] The readers of the last operation that wrote our cells are through. */
#define CAN_EXPOSE(s) (IS(s, ACTIVE) && OWNS(me, NOW(s)) && shown[s] < PIECES && \
                       (TOPOLOGY != CHAIN || me == 0 || got[s] >> shown[s] & 1) && \
                       (used[s] == running[s] || EACH_RANK(LEFT, s)))
/* [COMPLETE] A part is lent until each reader's word says that it is through with it. Where a reader failed, the
 * operation does not end well: word of that is on its way. */
#define CAN_COMPLETE(s) (IS(s, ACTIVE) && OWNS(me, NOW(s)) && owned[s] < shown[s] && EACH_RANK(NEXT_FETCHED, s))
/* [LOOK] The cell is of our tag, and the piece may be read. With TWO_LOOKS the second is a step of its own. */
#define IS_READY(s, p) (ready[AT(s, FROM(s), p)] > PIECE(p))
#define CAN_LOOK(s, p) (IS(s, ACTIVE) && FROM(s) != NOBODY && !reading[s] && !(got[s] >> (p) & 1) && \
                        stamp[AT(s, FROM(s), p)] == running[s])
#define CAN_LOOK_ANY(s) (CAN_LOOK(s, 0) || (PIECES > 1 && CAN_LOOK(s, 1)))
#define CAN_FETCH(s, p) (CAN_LOOK(s, p) && IS_READY(s, p))
#define CAN_FETCH_ANY(s) (CAN_FETCH(s, 0) || (PIECES > 1 && CAN_FETCH(s, 1)))
#define IS_READING(s) reading[s]
#define CAN_END(s) (IS(s, ACTIVE) && (!OWNS(me, NOW(s)) || owned[s] == PIECES) && \
                    (FROM(s) == NOBODY || got[s] == EVERY))
#ifdef BROKEN_RAISE_AT_END
#define CAN_RAISE(s) 0
#else
#define CAN_RAISE(s) (IS(s, FAILED) && !reading[s] && !raised[s])
#endif
#define LENDS(s) (!INLINE && shown[s])
#define CAN_ASK(s) (IS(s, FAILED) && !reading[s] && LENDS(s) && !asked[s])
#ifdef BROKEN_SETTLE_AT_ONCE
#define CAN_SETTLE(s) (IS(s, FAILED) && !reading[s])
#else
#define CAN_SETTLE(s) (IS(s, FAILED) && !reading[s] && (!LENDS(s) || (asked[s] && EACH_RANK(THROUGH, s))))
#endif
#define CAN_MOVE (inbox[me] || EITHER_SLOT(CAN_EXPOSE) || EITHER_SLOT(CAN_COMPLETE) || EITHER_SLOT(CAN_FETCH_ANY) || \
                  EITHER_SLOT(IS_READING) || EITHER_SLOT(CAN_END) || EITHER_SLOT(CAN_RAISE) || \
                  EITHER_SLOT(CAN_ASK) || EITHER_SLOT(CAN_SETTLE))
#ifdef PATIENCE /* a rank that knows of a cancelled operation starts its own only when that has ended */
#define PATIENT (settling >> next & 1)
#else
#define PATIENT 0
#endif
#define BUSY (running[0] || running[SLOTS - 1])

/* A slot for which it holds. */
#define CHOOSE(holds) \
    EITHER_SLOT(holds) -> \
    if \
    :: holds(0) -> s = 0 \
    :: SLOTS > 1 && holds(SLOTS - 1) -> s = SLOTS - 1 \
    fi; \
    t = NOW(s)

/* Looks at the word, and swaps it if it is set: one step, as a look too early is one that found nothing. */
inline ring(rank)
{
    d_step {
        if
        :: armed[rank] -> armed[rank] = 0; bell[rank] = 1
        :: else
        fi
    }
}

inline ring_readers()
{
    do
    :: atomic { r < RANKS && SOURCE(r, t) == me -> ring(r); r++ }
    :: atomic { r < RANKS && SOURCE(r, t) != me -> r++ }
    :: atomic { r == RANKS -> r = 0; break }
    od
}

inline send(rank, type)
{
    inbox[rank] = inbox[rank] | BIT(type, me, t);
    ring(rank)
}

/* Every part counts, also what was not shown. */
inline need_all()
{
    i = 0;
    do
    :: i < RANKS ->
        if
        :: SOURCE(i, t) == me -> NEED(s, i) = PIECES
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0
}

#if defined BROKEN_RAISE_EARLY
#define EARLY(status) 1
#elif defined BROKEN_RAISE_OVER_QUEUED
#define EARLY(status) (status == QUEUED)
#else
#define EARLY(status) 0
#endif

/* Leaves in h the last operation that failed here and has no earlier one before it in the slot, or TAGS. */
inline find_failed()
{
    h = TAGS;
    i = s;
    do
    :: i < next && (st[i] == ENDED || EARLY(st[i])) ->
        if
        :: failed >> i & 1 -> h = i
        :: else
        fi;
        i = i + SLOTS
    :: else -> break
    od;
#ifdef BROKEN_RAISE_LAST_ONLY
    do
    :: i < next ->
        if
        :: failed >> i & 1 -> h = TAGS
        :: else
        fi;
        i = i + SLOTS
    :: else -> break
    od;
#endif
    i = 0
}

/* [RAISE] */
inline raise()
{
    do
    :: atomic {
        h < TAGS && r < RANKS && r != me && word[OF(s, me, r)] < WORD(h, ALL) ->
        word[OF(s, me, r)] = WORD(h, ALL)
    };
        ring(r)
    :: atomic { h < TAGS && r < RANKS && (r == me || word[OF(s, me, r)] >= WORD(h, ALL)) -> r++ }
    :: atomic { h == TAGS || r == RANKS -> r = 0; h = 0; break }
    od
}

/* The operation has ended: its program overwrites the memory; then the next one of the slot begins. */
inline finish()
{
    d_step {
        i = 0;
        do
        :: i < PIECES -> MEMORY(me, t, i) = 0; i++
        :: else -> break
        od;
        if
        :: st[t] != QUEUED -> running[s] = 0; shown[s] = 0; got[s] = 0; owned[s] = 0;
            asked[s] = 0; raised[s] = 0
        :: else
        fi;
        st[t] = ENDED;
#ifdef PATIENCE
        settling = settling & ~((me == 0) << t);
#endif
        find_failed()
    };
    raise();
    atomic {
        i = s;
        do
        :: i < TAGS && !running[s] ->
            if
            :: st[i] == QUEUED -> st[i] = ACTIVE; running[s] = i + 1
            :: else
            fi;
            i = i + SLOTS
        :: else -> break
        od;
        i = 0
    }
}

/* The operation fails here: if it is active, it settles. Its readers may be looking for parts that were not shown:
 * they, too, must be through before the cells are written again. */
inline fail()
{
    if
    :: atomic {
        st[t] == ACTIVE ->
        st[t] = FAILED;
        failed = failed | 1 << t;
#ifdef PATIENCE
        settling = settling | (me == 0) << t;
#endif
#ifndef BROKEN_NEED_SHOWN_ONLY
        if
        :: used[s] == t + 1 -> need_all()
        :: else
        fi
#endif
    }
    :: atomic { st[t] == QUEUED -> failed = failed | 1 << t }; finish()
    fi
}

#define CAN_BE_CANCELLED(tag) ((tag) < next && (st[(tag) % TAGS] == QUEUED || st[(tag) % TAGS] == ACTIVE))

/* ---- owners ------------------------------------------------------------------------------------------------------ */

/* [WRITE] */
inline write()
{
    if
    :: INLINE ->
        HALF(s, me, p, 0) = SHOWN(t, p);
        HALF(s, me, p, 1) = SHOWN(t, p)
    :: !INLINE
    fi;
    parts[AT(s, me, p)] = VALUE(t);
    ready[AT(s, me, p)] = 1
}

/* [PUBLISH] the cell, or [GROW]: one more piece of it. */
inline reveal()
{
#ifdef BROKEN_RING_FIRST
    ring_readers();
#endif
    if
    :: PIECE(p) -> ready[AT(s, me, p)] = PIECE(p) + 1
    :: !PIECE(p) -> stamp[AT(s, me, p)] = t + 1
    fi;
#ifndef BROKEN_RING_FIRST
    ring_readers()
#endif
}

inline expose()
{
    d_step {
        p = shown[s];
        used[s] = t + 1;
        i = 0;
        do
        :: i < RANKS -> NEED(s, i) = (SOURCE(i, t) == me -> p + 1 : 0); i++
        :: else -> break
        od;
        i = 0
    };
#ifdef BROKEN_SHOW_FIRST
    if
    :: !PIECE(p) -> reveal(); MEMORY(me, t, p) = VALUE(t); write()
    :: PIECE(p) -> reveal(); MEMORY(me, t, p) = VALUE(t)
    fi;
#else
    MEMORY(me, t, p) = VALUE(t);
    if
    :: !PIECE(p) -> write()
    :: PIECE(p)
    fi;
    reveal();
#endif
    atomic {
        shown[s] = p + 1;
        if
        :: INLINE -> MEMORY(me, t, p) = 0; owned[s] = p + 1
        :: else
        fi;
        p = 0
    }
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

#ifdef BROKEN_COUNT_OUT_OF_ORDER
#define COUNTED(got) (((got) & 1) + ((got) >> 1))
#else
#define COUNTED(got) ((got) & 1 -> ((got) & 2 -> 2 : 1) : 0)
#endif

/* [ACK] */
inline acknowledge()
{
    word[OF(s, me, FROM(s))] = WORD(t, COUNTED(got[s]));
#ifndef BROKEN_NO_RING_AT_ACK
    ring(FROM(s))
#endif
}

/* [READ] Inline payload is copied at once; memory in two steps between which this rank does other things. */
inline fetch()
{
    assert(parts[AT(s, FROM(s), p)] == VALUE(t));
    if
    :: INLINE ->
        assert(HALF(s, FROM(s), p, 0) == SHOWN(t, p));
        assert(HALF(s, FROM(s), p, 1) == SHOWN(t, p));
        atomic { got[s] = got[s] | 1 << p; p = 0 };
        acknowledge()
    :: !INLINE ->
        atomic { assert(MEMORY(FROM(s), t, p) == VALUE(t)); reading[s] = p + 1; p = 0 };
#ifdef BROKEN_ACK_FIRST
        got[s] = got[s] | 1 << (reading[s] - 1);
        acknowledge()
#endif
    fi
}

inline fetched()
{
    atomic {
        assert(MEMORY(FROM(s), t, reading[s] - 1) == VALUE(t));
        if
        :: st[t] == ACTIVE -> got[s] = got[s] | 1 << (reading[s] - 1)
        :: else
        fi;
        reading[s] = 0
    };
    if
    :: st[t] == ACTIVE -> acknowledge()
    :: st[t] == FAILED
    fi
}

/* ---- cancelling -------------------------------------------------------------------------------------------------- */

inline revoke()
{
    do
    :: r < RANKS && r != me -> send(r, REVOKE); r++
    :: r == me -> r++
    :: atomic { r == RANKS -> r = 0; break }
    od
}

/* Asks the readers that may still read our memory. */
inline ask()
{
    do
    :: atomic { r < RANKS && THROUGH(s, r) -> r++ }
    :: atomic { r < RANKS && !THROUGH(s, r) -> inbox[r] = inbox[r] | BIT(WANTED, me, t) }; ring(r); r++
    :: atomic { r == RANKS -> r = 0; asked[s] = 1; break }
    od
}

/* Takes any message out. */
inline take()
{
    do
    :: inbox[me] >> h & 1 -> break
    :: inbox[me] >> (h + 1) -> h++
    od;
    inbox[me] = inbox[me] & ~(1 << h);
    type = h / (RANKS * TAGS);
    from = h / TAGS % RANKS;
    t = h % TAGS;
    s = SLOT(t);
    h = 0;
    if
    :: st[t] == NEW -> doomed = doomed | 1 << t
    :: else
    fi
}

/* The sender of a WANTED has shown something in the slot, so it waits for nothing that this rank may still read there
 * of earlier operations. If the operation is active here the word follows. */
inline receive()
{
#ifndef BROKEN_NO_ANSWER
    if
    :: atomic {
        type == WANTED && st[t] != ACTIVE && st[t] != FAILED && word[OF(s, me, from)] < WORD(t, ALL) ->
        word[OF(s, me, from)] = WORD(t, ALL)
    };
        ring(from)
    :: else
    fi;
#endif
    if
    :: st[t] == QUEUED || st[t] == ACTIVE -> fail()
    :: else
    fi;
    atomic { type = 0; from = 0 }
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

inline start()
{
    t = next;
    s = SLOT(t);
    next++;
    if
    :: !running[s] && !(doomed >> t & 1) -> st[t] = ACTIVE; running[s] = t + 1
    :: else -> st[t] = QUEUED
    fi
}

/* To be called when nothing moved: announces it, looks again, and sleeps. */
inline sleep()
{
    armed[me] = 1;
    if
#ifndef BROKEN_NO_SECOND_LOOK
    :: CAN_MOVE
    :: !CAN_MOVE ->
#else
    :: 1 ->
#endif
        if
        :: BUSY -> bell[me]
        :: !BUSY && next < TAGS -> bell[me] || !PATIENT
        :: !BUSY && next == TAGS ->
end_of_the_program:
            bell[me]
        fi;
        bell[me] = 0
    fi;
    armed[me] = 0
}

proctype rank(byte me)
{
    byte next, st[TAGS], running[SLOTS], used[SLOTS], need[SLOTS * RANKS], shown[SLOTS], got[SLOTS], reading[SLOTS];
    byte owned[SLOTS], failed, doomed;
    bool asked[SLOTS], raised[SLOTS];
    byte s, t, p, r, i, h, type, from;

    do
    :: atomic { next < TAGS && !PATIENT -> start() };
        if
        :: doomed >> t & 1 -> fail()
        :: else
        fi
    :: atomic { cancels && (CAN_BE_CANCELLED(0) || CAN_BE_CANCELLED(1) || CAN_BE_CANCELLED(2)) ->
        if
        :: CAN_BE_CANCELLED(0) -> t = 0
        :: CAN_BE_CANCELLED(1) -> t = 1
        :: CAN_BE_CANCELLED(2) -> t = 2
        fi;
        s = SLOT(t);
        cancels-- };
        fail();
        revoke()
    :: atomic { CHOOSE(CAN_EXPOSE) }; expose()
    :: atomic { CHOOSE(CAN_COMPLETE); MEMORY(me, t, owned[s]) = 0; owned[s] = owned[s] + 1 }
    :: atomic { CHOOSE(CAN_FETCH_ANY);
        if
        :: CAN_FETCH(s, 0)
        :: PIECES > 1 && CAN_FETCH(s, 1) -> p = 1
        fi };
        fetch()
#ifdef TWO_LOOKS
    :: atomic { CHOOSE(CAN_LOOK_ANY);
        if
        :: CAN_LOOK(s, 0)
        :: PIECES > 1 && CAN_LOOK(s, 1) -> p = 1
        fi };
        if
        :: IS_READY(s, p) -> fetch()
        :: !IS_READY(s, p) -> p = 0
        fi
#endif
    :: atomic { CHOOSE(IS_READING) }; fetched()
    :: atomic { CHOOSE(CAN_END) }; finish()
    :: atomic { CHOOSE(CAN_RAISE); raised[s] = 1; h = t }; raise()
    :: atomic { CHOOSE(CAN_ASK) }; ask()
    :: atomic { CHOOSE(CAN_SETTLE) }; finish()
    :: atomic { inbox[me] -> take() }; receive()
    :: !CAN_MOVE && (BUSY || PATIENT || next == TAGS) -> sleep()
    od
}

init
{
    atomic {
        byte n;
        for (n : 0 .. RANKS - 1) {
            run rank(n)
        }
    }
}
