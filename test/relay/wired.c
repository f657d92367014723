/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wired.h"

void wired_open(wired *p, nbcoll_wiring_kind kind, unsigned ports, int ranks)
{
    *p = (wired){.ranks = ranks, .why = {.size = sizeof p->why}};
    for (int rank = 0; rank < ranks; rank++) {
        assert_int_equal(nbcoll_wiring_make(kind, ports, ranks, rank, NULL, &p->made[rank]), NBCOLL_OK);
        p->wiring[rank] = p->made[rank];
    }
}

void wired_close(wired *p)
{
    for (int rank = 0; rank < p->ranks; rank++)
        nbcoll_wiring_free(p->made[rank]);
}

/* What is made is memory of the library's that is const for those who read it only. */
nbcoll_relay_end *wired_ends(wired *p, int rank, uint32_t relay, int is_source, uint32_t **count)
{
    nbcoll_relay *at = (nbcoll_relay *)(uintptr_t)&p->made[rank]->relay[relay];
    *count = is_source ? &at->sources : &at->destinations;
    return (nbcoll_relay_end *)(uintptr_t)(is_source ? at->source : at->destination);
}
