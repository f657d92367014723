/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The forms in which `nbcoll verify` proves an algorithm: what it combines or moves, where its buffers lie, who shares
 * memory, with which parameters. What an option says is fixed; of everything else all forms are proved. (Roots and
 * blocks are not of this file: nbcoll_verify_grid goes through them.)
 */
#ifndef VERIFY_FORMS_H
#define VERIFY_FORMS_H

#include "rules.h"

/* What options have fixed. */
#define VERIFY_ELEMENTS 1u /* --type or --op */
#define VERIFY_IN_PLACE 2u
#define VERIFY_NATIVE 4u
#define VERIFY_PARAMETERS 8u
#define VERIFY_ALL (VERIFY_ELEMENTS | VERIFY_IN_PLACE | VERIFY_NATIVE | VERIFY_PARAMETERS) /* there is one form */

/* As command_take_type and command_take_op, but these also know what only proofs do: --type host, packed; --op ordered,
 * commuting. */
void verify_take_type(const command *self, void *cases, const char *value);
void verify_take_op(const command *self, void *cases, const char *value);

/* The case of the i-th form of an algorithm, else as in command_case. The first is plain: INT32 and SUM, out of place,
 * as messages, with default parameters, unless options say otherwise. 0 beyond the last. `given`: the parameters. */
int verify_form(const command_cases *cases, unsigned fixed, const nbcoll_choice *given,
                const nbcoll_algorithm *algorithm, unsigned i, nbcoll_case *out);

/* The options that give this form again, " --in-place --native=2", or "". Returns `text`. */
#define VERIFY_TEXT 160
char *verify_form_text(const nbcoll_case *c, char text[VERIFY_TEXT]);

/* In which respects cases differ, and sets of what they have been there, a bit each. */
enum {
    VERIFY_BY_ELEMENTS, VERIFY_BY_PLACE, VERIFY_BY_NODE, VERIFY_BY_NODES, VERIFY_BY_DOMAINS, VERIFY_BY_SPREAD,
    VERIFY_BY_APART, VERIFY_BY_KNOWN, VERIFY_BY_PARAMETERS, VERIFY_RESPECTS
};
typedef struct verify_seen {
    unsigned by[VERIFY_RESPECTS];
} verify_seen;
void verify_see(verify_seen *seen, const nbcoll_case *c);

/* In words, what was seen of what is possible for the algorithms in question, and what was not. */
typedef struct verify_coverage {
    char covered[800], left_out[800];
} verify_coverage;
void verify_cover(const command_cases *cases, const verify_seen *seen, const verify_seen *possible,
                  verify_coverage *out);

#endif
