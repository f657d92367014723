/* SPDX-License-Identifier: BSD-3-Clause
 * The calls that add steps and edges. Each checks what it is given; the first error stops the builder. What readers of
 * this rank's memory cannot fetch is turned into sends and receives here, while it is added. */
#include "builder.h"
#include "require.h"

/* Room for `n` more items of `bytes` bytes, or null. */
static void *nbcolli_builder_extend(nbcolli_builder *b, nbcolli_array *a, size_t n, size_t bytes)
{
    if (!NBCOLLI_BUILDER_REQUIRE(b, n <= NBCOLLI_MOST - a->used, NBCOLL_ERR_LIMIT,
                                 "more than %zu steps, edges or parts", NBCOLLI_MOST))
        return NULL;
    size_t room = a->room ? a->room : 16;
    while (room < a->used + n)
        room *= 2;
    if (room > a->room) {
        size_t size;
        void *items = NULL;
        if (!__builtin_mul_overflow(room, bytes, &size))
            items = nbcolli_alloc(&b->host, size, 64);
        if (!NBCOLLI_BUILDER_REQUIRE(b, items != NULL, NBCOLL_ERR_MEMORY, "no memory"))
            return NULL;
        if (a->used)
            memcpy(items, a->items, a->used * bytes);
        nbcolli_free(&b->host, a->items, a->room * bytes);
        a->items = items;
        a->room = room;
    }
    void *added = (char *)a->items + a->used * bytes;
    a->used += n;
    return added;
}

/* ---- steps and edges --------------------------------------------------------------------------------------------- */

void nbcolli_builder_edge(nbcolli_builder *b, nbcoll_step step, nbcoll_step earlier)
{
    nbcolli_entry *edge = nbcolli_builder_extend(b, &b->edges, 1, sizeof *edge);
    if (!edge)
        return;
    *edge = (nbcolli_entry){nbcolli_key(earlier, step), 0};
    nbcolli_drafts(b)[earlier].is_followed = 1;
}

/* Nobody has touched what a group's receive writes to if that is the group's own: it need not wait for what the group
 * waits for, and is there when the message comes. */
static int nbcolli_builder_is_early(const nbcolli_builder *b, const nbcoll_step_view *view)
{
    return view->kind == NBCOLL_RECV && b->gate == b->entry && view->write.at.buffer == NBCOLL_BUFFER_SCRATCH &&
           view->write.at.offset >= b->fresh;
}

nbcoll_step nbcolli_builder_add(nbcolli_builder *b, const nbcoll_step_view *view)
{
    nbcolli_draft *draft = b->status == NBCOLL_OK ? nbcolli_builder_extend(b, &b->drafts, 1, sizeof *draft) : NULL;
    if (!draft)
        return NBCOLL_START;
    *draft = (nbcolli_draft){.view = *view, .group = b->group};
    nbcoll_step step = (nbcoll_step)(b->drafts.used - 1);
    if (b->gate != NBCOLL_START && !nbcolli_builder_is_early(b, view))
        nbcolli_builder_edge(b, step, b->gate);
    return step;
}

nbcoll_step nbcolli_builder_join(nbcolli_builder *b)
{
    return nbcolli_builder_add(b, &(nbcoll_step_view){.kind = NBCOLL_JOIN, .peer = -1});
}

/* The draft of a step that exists, or null. */
static nbcolli_draft *nbcolli_builder_draft(nbcolli_builder *b, nbcoll_step step)
{
    if (!NBCOLLI_BUILDER_REQUIRE_OF(b, step, step < b->drafts.used, NBCOLL_ERR_ARGUMENT, "there are only %zu steps",
                                    b->drafts.used))
        return NULL;
    return &nbcolli_drafts(b)[step];
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static int nbcolli_builder_end(nbcolli_builder *b, nbcoll_region r)
{
    return NBCOLLI_BUILDER_REQUIRE(b, r.bytes <= SIZE_MAX - r.at.offset, NBCOLL_ERR_COUNT,
                                   "%zu bytes from %zu on overflow", r.bytes, r.at.offset);
}

int nbcolli_builder_region(nbcolli_builder *b, nbcoll_region r, int is_written)
{
    unsigned buffer = (unsigned)r.at.buffer;
    return NBCOLLI_BUILDER_REQUIRE(b, buffer < NBCOLL_BUFFER_COUNT, NBCOLL_ERR_ARGUMENT, "there is no buffer %u",
                                   buffer) &&
           NBCOLLI_BUILDER_REQUIRE(b, buffer < NBCOLL_BUFFER_SEND_BLOCK, NBCOLL_ERR_ARGUMENT,
                                   "a bound block may not stand here") &&
           nbcolli_builder_end(b, r) &&
           NBCOLLI_BUILDER_REQUIRE(b, !is_written || !r.bytes || buffer != NBCOLL_BUFFER_SEND, NBCOLL_ERR_ARGUMENT,
                                   "it writes send[%zu,%zu), and the send buffer is never written", r.at.offset,
                                   r.at.offset + r.bytes);
}

/* Where a bound block may stand too. */
static int nbcolli_builder_region_or_block(nbcolli_builder *b, nbcoll_region r, int is_written)
{
    nbcoll_buffer block = is_written ? NBCOLL_BUFFER_RECV_BLOCK : NBCOLL_BUFFER_SEND_BLOCK;
    if ((unsigned)r.at.buffer >= NBCOLL_BUFFER_COUNT || !nbcolli_is_block(r.at))
        return nbcolli_builder_region(b, r, is_written);
    return NBCOLLI_BUILDER_REQUIRE(b, !b->group, NBCOLL_ERR_ARGUMENT, "a bound block inside a group") &&
           NBCOLLI_BUILDER_REQUIRE(b, r.at.offset < (size_t)b->head.ranks, NBCOLL_ERR_ARGUMENT, "bound block %zu of %d",
                                   r.at.offset, b->head.ranks) &&
           NBCOLLI_BUILDER_REQUIRE(b, !r.bytes, NBCOLL_ERR_ARGUMENT,
                                   "bound block %zu with %zu bytes, which only the start can know", r.at.offset,
                                   r.bytes) &&
           NBCOLLI_BUILDER_REQUIRE(b, nbcolli_is_packed(r.at) || r.at.buffer == block, NBCOLL_ERR_ARGUMENT,
                                   is_written ? "a block of the send buffer is written"
                                              : "a block of the receive buffer is "
                                                "read");
}

int nbcolli_builder_peer(nbcolli_builder *b, int peer)
{
    return NBCOLLI_BUILDER_REQUIRE(b, peer >= 0 && peer < b->head.ranks, NBCOLL_ERR_RANK, "peer %d is outside 0..%d",
                                   peer, b->head.ranks - 1) &&
           NBCOLLI_BUILDER_REQUIRE(b, peer != b->head.rank, NBCOLL_ERR_RANK, "peer %d is the rank itself", peer);
}

int nbcolli_builder_overlap(nbcoll_region r, nbcoll_region s)
{
    return r.bytes && s.bytes && r.at.buffer == s.at.buffer && r.at.offset < s.at.offset + s.bytes &&
           s.at.offset < r.at.offset + r.bytes;
}

int nbcolli_builder_shares(nbcolli_builder *b, int peer)
{
    return b->shares && b->shares(b->shares_user, nbcolli_builder_member(b, peer));
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static nbcoll_step nbcolli_builder_add_send(nbcolli_builder *b, int peer, nbcoll_region from)
{
    int member = nbcolli_builder_member(b, peer);
    return nbcolli_builder_add(b, &(nbcoll_step_view){.kind = NBCOLL_SEND, .peer = member, .read = {from}});
}

nbcoll_step nbcolli_builder_add_recv(nbcolli_builder *b, int peer, nbcoll_region to)
{
    int member = nbcolli_builder_member(b, peer);
    return nbcolli_builder_add(b, &(nbcoll_step_view){.kind = NBCOLL_RECV, .peer = member, .write = to});
}

nbcoll_step nbcoll_add_send(nbcoll_builder *builder, int peer, nbcoll_addr from, size_t bytes)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_send");
    nbcoll_region region = nbcoll_span(from, bytes);
    if (!b || !nbcolli_builder_peer(b, peer) || !nbcolli_builder_region_or_block(b, region, 0))
        return NBCOLL_START;
    return nbcolli_builder_add_send(b, peer, region);
}

nbcoll_step nbcoll_add_recv(nbcoll_builder *builder, int peer, nbcoll_addr to, size_t bytes)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_recv");
    nbcoll_region region = nbcoll_span(to, bytes);
    if (!b || !nbcolli_builder_peer(b, peer) || !nbcolli_builder_region_or_block(b, region, 1))
        return NBCOLL_START;
    return nbcolli_builder_add_recv(b, peer, region);
}

/* What was lowered is refused too: a builder that works must not stop working where memory is shared. */
void nbcoll_set_number(nbcoll_builder *builder, nbcoll_step step, uint32_t number)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_set_number");
    nbcolli_draft *draft = b ? nbcolli_builder_draft(b, step) : NULL;
    if (!draft)
        return;
    int is_message = draft->view.kind == NBCOLL_SEND || draft->view.kind == NBCOLL_RECV;
    if (!NBCOLLI_BUILDER_REQUIRE_OF(b, step, is_message && !draft->is_lowered, NBCOLL_ERR_ARGUMENT,
                                    "it is no SEND or RECV"))
        return;
    draft->view.number = number;
    draft->is_numbered = 1;
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

static int nbcolli_builder_check_parts(nbcolli_builder *b, size_t n, const nbcoll_part parts[])
{
    if (!NBCOLLI_BUILDER_REQUIRE(b, !n || parts, NBCOLL_ERR_NULL, "parts is null"))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!nbcolli_builder_peer(b, parts[i].peer) || !nbcolli_builder_region(b, parts[i].region, 0))
            return 0;
    return 1;
}

/* The EXPOSE of those parts whose readers share memory, if there are any. */
static void nbcolli_builder_add_expose(nbcolli_builder *b, size_t n, const nbcoll_part parts[])
{
    size_t first = b->parts.used;
    for (size_t i = 0; i < n; i++) {
        if (!nbcolli_builder_shares(b, parts[i].peer))
            continue;
        nbcoll_part *part = nbcolli_builder_extend(b, &b->parts, 1, sizeof *part);
        if (!part)
            return;
        *part = (nbcoll_part){.peer = nbcolli_builder_member(b, parts[i].peer), .region = parts[i].region};
    }
    if (b->parts.used == first)
        return;
    nbcoll_step step = nbcolli_builder_add(
        b, &(nbcoll_step_view){.kind = NBCOLL_EXPOSE, .peer = -1, .part_count = (uint32_t)(b->parts.used - first)});
    if (b->status == NBCOLL_OK)
        nbcolli_drafts(b)[step].part = (uint32_t)first;
}

nbcoll_step nbcolli_builder_expose(nbcolli_builder *b, size_t n, const nbcoll_part parts[])
{
    if (!nbcolli_builder_check_parts(b, n, parts))
        return NBCOLL_START;
    nbcoll_step first = (nbcoll_step)b->drafts.used;
    nbcolli_builder_add_expose(b, n, parts);
    for (size_t i = 0; i < n && b->status == NBCOLL_OK; i++)
        if (!nbcolli_builder_shares(b, parts[i].peer))
            nbcolli_builder_add_send(b, parts[i].peer, parts[i].region);
    uint32_t added = (uint32_t)(b->drafts.used - first);
    nbcoll_step step = added == 1 ? first : nbcolli_builder_join(b);
    if (b->status != NBCOLL_OK)
        return NBCOLL_START;
    nbcolli_drafts(b)[step].is_lowered = 1;
    for (nbcoll_step member = first; member < step; member++) {
        nbcolli_drafts(b)[member].is_lowered = 1;
        nbcolli_builder_edge(b, step, member);
    }
    nbcolli_drafts(b)[step].members = step - first;
    return step;
}

nbcoll_step nbcoll_add_expose(nbcoll_builder *builder, size_t n, const nbcoll_part parts[])
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_expose");
    return b ? nbcolli_builder_expose(b, n, parts) : NBCOLL_START;
}

nbcoll_part *nbcoll_builder_parts(nbcoll_builder *builder, size_t n)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_builder_parts");
    return b ? nbcolli_builder_parts(b, n) : NULL;
}

nbcoll_step nbcoll_add_expose_to_all(nbcoll_builder *builder, nbcoll_addr at, size_t bytes)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_expose_to_all");
    if (!b)
        return NBCOLL_START;
    nbcoll_part *parts = nbcolli_builder_parts(b, (size_t)b->head.ranks);
    size_t others = (size_t)b->head.ranks - 1;
    for (size_t i = 0; parts && i < others; i++) { /* the next one first: where they are messages, not all to rank 0 */
        int peer = (int)(((size_t)b->head.rank + 1 + i) % (size_t)b->head.ranks);
        parts[i] = (nbcoll_part){.peer = peer, .region = nbcoll_span(at, bytes)};
    }
    return parts ? nbcolli_builder_expose(b, others, parts) : NBCOLL_START;
}

nbcoll_step nbcoll_add_fetch(nbcoll_builder *builder, int peer, nbcoll_addr to, size_t bytes)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_fetch");
    nbcoll_region region = nbcoll_span(to, bytes);
    if (!b || !nbcolli_builder_peer(b, peer) || !nbcolli_builder_region(b, region, 1))
        return NBCOLL_START;
    int member = nbcolli_builder_member(b, peer);
    if (nbcolli_builder_shares(b, peer))
        return nbcolli_builder_add(b, &(nbcoll_step_view){.kind = NBCOLL_FETCH, .peer = member, .write = region});
    nbcoll_step step = nbcolli_builder_add_recv(b, peer, region);
    if (b->status == NBCOLL_OK)
        nbcolli_drafts(b)[step].is_lowered = 1;
    return step;
}

nbcoll_addr nbcolli_builder_take_scratch(nbcolli_builder *b, size_t bytes)
{
    nbcoll_addr at = {NBCOLL_BUFFER_SCRATCH, 0};
    if (!NBCOLLI_BUILDER_REQUIRE(b, bytes <= SIZE_MAX - 63 - b->scratch, NBCOLL_ERR_COUNT,
                                 "%zu bytes more than the %zu before overflow", bytes, b->scratch))
        return at;
    at.offset = b->scratch;
    b->scratch += (bytes + 63) / 64 * 64;
    return at;
}

/* ---- local work -------------------------------------------------------------------------------------------------- */

nbcoll_step nbcoll_add_copy(nbcoll_builder *builder, nbcoll_addr to, nbcoll_addr from, size_t bytes)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_copy");
    nbcoll_step_view view = {
        .kind = NBCOLL_COPY, .peer = -1, .write = nbcoll_span(to, bytes), .read = {nbcoll_span(from, bytes)}};
    if (!b || !nbcolli_builder_region_or_block(b, view.write, 1) ||
        !nbcolli_builder_region_or_block(b, view.read[0], 0) ||
        !NBCOLLI_BUILDER_REQUIRE(b, nbcolli_is_block(to) == nbcolli_is_block(from), NBCOLL_ERR_ARGUMENT,
                                 "a bound block is copied to or from what is none") ||
        !NBCOLLI_BUILDER_REQUIRE(b, !nbcolli_builder_overlap(view.write, view.read[0]), NBCOLL_ERR_ARGUMENT,
                                 "what is read and what is written overlap"))
        return NBCOLL_START;
    return nbcolli_builder_add(b, &view);
}

/* Checks and copies the regions of a CALL. */
static int nbcolli_builder_call_regions(nbcolli_builder *b, size_t n, const nbcoll_region regions[], int is_written)
{
    if (!NBCOLLI_BUILDER_REQUIRE(b, !n || regions, NBCOLL_ERR_NULL, "regions are null"))
        return 0;
    nbcoll_part *part = nbcolli_builder_extend(b, &b->parts, n, sizeof *part);
    if (!part)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (!nbcolli_builder_region_or_block(b, regions[i], is_written))
            return 0;
        part[i] = (nbcoll_part){.peer = -1, .number = (uint32_t)is_written, .region = regions[i]};
    }
    return 1;
}

nbcoll_step nbcoll_add_call(nbcoll_builder *builder, nbcoll_host_call *function, void *user, size_t reads,
                            const nbcoll_region read[], size_t writes, const nbcoll_region written[])
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_call");
    if (!b)
        return NBCOLL_START;
    size_t first = b->parts.used;
    if (!NBCOLLI_BUILDER_REQUIRE(b, function != NULL, NBCOLL_ERR_NULL, "the function is null") ||
        !nbcolli_builder_call_regions(b, reads, read, 0) || !nbcolli_builder_call_regions(b, writes, written, 1))
        return NBCOLL_START;
    nbcoll_step step = nbcolli_builder_add(b, &(nbcoll_step_view){.kind = NBCOLL_CALL,
                                                                  .peer = -1,
                                                                  .call = function,
                                                                  .call_user = user,
                                                                  .part_count = (uint32_t)(b->parts.used - first)});
    if (b->status == NBCOLL_OK)
        nbcolli_drafts(b)[step].part = (uint32_t)first;
    return step;
}

/* ---- order and hints --------------------------------------------------------------------------------------------- */

nbcoll_step nbcoll_add_join(nbcoll_builder *builder)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_join");
    return b ? nbcolli_builder_join(b) : NBCOLL_START;
}

void nbcolli_builder_after(nbcolli_builder *b, nbcoll_step step, nbcoll_step earlier)
{
    /* The sends of a lowered EXPOSE wait themselves, its join waits for them; the receive of a lowered FETCH_REDUCE
     * writes fresh memory and need not wait. */
    const nbcolli_draft *draft = &nbcolli_drafts(b)[step];
    uint32_t members = draft->view.kind == NBCOLL_JOIN ? draft->members : 0;
    for (nbcoll_step member = step - members; member < step; member++)
        nbcolli_builder_edge(b, member, earlier);
    if (!members)
        nbcolli_builder_edge(b, step, earlier);
}

void nbcoll_after(nbcoll_builder *builder, nbcoll_step step, nbcoll_step earlier)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_after");
    nbcolli_draft *draft = b ? nbcolli_builder_draft(b, step) : NULL;
    if (!draft || !NBCOLLI_BUILDER_REQUIRE_OF(b, step, earlier < b->drafts.used, NBCOLL_ERR_ARGUMENT,
                                              "it waits for step %u, and there are only %zu", earlier, b->drafts.used))
        return;
    if (earlier == NBCOLL_START || (step == NBCOLL_END && earlier != NBCOLL_END))
        return;
    if (!NBCOLLI_BUILDER_REQUIRE_OF(b, step, step != NBCOLL_START, NBCOLL_ERR_CYCLE, "the start waits for nothing") ||
        !NBCOLLI_BUILDER_REQUIRE_OF(b, step, earlier != NBCOLL_END, NBCOLL_ERR_CYCLE, "the end waits for it"))
        return;
    nbcolli_builder_after(b, step, earlier);
}

void nbcoll_end_stage(nbcoll_builder *builder, nbcoll_stage_kind kind)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_end_stage");
    if (!b || !NBCOLLI_BUILDER_REQUIRE(b, kind == NBCOLL_NON_DEPENDENT || kind == NBCOLL_DEPENDENT, NBCOLL_ERR_ARGUMENT,
                                       "there is no kind %d", (int)kind))
        return;
    nbcoll_step first = b->stage, end = (nbcoll_step)b->drafts.used;
    if (kind == NBCOLL_DEPENDENT && first != end) {
        /* Its steps wait for the gate before; the new gate waits for them. */
        b->gate = NBCOLL_START;
        nbcoll_step gate = nbcolli_builder_join(b);
        for (nbcoll_step step = first; step < end && b->status == NBCOLL_OK; step++)
            nbcolli_builder_edge(b, gate, step);
        if (b->entry != NBCOLL_START) /* which early receives do not wait for */
            nbcolli_builder_edge(b, gate, b->entry);
        b->gate = gate;
    }
    b->stage = (nbcoll_step)b->drafts.used;
}

nbcoll_addr nbcoll_add_scratch(nbcoll_builder *builder, size_t bytes)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_scratch");
    return b ? nbcolli_builder_take_scratch(b, bytes) : (nbcoll_addr){NBCOLL_BUFFER_SCRATCH, 0};
}

void nbcoll_set_lane(nbcoll_builder *builder, nbcoll_step step, nbcoll_lane lane)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_set_lane");
    nbcolli_draft *draft = b ? nbcolli_builder_draft(b, step) : NULL;
    if (!draft || !NBCOLLI_BUILDER_REQUIRE_OF(b, step, (unsigned)lane <= NBCOLL_LANE_START, NBCOLL_ERR_ARGUMENT,
                                              "there is no lane %d", (int)lane))
        return;
    for (uint32_t i = 0; i <= draft->members; i++)
        (draft - i)->view.lane = lane;
}

void nbcoll_set_split_lane(nbcoll_builder *builder, nbcoll_step step, unsigned split, int apart, nbcoll_lane own)
{
    if (split)
        nbcoll_set_lane(builder, step, split < 31 && apart >> split ? NBCOLL_LANE_PROGRESS : own);
}

void nbcoll_set_name(nbcoll_builder *builder, const char *name)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_set_name");
    if (!b || !NBCOLLI_BUILDER_REQUIRE(b, name != NULL, NBCOLL_ERR_NULL, "the name is null"))
        return;
    size_t length = strlen(name);
    if (length > sizeof b->name - 1)
        length = sizeof b->name - 1;
    memcpy(b->name, name, length);
    b->name[length] = '\0';
}

void nbcoll_set_preposted(nbcoll_builder *builder)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_set_preposted");
    if (b)
        b->is_preposted = 1;
}

void nbcoll_set_fingerprint(nbcoll_builder *builder, uint32_t fingerprint)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_set_fingerprint");
    if (b)
        b->fingerprint = fingerprint;
}

void nbcoll_builder_fail(nbcoll_builder *builder, nbcoll_status status)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_builder_fail");
    int is_error = status >= NBCOLL_ERR_ARGUMENT && status < NBCOLL_STATUS_COUNT;
    if (status == NBCOLL_OK || !b)
        return;
    nbcolli_builder_refuse(b, is_error ? status : NBCOLL_ERR_ARGUMENT, nbcolli_builder_next(b), "%s",
                           nbcoll_status_text(status));
}

/* ---- the builder ------------------------------------------------------------------------------------------------- */

static void nbcolli_builder_close(nbcolli_builder *b)
{
    nbcoll_host host = b->host;
    while (b->rooms) {
        nbcolli_room *room = b->rooms;
        b->rooms = room->next;
        nbcolli_free(&host, room, room->bytes);
    }
    nbcolli_free(&host, b->drafts.items, b->drafts.room * sizeof(nbcolli_draft));
    nbcolli_free(&host, b->edges.items, b->edges.room * sizeof(nbcolli_entry));
    nbcolli_free(&host, b->parts.items, b->parts.room * sizeof(nbcoll_part));
    nbcolli_free(&host, b, sizeof *b);
}

nbcoll_status nbcoll_builder_open(const nbcoll_builder_config *config, nbcoll_builder **out)
{
    nbcoll_builder_config c = {0};
    nbcoll_host host = {0};
    if (!config || !out)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&c, config, sizeof c) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    /* A host of size 0 is one that sets nothing. */
    if (c.host && c.host->size && nbcolli_copy_tagged(&host, c.host, sizeof host) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (c.rank < 0 || c.rank >= c.ranks || (c.nodes && c.nodes->ranks != c.ranks))
        return NBCOLL_ERR_RANK;
    nbcolli_builder *b = nbcolli_alloc(&host, sizeof *b, 64);
    if (!b)
        return NBCOLL_ERR_MEMORY;
    *b = (nbcolli_builder){.head = {c.rank, c.ranks, c.nodes},
                           .rank = c.rank,
                           .ranks = c.ranks,
                           .nodes = {sizeof b->nodes, c.ranks, 1, 1, NULL, NULL, NULL, NULL, NULL},
                           .host = host,
                           .shares = c.shares,
                           .shares_user = c.shares_user,
                           .name = "schedule"};
    if (!c.nodes)
        b->head.nodes = &b->nodes;
    nbcolli_builder_join(b); /* START */
    nbcolli_builder_join(b); /* END */
    nbcoll_status status = b->status;
    b->stage = (nbcoll_step)b->drafts.used;
    if (status == NBCOLL_OK)
        *out = &b->head;
    else
        nbcolli_builder_close(b);
    return status;
}

nbcoll_status nbcoll_builder_finish(nbcoll_builder *builder, nbcoll_schedule **out)
{
    nbcolli_builder *b = nbcolli_builder_of(builder);
    if (!b)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = b->status;
    if (nbcolli_builder_enter(builder, "nbcoll_builder_finish") && out)
        status = nbcolli_assemble(b, out);
    if (status != NBCOLL_OK && b->host.log)
        b->host.log(b->host.user, status, b->text);
    nbcolli_builder_close(b);
    return status;
}
