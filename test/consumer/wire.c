/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The test of a transport by whoever has only what is installed: all of it but the transport, which is loopback here.
 */
#include <nbcoll/conformance.h>
#include <nbcoll/loopback.h>

static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = ranks, .seed = c->seed};
    nbcoll_loopback *world = NULL;
    if (nbcoll_loopback_create(&config, &world) == NBCOLL_OK)
        for (int rank = 0; rank < ranks; rank++)
            nbcoll_loopback_open(world, rank, &end[rank]);
    return world;
}

static void destroy(const nbcoll_conformance *c, void *world)
{
    (void)c;
    nbcoll_loopback_free(world);
}

int main(void)
{
    const nbcoll_conformance wire = {.size = sizeof wire, .name = "wire", .make = make, .destroy = destroy,
                                     .promises = NBCOLL_CONFORMANCE_BULK, .result = nbcoll_conformance_print};
    return nbcoll_conformance_run(&wire) != 0;
}
