/* SPDX-License-Identifier: BSD-3-Clause
 * Choosing an algorithm. Choice reads only what all ranks pass alike, so that all ranks decide alike. */
#ifndef NBCOLL_INLINE_SELECT_H
#define NBCOLL_INLINE_SELECT_H

#include "../arguments/arguments.h"
#include "nbcoll/select.h"

/* Picoseconds. 128 bits: bytes of all ranks are below 2^64, prices below 2^32, and what multiplies both is small. */
__extension__ typedef unsigned __int128 nbcolli_cost_time;

/* What an algorithm costs in a call (cost.h), or NBCOLLI_NO_COST. */
typedef struct nbcolli_cost_call nbcolli_cost_call;
typedef nbcolli_cost_time nbcolli_cost_formula(const nbcolli_cost_call *c);
#define NBCOLLI_NO_COST (~(nbcolli_cost_time)0)

/* The algorithms of an operation: the one for small data first, the one for large data second; and what each costs. */
typedef struct nbcolli_algorithms {
    const nbcoll_algorithm *algorithm;
    nbcolli_cost_formula *const *cost;
    unsigned count;
} nbcolli_algorithms;

/* Gives `to` the parameters of `from`: a choice, a rule or arguments, both. */
#define NBCOLLI_TAKE_PARAMETERS(to, from)                                                                              \
    ((to)->segment = (from)->segment, (to)->arity = (from)->arity, (to)->ports = (from)->ports,                        \
     (to)->split = (from)->split, (to)->leaders = (from)->leaders)

/* As nbcoll_select, among these. */
nbcoll_status nbcolli_select(const nbcoll_terms *terms, const nbcoll_args *args, const nbcolli_algorithms *among,
                             nbcoll_choice *out);

/* As nbcoll_predict, of one that costs that; null: nobody knows. */
nbcoll_status nbcolli_predict(const nbcoll_terms *terms, const nbcoll_args *args, const nbcoll_algorithm *algorithm,
                              nbcolli_cost_formula *cost, uint64_t *ns);

/* Does a call of these complete arguments, of so many bytes, fit the rule? */
int nbcolli_rule_fits(const nbcoll_rule *rule, const nbcoll_terms *terms, nbcoll_operation operation, size_t bytes);

/* With the prices that stand for those that are 0. */
static inline nbcoll_level nbcolli_level_known(nbcoll_level l)
{
    l.gamma_ps = l.gamma_ps ? l.gamma_ps : l.beta_ps;
    l.copy_ps = l.copy_ps ? l.copy_ps : l.gamma_ps;
    l.fetch_ns = l.fetch_ns ? l.fetch_ns : l.get_ns;
    return l;
}

/* A number that differs (but for one chance in 2^32) when the rules do; 0 when there are none. */
uint32_t nbcolli_rules_hash(const nbcoll_rule *rules, size_t n);

/* What the formula says of the choice's algorithm and bytes, in picoseconds, UINT64_MAX or more; or 0: not known.
 * Parameters of the choice that are 0, and that the algorithm reads, become the cheapest ones. */
uint64_t nbcolli_cost(const nbcoll_terms *terms, nbcolli_cost_formula *formula, nbcoll_choice *choice);

/* May the algorithm serve these complete arguments? ERR_OP: the operation does not commute. ERR_UNSUPPORTED: counts are
 * bound. */
nbcoll_status nbcolli_algorithm_suits(const nbcoll_algorithm *algorithm, const nbcoll_args *a);

/* That of relays, which carry out calls of the operation; null: of another they do not. */
const nbcoll_algorithm *nbcolli_algorithm_relays(nbcoll_operation operation);

/* Has the algorithm build between packing and unpacking, for a type that packs. */
void nbcolli_build_packed(nbcoll_builder *b, const nbcoll_algorithm *algorithm, const nbcoll_args *a);

/* CALL steps: elements become packed ones, or these become elements. The type is `user`, or, of a bound block, the
 * run's: in an alltoallw that need not pack. */
nbcoll_status nbcolli_pack_call(void *user, const nbcoll_memory memory[]);
nbcoll_status nbcolli_unpack_call(void *user, const nbcoll_memory memory[]);

/* Bytes of packed elements that are not divided, if that is what the CALL moves; else 0. The same call for a piece of
 * them. */
size_t nbcolli_pack_unit(nbcoll_host_call *call, void *user, const nbcoll_memory memory[]);
nbcoll_status nbcolli_pack_piece(void *user, const nbcoll_memory memory[], int unpacks, size_t place, size_t bytes);

#endif
