/* SPDX-License-Identifier: BSD-3-Clause
 * Builders and finished schedules: what each call adds, what each refuses, how EXPOSE and FETCH are lowered, how stages
 * and limits become edges, and that no allocation can fail unnoticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/inline/schedule.h"
#include "nbcoll/schedule.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))
#define SEED UINT64_C(20240611)

static const nbcoll_reduction sum_i32 = {NBCOLL_INT32, NBCOLL_SUM};

static nbcoll_addr in_send(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_SEND, offset};
}

static nbcoll_addr in_recv(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_RECV, offset};
}

static int with_all(void *user, int peer)
{
    (void)user;
    (void)peer;
    return 1;
}

static int with_even(void *user, int peer)
{
    (void)user;
    return peer % 2 == 0;
}

/* A builder for rank 1 of 8. */
static nbcoll_builder *opened(nbcoll_shares *shares)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 1, .ranks = 8, .shares = shares};
    nbcoll_builder *b = NULL;
    assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
    return b;
}

static nbcoll_schedule *finished(nbcoll_builder *b)
{
    nbcoll_schedule *s = NULL;
    assert_int_equal(nbcoll_builder_finish(b, &s), NBCOLL_OK);
    assert_non_null(s);
    return s;
}

static void assert_refused(nbcoll_builder *b, nbcoll_status why)
{
    nbcoll_schedule *s = NULL;
    assert_string_equal(nbcoll_status_name(nbcoll_builder_finish(b, &s)), nbcoll_status_name(why));
    assert_null(s);
}

static nbcoll_schedule_info info_of(const nbcoll_schedule *s)
{
    nbcoll_schedule_info info = {.size = sizeof info};
    assert_int_equal(nbcoll_schedule_query(s, &info), NBCOLL_OK);
    return info;
}

static const nbcoll_step_view *view(const nbcoll_schedule *s, nbcoll_step step)
{
    const nbcoll_step_view *v = nbcoll_schedule_step(s, step);
    assert_non_null(v);
    return v;
}

static int waits_for(const nbcoll_schedule *s, nbcoll_step step, nbcoll_step earlier)
{
    const nbcoll_step_view *v = view(s, earlier);
    for (uint32_t i = 0; i < v->after_count; i++)
        if (v->after[i] == step)
            return 1;
    return 0;
}

static void assert_region(nbcoll_region r, nbcoll_addr at, size_t bytes)
{
    assert_int_equal(r.bytes, bytes);
    if (bytes) {
        assert_int_equal(r.at.buffer, at.buffer);
        assert_int_equal(r.at.offset, at.offset);
    }
}

static void assert_same_step(const nbcoll_step_view *v, const nbcoll_step_view *w)
{
    assert_int_equal(v->kind, w->kind);
    assert_int_equal(v->lane, w->lane);
    assert_int_equal(v->peer, w->peer);
    assert_int_equal(v->number, w->number);
    assert_region(v->write, w->write.at, w->write.bytes);
    assert_region(v->read[0], w->read[0].at, w->read[0].bytes);
    assert_region(v->read[1], w->read[1].at, w->read[1].bytes);
    assert_int_equal(v->before, w->before);
    assert_int_equal(v->after_count, w->after_count);
    for (uint32_t i = 0; i < v->after_count; i++)
        assert_int_equal(v->after[i], w->after[i]);
}

static void assert_same(const nbcoll_schedule *s, const nbcoll_schedule *t)
{
    assert_int_equal(info_of(s).steps, info_of(t).steps);
    assert_int_equal(info_of(s).edges, info_of(t).edges);
    for (nbcoll_step i = 0; i < info_of(s).steps; i++)
        assert_same_step(view(s, i), view(t, i));
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- opening, finishing, reading ------------------------------------------------------------------------------- */

static void open_refuses_null(void **state)
{
    (void)state;
    nbcoll_builder_config config = {.size = sizeof config, .ranks = 1};
    nbcoll_builder *b = NULL;
    assert_int_equal(nbcoll_builder_open(NULL, &b), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_builder_open(&config, NULL), NBCOLL_ERR_NULL);
    assert_null(b);
}

static void open_refuses_a_config_without_size(void **state)
{
    (void)state;
    nbcoll_builder_config config = {.ranks = 1};
    nbcoll_host host = {.size = 1};
    nbcoll_builder *b = NULL;
    assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_ERR_CONFIG);
    config.size = sizeof config;
    config.host = &host;
    assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_ERR_CONFIG);
    assert_null(b);
}

static void open_refuses_a_rank_outside(void **state)
{
    (void)state;
    static const int wrong[][2] = {{-1, 4}, {4, 4}, {0, 0}, {0, -1}};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        nbcoll_builder_config config = {.size = sizeof config, .rank = wrong[i][0], .ranks = wrong[i][1]};
        nbcoll_builder *b = NULL;
        assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_ERR_RANK);
        assert_null(b);
    }
}

static void a_builder_shows_rank_and_ranks(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    assert_int_equal(b->rank, 1);
    assert_int_equal(b->ranks, 8);
    nbcoll_schedule_free(finished(b));
}

static void an_empty_schedule_is_start_and_end(void **state)
{
    (void)state;
    nbcoll_schedule *s = finished(opened(NULL));
    nbcoll_schedule_info info = info_of(s);
    assert_string_equal(info.name, "schedule");
    assert_int_equal(info.rank, 1);
    assert_int_equal(info.ranks, 8);
    assert_int_equal(info.steps, 2);
    assert_int_equal(info.edges, 0);
    assert_int_equal(info.fingerprint, 0);
    assert_int_equal(view(s, NBCOLL_START)->kind, NBCOLL_JOIN);
    assert_int_equal(view(s, NBCOLL_END)->kind, NBCOLL_JOIN);
    nbcoll_schedule_free(s);
}

static void query_refuses_null_and_a_struct_without_size(void **state)
{
    (void)state;
    nbcoll_schedule *s = finished(opened(NULL));
    nbcoll_schedule_info info = {.size = sizeof info};
    assert_int_equal(nbcoll_schedule_query(NULL, &info), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_schedule_query(s, NULL), NBCOLL_ERR_NULL);
    info.size = 0;
    assert_int_equal(nbcoll_schedule_query(s, &info), NBCOLL_ERR_CONFIG);
    nbcoll_schedule_free(s);
}

static void query_writes_no_more_than_the_size_it_is_given(void **state)
{
    (void)state;
    nbcoll_schedule *s = finished(opened(NULL));
    nbcoll_schedule_info info = {.size = offsetof(nbcoll_schedule_info, steps), .steps = 77};
    assert_int_equal(nbcoll_schedule_query(s, &info), NBCOLL_OK);
    assert_int_equal(info.size, offsetof(nbcoll_schedule_info, steps));
    assert_int_equal(info.ranks, 8);
    assert_int_equal(info.steps, 77);
    nbcoll_schedule_free(s);
}

static void a_step_out_of_range_is_null(void **state)
{
    (void)state;
    nbcoll_schedule *s = finished(opened(NULL));
    assert_null(nbcoll_schedule_step(s, 2));
    assert_null(nbcoll_schedule_step(NULL, 0));
    nbcoll_schedule_free(s);
}

static void kinds_have_names(void **state)
{
    (void)state;
    assert_string_equal(nbcoll_kind_name(NBCOLL_JOIN), "JOIN");
    assert_string_equal(nbcoll_kind_name(NBCOLL_CALL), "CALL");
    assert_string_equal(nbcoll_kind_name(NBCOLL_KIND_COUNT), "?");
    assert_string_equal(nbcoll_kind_name((nbcoll_kind)-1), "?");
}

static void free_accepts_null_and_refuses_a_schedule_in_use(void **state)
{
    (void)state;
    nbcoll_schedule *s = finished(opened(NULL));
    assert_int_equal(nbcoll_schedule_free(NULL), NBCOLL_OK);
    s->users = 1;
    assert_int_equal(nbcoll_schedule_free(s), NBCOLL_ERR_BUSY);
    s->users = 0;
    assert_int_equal(nbcoll_schedule_free(s), NBCOLL_OK);
}

static void finish_without_out_only_closes(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_recv(b, 0, in_recv(0), 8);
    assert_int_equal(nbcoll_builder_finish(b, NULL), NBCOLL_OK);
    assert_int_equal(nbcoll_builder_finish(NULL, NULL), NBCOLL_ERR_NULL);
}

static void the_first_error_is_kept(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_builder_fail(b, NBCOLL_OK);
    nbcoll_builder_fail(b, NBCOLL_ERR_UNSUPPORTED);
    nbcoll_builder_fail(b, NBCOLL_ERR_ROOT);
    assert_int_equal(nbcoll_send(b, 99, in_send(0), 8), NBCOLL_START);
    nbcoll_after(b, 55, 66);
    assert_refused(b, NBCOLL_ERR_UNSUPPORTED);
}

static void failing_with_what_is_no_error_is_an_error(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_builder_fail(b, NBCOLL_PENDING);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
}

static void name_and_fingerprint_are_the_builders(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    char name[] = "ring";
    nbcoll_name(b, name);
    name[0] = 'k';
    nbcoll_fingerprint(b, 0xfedcba98u);
    nbcoll_schedule *s = finished(b);
    assert_string_equal(info_of(s).name, "ring");
    assert_int_equal(info_of(s).fingerprint, 0xfedcba98u);
    nbcoll_schedule_free(s);
}

static void a_long_name_is_cut_at_63_bytes(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    char name[101] = {0};
    memset(name, 'x', 100);
    nbcoll_name(b, name);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(strlen(info_of(s).name), 63);
    nbcoll_schedule_free(s);
}

/* ---- steps ----------------------------------------------------------------------------------------------------- */

static void send_and_recv_keep_their_arguments(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step send = nbcoll_send(b, 7, in_send(16), 24);
    nbcoll_step recv = nbcoll_recv(b, 0, in_recv(40), 0);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(send, 2);
    assert_int_equal(recv, 3);
    assert_int_equal(view(s, send)->kind, NBCOLL_SEND);
    assert_int_equal(view(s, send)->peer, 7);
    assert_region(view(s, send)->read[0], in_send(16), 24);
    assert_region(view(s, send)->write, in_send(0), 0);
    assert_int_equal(view(s, send)->lane, NBCOLL_LANE_CALLER);
    assert_int_equal(view(s, send)->before, 0);
    assert_int_equal(view(s, recv)->kind, NBCOLL_RECV);
    assert_int_equal(view(s, recv)->peer, 0);
    assert_region(view(s, recv)->write, in_recv(40), 0);
    nbcoll_schedule_free(s);
}

static void copy_keeps_its_arguments(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step copy = nbcoll_copy(b, in_recv(8), in_send(0), 32);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, copy)->kind, NBCOLL_COPY);
    assert_int_equal(view(s, copy)->peer, -1);
    assert_region(view(s, copy)->write, in_recv(8), 32);
    assert_region(view(s, copy)->read[0], in_send(0), 32);
    nbcoll_schedule_free(s);
}

static void combine_keeps_its_operands_on_their_sides(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step step = nbcoll_combine(b, in_recv(0), in_send(8), in_recv(64), 5, sum_i32);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, step)->kind, NBCOLL_REDUCE);
    assert_region(view(s, step)->write, in_recv(0), 20);
    assert_region(view(s, step)->read[NBCOLL_LEFT], in_send(8), 20);
    assert_region(view(s, step)->read[NBCOLL_RIGHT], in_recv(64), 20);
    assert_int_equal(view(s, step)->reduction.type, NBCOLL_INT32);
    assert_int_equal(view(s, step)->reduction.op, NBCOLL_SUM);
    nbcoll_schedule_free(s);
}

static nbcoll_status some_call(void *user, const nbcoll_piece pieces[])
{
    (void)user;
    (void)pieces;
    return NBCOLL_OK;
}

static void call_keeps_read_regions_then_written_ones(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    int user = 0;
    nbcoll_region read[] = {nbcoll_span(in_send(0), 8), nbcoll_span(in_recv(32), 4)};
    nbcoll_region written[] = {nbcoll_span(in_recv(0), 16)};
    nbcoll_step step = nbcoll_call(b, some_call, &user, 2, read, 1, written);
    memset(read, 0xff, sizeof read);
    nbcoll_schedule *s = finished(b);
    const nbcoll_step_view *v = view(s, step);
    assert_int_equal(v->kind, NBCOLL_CALL);
    assert_true(v->call == some_call);
    assert_ptr_equal(v->call_user, &user);
    assert_int_equal(v->part_count, 3);
    assert_region(v->parts[0].region, in_send(0), 8);
    assert_region(v->parts[1].region, in_recv(32), 4);
    assert_region(v->parts[2].region, in_recv(0), 16);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(v->parts[i].peer, -1);
        assert_int_equal(v->parts[i].number, i == 2);
    }
    nbcoll_schedule_free(s);
}

static void a_call_without_regions_is_accepted(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step step = nbcoll_call(b, some_call, NULL, 0, NULL, 0, NULL);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, step)->part_count, 0);
    assert_null(view(s, step)->parts);
    nbcoll_schedule_free(s);
}

static void scratch_is_fresh_and_aligned(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_addr first = nbcoll_scratch(b, 1), second = nbcoll_scratch(b, 65), third = nbcoll_scratch(b, 64);
    assert_int_equal(first.buffer, NBCOLL_BUFFER_SCRATCH);
    assert_int_equal(first.offset, 0);
    assert_int_equal(second.offset, 64);
    assert_int_equal(third.offset, 192);
    nbcoll_schedule_free(finished(b));
}

static void extents_are_the_bytes_that_steps_touch(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    nbcoll_part part = {.peer = 2, .region = nbcoll_span(in_send(100), 11)};
    nbcoll_region written = nbcoll_span(nbcoll_at(nbcoll_scratch(b, 64), 1), 2);
    nbcoll_send(b, 0, in_send(0), 8);
    nbcoll_recv(b, 0, in_recv(50), 7);
    nbcoll_recv(b, 0, in_recv(1000), 0); /* touches nothing */
    nbcoll_expose(b, 1, &part);
    nbcoll_call(b, some_call, NULL, 0, NULL, 1, &written);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).extent[NBCOLL_BUFFER_SEND], 111);
    assert_int_equal(info_of(s).extent[NBCOLL_BUFFER_RECV], 57);
    assert_int_equal(info_of(s).extent[NBCOLL_BUFFER_SCRATCH], 3);
    nbcoll_schedule_free(s);
}

static void a_lane_is_kept(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step join = nbcoll_join(b);
    nbcoll_on_lane(b, join, NBCOLL_LANE_RAIL);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, join)->lane, NBCOLL_LANE_RAIL);
    nbcoll_schedule_free(s);
}

/* ---- shared memory --------------------------------------------------------------------------------------------- */

/* Exposes part i of n to reader 2 + i, eight bytes each. */
static nbcoll_step expose_to(nbcoll_builder *b, int n)
{
    nbcoll_part parts[6] = {0};
    for (int i = 0; i < n; i++)
        parts[i] = (nbcoll_part){.peer = 2 + i, .number = 99, .region = nbcoll_span(in_send(8 * (size_t)i), 8)};
    return nbcoll_expose(b, (size_t)n, parts);
}

static void expose_to_sharing_readers_is_one_step(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    nbcoll_step first = expose_to(b, 3), second = expose_to(b, 1);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).steps, 4);
    assert_int_equal(view(s, first)->kind, NBCOLL_EXPOSE);
    assert_int_equal(view(s, first)->part_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(view(s, first)->parts[i].peer, 2 + i);
        assert_int_equal(view(s, first)->parts[i].number, 0);
        assert_region(view(s, first)->parts[i].region, in_send(8 * (size_t)i), 8);
    }
    assert_int_equal(view(s, second)->parts[0].number, 1);
    nbcoll_schedule_free(s);
}

static void expose_to_one_other_reader_is_a_send(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step step = expose_to(b, 1);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).steps, 3);
    assert_int_equal(view(s, step)->kind, NBCOLL_SEND);
    assert_int_equal(view(s, step)->peer, 2);
    assert_region(view(s, step)->read[0], in_send(0), 8);
    nbcoll_schedule_free(s);
}

static void expose_to_mixed_readers_is_expose_and_sends_and_a_join(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_even);
    nbcoll_step join = expose_to(b, 4); /* 2 and 4 share, 3 and 5 do not */
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).steps, 6);
    assert_int_equal(view(s, 2)->kind, NBCOLL_EXPOSE);
    assert_int_equal(view(s, 2)->part_count, 2);
    assert_int_equal(view(s, 2)->parts[0].peer, 2);
    assert_int_equal(view(s, 2)->parts[1].peer, 4);
    assert_int_equal(view(s, 3)->kind, NBCOLL_SEND);
    assert_int_equal(view(s, 3)->peer, 3);
    assert_int_equal(view(s, 4)->peer, 5);
    assert_int_equal(view(s, join)->kind, NBCOLL_JOIN);
    for (nbcoll_step piece = 2; piece < join; piece++)
        assert_true(waits_for(s, join, piece));
    nbcoll_schedule_free(s);
}

static void expose_of_nothing_is_a_join(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    nbcoll_step step = nbcoll_expose(b, 0, NULL);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, step)->kind, NBCOLL_JOIN);
    nbcoll_schedule_free(s);
}

static void after_and_lane_cover_all_pieces_of_a_lowered_expose(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_even);
    nbcoll_step data = nbcoll_recv(b, 0, in_recv(0), 8);
    nbcoll_step exposed = expose_to(b, 3);
    nbcoll_step later = nbcoll_join(b);
    nbcoll_after(b, exposed, data);
    nbcoll_after(b, later, exposed);
    nbcoll_on_lane(b, exposed, NBCOLL_LANE_PROGRESS);
    nbcoll_schedule *s = finished(b);
    for (nbcoll_step piece = data + 1; piece < exposed; piece++) {
        assert_true(waits_for(s, piece, data));
        assert_int_equal(view(s, piece)->lane, NBCOLL_LANE_PROGRESS);
    }
    assert_int_equal(view(s, exposed)->lane, NBCOLL_LANE_PROGRESS);
    assert_true(waits_for(s, later, exposed));
    assert_int_equal(view(s, data)->lane, NBCOLL_LANE_CALLER);
    nbcoll_schedule_free(s);
}

static void fetch_is_native_where_memory_is_shared(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_even);
    nbcoll_step native = nbcoll_fetch(b, 4, in_recv(8), 16), lowered = nbcoll_fetch(b, 3, in_recv(24), 16);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, native)->kind, NBCOLL_FETCH);
    assert_int_equal(view(s, native)->peer, 4);
    assert_int_equal(view(s, native)->number, 0);
    assert_region(view(s, native)->write, in_recv(8), 16);
    assert_int_equal(view(s, lowered)->kind, NBCOLL_RECV);
    assert_int_equal(view(s, lowered)->peer, 3);
    assert_region(view(s, lowered)->write, in_recv(24), 16);
    nbcoll_schedule_free(s);
}

static void fetch_reduce_is_native_where_memory_is_shared(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    nbcoll_step left = nbcoll_fetch_reduce(b, 2, in_recv(0), NBCOLL_LEFT, 4, sum_i32);
    nbcoll_step right = nbcoll_fetch_reduce(b, 2, in_recv(0), NBCOLL_RIGHT, 4, sum_i32);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, left)->kind, NBCOLL_FETCH_REDUCE);
    assert_int_equal(view(s, left)->side, NBCOLL_LEFT);
    assert_region(view(s, left)->write, in_recv(0), 16);
    assert_region(view(s, left)->read[NBCOLL_LEFT], in_recv(0), 0);
    assert_region(view(s, left)->read[NBCOLL_RIGHT], in_recv(0), 16);
    assert_int_equal(view(s, right)->side, NBCOLL_RIGHT);
    assert_region(view(s, right)->read[NBCOLL_LEFT], in_recv(0), 16);
    assert_int_equal(view(s, left)->number, 0);
    assert_int_equal(view(s, right)->number, 1);
    nbcoll_schedule_free(s);
}

static void fetch_reduce_is_lowered_to_an_early_receive_and_a_reduce(void **state)
{
    (void)state;
    static const nbcoll_side sides[] = {NBCOLL_LEFT, NBCOLL_RIGHT};
    for (int i = 0; i < 2; i++) {
        nbcoll_builder *b = opened(NULL);
        nbcoll_addr taken = nbcoll_scratch(b, 64);
        nbcoll_step ready = nbcoll_join(b);
        nbcoll_step reduce = nbcoll_fetch_reduce(b, 2, in_recv(0), sides[i], 4, sum_i32);
        nbcoll_after(b, reduce, ready);
        nbcoll_schedule *s = finished(b);
        nbcoll_step receive = reduce - 1;
        assert_int_equal(view(s, receive)->kind, NBCOLL_RECV);
        assert_int_equal(view(s, receive)->before, 0);
        assert_region(view(s, receive)->write, nbcoll_at(taken, 64), 16);
        assert_int_equal(view(s, reduce)->kind, NBCOLL_REDUCE);
        assert_int_equal(view(s, reduce)->peer, -1);
        assert_true(waits_for(s, reduce, receive));
        assert_true(waits_for(s, reduce, ready));
        assert_region(view(s, reduce)->write, in_recv(0), 16);
        assert_region(view(s, reduce)->read[sides[i]], nbcoll_at(taken, 64), 16);
        assert_region(view(s, reduce)->read[sides[i] ^ 1], in_recv(0), 16);
        nbcoll_schedule_free(s);
    }
}

/* The owner sends, then exposes; the reader fetches, then receives. Lowered or not, like must meet like. */
static void parts_and_plain_messages_match_apart_also_when_lowered(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step sent = nbcoll_send(b, 2, in_send(0), 8);
    nbcoll_step exposed = expose_to(b, 1);
    nbcoll_schedule *owner = finished(b);
    b = opened(NULL);
    nbcoll_step fetched = nbcoll_fetch(b, 2, in_recv(0), 8);
    nbcoll_step received = nbcoll_recv(b, 2, in_recv(8), 8);
    nbcoll_schedule *reader = finished(b);
    assert_int_equal(view(owner, sent)->number, 0);
    assert_int_equal(view(owner, sent)->number, view(reader, received)->number);
    assert_int_equal(view(owner, exposed)->number, UINT32_C(1) << 31);
    assert_int_equal(view(owner, exposed)->number, view(reader, fetched)->number);
    nbcoll_schedule_free(owner);
    nbcoll_schedule_free(reader);
}

/* ---- message numbers ------------------------------------------------------------------------------------------- */

static void messages_are_numbered_by_peer_and_direction(void **state)
{
    (void)state;
    static const struct {
        int is_send, peer;
        uint32_t number;
    } cases[] = {{1, 0, 0}, {1, 2, 0}, {1, 0, 1}, {0, 0, 0}, {0, 2, 0}, {1, 2, 1}, {0, 0, 1}, {1, 0, 2}};
    nbcoll_builder *b = opened(NULL);
    for (size_t i = 0; i < LENGTH(cases); i++)
        if (cases[i].is_send)
            nbcoll_send(b, cases[i].peer, in_send(0), 1);
        else
            nbcoll_recv(b, cases[i].peer, in_recv(i), 1);
    nbcoll_schedule *s = finished(b);
    for (size_t i = 0; i < LENGTH(cases); i++)
        assert_int_equal(view(s, (nbcoll_step)(2 + i))->number, cases[i].number);
    nbcoll_schedule_free(s);
}

static void given_numbers_are_passed_over(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step step[5];
    for (int i = 0; i < 5; i++)
        step[i] = nbcoll_recv(b, 0, in_recv((size_t)i), 1);
    nbcoll_number(b, step[4], 0);
    nbcoll_number(b, step[1], 77);
    nbcoll_number(b, step[1], 2); /* the last word counts */
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, step[0])->number, 1);
    assert_int_equal(view(s, step[1])->number, 2);
    assert_int_equal(view(s, step[2])->number, 3);
    assert_int_equal(view(s, step[3])->number, 4);
    assert_int_equal(view(s, step[4])->number, 0);
    nbcoll_schedule_free(s);
}

static void a_number_given_twice_is_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_number(b, nbcoll_send(b, 0, in_send(0), 1), 5);
    nbcoll_number(b, nbcoll_send(b, 0, in_send(0), 1), 5);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
}

static void the_same_number_for_two_peers_or_directions_is_accepted(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_number(b, nbcoll_send(b, 0, in_send(0), 1), UINT32_MAX);
    nbcoll_number(b, nbcoll_send(b, 2, in_send(0), 1), UINT32_MAX);
    nbcoll_number(b, nbcoll_recv(b, 0, in_recv(0), 1), UINT32_MAX);
    nbcoll_schedule_free(finished(b));
}

static void only_sends_and_receives_take_a_number(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_number(b, nbcoll_join(b), 0);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    /* Refused alike, whether memory is shared or not. */
    nbcoll_shares *const shares[] = {NULL, with_all};
    for (int i = 0; i < 2; i++) {
        b = opened(shares[i]);
        nbcoll_number(b, nbcoll_fetch(b, 0, in_recv(0), 1), 0);
        assert_refused(b, NBCOLL_ERR_ARGUMENT);
        b = opened(shares[i]);
        nbcoll_number(b, expose_to(b, 1), 0);
        assert_refused(b, NBCOLL_ERR_ARGUMENT);
    }
}

#define MANY 300

/* Random messages, some with numbers of their own, against the definition. */
static void numbers_are_those_of_the_definition(void **state)
{
    (void)state;
    uint64_t random = SEED;
    print_message("seed %llu\n", (unsigned long long)random);
    int peer[MANY], is_given[MANY];
    uint32_t expected[MANY];
    nbcoll_builder *b = opened(NULL);
    for (int i = 0; i < MANY; i++) {
        peer[i] = 2 + (int)(next_random(&random) % 3);
        is_given[i] = next_random(&random) % 3 == 0;
        nbcoll_step step = nbcoll_send(b, peer[i], in_send(0), 1);
        expected[i] = (uint32_t)((i * 7) % MANY); /* 7 and MANY have no common factor: all differ */
        if (is_given[i])
            nbcoll_number(b, step, expected[i]);
    }
    for (int i = 0; i < MANY; i++) {
        for (uint32_t number = 0; !is_given[i]; number++) {
            int is_free = 1;
            for (int j = 0; j < MANY; j++)
                if (peer[j] == peer[i] && expected[j] == number && (j < i || is_given[j]))
                    is_free = 0;
            if (is_free) {
                expected[i] = number;
                break;
            }
        }
    }
    nbcoll_schedule *s = finished(b);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(view(s, (nbcoll_step)(2 + i))->number, expected[i]);
        assert_int_equal(nbcolli_find_message(s->send, s->sends, peer[i], expected[i]), 2 + i);
    }
    nbcoll_schedule_free(s);
}

static void messages_are_found_by_peer_and_number(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step send = nbcoll_send(b, 5, in_send(0), 8);
    nbcoll_step recv = nbcoll_recv(b, 5, in_recv(0), 8);
    nbcoll_step join = nbcoll_join(b);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(s->sends, 1);
    assert_int_equal(s->recvs, 1);
    assert_int_equal(nbcolli_find_message(s->send, s->sends, 5, 0), send);
    assert_int_equal(nbcolli_find_message(s->recv, s->recvs, 5, 0), recv);
    assert_int_equal(nbcolli_find_message(s->recv, s->recvs, 5, 1), NBCOLL_START);
    assert_int_equal(nbcolli_find_message(s->recv, s->recvs, 4, 0), NBCOLL_START);
    assert_int_equal(s->ops, 2);
    assert_int_equal(s->op[send], 0);
    assert_int_equal(s->op[recv], 1);
    assert_int_equal(s->op[join], UINT32_MAX);
    nbcoll_schedule_free(s);
}

/* ---- edges ----------------------------------------------------------------------------------------------------- */

static void edges_are_sorted_and_counted_once(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step data = nbcoll_recv(b, 0, in_recv(0), 8), later[3];
    for (int i = 0; i < 3; i++)
        later[i] = nbcoll_send(b, 2 + i, in_recv(0), 8);
    for (int i = 2; i >= 0; i--) {
        nbcoll_after(b, later[i], data);
        nbcoll_after(b, later[i], data);
    }
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).edges, 3);
    assert_int_equal(view(s, data)->after_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(view(s, data)->after[i], later[i]);
        assert_int_equal(view(s, later[i])->before, 1);
    }
    nbcoll_schedule_free(s);
}

static void edges_from_start_and_to_end_say_nothing(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step step = nbcoll_join(b);
    nbcoll_after(b, step, NBCOLL_START);
    nbcoll_after(b, NBCOLL_END, step);
    nbcoll_after(b, NBCOLL_END, NBCOLL_START);
    nbcoll_after(b, NBCOLL_START, NBCOLL_START);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).edges, 0);
    nbcoll_schedule_free(s);
}

static void random_edges_are_kept(void **state)
{
    (void)state;
    static unsigned char is_edge[MANY][MANY];
    uint64_t random = SEED;
    print_message("seed %llu\n", (unsigned long long)random);
    nbcoll_builder *b = opened(NULL);
    uint32_t edges = 0;
    for (int i = 0; i < MANY; i++)
        nbcoll_join(b);
    for (int i = 0; i < 10 * MANY; i++) {
        /* Edges go from the higher step to the lower, so that creation order does not help. */
        unsigned earlier = 1 + (unsigned)(next_random(&random) % (MANY - 1));
        unsigned later = (unsigned)(next_random(&random) % earlier);
        edges += !is_edge[earlier][later];
        is_edge[earlier][later] = 1;
        nbcoll_after(b, 2 + later, 2 + earlier);
    }
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).edges, edges);
    for (unsigned earlier = 0; earlier < MANY; earlier++) {
        const nbcoll_step_view *v = view(s, 2 + earlier);
        for (uint32_t i = 0; i < v->after_count; i++) {
            assert_true(is_edge[earlier][v->after[i] - 2]);
            assert_true(i == 0 || v->after[i - 1] < v->after[i]);
        }
        uint32_t before = 0;
        for (unsigned other = 0; other < MANY; other++)
            before += is_edge[other][earlier];
        assert_int_equal(v->before, before);
    }
    nbcoll_schedule_free(s);
}

static void a_cycle_is_refused(void **state)
{
    (void)state;
    for (int length = 1; length <= 5; length++) {
        nbcoll_builder *b = opened(NULL);
        nbcoll_step first = nbcoll_join(b), last = first;
        for (int i = 1; i < length; i++) {
            nbcoll_step next = nbcoll_join(b);
            nbcoll_after(b, next, last);
            last = next;
        }
        nbcoll_after(b, first, last);
        assert_refused(b, NBCOLL_ERR_CYCLE);
    }
}

static void waiting_for_end_or_holding_back_start_is_a_cycle(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_after(b, nbcoll_join(b), NBCOLL_END);
    assert_refused(b, NBCOLL_ERR_CYCLE);
    b = opened(NULL);
    nbcoll_after(b, NBCOLL_START, nbcoll_join(b));
    assert_refused(b, NBCOLL_ERR_CYCLE);
    b = opened(NULL);
    nbcoll_after(b, NBCOLL_END, NBCOLL_END);
    assert_refused(b, NBCOLL_ERR_CYCLE);
}

static void waiting_for_a_later_stage_is_a_cycle(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step first = nbcoll_recv(b, 0, in_recv(0), 8);
    nbcoll_stage(b, NBCOLL_DEPENDENT);
    nbcoll_step second = nbcoll_recv(b, 0, in_recv(8), 8);
    nbcoll_after(b, first, second);
    assert_refused(b, NBCOLL_ERR_CYCLE);
}

static void a_hundred_thousand_steps_are_finished(void **state)
{
    (void)state;
    const uint32_t n = 100000;
    nbcoll_builder *b = opened(NULL);
    for (uint32_t i = 0; i < n; i++) {
        nbcoll_step step = i % 2 ? nbcoll_send(b, 0, in_recv(0), 8) : nbcoll_recv(b, 2, in_recv(i), 8);
        for (uint32_t back = 1; back <= 3 && back <= i; back++)
            nbcoll_after(b, step, step - back);
    }
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).steps, n + 2);
    assert_int_equal(info_of(s).edges, 3 * n - 6);
    assert_int_equal(view(s, n + 1)->number, n / 2 - 1);
    nbcoll_schedule_free(s);
}

/* ---- stages and limits ----------------------------------------------------------------------------------------- */

static void a_stage_queue_is_the_equivalent_graph(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_recv(b, 0, in_recv(0), 8);
    nbcoll_recv(b, 2, in_recv(8), 8);
    nbcoll_stage(b, NBCOLL_DEPENDENT);
    nbcoll_send(b, 3, in_recv(0), 8);
    nbcoll_stage(b, NBCOLL_NON_DEPENDENT);
    nbcoll_recv(b, 0, in_recv(16), 8);
    nbcoll_stage(b, NBCOLL_DEPENDENT);
    nbcoll_stage(b, NBCOLL_DEPENDENT); /* empty: nothing more to wait for */
    nbcoll_send(b, 3, in_recv(16), 8);
    nbcoll_schedule *staged = finished(b);

    b = opened(NULL);
    nbcoll_step first = nbcoll_recv(b, 0, in_recv(0), 8);
    nbcoll_step second = nbcoll_recv(b, 2, in_recv(8), 8);
    nbcoll_step gate = nbcoll_join(b);
    nbcoll_after(b, gate, first);
    nbcoll_after(b, gate, second);
    nbcoll_after(b, nbcoll_send(b, 3, in_recv(0), 8), gate);
    nbcoll_step third = nbcoll_recv(b, 0, in_recv(16), 8);
    nbcoll_after(b, third, gate);
    nbcoll_step last_gate = nbcoll_join(b);
    nbcoll_after(b, last_gate, third);
    nbcoll_after(b, nbcoll_send(b, 3, in_recv(16), 8), last_gate);
    nbcoll_schedule *graph = finished(b);

    assert_same(staged, graph);
    nbcoll_schedule_free(staged);
    nbcoll_schedule_free(graph);
}

static void stages_and_edges_may_be_mixed(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step data = nbcoll_recv(b, 0, in_recv(0), 8);
    nbcoll_stage(b, NBCOLL_NON_DEPENDENT);
    nbcoll_step unrelated = nbcoll_recv(b, 2, in_recv(8), 8);
    nbcoll_step related = nbcoll_send(b, 3, in_recv(0), 8);
    nbcoll_after(b, related, data);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).edges, 1);
    assert_int_equal(view(s, unrelated)->before, 0);
    assert_true(waits_for(s, related, data));
    nbcoll_schedule_free(s);
}

static void a_limit_makes_each_send_wait_for_the_nth_before_it(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 4; n++) {
        nbcoll_builder *b = opened(NULL);
        nbcoll_step send[10], free_send = nbcoll_send(b, 0, in_send(0), 1);
        nbcoll_max_posted(b, n);
        for (int i = 0; i < 10; i++) {
            nbcoll_recv(b, 0, in_recv((size_t)i), 1);
            send[i] = nbcoll_send(b, 2 + i % 3, in_send(0), 1);
        }
        nbcoll_max_posted(b, 0);
        nbcoll_step last = nbcoll_send(b, 0, in_send(0), 1);
        nbcoll_schedule *s = finished(b);
        assert_int_equal(info_of(s).edges, 10 - n);
        for (uint32_t i = n; i < 10; i++)
            assert_true(waits_for(s, send[i], send[i - n]));
        assert_int_equal(view(s, free_send)->after_count, 0);
        assert_int_equal(view(s, last)->before, 0);
        nbcoll_schedule_free(s);
    }
}

static void a_limit_counts_the_sends_of_a_lowered_expose(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_max_posted(b, 2);
    expose_to(b, 3);
    nbcoll_schedule *s = finished(b);
    assert_true(waits_for(s, 4, 2));
    nbcoll_schedule_free(s);
}

static void changing_a_limit_counts_from_anew(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_max_posted(b, 1);
    nbcoll_send(b, 0, in_send(0), 1);
    nbcoll_max_posted(b, 1);
    nbcoll_send(b, 0, in_send(0), 1);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).edges, 0);
    nbcoll_schedule_free(s);
}

/* A chain broadcast in segments, as a graph: every receive is posted at once, and each send waits for its own segment
 * only. Rounds would make the k-th receive wait for the (k-1)-th send. */
static void a_pipelined_chain_posts_all_receives_at_once(void **state)
{
    (void)state;
    enum { SEGMENTS = 8 };
    nbcoll_step recv[SEGMENTS], send[SEGMENTS];
    nbcoll_builder *b = opened(NULL);
    for (size_t k = 0; k < SEGMENTS; k++)
        recv[k] = nbcoll_recv(b, b->rank - 1, in_recv(64 * k), 64);
    for (size_t k = 0; k < SEGMENTS; k++) {
        send[k] = nbcoll_send(b, b->rank + 1, in_recv(64 * k), 64);
        nbcoll_after(b, send[k], recv[k]);
    }
    nbcoll_schedule *graph = finished(b);
    b = opened(NULL);
    for (size_t k = 0; k < SEGMENTS; k++) {
        nbcoll_recv(b, b->rank - 1, in_recv(64 * k), 64);
        nbcoll_stage(b, NBCOLL_DEPENDENT);
        nbcoll_send(b, b->rank + 1, in_recv(64 * k), 64);
        nbcoll_stage(b, NBCOLL_DEPENDENT);
    }
    nbcoll_schedule *rounds = finished(b);
    uint32_t at_once[2] = {0, 0};
    for (nbcoll_step i = 2; i < info_of(graph).steps; i++)
        at_once[0] += view(graph, i)->before == 0;
    for (nbcoll_step i = 2; i < info_of(rounds).steps; i++)
        at_once[1] += view(rounds, i)->before == 0;
    assert_int_equal(at_once[0], SEGMENTS);
    assert_int_equal(at_once[1], 1);
    for (uint32_t k = 0; k < SEGMENTS; k++) {
        assert_int_equal(view(graph, send[k])->before, 1);
        assert_true(waits_for(graph, send[k], recv[k]));
        assert_int_equal(view(graph, recv[k])->number, k);
        assert_int_equal(view(graph, send[k])->number, k);
    }
    nbcoll_schedule_free(graph);
    nbcoll_schedule_free(rounds);
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

static void a_peer_outside_or_this_rank_itself_is_refused(void **state)
{
    (void)state;
    static const int wrong[] = {-1, 1, 8};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        nbcoll_part part = {.peer = wrong[i], .region = nbcoll_span(in_send(0), 1)};
        for (int call = 0; call < 5; call++) {
            nbcoll_builder *b = opened(i ? with_all : NULL);
            if (call == 0)
                nbcoll_send(b, wrong[i], in_send(0), 1);
            else if (call == 1)
                nbcoll_recv(b, wrong[i], in_recv(0), 1);
            else if (call == 2)
                nbcoll_expose(b, 1, &part);
            else if (call == 3)
                nbcoll_fetch(b, wrong[i], in_recv(0), 1);
            else
                nbcoll_fetch_reduce(b, wrong[i], in_recv(0), NBCOLL_LEFT, 1, sum_i32);
            assert_refused(b, NBCOLL_ERR_RANK);
        }
    }
}

static void a_write_to_the_send_buffer_is_refused(void **state)
{
    (void)state;
    nbcoll_region region = nbcoll_span(in_send(0), 4);
    for (int call = 0; call < 6; call++) {
        nbcoll_builder *b = opened(call % 2 ? with_all : NULL);
        if (call == 0)
            nbcoll_recv(b, 0, in_send(0), 4);
        else if (call == 1)
            nbcoll_fetch(b, 0, in_send(0), 4);
        else if (call == 2)
            nbcoll_copy(b, in_send(0), in_recv(0), 4);
        else if (call == 3)
            nbcoll_combine(b, in_send(0), in_send(0), in_recv(0), 1, sum_i32);
        else if (call == 4)
            nbcoll_fetch_reduce(b, 0, in_send(0), NBCOLL_RIGHT, 1, sum_i32);
        else
            nbcoll_call(b, some_call, NULL, 0, NULL, 1, &region);
        assert_refused(b, NBCOLL_ERR_ARGUMENT);
    }
}

static void a_write_of_nothing_may_name_any_buffer(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_recv(b, 0, in_send(0), 0);
    nbcoll_schedule_free(finished(b));
}

static void an_unknown_buffer_is_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_send(b, 0, (nbcoll_addr){NBCOLL_BUFFER_COUNT, 0}, 4);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
}

static void an_address_that_overflows_is_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_send(b, 0, in_send(SIZE_MAX - 3), 4);
    assert_refused(b, NBCOLL_ERR_COUNT);
    b = opened(NULL);
    nbcoll_combine(b, in_recv(0), in_send(0), in_recv(0), SIZE_MAX / 4 + 1, sum_i32);
    assert_refused(b, NBCOLL_ERR_COUNT);
    b = opened(NULL);
    nbcoll_fetch_reduce(b, 0, in_recv(0), NBCOLL_LEFT, SIZE_MAX / 2, sum_i32);
    assert_refused(b, NBCOLL_ERR_COUNT);
    b = opened(NULL);
    nbcoll_scratch(b, 64);
    nbcoll_scratch(b, SIZE_MAX - 64);
    assert_refused(b, NBCOLL_ERR_COUNT);
}

static void the_last_byte_of_the_address_space_may_be_named(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_send(b, 0, in_send(SIZE_MAX - 4), 4);
    nbcoll_schedule *s = finished(b);
    assert_true(info_of(s).extent[NBCOLL_BUFFER_SEND] == SIZE_MAX);
    nbcoll_schedule_free(s);
}

static void an_unknown_type_or_reduction_is_refused(void **state)
{
    (void)state;
    static const struct {
        nbcoll_reduction how;
        nbcoll_status why;
    } cases[] = {
        {{NBCOLL_TYPE_COUNT, NBCOLL_SUM}, NBCOLL_ERR_TYPE},
        {{NBCOLL_INT32, NBCOLL_OP_COUNT}, NBCOLL_ERR_OP},
        {{NBCOLL_FLOAT, NBCOLL_BXOR}, NBCOLL_ERR_OP},
        {{NBCOLL_BYTE, NBCOLL_SUM}, NBCOLL_ERR_OP},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        nbcoll_builder *b = opened(NULL);
        nbcoll_combine(b, in_recv(0), in_recv(0), in_send(0), 1, cases[i].how);
        assert_refused(b, cases[i].why);
        b = opened(NULL);
        nbcoll_fetch_reduce(b, 0, in_recv(0), NBCOLL_LEFT, 1, cases[i].how);
        assert_refused(b, cases[i].why);
    }
}

static void combine_refuses_operands_that_overlap_its_result_in_part(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_combine(b, in_recv(4), in_recv(0), in_send(0), 2, sum_i32);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(NULL);
    nbcoll_combine(b, in_recv(0), in_send(0), in_recv(4), 2, sum_i32);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
}

static void combine_accepts_its_result_as_operand_and_touching_neighbours(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_combine(b, in_recv(0), in_recv(0), in_send(0), 2, sum_i32);
    nbcoll_combine(b, in_recv(0), in_recv(8), in_recv(0), 2, sum_i32);
    nbcoll_combine(b, in_recv(8), in_recv(0), in_recv(16), 2, sum_i32);
    nbcoll_combine(b, in_recv(0), in_send(1), in_send(2), 2, sum_i32); /* operands may overlap one another */
    nbcoll_schedule_free(finished(b));
}

static void copy_refuses_regions_that_overlap(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_copy(b, in_recv(0), in_recv(7), 8);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(NULL);
    nbcoll_copy(b, in_recv(0), in_recv(0), 8);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(NULL);
    nbcoll_copy(b, in_recv(0), in_recv(8), 8);
    nbcoll_copy(b, in_recv(0), in_recv(0), 0);
    nbcoll_schedule_free(finished(b));
}

static void a_step_that_does_not_exist_is_refused(void **state)
{
    (void)state;
    for (int call = 0; call < 4; call++) {
        nbcoll_builder *b = opened(NULL);
        nbcoll_step step = nbcoll_join(b);
        if (call == 0)
            nbcoll_after(b, step + 1, step);
        else if (call == 1)
            nbcoll_after(b, step, step + 1);
        else if (call == 2)
            nbcoll_number(b, step + 1, 0);
        else
            nbcoll_on_lane(b, step + 1, NBCOLL_LANE_QUEUE);
        assert_refused(b, NBCOLL_ERR_ARGUMENT);
    }
}

static void an_unknown_side_stage_or_lane_is_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_fetch_reduce(b, 0, in_recv(0), (nbcoll_side)2, 1, sum_i32);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(NULL);
    nbcoll_stage(b, (nbcoll_stage_kind)2);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(NULL);
    nbcoll_on_lane(b, nbcoll_join(b), (nbcoll_lane)4);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
}

static void a_required_pointer_that_is_null_is_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_expose(b, 1, NULL);
    assert_refused(b, NBCOLL_ERR_NULL);
    b = opened(NULL);
    nbcoll_call(b, NULL, NULL, 0, NULL, 0, NULL);
    assert_refused(b, NBCOLL_ERR_NULL);
    b = opened(NULL);
    nbcoll_call(b, some_call, NULL, 1, NULL, 0, NULL);
    assert_refused(b, NBCOLL_ERR_NULL);
    b = opened(NULL);
    nbcoll_name(b, NULL);
    assert_refused(b, NBCOLL_ERR_NULL);
}

static void more_regions_than_the_limit_are_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_region region = nbcoll_span(in_recv(0), 1);
    nbcoll_call(b, some_call, NULL, ((size_t)1 << 31) + 1, &region, 0, NULL);
    assert_refused(b, NBCOLL_ERR_LIMIT);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* A host that counts what is out, and fails one allocation. */
typedef struct counting {
    size_t allocations, fails_at; /* counted from 1; 0: none */
    size_t blocks, bytes;
} counting;

static void *counting_alloc(void *user, size_t bytes, size_t align)
{
    counting *c = user;
    if (++c->allocations == c->fails_at)
        return NULL;
    c->blocks++;
    c->bytes += bytes;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void counting_free(void *user, void *memory, size_t bytes)
{
    counting *c = user;
    c->blocks--;
    c->bytes -= bytes;
    free(memory);
}

/* Uses every array, far enough for each to grow. */
static nbcoll_status build_much(const nbcoll_host *host, nbcoll_schedule **out)
{
    nbcoll_builder_config config = {.size = sizeof config, .host = host, .rank = 1, .ranks = 8, .shares = with_even};
    nbcoll_builder *b;
    nbcoll_status status = nbcoll_builder_open(&config, &b);
    if (status != NBCOLL_OK)
        return status;
    nbcoll_region region = nbcoll_span(in_recv(0), 8);
    nbcoll_max_posted(b, 3);
    for (int i = 0; i < 20; i++) {
        nbcoll_step data = nbcoll_fetch_reduce(b, 3 + i % 2, in_recv(0), NBCOLL_LEFT, 2, sum_i32);
        nbcoll_after(b, expose_to(b, 4), data);
        nbcoll_call(b, some_call, NULL, 1, &region, 1, &region);
        nbcoll_stage(b, NBCOLL_DEPENDENT);
    }
    return nbcoll_builder_finish(b, out);
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    size_t failures = 0;
    for (size_t n = 1;; n++) {
        counting c = {.fails_at = n};
        nbcoll_host host = {.size = sizeof host, .user = &c, .alloc = counting_alloc, .free = counting_free};
        nbcoll_schedule *s = NULL;
        nbcoll_status status = build_much(&host, &s);
        if (status == NBCOLL_OK) {
            assert_int_equal(c.allocations, n - 1);
            assert_int_equal(c.blocks, 1); /* the schedule is one block */
            assert_int_equal(nbcoll_schedule_free(s), NBCOLL_OK);
        } else {
            assert_int_equal(status, NBCOLL_ERR_MEMORY);
            assert_null(s);
            failures++;
        }
        assert_int_equal(c.blocks, 0);
        assert_int_equal(c.bytes, 0);
        if (status == NBCOLL_OK)
            break;
    }
    print_message("%zu allocations failed in turn\n", failures);
    assert_true(failures > 10);
}

static void a_zeroed_host_takes_the_c_library(void **state)
{
    (void)state;
    nbcoll_host host = {0};
    nbcoll_schedule *s = NULL;
    assert_int_equal(build_much(&host, &s), NBCOLL_OK);
    assert_int_equal((uintptr_t)s % 64, 0);
    nbcoll_schedule_free(s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(open_refuses_null),
    cmocka_unit_test(open_refuses_a_config_without_size),
    cmocka_unit_test(open_refuses_a_rank_outside),
    cmocka_unit_test(a_builder_shows_rank_and_ranks),
    cmocka_unit_test(an_empty_schedule_is_start_and_end),
    cmocka_unit_test(query_refuses_null_and_a_struct_without_size),
    cmocka_unit_test(query_writes_no_more_than_the_size_it_is_given),
    cmocka_unit_test(a_step_out_of_range_is_null),
    cmocka_unit_test(kinds_have_names),
    cmocka_unit_test(free_accepts_null_and_refuses_a_schedule_in_use),
    cmocka_unit_test(finish_without_out_only_closes),
    cmocka_unit_test(the_first_error_is_kept),
    cmocka_unit_test(failing_with_what_is_no_error_is_an_error),
    cmocka_unit_test(name_and_fingerprint_are_the_builders),
    cmocka_unit_test(a_long_name_is_cut_at_63_bytes),
    cmocka_unit_test(send_and_recv_keep_their_arguments),
    cmocka_unit_test(copy_keeps_its_arguments),
    cmocka_unit_test(combine_keeps_its_operands_on_their_sides),
    cmocka_unit_test(call_keeps_read_regions_then_written_ones),
    cmocka_unit_test(a_call_without_regions_is_accepted),
    cmocka_unit_test(scratch_is_fresh_and_aligned),
    cmocka_unit_test(extents_are_the_bytes_that_steps_touch),
    cmocka_unit_test(a_lane_is_kept),
    cmocka_unit_test(expose_to_sharing_readers_is_one_step),
    cmocka_unit_test(expose_to_one_other_reader_is_a_send),
    cmocka_unit_test(expose_to_mixed_readers_is_expose_and_sends_and_a_join),
    cmocka_unit_test(expose_of_nothing_is_a_join),
    cmocka_unit_test(after_and_lane_cover_all_pieces_of_a_lowered_expose),
    cmocka_unit_test(fetch_is_native_where_memory_is_shared),
    cmocka_unit_test(fetch_reduce_is_native_where_memory_is_shared),
    cmocka_unit_test(fetch_reduce_is_lowered_to_an_early_receive_and_a_reduce),
    cmocka_unit_test(parts_and_plain_messages_match_apart_also_when_lowered),
    cmocka_unit_test(messages_are_numbered_by_peer_and_direction),
    cmocka_unit_test(given_numbers_are_passed_over),
    cmocka_unit_test(a_number_given_twice_is_refused),
    cmocka_unit_test(the_same_number_for_two_peers_or_directions_is_accepted),
    cmocka_unit_test(only_sends_and_receives_take_a_number),
    cmocka_unit_test(numbers_are_those_of_the_definition),
    cmocka_unit_test(messages_are_found_by_peer_and_number),
    cmocka_unit_test(edges_are_sorted_and_counted_once),
    cmocka_unit_test(edges_from_start_and_to_end_say_nothing),
    cmocka_unit_test(random_edges_are_kept),
    cmocka_unit_test(a_cycle_is_refused),
    cmocka_unit_test(waiting_for_end_or_holding_back_start_is_a_cycle),
    cmocka_unit_test(waiting_for_a_later_stage_is_a_cycle),
    cmocka_unit_test(a_hundred_thousand_steps_are_finished),
    cmocka_unit_test(a_stage_queue_is_the_equivalent_graph),
    cmocka_unit_test(stages_and_edges_may_be_mixed),
    cmocka_unit_test(a_limit_makes_each_send_wait_for_the_nth_before_it),
    cmocka_unit_test(a_limit_counts_the_sends_of_a_lowered_expose),
    cmocka_unit_test(changing_a_limit_counts_from_anew),
    cmocka_unit_test(a_pipelined_chain_posts_all_receives_at_once),
    cmocka_unit_test(a_peer_outside_or_this_rank_itself_is_refused),
    cmocka_unit_test(a_write_to_the_send_buffer_is_refused),
    cmocka_unit_test(a_write_of_nothing_may_name_any_buffer),
    cmocka_unit_test(an_unknown_buffer_is_refused),
    cmocka_unit_test(an_address_that_overflows_is_refused),
    cmocka_unit_test(the_last_byte_of_the_address_space_may_be_named),
    cmocka_unit_test(an_unknown_type_or_reduction_is_refused),
    cmocka_unit_test(combine_refuses_operands_that_overlap_its_result_in_part),
    cmocka_unit_test(combine_accepts_its_result_as_operand_and_touching_neighbours),
    cmocka_unit_test(copy_refuses_regions_that_overlap),
    cmocka_unit_test(a_step_that_does_not_exist_is_refused),
    cmocka_unit_test(an_unknown_side_stage_or_lane_is_refused),
    cmocka_unit_test(a_required_pointer_that_is_null_is_refused),
    cmocka_unit_test(more_regions_than_the_limit_are_refused),
    cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
    cmocka_unit_test(a_zeroed_host_takes_the_c_library),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
