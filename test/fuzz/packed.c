/* SPDX-License-Identifier: BSD-3-Clause
 * What lies in an agent's command area: programs and pre-posted relays as bytes, which another process has written.
 * What is read names nothing that is not there; the rest is refused. The first byte says which. */
#include "nbcoll/show.h"
#include "fuzz.h"
#include "../../src/offload/commands.h"

static const nbcoll_host plain;

static int count(void *user, const char *text, size_t length)
{
    (void)text;
    *(size_t *)user += length;
    return 0;
}

static void read_program(const char *packed, size_t bytes)
{
    nbcoll_program *p = NULL;
    size_t shown = 0;
    nbcoll_status status = nbcolli_packed_program_read(&plain, packed, bytes, &p);
    FUZZ_NEVER(status != NBCOLL_OK && status != NBCOLL_ERR_ARGUMENT);
    if (status != NBCOLL_OK)
        return;
    FUZZ_NEVER(nbcolli_packed_program_bytes(p) != bytes);
    FUZZ_NEVER(nbcoll_show_program(p, count, &shown) != NBCOLL_OK || !shown);
    nbcoll_program_free(p);
}

static void read_relays(const char *packed, size_t bytes)
{
    static nbcoll_agent agent = {.rank = 1, .ranks = 4};
    nbcolli_node_relays_config c;
    nbcolli_arena arena = {.host = plain};
    nbcoll_status status = nbcolli_node_bytes_read(&agent, &arena, packed, bytes, &c);
    FUZZ_NEVER(status != NBCOLL_OK && status != NBCOLL_ERR_ARGUMENT);
    FUZZ_NEVER(status == NBCOLL_OK && nbcolli_node_bytes_bytes(&c) != bytes);
    nbcolli_arena_close(&arena);
}

FUZZ(packed)
{
    char *exact = malloc(bytes ? bytes - 1 : 1); /* a byte further on is nobody's */
    FUZZ_NEVER(!exact);
    if (bytes) {
        memcpy(exact, data + 1, bytes - 1);
        (data[0] & 1 ? read_relays : read_program)(exact, bytes - 1);
    }
    free(exact);
    return 0;
}
