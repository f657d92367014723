/* SPDX-License-Identifier: BSD-3-Clause
 * Building, verifying and freeing the schedules of a crew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "crew.h"

static nbcoll_region crew_input(const nbcoll_meaning *m, int rank)
{
    const crew *c = (const crew *)m;
    (void)rank;
    return nbcoll_span((nbcoll_addr){c->input, 0}, CREW_INPUT);
}

static int crew_claims(const nbcoll_meaning *m, int rank, size_t i, nbcoll_claim *out)
{
    const crew *c = (const crew *)m;
    for (size_t k = 0; k < c->claim_count; k++)
        if (c->claims[k].rank == rank && !i--) {
            *out = c->claims[k].claim;
            return 1;
        }
    return 0;
}

crew crew_of(int ranks, const crew_claim *claims, size_t claim_count)
{
    nbcoll_meaning meaning = {.size = sizeof meaning, .ranks = ranks, .input = crew_input, .claim = crew_claims};
    return (crew){.meaning = meaning, .claims = claims, .claim_count = claim_count, .input = NBCOLL_BUFFER_SEND};
}

static int crew_shares(void *user, int peer)
{
    (void)user;
    (void)peer;
    return 1;
}

nbcoll_status crew_verify(const crew *c, crew_build *build, nbcoll_refutation *why)
{
    nbcoll_schedule *schedules[CREW_MOST];
    for (int rank = 0; rank < c->meaning.ranks; rank++) {
        nbcoll_builder_config config = {.size = sizeof config,
                                        .rank = rank,
                                        .ranks = c->meaning.ranks,
                                        .shares = c->is_native ? crew_shares : NULL};
        nbcoll_builder *b;
        assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
        build(b);
        assert_int_equal(nbcoll_builder_finish(b, &schedules[rank]), NBCOLL_OK);
    }
    *why = (nbcoll_refutation){.size = sizeof *why};
    nbcoll_status status = nbcoll_verify((const nbcoll_schedule *const *)schedules, &c->meaning, NULL, why);
    for (int rank = 0; rank < c->meaning.ranks; rank++)
        nbcoll_schedule_free(schedules[rank]);
    return status;
}

void crew_proved(const crew *c, crew_build *build)
{
    nbcoll_refutation why;
    nbcoll_status status = crew_verify(c, build, &why);
    assert_string_equal(why.text, "");
    assert_int_equal(status, NBCOLL_OK);
    assert_int_equal(why.flaw, NBCOLL_FLAW_NONE);
}

nbcoll_refutation crew_refuted(const crew *c, crew_build *build, nbcoll_flaw flaw)
{
    nbcoll_refutation why;
    nbcoll_status status = crew_verify(c, build, &why);
    print_message("%s\n", why.text);
    assert_int_equal(status, NBCOLL_ERR_VERIFY);
    assert_string_equal(nbcoll_flaw_name(why.flaw), nbcoll_flaw_name(flaw));
    return why;
}

void crew_at(const nbcoll_refutation *why, unsigned i, int rank, nbcoll_step step, nbcoll_region bytes)
{
    assert_true(i < why->places);
    const nbcoll_place *place = &why->place[i];
    assert_int_equal(place->rank, rank);
    assert_int_equal(place->step, step);
    assert_int_equal(place->bytes.bytes, bytes.bytes);
    if (bytes.bytes) {
        assert_int_equal(place->bytes.at.buffer, bytes.at.buffer);
        assert_int_equal(place->bytes.at.offset, bytes.at.offset);
    }
}

nbcoll_addr crew_send(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_SEND, offset};
}

nbcoll_addr crew_recv(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_RECV, offset};
}

nbcoll_addr crew_scratch(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_SCRATCH, offset};
}
