/* SPDX-License-Identifier: BSD-3-Clause
 * Builders and finished schedules: what each call adds, what each refuses, and that no allocation can fail
 * unnoticed. */
#include "schedules.h"

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

static void free_accepts_null(void **state)
{
    (void)state;
    nbcoll_schedule *s = finished(opened(NULL));
    assert_int_equal(nbcoll_schedule_free(NULL), NBCOLL_OK);
    assert_int_equal(nbcoll_schedule_free(s), NBCOLL_OK);
}

static void finish_without_out_only_closes(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_recv(b, 0, in_recv(0), 8);
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
    assert_int_equal(nbcoll_add_send(b, 99, in_send(0), 8), NBCOLL_START);
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
    nbcoll_set_name(b, name);
    name[0] = 'k';
    nbcoll_set_fingerprint(b, 0xfedcba98u);
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
    nbcoll_set_name(b, name);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(strlen(info_of(s).name), 63);
    nbcoll_schedule_free(s);
}

/* ---- steps ----------------------------------------------------------------------------------------------------- */

static void send_and_recv_keep_their_arguments(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step send = nbcoll_add_send(b, 7, in_send(16), 24);
    nbcoll_step recv = nbcoll_add_recv(b, 0, in_recv(40), 0);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(send, 2);
    assert_int_equal(recv, 3);
    assert_int_equal(view(s, send)->kind, NBCOLL_SEND);
    assert_int_equal(view(s, send)->peer, 7);
    assert_region(view(s, send)->read[0], in_send(16), 24);
    assert_region(view(s, send)->write, in_send(0), 0);
    assert_int_equal(view(s, send)->lane, NBCOLL_LANE_ANY);
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
    nbcoll_step copy = nbcoll_add_copy(b, in_recv(8), in_send(0), 32);
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
    nbcoll_step step = nbcoll_add_combine(b, in_recv(0), in_send(8), in_recv(64), 5, sum_i32);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, step)->kind, NBCOLL_REDUCE);
    assert_region(view(s, step)->write, in_recv(0), 20);
    assert_region(view(s, step)->read[NBCOLL_LEFT], in_send(8), 20);
    assert_region(view(s, step)->read[NBCOLL_RIGHT], in_recv(64), 20);
    assert_int_equal(view(s, step)->reduction.type, NBCOLL_INT32);
    assert_int_equal(view(s, step)->reduction.op, NBCOLL_SUM);
    nbcoll_schedule_free(s);
}

static nbcoll_status some_call(void *user, const nbcoll_memory memory[])
{
    (void)user;
    (void)memory;
    return NBCOLL_OK;
}

static void call_keeps_read_regions_then_written_ones(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    int user = 0;
    nbcoll_region read[] = {nbcoll_span(in_send(0), 8), nbcoll_span(in_recv(32), 4)};
    nbcoll_region written[] = {nbcoll_span(in_recv(0), 16)};
    nbcoll_step step = nbcoll_add_call(b, some_call, &user, 2, read, 1, written);
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
    nbcoll_step step = nbcoll_add_call(b, some_call, NULL, 0, NULL, 0, NULL);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, step)->part_count, 0);
    assert_null(view(s, step)->parts);
    nbcoll_schedule_free(s);
}

static void scratch_is_fresh_and_aligned(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_addr first = nbcoll_add_scratch(b, 1), second = nbcoll_add_scratch(b, 65), third = nbcoll_add_scratch(b, 64);
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
    nbcoll_region written = nbcoll_span(nbcoll_at(nbcoll_add_scratch(b, 64), 1), 2);
    nbcoll_add_send(b, 0, in_send(0), 8);
    nbcoll_add_recv(b, 0, in_recv(50), 7);
    nbcoll_add_recv(b, 0, in_recv(1000), 0); /* touches nothing */
    nbcoll_add_expose(b, 1, &part);
    nbcoll_add_call(b, some_call, NULL, 0, NULL, 1, &written);
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
    nbcoll_step join = nbcoll_add_join(b);
    nbcoll_set_lane(b, join, NBCOLL_LANE_RAIL);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, join)->lane, NBCOLL_LANE_RAIL);
    nbcoll_schedule_free(s);
}

static void hints_give_a_schedule_no_lanes(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step first = nbcoll_add_join(b), second = nbcoll_add_join(b);
    nbcoll_after(b, second, first);
    nbcoll_set_lane(b, second, NBCOLL_LANE_QUEUE); /* a hint: as ANY */
    nbcoll_schedule *s = finished(b);
    assert_false(s->has_lanes);
    nbcoll_schedule_free(s);
}

static void a_step_of_another_lane_than_any_gives_its_schedule_lanes(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_join(b);
    nbcoll_set_lane(b, nbcoll_add_join(b), NBCOLL_LANE_PROGRESS);
    nbcoll_schedule *s = finished(b);
    assert_true(s->has_lanes);
    nbcoll_schedule_free(s);
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
                nbcoll_add_send(b, wrong[i], in_send(0), 1);
            else if (call == 1)
                nbcoll_add_recv(b, wrong[i], in_recv(0), 1);
            else if (call == 2)
                nbcoll_add_expose(b, 1, &part);
            else if (call == 3)
                nbcoll_add_fetch(b, wrong[i], in_recv(0), 1);
            else
                nbcoll_add_fetch_reduce(b, wrong[i], in_recv(0), NBCOLL_LEFT, 1, sum_i32);
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
            nbcoll_add_recv(b, 0, in_send(0), 4);
        else if (call == 1)
            nbcoll_add_fetch(b, 0, in_send(0), 4);
        else if (call == 2)
            nbcoll_add_copy(b, in_send(0), in_recv(0), 4);
        else if (call == 3)
            nbcoll_add_combine(b, in_send(0), in_send(0), in_recv(0), 1, sum_i32);
        else if (call == 4)
            nbcoll_add_fetch_reduce(b, 0, in_send(0), NBCOLL_RIGHT, 1, sum_i32);
        else
            nbcoll_add_call(b, some_call, NULL, 0, NULL, 1, &region);
        assert_refused(b, NBCOLL_ERR_ARGUMENT);
    }
}

static void a_write_of_nothing_may_name_any_buffer(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_recv(b, 0, in_send(0), 0);
    nbcoll_schedule_free(finished(b));
}

static void an_unknown_buffer_is_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_send(b, 0, (nbcoll_addr){NBCOLL_BUFFER_COUNT, 0}, 4);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
}

static void an_address_that_overflows_is_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_send(b, 0, in_send(SIZE_MAX - 3), 4);
    assert_refused(b, NBCOLL_ERR_COUNT);
    b = opened(NULL);
    nbcoll_add_combine(b, in_recv(0), in_send(0), in_recv(0), SIZE_MAX / 4 + 1, sum_i32);
    assert_refused(b, NBCOLL_ERR_COUNT);
    b = opened(NULL);
    nbcoll_add_fetch_reduce(b, 0, in_recv(0), NBCOLL_LEFT, SIZE_MAX / 2, sum_i32);
    assert_refused(b, NBCOLL_ERR_COUNT);
    b = opened(NULL);
    nbcoll_add_scratch(b, 64);
    nbcoll_add_scratch(b, SIZE_MAX - 64);
    assert_refused(b, NBCOLL_ERR_COUNT);
}

static void the_last_byte_of_the_address_space_may_be_named(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_send(b, 0, in_send(SIZE_MAX - 4), 4);
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
        nbcoll_add_combine(b, in_recv(0), in_recv(0), in_send(0), 1, cases[i].how);
        assert_refused(b, cases[i].why);
        b = opened(NULL);
        nbcoll_add_fetch_reduce(b, 0, in_recv(0), NBCOLL_LEFT, 1, cases[i].how);
        assert_refused(b, cases[i].why);
    }
}

static void combine_refuses_operands_that_overlap_its_result_in_part(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_combine(b, in_recv(4), in_recv(0), in_send(0), 2, sum_i32);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(NULL);
    nbcoll_add_combine(b, in_recv(0), in_send(0), in_recv(4), 2, sum_i32);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
}

static void combine_accepts_its_result_as_operand_and_touching_neighbours(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_combine(b, in_recv(0), in_recv(0), in_send(0), 2, sum_i32);
    nbcoll_add_combine(b, in_recv(0), in_recv(8), in_recv(0), 2, sum_i32);
    nbcoll_add_combine(b, in_recv(8), in_recv(0), in_recv(16), 2, sum_i32);
    nbcoll_add_combine(b, in_recv(0), in_send(1), in_send(2), 2, sum_i32); /* operands may overlap one another */
    nbcoll_schedule_free(finished(b));
}

static void copy_refuses_regions_that_overlap(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_copy(b, in_recv(0), in_recv(7), 8);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(NULL);
    nbcoll_add_copy(b, in_recv(0), in_recv(0), 8);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(NULL);
    nbcoll_add_copy(b, in_recv(0), in_recv(8), 8);
    nbcoll_add_copy(b, in_recv(0), in_recv(0), 0);
    nbcoll_schedule_free(finished(b));
}

static void a_step_that_does_not_exist_is_refused(void **state)
{
    (void)state;
    for (int call = 0; call < 4; call++) {
        nbcoll_builder *b = opened(NULL);
        nbcoll_step step = nbcoll_add_join(b);
        if (call == 0)
            nbcoll_after(b, step + 1, step);
        else if (call == 1)
            nbcoll_after(b, step, step + 1);
        else if (call == 2)
            nbcoll_set_number(b, step + 1, 0);
        else
            nbcoll_set_lane(b, step + 1, NBCOLL_LANE_QUEUE);
        assert_refused(b, NBCOLL_ERR_ARGUMENT);
    }
}

static void an_unknown_side_stage_or_lane_is_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_fetch_reduce(b, 0, in_recv(0), (nbcoll_side)2, 1, sum_i32);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(NULL);
    nbcoll_end_stage(b, (nbcoll_stage_kind)2);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(NULL);
    nbcoll_set_lane(b, nbcoll_add_join(b), (nbcoll_lane)6);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
}

static void a_required_pointer_that_is_null_is_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_expose(b, 1, NULL);
    assert_refused(b, NBCOLL_ERR_NULL);
    b = opened(NULL);
    nbcoll_add_call(b, NULL, NULL, 0, NULL, 0, NULL);
    assert_refused(b, NBCOLL_ERR_NULL);
    b = opened(NULL);
    nbcoll_add_call(b, some_call, NULL, 1, NULL, 0, NULL);
    assert_refused(b, NBCOLL_ERR_NULL);
    b = opened(NULL);
    nbcoll_set_name(b, NULL);
    assert_refused(b, NBCOLL_ERR_NULL);
}

static void more_regions_than_the_limit_are_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_region region = nbcoll_span(in_recv(0), 1);
    nbcoll_add_call(b, some_call, NULL, ((size_t)1 << 31) + 1, &region, 0, NULL);
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
    const nbcoll_part parts[] = {{2, 0, nbcoll_span(in_recv(0), 24)}, {3, 0, nbcoll_span(in_recv(0), 24)}};
    for (int i = 0; i < 20; i++) {
        nbcoll_step data = nbcoll_add_fetch_reduce(b, 3 + i % 2, in_recv(0), NBCOLL_LEFT, 2, sum_i32);
        nbcoll_after(b, expose_to(b, 4), data);
        nbcoll_add_expose_growing(b, 2, parts, 8);
        nbcoll_add_call(b, some_call, NULL, 1, &region, 1, &region);
        nbcoll_end_stage(b, NBCOLL_DEPENDENT);
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
    cmocka_unit_test(free_accepts_null),
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
    cmocka_unit_test(hints_give_a_schedule_no_lanes),
    cmocka_unit_test(a_step_of_another_lane_than_any_gives_its_schedule_lanes),
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
