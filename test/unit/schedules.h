/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of builders share: opening and finishing one, and looking at the schedule. */
#ifndef TEST_UNIT_SCHEDULES_H
#define TEST_UNIT_SCHEDULES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/schedule/schedule.h"
#include "nbcoll/schedule.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static const nbcoll_reduction sum_i32 = {NBCOLL_INT32, NBCOLL_SUM};

static inline nbcoll_addr in_send(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_SEND, offset};
}

static inline nbcoll_addr in_recv(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_RECV, offset};
}

static inline int with_all(void *user, int peer)
{
    (void)user;
    (void)peer;
    return 1;
}

static inline int with_even(void *user, int peer)
{
    (void)user;
    return peer % 2 == 0;
}

/* A builder for rank 1 of 8. */
static inline nbcoll_builder *opened(nbcoll_shares *shares)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 1, .ranks = 8, .shares = shares};
    nbcoll_builder *b = NULL;
    assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
    return b;
}

static inline nbcoll_schedule *finished(nbcoll_builder *b)
{
    nbcoll_schedule *s = NULL;
    assert_int_equal(nbcoll_builder_finish(b, &s), NBCOLL_OK);
    assert_non_null(s);
    return s;
}

static inline void assert_refused(nbcoll_builder *b, nbcoll_status why)
{
    nbcoll_schedule *s = NULL;
    assert_string_equal(nbcoll_status_name(nbcoll_builder_finish(b, &s)), nbcoll_status_name(why));
    assert_null(s);
}

static inline nbcoll_schedule_info info_of(const nbcoll_schedule *s)
{
    nbcoll_schedule_info info = {.size = sizeof info};
    assert_int_equal(nbcoll_schedule_query(s, &info), NBCOLL_OK);
    return info;
}

static inline const nbcoll_step_view *view(const nbcoll_schedule *s, nbcoll_step step)
{
    const nbcoll_step_view *v = nbcoll_schedule_step(s, step);
    assert_non_null(v);
    return v;
}

static inline int waits_for(const nbcoll_schedule *s, nbcoll_step step, nbcoll_step earlier)
{
    const nbcoll_step_view *v = view(s, earlier);
    for (uint32_t i = 0; i < v->after_count; i++)
        if (v->after[i] == step)
            return 1;
    return 0;
}

static inline void assert_region(nbcoll_region r, nbcoll_addr at, size_t bytes)
{
    assert_int_equal(r.bytes, bytes);
    if (bytes) {
        assert_int_equal(r.at.buffer, at.buffer);
        assert_int_equal(r.at.offset, at.offset);
    }
}

static inline void assert_same_step(const nbcoll_step_view *v, const nbcoll_step_view *w)
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

static inline void assert_same(const nbcoll_schedule *s, const nbcoll_schedule *t)
{
    assert_int_equal(info_of(s).steps, info_of(t).steps);
    assert_int_equal(info_of(s).edges, info_of(t).edges);
    for (nbcoll_step i = 0; i < info_of(s).steps; i++)
        assert_same_step(view(s, i), view(t, i));
}

/* Exposes part i of n to reader 2 + i, eight bytes each. */
static inline nbcoll_step expose_to(nbcoll_builder *b, int n)
{
    nbcoll_part parts[6] = {0};
    for (int i = 0; i < n; i++)
        parts[i] = (nbcoll_part){.peer = 2 + i, .number = 99, .region = nbcoll_span(in_send(8 * (size_t)i), 8)};
    return nbcoll_add_expose(b, (size_t)n, parts);
}

#endif
