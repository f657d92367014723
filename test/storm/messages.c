/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between the ranks of a communicator, beside the calls that are open there. All know who sends what to whom;
 * each starts its sends in that order, and its receives before, after or between them: exact ones, in up to three
 * rounds, or with wildcards. What a receive gets is known by its sender and its length, which no two of a pair share.
 * With wildcards a receive for anything, or (from edition 25 on) a probe, takes what the others leave; who has all its
 * messages cancels the rest. From edition 25 on some rounds end with a ring of nbcoll_sendrecv; from edition 27 on also
 * beside faults. Where something bad has happened a rank gives up what does not end in time: then that must end. */
#include <stdlib.h>
#include <string.h>

#include "rank.h"
#include "nbcoll/message.h"

enum { LETTERS_MOST = 32, POSTS_MOST = 8 * LETTERS_MOST, GUARDS = 32, NONE = -2, TAG_OF_RINGS = 7,
       ANNOUNCED_MOST = 1 << 24 };

#define PATIENCE (3 * SECOND)

typedef enum mode { EXACT, BY_TAG, BY_SOURCE, ANYTHING, MIXED, MODES } mode;
typedef enum order { RECEIVES_FIRST, SENDS_FIRST, IN_TURN, ORDERS } order;

typedef struct letter {
    int from, to, tag; /* numbers in the communicator */
    size_t bytes;
    bool is_got;
} letter;

typedef struct post { /* a send or a receive */
    nbcoll_request request, persistent;
    nbcoll_message_info info;
    unsigned char *memory; /* with guards behind it */
    size_t bytes;
    int peer, tag;
    int letter; /* a send's, or an exact receive's; or -1 */
    int gets;   /* the letter of a receive, or -1 */
    bool sends, is_open, is_cancelled, persists;
    nbcoll_status status;
} post;

typedef struct ring {
    nbcoll_message_info info;
    unsigned char send[5000], recv[5000 + 2 * GUARDS];
} ring;

typedef struct exchange {
    rank *rank;
    const item *item;
    int index, at, ranks; /* of the item; the rank's number */
    nbcoll_messages *messages;
    letter letter[LETTERS_MOST];
    post post[POSTS_MOST];
    int letters, posts, mine, received; /* mine: letters to this rank */
    int got[LETTERS_MOST];              /* so often has a receive been matched with it */
    int round;
    mode mode;
    int blocks;     /* 1: sends, 2: receives may */
    bool probes, has_rings;
    uint64_t since; /* something has ended, or begun */
    bool gives_up;
    ring *ring;     /* the last one's buffers: they stay the library's after a timeout */
} exchange;

/* ---- what is sent ------------------------------------------------------------------------------------------------ */

static bool is_taken(const exchange *x, const letter *l)
{
    for (int k = 0; k < x->letters; k++)
        if (x->letter[k].from == l->from && x->letter[k].to == l->to && x->letter[k].bytes == l->bytes)
            return true;
    return false;
}

static void draw_letters(exchange *x)
{
    uint64_t random = mix(x->item->salt, 60), ranks = (uint64_t)x->ranks;
    size_t longest = x->rank->storm->plan.ranks > 9 ? 2000 : 30000;
    int letters = 1 + (int)(next_random(&random) % LETTERS_MOST);

    while (x->letters < letters) {
        letter l = {.from = (int)(next_random(&random) % ranks)};
        l.to = (int)(next_random(&random) % ranks);
        l.tag = (int)(next_random(&random) % 3);
        l.bytes = ONE_OF(&random, 0, 0, 8, 48, 200, 1000, 5000, longest);
        while (is_taken(x, &l))
            l.bytes++;
        x->mine += l.to == x->at;
        x->letter[x->letters++] = l;
    }
    x->mode = (mode)(next_random(&random) % MODES);
    x->blocks = x->mode == EXACT && !plan_has_faults(&x->rank->storm->plan) && !x->rank->storm->plan.few_serials
                    ? (int)(next_random(&random) % 3)
                    : 0;
    bool has_forms = x->rank->storm->plan.edition >= EDITION_OF_FORMS;
    x->probes = has_forms && x->mode != EXACT && mix(x->item->salt, 61) % 2;
    x->has_rings = has_forms && x->mode == EXACT && mix(x->item->salt, 62) % 2 &&
                   !x->rank->storm->plan.few_serials &&
                   (x->rank->storm->plan.edition >= EDITION_OF_MISHAPS || !plan_has_faults(&x->rank->storm->plan));
}

static unsigned char byte_of(const exchange *x, int k, int round, size_t at)
{
    return (unsigned char)(x->item->salt + (uint64_t)k * 41 + (uint64_t)round * 13 + at * 7 + at / 251);
}

static bool is_letter(const exchange *x, int k, int round, size_t bytes, const unsigned char *memory)
{
    for (size_t at = 0; at < bytes; at++)
        if (memory[at] != byte_of(x, k, round, at))
            return false;
    return true;
}

/* Of this round; or, where one before may not have been sent, or was not received, of another one. */
static bool is_received(const exchange *x, int k, size_t bytes, const unsigned char *memory)
{
    bool is_right = is_letter(x, k, x->round, bytes, memory);
    for (int round = 0; round < x->item->times && x->rank->storm->bad_anywhere; round++)
        is_right |= is_letter(x, k, round, bytes, memory);
    return is_right;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static bool is_judged(const exchange *x)
{
    const storm *s = x->rank->storm;
    return !x->rank->actor->is_dead && !s->ends && !(s->bad_anywhere & BAD_HEADER);
}

/* That number has left, or, if it is any, all others have. */
static bool has_left(const exchange *x, int which)
{
    const storm *s = x->rank->storm;
    for (int number = 0; number < x->ranks; number++)
        if (number != x->at && (which < 0 || number == which) &&
            !s->medium->is_shut(&s->actor[plan_member(&s->plan, x->item->comm, x->rank->actor->rank, number)]))
            return false;
    return true;
}

static bool fits(const post *p, const letter *l)
{
    return (p->peer == NBCOLL_ANY_SOURCE || p->peer == l->from) && (p->tag == NBCOLL_ANY_TAG || p->tag == l->tag);
}

static bool is_filled(const unsigned char *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++)
        if (memory[at] != 0xee)
            return false;
    return true;
}

static int find_letter(const exchange *x, const nbcoll_message_info *info)
{
    for (int k = 0; k < x->letters; k++)
        if (x->letter[k].from == info->source && x->letter[k].to == x->at && x->letter[k].bytes == info->bytes)
            return k;
    return -1;
}

static const char *what_is_got(exchange *x, post *p)
{
    int k = p->gets = find_letter(x, &p->info);
    if (k < 0)
        return "nobody has sent that";
    letter *l = &x->letter[k];
    if (l->tag != p->info.tag || !fits(p, l))
        return "it does not fit";
    if (x->mode == EXACT ? k != p->letter && !x->rank->storm->bad_anywhere : l->is_got)
        return x->mode == EXACT ? "it is another one's" : "another receive has got it";
    l->is_got = true;
    if ((p->status == NBCOLL_ERR_TRUNCATED) != (l->bytes > p->bytes))
        return "it is longer, or is not";
    return p->status == NBCOLL_OK && !is_received(x, k, l->bytes, p->memory) ? "its bytes are wrong" : NULL;
}

static const char *what_is_wrong(exchange *x, post *p)
{
    bool is_got = !p->sends && (p->status == NBCOLL_OK || p->status == NBCOLL_ERR_TRUNCATED);
    const char *wrong = is_got ? what_is_got(x, p) : NULL;
    bool is_kept = p->status == NBCOLL_ERR_TRUNCATED || p->status == NBCOLL_ERR_CANCELLED;

    if (wrong)
        return wrong;
    if (p->sends && !is_letter(x, p->letter, x->round, x->letter[p->letter].bytes, p->memory))
        return "what was sent has changed";
    if (!is_filled(p->memory + p->bytes, GUARDS) || (!p->sends && is_kept && !is_filled(p->memory, p->bytes)))
        return "memory was touched";
    if (p->status == NBCOLL_OK || (is_got && p->status == NBCOLL_ERR_TRUNCATED))
        return NULL;
    /* what a receive waited for another one has got, or will get, or was not sent: see judge_sent */
    if (p->status == NBCOLL_ERR_PEER_LOST && !p->sends && has_left(x, p->peer))
        return NULL;
    return judge_message(x->rank->actor, x->item, p->peer, p->status, p->is_cancelled);
}

static uint64_t *sent_by(const exchange *x, int number)
{
    storm *s = x->rank->storm;
    return &s->sent[plan_member(&s->plan, x->item->comm, x->rank->actor->rank, number)][x->index];
}

/* It was sent, or a receive has been matched with it, whatever its end. */
static void note_letter(exchange *x, const post *p)
{
    int k = p->sends ? p->letter : p->info.source >= 0 ? find_letter(x, &p->info) : -1;
    if (p->sends && p->status == NBCOLL_OK)
        *sent_by(x, x->at) += UINT64_C(1) << 2 * k;
    else if (!p->sends && k >= 0)
        x->got[k]++;
}

static void ended(exchange *x, post *p, nbcoll_status status)
{
    storm *s = x->rank->storm;
    p->is_open = false;
    p->status = status;
    x->since = s->now;
    storm_note(s, x->rank->actor->rank, NOTE_MESSAGE, (uint64_t)x->index, status);
    x->received += !p->sends && (status == NBCOLL_OK || status == NBCOLL_ERR_TRUNCATED);
    note_letter(x, p);
    const char *wrong = is_judged(x) ? what_is_wrong(x, p) : NULL;
    if (wrong)
        storm_find(s, "rank %d, item %d: message %d, a %s (number %d, tag %d, %zu bytes): %s: %s", x->rank->actor->rank,
                   x->index, (int)(p - x->post), p->sends ? "send" : "receive", p->peer, p->tag, p->bytes,
                   nbcoll_status_name(status), wrong);
}

/* A receive that fits, was posted earlier, and got a later message of the same sender, should have got this one. */
static void judge_order(exchange *x)
{
    for (int k = 0; k < x->posts && x->mode != EXACT && is_judged(x); k++)
        for (int e = 0; e < k; e++) {
            const post *p = &x->post[k], *earlier = &x->post[e];
            if (!p->sends && !earlier->sends && p->gets >= 0 && earlier->gets > p->gets &&
                x->letter[p->gets].from == x->letter[earlier->gets].from && fits(earlier, &x->letter[p->gets]))
                storm_find(x->rank->storm, "rank %d, item %d: receive %d got letter %d, and %d, posted before, %d",
                           x->rank->actor->rank, x->index, k, p->gets, e, earlier->gets);
        }
}

/* What a rank has sent that has left in good order has come: no receive that fits it ends without it. */
static void judge_sent(exchange *x)
{
    for (int k = 0; k < x->letters && is_judged(x); k++) {
        const letter *l = &x->letter[k];
        if (l->to != x->at || judge_may_miss(x->rank->actor, x->item, l->from) ||
            (int)(*sent_by(x, l->from) >> 2 * k & 3) <= x->got[k])
            continue;
        for (int n = 0; n < x->posts; n++)
            if (!x->post[n].sends && x->post[n].status == NBCOLL_ERR_PEER_LOST && fits(&x->post[n], l))
                storm_find(x->rank->storm,
                           "rank %d, item %d: receive %d did not get letter %d, which number %d has sent",
                           x->rank->actor->rank, x->index, n, k, l->from);
    }
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

static post *add_post(exchange *x, size_t bytes, int peer, int tag, int k)
{
    post *p = &x->post[x->posts++];
    *p = (post){.bytes = bytes, .peer = peer, .tag = tag, .letter = k, .gets = -1};
    p->memory = malloc(bytes + GUARDS);
    memset(p->memory, 0xee, bytes + GUARDS);
    p->persists = rank_choose(x->rank, 4) == 0;
    return p;
}

/* That of the round before, if it persists. */
static post *find_post(exchange *x, int k, bool sends)
{
    for (int n = 0; n < x->posts; n++) {
        post *p = &x->post[n];
        if (p->letter == k && p->sends == sends && p->persistent.at) {
            memset(p->memory, 0xee, p->bytes + GUARDS);
            return p;
        }
    }
    return NULL;
}

static nbcoll_status start(const exchange *x, post *p, bool is_synchronous)
{
    nbcoll_messages *m = x->messages;
    if (p->persists && p->persistent.at)
        return NBCOLL_OK;
    if (!p->sends)
        return (p->persists ? nbcoll_recv_init : nbcoll_irecv)(p->memory, p->bytes, NBCOLL_BYTE, p->peer, p->tag, m,
                                                               &p->info, p->persists ? &p->persistent : &p->request);
    if (p->persists)
        return (is_synchronous ? nbcoll_ssend_init : nbcoll_send_init)(p->memory, p->bytes, NBCOLL_BYTE, p->peer,
                                                                       p->tag, m, &p->persistent);
    return (is_synchronous ? nbcoll_issend : nbcoll_isend)(p->memory, p->bytes, NBCOLL_BYTE, p->peer, p->tag, m,
                                                           &p->request);
}

static void begin(exchange *x, post *p)
{
    rank *r = x->rank;
    bool is_synchronous = rank_choose(r, 3) == 0;
    nbcoll_status status;

    p->info.source = NONE;
    for (int tries = 0;; tries++) {
        status = start(x, p, is_synchronous);
        if (status == NBCOLL_OK && p->persists) {
            p->request = p->persistent;
            status = nbcoll_start(&p->request);
        }
        if (status != NBCOLL_ERR_MEMORY || tries == RETRIES)
            break;
        storm_stay(r->storm, 1 + rank_choose(r, 50 * MICROSECOND));
        nbcoll_progress(r->context);
    }
    p->is_open = status == NBCOLL_OK;
    if (!p->is_open)
        ended(x, p, status);
}

static void block(exchange *x, post *p)
{
    p->info.source = NONE;
    nbcoll_status status =
        p->sends
            ? (rank_choose(x->rank, 3) ? nbcoll_send : nbcoll_ssend)(p->memory, p->bytes, NBCOLL_BYTE, p->peer, p->tag,
                                                                     x->messages, NBCOLL_FOREVER)
            : nbcoll_recv(p->memory, p->bytes, NBCOLL_BYTE, p->peer, p->tag, x->messages, &p->info, NBCOLL_FOREVER);
    ended(x, p, status);
}

static void send_letter(exchange *x, int k, bool may_block)
{
    const letter *l = &x->letter[k];
    post *p = find_post(x, k, true);
    p = p ? p : add_post(x, l->bytes, l->to, l->tag, k);
    p->sends = true;
    for (size_t at = 0; at < l->bytes; at++)
        p->memory[at] = byte_of(x, k, x->round, at);
    if (may_block && !p->persistent.at && rank_choose(x->rank, 2))
        block(x, p);
    else
        begin(x, p);
}

static void receive_letter(exchange *x, int k, bool may_block)
{
    const letter *l = &x->letter[k];
    rank *r = x->rank;
    mode how = x->mode == MIXED ? (mode)rank_choose(r, MIXED) : x->mode;
    int from = how == BY_TAG || how == ANYTHING ? NBCOLL_ANY_SOURCE : l->from;
    int tag = how == BY_SOURCE || how == ANYTHING ? NBCOLL_ANY_TAG : l->tag;
    size_t bytes = how == EXACT ? l->bytes + rank_choose(r, 2) : 31000;

    if (rank_choose(r, 8) == 0)
        bytes = rank_choose(r, 2) ? l->bytes / 2 : 0;
    post *p = find_post(x, k, false);
    p = p ? p : add_post(x, bytes, from, tag, k);
    if (may_block && !p->persistent.at && rank_choose(r, 2)) {
        block(x, p);
        return;
    }
    begin(x, p);
    if (x->mode == MIXED && p->is_open && rank_choose(r, 6) == 0) {
        p->is_cancelled = true;
        nbcoll_cancel(p->request);
    }
}

static void begin_all(exchange *x)
{
    rank *r = x->rank;
    order how = (order)rank_choose(r, ORDERS);
    for (int pass = 0; pass < (how == IN_TURN ? 1 : 2); pass++)
        for (int k = 0; k < x->letters; k++) {
            bool sends = how == IN_TURN || pass == (how == RECEIVES_FIRST);
            bool receives = how == IN_TURN || pass == (how == SENDS_FIRST);
            if (receives && x->letter[k].to == x->at)
                receive_letter(x, k, x->blocks == 2 && how == SENDS_FIRST);
            if (sends && x->letter[k].from == x->at)
                send_letter(x, k, x->blocks == 1 && how == RECEIVES_FIRST);
            if (rank_choose(r, 6) == 0)
                nbcoll_progress(r->context);
            if (rank_choose(r, 6) == 0)
                storm_stay(r->storm, rank_choose(r, 5 * MICROSECOND));
        }
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* So many are open: sends, or receives, of which `anything` fit all. */
static int count_open(const exchange *x, bool sends, bool anything)
{
    int n = 0;
    for (int k = 0; k < x->posts; k++)
        n += x->post[k].is_open && x->post[k].sends == sends &&
             (!anything || (x->post[k].peer == NBCOLL_ANY_SOURCE && x->post[k].tag == NBCOLL_ANY_TAG));
    return n;
}

static void cancel_open(exchange *x, bool sends)
{
    for (int k = 0; k < x->posts; k++)
        if (x->post[k].is_open && (sends || !x->post[k].sends)) {
            x->post[k].is_cancelled = true;
            nbcoll_cancel(x->post[k].request);
        }
}

/* What waits is one that has not been received. */
static void judge_probe(const exchange *x, nbcoll_status status, const nbcoll_message_info *is)
{
    nbcoll_message_info info = *is;
    if (!is_judged(x) || status == NBCOLL_PENDING ||
        (status == NBCOLL_OK && x->has_rings && info.tag == TAG_OF_RINGS &&
         info.source == (x->at + x->ranks - 1) % x->ranks))
        return;
    int k = status == NBCOLL_OK ? find_letter(x, &info) : -1;
    bool is_there = k >= 0 && (!x->letter[k].is_got || x->mode == EXACT) && x->letter[k].tag == info.tag;
    bool is_lost = status == NBCOLL_ERR_PEER_LOST && x->rank->storm->bad_anywhere;
    if (!is_there && !is_lost && !(status == NBCOLL_ERR_PEER_LOST && has_left(x, -1)))
        storm_find(x->rank->storm, "rank %d, item %d: a probe: %s, from number %d", x->rank->actor->rank, x->index,
                   nbcoll_status_name(status), status == NBCOLL_OK ? info.source : -1);
}

static void probe(exchange *x)
{
    nbcoll_message_info info = {0};
    nbcoll_status status = nbcoll_iprobe(NBCOLL_ANY_SOURCE, NBCOLL_ANY_TAG, x->messages, &info);
    judge_probe(x, status, &info);
}

/* A message leaves the queue, and is received: by nobody else, and once. */
static void take(exchange *x)
{
    rank *r = x->rank;
    nbcoll_message_info info = {0};
    nbcoll_message message = {0}, copy;
    int tag = rank_choose(r, 2) ? NBCOLL_ANY_TAG : (int)rank_choose(r, 3);
    nbcoll_status status = nbcoll_improbe(NBCOLL_ANY_SOURCE, tag, x->messages, &info, &message);

    judge_probe(x, status, &info);
    if (status != NBCOLL_OK)
        return;
    size_t bytes = info.bytes < ANNOUNCED_MOST ? info.bytes : ANNOUNCED_MOST; /* a damaged header says any number */
    post *p = add_post(x, rank_choose(r, 8) ? bytes : bytes / 2, NBCOLL_ANY_SOURCE, tag, -1);
    p->info = info;
    p->persists = false;
    copy = message;
    for (int tries = 0; (status = nbcoll_imrecv(p->memory, p->bytes, NBCOLL_BYTE, &message, &p->request)) ==
                            NBCOLL_ERR_MEMORY && tries < RETRIES; tries++)
        storm_stay(r->storm, 1 + rank_choose(r, 50 * MICROSECOND));
    p->is_open = status == NBCOLL_OK;
    if (!p->is_open)
        ended(x, p, status);
    nbcoll_request other;
    if (p->is_open && is_judged(x) &&
        (message.of || nbcoll_imrecv(p->memory, 0, NBCOLL_BYTE, &copy, &other) != NBCOLL_ERR_REQUEST))
        storm_find(r->storm, "rank %d, item %d: a message can be received twice", r->actor->rank, x->index);
}

static void look(exchange *x)
{
    for (int k = 0; k < x->posts; k++) {
        post *p = &x->post[k];
        nbcoll_status status = p->is_open ? nbcoll_test(&p->request) : NBCOLL_PENDING;
        if (status != NBCOLL_PENDING)
            ended(x, p, status);
    }
}

/* Others may wait for it meanwhile. */
static void give_up(exchange *x)
{
    storm *s = x->rank->storm;
    if (!s->bad_anywhere || x->gives_up)
        return;
    if (s->last_cause < s->now)
        s->last_cause = s->now;
    if (s->now <= x->since + PATIENCE && !s->ends) /* to the dead time is none */
        return;
    x->gives_up = true;
    cancel_open(x, true);
}

static void wait_all(exchange *x)
{
    rank *r = x->rank;
    storm *s = r->storm;
    uint64_t looks = 0;

    x->since = s->now;
    while (count_open(x, true, false) || count_open(x, false, false) ||
           (x->mode != EXACT && x->received < x->mine && !x->gives_up)) {
        if (x->blocks && rank_choose(r, 2)) { /* each ends by itself */
            for (int k = 0; k < x->posts; k++)
                if (x->post[k].is_open)
                    ended(x, &x->post[k], rank_wait(r, &x->post[k].request));
            continue;
        }
        look(x);
        if (x->mode != EXACT && x->received >= x->mine)
            cancel_open(x, false);
        else if (x->probes && !x->gives_up && x->posts < POSTS_MOST)
            take(x);
        else if (x->mode != EXACT && !x->gives_up && !count_open(x, false, true) && x->posts < POSTS_MOST)
            begin(x, add_post(x, 31000, NBCOLL_ANY_SOURCE, NBCOLL_ANY_TAG, -1));
        give_up(x);
        if (rank_choose(r, 8) == 0)
            probe(x);
        nbcoll_progress(r->context); /* also where none is open */
        chain_look(r);
        storm_sleep(s, 1 + rank_choose(r, looks++ < 20 ? 1000u << looks / 2 : 40 * MILLISECOND));
    }
}

/* It may end so: `is_right` is what it has got if that is well. */
static bool may_end_round(exchange *x, nbcoll_status status, bool is_right, int next, int last)
{
    storm *s = x->rank->storm;
    if (status == NBCOLL_OK)
        return is_right;
    if (!plan_has_faults(&s->plan))
        return false;
    if (status == NBCOLL_ERR_TIMEOUT || status == NBCOLL_ERR_NO_SLOT) {
        x->gives_up = true;
        storm_cause(s, x->rank->actor->rank, BAD_ENDED);
        return true;
    }
    return (status == NBCOLL_ERR_PEER_LOST && (has_left(x, next) || has_left(x, last))) ||
           !judge_message(x->rank->actor, x->item, -1, status, false);
}

/* To the next rank, and from the one before. */
static void go_round(exchange *x)
{
    rank *r = x->rank;
    int next = (x->at + 1) % x->ranks, last = (x->at + x->ranks - 1) % x->ranks;
    size_t bytes = x->item->salt % 5000, room = bytes + (size_t)rank_choose(r, 2) * GUARDS;
    ring *of = x->ring = x->ring ? x->ring : malloc(sizeof *of);

    of->info = (nbcoll_message_info){.source = NONE};
    memset(of->recv, 0xee, room + GUARDS);
    for (size_t at = 0; at < bytes; at++)
        of->send[at] = byte_of(x, LETTERS_MOST + x->at, x->round, at);
    nbcoll_status status = nbcoll_sendrecv(of->send, bytes, NBCOLL_BYTE, next, TAG_OF_RINGS, of->recv, room,
                                           NBCOLL_BYTE, last, TAG_OF_RINGS, x->messages, &of->info,
                                           plan_has_faults(&r->storm->plan) ? PATIENCE : NBCOLL_FOREVER);
    bool is_right = of->info.source == last && of->info.tag == TAG_OF_RINGS && of->info.bytes == bytes &&
                    is_filled(of->recv + bytes, room - bytes + GUARDS) &&
                    is_received(x, LETTERS_MOST + last, bytes, of->recv) &&
                    is_letter(x, LETTERS_MOST + x->at, x->round, bytes, of->send);
    storm_note(r->storm, r->actor->rank, NOTE_MESSAGE, (uint64_t)x->index, status);
    if (!may_end_round(x, status, is_right, next, last) && is_judged(x))
        storm_find(r->storm, "rank %d, item %d: sendrecv ends with %s, or with another message", r->actor->rank,
                   x->index, nbcoll_status_name(status));
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* Those that persist stay for the next round. */
static void forget_posts(exchange *x)
{
    for (int k = 0; k < x->posts; k++)
        if (!x->post[k].persistent.at) {
            free(x->post[k].memory);
            x->post[k].memory = NULL;
        }
    x->received = 0;
}

static void free_posts(exchange *x)
{
    for (int k = 0; k < x->posts; k++) {
        nbcoll_status status = x->post[k].persistent.at ? nbcoll_request_free(&x->post[k].persistent) : NBCOLL_OK;
        if (status != NBCOLL_OK && is_judged(x))
            storm_find(x->rank->storm, "rank %d, item %d: message %d is not freed: %s", x->rank->actor->rank, x->index,
                       k, nbcoll_status_name(status));
        free(x->post[k].memory);
    }
}

static void close_messages(exchange *x)
{
    rank *r = x->rank;
    nbcoll_status status;
    while ((status = nbcoll_messages_close(x->messages)) == NBCOLL_ERR_BUSY) {
        nbcoll_progress(r->context);
        chain_look(r);
        storm_sleep(r->storm, 1 + rank_choose(r, MILLISECOND));
    }
    if (status != NBCOLL_OK && is_judged(x))
        storm_find(r->storm, "rank %d, item %d: its messages are not closed: %s", r->actor->rank, x->index,
                   nbcoll_status_name(status));
}

static bool open_messages(exchange *x)
{
    rank *r = x->rank;
    item opens = {.kind = ITEM_MESSAGES, .comm = x->item->comm};
    nbcoll_messages_config config = {.size = sizeof config};
    nbcoll_request request;
    nbcoll_status status;
    int tries = 0;

    config.credits = (uint32_t)ONE_OF(&r->random, 0, 1, 2, 5);
    config.eager = (uint32_t)ONE_OF(&r->random, 0, 1, 60, 300);
    if (r->agent && r->storm->plan.edition >= EDITION_OF_ROUTES)
        config.routes = (size_t)ONE_OF(&r->random, 0, 1, 4, 32);
    while ((status = nbcoll_messages_iopen(r->comm[opens.comm], &config, &x->messages, &request)) != NBCOLL_OK)
        if (!rank_is_refused(r, x->index, status, tries++))
            return false;
    storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)x->index, 6);
    status = rank_wait(r, &request);
    nbcoll_failure failure = rank_failure(r, opens.comm);
    storm_note(r->storm, r->actor->rank, NOTE_ENDS, (uint64_t)x->index, status);
    judge_end(r->actor, &opens, x->index, status, &failure, NULL);
    if (status != NBCOLL_OK)
        close_messages(x);
    return status == NBCOLL_OK;
}

void messages_run(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    place_in at = r->storm->plan.place[i->comm][r->actor->rank];
    exchange *x = calloc(1, sizeof *x);
    *x = (exchange){.rank = r, .item = i, .index = n, .at = at.rank, .ranks = at.size};

    draw_letters(x);
    if (open_messages(x)) {
        int rounds = x->mode == EXACT ? i->times : 1;
        r->messages = x->messages;
        for (; x->round < rounds && !x->gives_up; x->round++) {
            begin_all(x);
            wait_all(x);
            judge_order(x);
            judge_sent(x);
            if (x->has_rings && !x->gives_up)
                go_round(x);
            if (x->round + 1 < rounds)
                forget_posts(x);
        }
        r->messages = NULL;
        close_messages(x);
        free_posts(x);
        free(x->ring);
    }
    free(x);
}
