/* SPDX-License-Identifier: BSD-3-Clause
 * From an algorithm to a schedule. */
#include "../host/host.h"
#include "../reduce/reduce.h"
#include "../schedule/schedule.h"
#include "nbcoll/pattern.h"
#include "select.h"

/* Relays work without a schedule. */
static void nbcolli_relays_no_schedule(nbcoll_builder *b, const nbcoll_args *a)
{
    (void)a;
    nbcoll_builder_fail(b, NBCOLL_ERR_UNSUPPORTED);
}

#define NBCOLLI_RELAYS_ENTRY(OPERATION)                                                                                \
    {sizeof(nbcoll_algorithm), "relays", NBCOLL_OPERATION_##OPERATION, nbcolli_relays_no_schedule,                     \
     NBCOLL_ALGORITHM_ARRIVAL_TOLERANT, NULL}
static const nbcoll_algorithm nbcolli_relays_table[] = {NBCOLLI_RELAYS_ENTRY(ALLGATHER), NBCOLLI_RELAYS_ENTRY(BCAST)};

const nbcoll_algorithm *nbcolli_algorithm_relays(nbcoll_operation operation)
{
    for (size_t i = 0; i < sizeof nbcolli_relays_table / sizeof *nbcolli_relays_table; i++)
        if (nbcolli_relays_table[i].operation == operation)
            return &nbcolli_relays_table[i];
    return NULL;
}

nbcoll_status nbcolli_algorithm_suits(const nbcoll_algorithm *algorithm, const nbcoll_args *a)
{
    const nbcolli_kind *kind = nbcolli_kind_of(a->operation);
    int has_all_counts = a->counts && kind->blocks != NBCOLLI_OWN;

    if (algorithm == nbcolli_algorithm_relays(a->operation))
        return NBCOLL_ERR_UNSUPPORTED; /* not by a schedule */
    if (kind->reduces && (algorithm->flags & NBCOLL_ALGORITHM_REORDERS) && !nbcolli_commutes(a->reduction.op))
        return NBCOLL_ERR_OP;
    return (algorithm->flags & NBCOLL_ALGORITHM_COUNTS) && !has_all_counts ? NBCOLL_ERR_UNSUPPORTED : NBCOLL_OK;
}

/* "<operation>/<algorithm>", as far as a schedule's name goes. */
static void nbcolli_algorithm_name(nbcoll_builder *b, const nbcoll_algorithm *algorithm)
{
    const char *parts[] = {nbcoll_operation_name(algorithm->operation), "/", algorithm->name};
    char name[64];
    size_t used = 0;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const char *c = parts[i]; *c && used < sizeof name - 1; c++)
            name[used++] = *c;
    name[used] = '\0';
    nbcoll_set_name(b, name);
}

#define NBCOLLI_AGREEMENT (1u << 30) /* numbers of its messages: those of the algorithm are as they would be alone */

/* Of NBCOLL_CHECKED: a barrier by dissemination. Whoever gets a message of it compares what its sender has called, and
 * passes nothing on where that differs: so nobody comes behind it who has not heard from all that they have called the
 * same. */
static void nbcolli_build_agreement(nbcoll_builder *b)
{
    const nbcoll_addr nothing = {NBCOLL_BUFFER_SCRATCH, 0};
    nbcoll_step heard = NBCOLL_START;

    for (int k = 0; k < nbcoll_rounds(b->ranks); k++) {
        nbcoll_step said = nbcoll_add_send(b, nbcoll_dissemination_to(b->rank, k, b->ranks), nothing, 0);
        nbcoll_step hear = nbcoll_add_recv(b, nbcoll_dissemination_from(b->rank, k, b->ranks), nothing, 0);
        nbcoll_set_number(b, said, NBCOLLI_AGREEMENT + (uint32_t)k);
        nbcoll_set_number(b, hear, NBCOLLI_AGREEMENT + (uint32_t)k);
        nbcoll_after(b, said, heard);
        heard = nbcoll_add_join(b);
        nbcoll_after(b, heard, hear);
        nbcoll_after(b, heard, said);
    }
    nbcoll_end_stage(b, NBCOLL_DEPENDENT);
}

nbcoll_status nbcoll_build_schedule(const nbcoll_algorithm *algorithm, const nbcoll_args *a,
                                    const nbcoll_builder_config *config, nbcoll_schedule **out)
{
    nbcoll_algorithm whole = {0};
    nbcoll_args args = {0};
    nbcoll_builder *b;

    if (!algorithm || !a || !out)
        return NBCOLL_ERR_NULL;
    if (algorithm->size < offsetof(nbcoll_algorithm, flags) || nbcolli_copy_tagged(&args, a, sizeof args) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    nbcolli_copy_tagged(&whole, algorithm, sizeof whole);
    if (!whole.build || !whole.name)
        return NBCOLL_ERR_NULL;
    if (whole.operation != args.operation)
        return NBCOLL_ERR_ARGUMENT;
    nbcoll_builder_config c = {0};
    if (!config)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&c, config, sizeof c) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (c.cells && (whole.flags >> 16 > c.cells || !nbcolli_table_suffices(whole.flags, (size_t)c.ranks)))
        c.shares = NULL;
    nbcoll_status status = nbcoll_builder_open(&c, &b);
    if (status != NBCOLL_OK)
        return status;
    status = nbcoll_args_complete(&args, b->rank, b->ranks);
    if (status == NBCOLL_OK)
        status = nbcolli_algorithm_suits(&whole, &args);
    if (status != NBCOLL_OK) { /* not the builder's */
        nbcoll_builder_finish(b, NULL);
        return status;
    }
    nbcolli_algorithm_name(b, &whole);
    nbcoll_set_fingerprint(b, nbcolli_fingerprint(&args, b->ranks));
    if (c.flags & NBCOLL_CHECKED && args.operation != NBCOLL_OPERATION_BARRIER)
        nbcolli_build_agreement(b);
    if (args.packs)
        nbcolli_build_packed(b, &whole, &args);
    else
        whole.build(b, &args);
    return nbcoll_builder_finish(b, out);
}
