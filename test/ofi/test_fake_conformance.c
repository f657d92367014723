/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ofi keeps the transport contract over providers of each kind that libfabric's interface allows, as fake.c plays them:
 * which keys, which registration, with writes and without, with a descriptor and without, in a hurry and late, with
 * refused posts. Arguments: one case's name, and one kind's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbcoll/conformance.h>
#include <nbcoll/ofi.h>
#include <rdma/fi_domain.h>

#include "conform.h"
#include "crew.h"
#include "fake.h"

enum { RANKS = 9, BULK = NBCOLL_CONFORMANCE_BULK };

static const struct kind {
    const char *name;
    fake provider;
} kinds[] = {
    {"plain", {.inject = 64, .has_rma = true, .has_fd = true}},
    {"as efa", {.mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY, .has_rma = true, .late = 5}},
    {"as cxi", {.mr_mode = FI_MR_ENDPOINT, .inject = 192, .has_rma = true, .late = 5, .refused = 100}},
    {"as verbs",
     {.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
      .inject = 64,
      .piece = 4096,
      .has_rma = true,
      .has_fd = true,
      .late = 20}},
    {"as ofi_rxm, in pieces",
     {.inject = 16384, .has_rma = true, .has_fd = true, .is_rxm = true, .late = 10, .refused = 300}},
    {"raw keys",
     {.mr_mode = FI_MR_RAW | FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY,
      .key_bytes = 32,
      .has_rma = true,
      .has_fd = true,
      .refused = 300,
      .late = 10}},
    {"messages alone", {.inject = 16, .has_fd = true, .refused = 300, .late = 30}},
};

static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    nbcoll_ofi_config config = {.size = sizeof config, .ranks = ranks};
    nbcoll_ofi_address all[RANKS];

    fake_provider = ((const struct kind *)c->user)->provider;
    fake_provider.seed = c->seed;
    for (config.rank = 0; config.rank < ranks; config.rank++)
        if (nbcoll_ofi_open(&config, &all[config.rank], &end[config.rank]) != NBCOLL_OK)
            return NULL;
    for (int rank = 0; rank < ranks; rank++)
        if (nbcoll_ofi_meet(end[rank], all) != NBCOLL_OK)
            return NULL;
    return &fake_provider;
}

static void destroy(const nbcoll_conformance *c, void *made)
{
    (void)c, (void)made;
    if (fake_open()) {
        printf("%d things of the provider's are still open\n", fake_open());
        fflush(stdout);
        abort();
    }
}

static void lose(const nbcoll_conformance *c, void *made, nbcoll_endpoint *ep, int peer)
{
    nbcoll_header header = {{0}};
    nbcoll_work work = {0};

    (void)c, (void)made;
    fake_provider.failed_sends = 1;
    fake_provider.refused = 0;
    ep->transport->post(ep, peer, &header, NULL, 0, &work);
}

int main(int argc, char **argv)
{
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    nbcoll_conformance all[KINDS];
    size_t n = 0;

    for (size_t i = 0; i < KINDS; i++) {
        nbcoll_conformance c = {.size = sizeof c,
                                .name = kinds[i].name,
                                .user = &kinds[i],
                                .seed = seed_of_test(),
                                .promises = NBCOLL_CONFORMANCE_ORDERED | NBCOLL_CONFORMANCE_WAKEUP |
                                            NBCOLL_CONFORMANCE_REFUSES | (kinds[i].provider.has_rma ? BULK : 0),
                                .only = argc > 1 && *argv[1] ? argv[1] : NULL,
                                .make = make,
                                .destroy = destroy,
                                .result = nbcoll_conformance_print,
                                .lose = lose};
        if (argc > 2 && strcmp(argv[2], kinds[i].name) != 0)
            continue;
        all[n++] = c;
    }
    return conform_side_by_side(all, n);
}
