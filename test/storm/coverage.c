/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What was met, as tables: how posts of each type of message were answered, which type came next to a rank after which,
 * how operations ended, and which of those ends one never had. */
#include <stdio.h>

#include "../../src/engine/state/message.h"
#include "storm.h"

coverage met;

static const char *const type_name[] = {"EAGER",   "RTS",   "FIN",     "CTS",  "DATA",  "REVOKE",
                                        "LOST",    "CREDIT", "GIVE_UP", "AGREE", "STALLED", "WANT",
                                        "QUERY",   "WHERE", "PUT",     "CHANNEL", "AGENT", "CALL",
                                        "EXECUTED"};
enum { NAMED = sizeof type_name / sizeof *type_name };
_Static_assert((int)NAMED == (int)NBCOLLI_TYPES && (int)NAMED <= (int)TYPES, "each type of message has a name");

static void print_types(void)
{
    printf("%-10s %12s %12s %12s %12s  next\n", "type", "done", "lent", "not now", "damaged");
    for (int i = 0; i < NAMED; i++) {
        int after = 0;
        for (int k = 0; k < NAMED; k++)
            after += met.next[i][k] > 0;
        printf("%-10s %12llu %12llu %12llu %12llu  %d of %d types\n", type_name[i],
               (unsigned long long)met.answered[i][0], (unsigned long long)met.answered[i][1],
               (unsigned long long)met.answered[i][2], (unsigned long long)met.answered[i][3], after, NAMED);
    }
    printf("pairs of types never met at a rank:");
    for (int i = 0; i < NAMED; i++)
        for (int k = 0; k < NAMED; k++)
            if (!met.next[i][k])
                printf(" %s-%s", type_name[i], type_name[k]);
    printf("\n");
}

void coverage_sum(void)
{
    int pairs = 0, answers = 0, ends = 0;
    uint64_t faults = 0;

    for (int i = 0; i < NAMED; i++)
        for (int k = 0; k < NAMED; k++)
            pairs += met.next[i][k] > 0;
    for (int i = 0; i < NAMED; i++)
        for (int k = 0; k < 3; k++)
            answers += met.answered[i][k] > 0;
    for (int i = 0; i <= NBCOLL_OPERATION_COUNT; i++)
        for (int k = 0; k < NBCOLL_STATUS_COUNT; k++)
            ends += met.ended[i][k] > 0;
    for (int i = 0; i < FAULT_COUNT; i++)
        faults += met.faults[i];
    printf("states met: %d of %d pairs of messages, %d of %d answers to posts, %d ends of operations; %llu faults\n",
           pairs, NAMED * NAMED, answers, NAMED * 3, ends, (unsigned long long)faults);
}

/* Has any operation ended so? */
static bool ends_somehow(int status)
{
    bool has = false;
    for (int i = 0; i <= NBCOLL_OPERATION_COUNT; i++)
        has |= met.ended[i][status] > 0;
    return has;
}

void coverage_print(void)
{
    print_types();
    for (int i = 0; i < FAULT_COUNT; i++)
        printf("fault: %s %llu\n", fault_name[i], (unsigned long long)met.faults[i]);
    printf("children of fork: %llu\n", (unsigned long long)met.forks);
    for (int i = 0; i <= NBCOLL_OPERATION_COUNT; i++) {
        printf("%-22s", i < NBCOLL_OPERATION_COUNT ? nbcoll_operation_name((nbcoll_operation)i) : "creation");
        for (int k = 0; k < NBCOLL_STATUS_COUNT; k++)
            if (met.ended[i][k])
                printf(" %s %llu", nbcoll_status_name((nbcoll_status)k) + 7, (unsigned long long)met.ended[i][k]);
        printf("; never:");
        for (int k = 0; k < NBCOLL_STATUS_COUNT; k++)
            if (!met.ended[i][k] && ends_somehow(k))
                printf(" %s", nbcoll_status_name((nbcoll_status)k) + 7);
        printf("\n");
    }
}
