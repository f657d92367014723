/* SPDX-License-Identifier: BSD-3-Clause
 * An allgather by PMIx: put, commit, fence, and a get for each rank. See pmix.h. */
#include <pmix.h>
#include <stdio.h>
#include <string.h>

#include "nbcoll/pmix.h"
#include "../host/host.h"

#define NBCOLLI_PMIX_NAME 64

struct nbcoll_pmix {
    nbcoll_host host;
    pmix_proc_t me;
    uint32_t ranks;
    int seconds;       /* of a fence; 0: for ever */
    unsigned exchanges;
    char name[NBCOLLI_PMIX_NAME + 1];
};

static nbcoll_status nbcolli_pmix_status(pmix_status_t s)
{
    switch (s) {
    case PMIX_SUCCESS:
        return NBCOLL_OK;
    case PMIX_ERR_TIMEOUT:
        return NBCOLL_ERR_TIMEOUT;
    case PMIX_ERR_NOMEM:
        return NBCOLL_ERR_MEMORY;
    case PMIX_ERR_PROC_ABORTED:
    case PMIX_ERR_LOST_CONNECTION:
        return NBCOLL_ERR_PEER_LOST;
    default:
        return NBCOLL_ERR_TRANSPORT;
    }
}

static pmix_proc_t nbcolli_pmix_rank(const nbcoll_pmix *p, pmix_rank_t rank)
{
    pmix_proc_t proc = p->me;
    proc.rank = rank;
    return proc;
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_pmix_settle(nbcoll_pmix *p, const nbcoll_pmix_config *config)
{
    nbcoll_pmix_config c = {0};

    if (nbcolli_copy_tagged(&c, config, sizeof c) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (c.host.size && nbcolli_copy_tagged(&p->host, &c.host, sizeof p->host) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    const char *name = c.name ? c.name : "nbcoll";
    if (strlen(name) > NBCOLLI_PMIX_NAME)
        return NBCOLL_ERR_CONFIG;
    memcpy(p->name, name, strlen(name) + 1);
    uint64_t seconds = c.timeout ? c.timeout / 1000000000 + (c.timeout % 1000000000 != 0) : 60;
    p->seconds = c.timeout == NBCOLL_FOREVER ? 0 : seconds < 1 << 30 ? (int)seconds : 1 << 30;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_pmix_create(const nbcoll_pmix_config *config, int *rank, int *ranks, nbcoll_pmix **out)
{
    nbcoll_pmix p = {.exchanges = 0};
    pmix_value_t *size = NULL;

    if (!config || !rank || !ranks || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_pmix_settle(&p, config);
    if (status != NBCOLL_OK)
        return status;
    nbcoll_pmix *made = nbcolli_alloc(&p.host, sizeof p, _Alignof(nbcoll_pmix));
    if (!made)
        return NBCOLL_ERR_MEMORY;
    if (PMIx_Init(&p.me, NULL, 0) != PMIX_SUCCESS) {
        nbcolli_free(&p.host, made, sizeof p);
        return NBCOLL_ERR_LAUNCH;
    }
    pmix_proc_t all = nbcolli_pmix_rank(&p, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &size) == PMIX_SUCCESS && size->type == PMIX_UINT32)
        p.ranks = size->data.uint32;
    if (size)
        PMIX_VALUE_RELEASE(size);
    *made = p;
    if (p.ranks == 0 || p.ranks > INT32_MAX || p.me.rank >= p.ranks) {
        nbcoll_pmix_close(made);
        return NBCOLL_ERR_TRANSPORT;
    }
    *out = made;
    *rank = (int)p.me.rank;
    *ranks = (int)p.ranks;
    return NBCOLL_OK;
}

void nbcoll_pmix_close(nbcoll_pmix *p)
{
    if (!p)
        return;
    nbcoll_host host = p->host;
    PMIx_Finalize(NULL, 0);
    nbcolli_free(&host, p, sizeof *p);
}

/* ---- exchanging -------------------------------------------------------------------------------------------------- */

static pmix_status_t nbcolli_pmix_publish(nbcoll_pmix *p, const char *key, const void *mine, size_t bytes)
{
    pmix_info_t info[2];
    bool collects = true;
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};

    value.data.bo.bytes = (char *)(uintptr_t)mine; /* is copied */
    value.data.bo.size = bytes;
    pmix_status_t s = PMIx_Put(PMIX_GLOBAL, key, &value);
    if (s == PMIX_SUCCESS)
        s = PMIx_Commit();
    if (s != PMIX_SUCCESS)
        return s;
    PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collects, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &p->seconds, PMIX_INT);
    pmix_proc_t all = nbcolli_pmix_rank(p, PMIX_RANK_WILDCARD);
    return PMIx_Fence(&all, 1, info, p->seconds ? 2 : 1);
}

nbcoll_status nbcoll_pmix_exchange(void *pmix, const void *mine, void *all, size_t bytes)
{
    nbcoll_pmix *p = pmix;
    char key[NBCOLLI_PMIX_NAME + 16];

    if (!p || !mine || !all)
        return NBCOLL_ERR_NULL;
    if (bytes == 0)
        return NBCOLL_ERR_ARGUMENT;
    snprintf(key, sizeof key, "%s.%u", p->name, p->exchanges++);
    pmix_status_t s = nbcolli_pmix_publish(p, key, mine, bytes);
    for (uint32_t rank = 0; rank < p->ranks && s == PMIX_SUCCESS; rank++) {
        pmix_proc_t proc = nbcolli_pmix_rank(p, rank);
        pmix_value_t *value = NULL;
        bool fits = false;
        s = PMIx_Get(&proc, key, NULL, 0, &value);
        if (s == PMIX_SUCCESS && value->type == PMIX_BYTE_OBJECT && value->data.bo.size == bytes) {
            memcpy((char *)all + rank * bytes, value->data.bo.bytes, bytes);
            fits = true;
        }
        if (s == PMIX_SUCCESS)
            PMIX_VALUE_RELEASE(value);
        if (s == PMIX_SUCCESS && !fits)
            return NBCOLL_ERR_MISMATCH;
    }
    return nbcolli_pmix_status(s);
}
