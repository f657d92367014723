/* SPDX-License-Identifier: BSD-3-Clause
 * The protocol of cells (include/nbcoll/inline/cells.h), for the model checker spin. Each rank is a process that starts
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
 * One step is one access to what ranks share; all interleavings of steps are tried. The code stores and loads stamp,
 * ready, word and armed seq_cst, so these have one order, as here; all else that is shared (parts, payload, memory) is
 * written before a stamp or ready that its reader has seen, and read before a word that its writer has seen, so that
 * release and acquire order it. Memory models are not checked beyond this argument.
 *
 * A configuration: RANKS, TAGS, SLOTS; WIRING, who fetches from whom; PIECES of each transfer in one cell that grows,
 * or with APART in a cell each; REFERENCE, else inline; CANCELS. A BROKEN_... leaves one rule out; test_cells.sh expects
 * an error of each. Left out here: death of a rank, deadlines (they are cancels), and refusals of what does not fit. A
 * rank that has ended its operations still answers messages. */

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
#ifndef WIRING
#define WIRING STAR
#endif

#define STAR 1      /* rank 0 to all others */
#define TURNS 2     /* two ranks: by turns the owner */
#define EXCHANGE 3  /* two ranks: both are owner and reader */
#define CHAIN 4     /* each from the one before; a piece is exposed when it has been fetched */

#define NOBODY 9
#if WIRING == STAR
#define SOURCE(r, t) (r -> 0 : NOBODY)
#define OWNS(r, t) (!(r))
#elif WIRING == TURNS
#define SOURCE(r, t) ((r) == (t) % 2 -> NOBODY : 1 - (r))
#define OWNS(r, t) ((r) == (t) % 2)
#elif WIRING == EXCHANGE
#define SOURCE(r, t) (1 - (r))
#define OWNS(r, t) 1
#else
#define SOURCE(r, t) (r -> (r) - 1 : NOBODY)
#define OWNS(r, t) ((r) < RANKS - 1)
#endif

#ifdef REFERENCE
#define INLINE 0
#else
#define INLINE 1
#endif
#ifdef APART
#define CELLS PIECES
#define CELL(p) (p)
#define PIECE(p) 0
#else
#define CELLS 1
#define CELL(p) 0
#define PIECE(p) (p)
#endif

#define VALUE(t) ((t) + 1) /* what the bytes of an operation look like; 0: the program has overwritten them */
#define SLOT(t) ((t) % SLOTS)
#define ALL 15
#define WORD(t, count) ((t) / SLOTS * 16 + (count)) /* never 0 for what is waited for */
#define EVERY ((1 << PIECES) - 1)
#define IN_ORDER(got) ((got) & 1 -> ((got) & 2 -> 2 : 1) : 0)

/* ---- what ranks share ------------------------------------------------------------------------------------------ */

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
#define WANTED 1 /* a REVOKE that wants an answer */
#define REVOKED 2
#define BIT(type, from, t) (1 << (((type) * RANKS + (from)) * TAGS + (t)))
int inbox[RANKS];

byte cancels = CANCELS;

/* ---- a rank ---------------------------------------------------------------------------------------------------- */

#define NEW 0
#define QUEUED 1 /* started; an earlier operation has the slot */
#define ACTIVE 2
#define FAILED 3 /* settling */
#define ENDED 4
#define NEED(s, r) need[(s) * RANKS + (r)]

/* Of a process: `me`, and what it works on: the operation `t` in its slot `s`, the piece `p`, and `r`, a rank. */

inline ring(rank)
{
    if
    :: armed[rank] ->
        if
        :: d_step { armed[rank] -> armed[rank] = 0 }; bell[rank] = 1
        :: !armed[rank]
        fi
    :: !armed[rank]
    fi
}

inline ring_readers()
{
    do
    :: atomic { r < RANKS && SOURCE(r, t) == me -> skip }; ring(r); r++
    :: d_step { r < RANKS && SOURCE(r, t) != me -> r++ }
    :: d_step { r == RANKS -> r = 0 }; break
    od
}

inline send(rank, type)
{
    inbox[rank] = inbox[rank] | BIT(type, me, t);
    ring(rank)
}

/* Does each reader's word say that it is through with the first `count` parts of `tag`? */
inline look_at_words(tag, count, excused)
{
    ok = 1;
    do
    :: d_step {
        r < RANKS ->
        ok = ok && (SOURCE(r, tag) != me || (excused) >> r & 1 || word[OF(s, r, me)] >= WORD(tag, count));
        r++
    }
    :: d_step { r == RANKS -> r = 0 }; break
    od
}

/* [RAISE] The last operation that failed here and has no earlier one before it in the slot. */
inline raise()
{
    d_step {
        h = TAGS;
        i = s;
        do
        :: i < next ->
            if
            :: st[i] != ENDED ->
#ifdef BROKEN_RAISE_EARLY
                skip
#else
                break
#endif
            :: st[i] == ENDED && (failed >> i & 1) -> h = i
            :: else
            fi;
            i = i + SLOTS
        :: else -> break
        od;
#ifdef BROKEN_RAISE_LAST_ONLY
        do
        :: i < TAGS ->
            if
            :: failed >> i & 1 -> h = TAGS
            :: else
            fi;
            i = i + SLOTS
        :: else -> break
        od;
#endif
        i = 0
    };
    do
    :: d_step { r == RANKS || h == TAGS -> r = 0; h = 0 }; break
    :: else ->
        if
        :: d_step { r != me && word[OF(s, me, r)] < WORD(h, ALL) -> word[OF(s, me, r)] = WORD(h, ALL) }; ring(r); r++
        :: else -> r++
        fi
    od
}

/* The operation has ended: its program overwrites the memory, the next one of the slot begins. */
inline finish()
{
    d_step {
        do
        :: i < PIECES -> MEMORY(me, t, i) = 0; i++
        :: else -> i = 0; break
        od;
        if
        :: st[t] != QUEUED -> active[s] = 0; shown[s] = 0; owned[s] = 0; asked[s] = 0; answered[s] = 0; got[s] = 0
        :: else
        fi;
        st[t] = ENDED;
        moved = 1
    };
    raise();
    d_step {
        i = s;
        do
        :: i < TAGS && !active[s] ->
            if
            :: st[i] == QUEUED -> st[i] = ACTIVE; active[s] = i + 1
            :: else
            fi;
            i = i + SLOTS
        :: else -> i = 0; break
        od
    }
}

/* The operation, queued or active, fails here. Its readers may be looking for parts that were not shown yet: they,
 * too, must be through before the cells are written again. */
inline fail()
{
    d_step {
        failed = failed | 1 << t;
        moved = 1;
#ifndef BROKEN_NEED_SHOWN_ONLY
        do
        :: i < RANKS ->
            if
            :: st[t] == ACTIVE && used[s] == t + 1 && SOURCE(i, t) == me -> NEED(s, i) = PIECES
            :: else
            fi;
            i++
        :: else -> i = 0; break
        od
#endif
    };
    if
    :: st[t] == ACTIVE -> st[t] = FAILED
    :: else -> finish()
    fi
}

/* ---- what the program does ------------------------------------------------------------------------------------- */

inline start()
{
    d_step {
        t = next;
        s = SLOT(t);
        next++;
        st[t] = QUEUED;
        if
        :: !active[s] && !(doomed >> t & 1) -> st[t] = ACTIVE; active[s] = t + 1
        :: else
        fi
    };
    if
    :: doomed >> t & 1 -> fail()
    :: else
    fi;
    s = 0;
    t = 0
}

inline cancel()
{
    do
    :: d_step { st[t] == QUEUED || st[t] == ACTIVE -> s = SLOT(t); cancels-- }; break
    :: t + 1 < next -> t++
    :: t + 1 >= next -> t = 0
    od;
    fail();
    do
    :: r < RANKS && r != me -> send(r, REVOKE); r++
    :: r == me -> r++
    :: r == RANKS -> r = 0; break
    od;
    s = 0;
    t = 0
}
