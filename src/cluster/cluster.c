/* SPDX-License-Identifier: BSD-3-Clause
 * Opening the endpoints of a rank: each tells all others where it is, and how it is reached by RDMA; then, where ranks
 * are on several machines and not all have that, by libfabric. See cluster.h. */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nbcoll/cluster.h"
#include "../host/host.h"

/* What a rank tells all others. Ranks with the same place share memory. */
typedef struct nbcolli_cluster_entry {
    struct {
        char boot[40]; /* of the machine: new with each start of it */
        uint64_t network, processes, part;
    } place;
    uint64_t status;  /* of opening verbs */
    uint64_t order;   /* how many ranks before it share memory with it; found out by each rank */
    nbcoll_shm_id id; /* of the shared memory, if it is the first one there */
    nbcoll_verbs_address address;
} nbcolli_cluster_entry;

/* The same of libfabric. */
typedef struct nbcolli_cluster_network {
    uint64_t status; /* of opening ofi */
    char provider[48];
    nbcoll_ofi_address address;
} nbcolli_cluster_network;

static uint64_t nbcolli_cluster_inode(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 ? (uint64_t)s.st_ino : 0;
}

static void nbcolli_cluster_place(const nbcoll_cluster_config *c, nbcolli_cluster_entry *entry)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        if (read(fd, entry->place.boot, sizeof entry->place.boot - 1) < 0)
            entry->place.boot[0] = 0;
        close(fd);
    }
    entry->place.network = nbcolli_cluster_inode("/proc/self/ns/net");
    entry->place.processes = nbcolli_cluster_inode("/proc/self/ns/pid");
    entry->place.part = c->flags & NBCOLL_CLUSTER_NO_SHM ? (uint64_t)c->rank : c->part;
}

static bool nbcolli_cluster_is_near(const nbcolli_cluster_entry *a, const nbcolli_cluster_entry *b)
{
    return memcmp(&a->place, &b->place, sizeof a->place) == 0;
}

/* ---- endpoints --------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_cluster_verbs(const nbcoll_cluster_config *c, nbcoll_verbs_address *mine,
                                           nbcoll_endpoint **out)
{
#ifdef NBCOLLI_CLUSTER_VERBS
    nbcoll_verbs_config config = {0};

    if (c->flags & NBCOLL_CLUSTER_NO_VERBS)
        return NBCOLL_ERR_UNSUPPORTED;
    if (c->verbs && nbcolli_copy_tagged(&config, c->verbs, sizeof config) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    config.size = sizeof config;
    config.rank = c->rank;
    config.ranks = c->ranks;
    config.host = c->host;
    return nbcoll_verbs_open(&config, mine, out);
#else
    (void)c, (void)mine, (void)out;
    return NBCOLL_ERR_UNSUPPORTED;
#endif
}

static nbcoll_status nbcolli_cluster_meet(nbcoll_endpoint *verbs, const nbcolli_cluster_entry *entry, int ranks,
                                          nbcoll_verbs_address *all)
{
#ifdef NBCOLLI_CLUSTER_VERBS
    for (int i = 0; i < ranks; i++)
        all[i] = entry[i].address;
    return nbcoll_verbs_meet(verbs, all);
#else
    (void)verbs, (void)entry, (void)ranks, (void)all;
    return NBCOLL_ERR_UNSUPPORTED;
#endif
}

/* With this provider; null: the host's, or the best. */
static void nbcolli_cluster_ofi(const nbcoll_cluster_config *c, const char *provider, nbcolli_cluster_network *mine,
                                nbcoll_endpoint **out)
{
    mine->status = NBCOLL_ERR_UNSUPPORTED;
#ifdef NBCOLLI_CLUSTER_OFI
    nbcoll_ofi_config config = {0};

    mine->status = NBCOLL_ERR_CONFIG;

    if (c->ofi && nbcolli_copy_tagged(&config, c->ofi, sizeof config) != NBCOLL_OK)
        return;
    config.size = sizeof config;
    config.rank = c->rank;
    config.ranks = c->ranks;
    config.host = c->host;
    config.provider = provider ? provider : config.provider;
    mine->status = (uint64_t)nbcoll_ofi_open(&config, &mine->address, out);
    const char *name = *out ? nbcoll_ofi_provider(*out) : "";
    strncpy(mine->provider, name, sizeof mine->provider - 1);
#else
    (void)c, (void)provider, (void)out;
#endif
}

static nbcoll_status nbcolli_cluster_ofi_meet(nbcoll_endpoint *ofi, const nbcolli_cluster_network *network, int ranks,
                                              nbcoll_ofi_address *all)
{
    for (int i = 0; i < ranks; i++)
        all[i] = network[i].address;
#ifdef NBCOLLI_CLUSTER_OFI
    return nbcoll_ofi_meet(ofi, all);
#else
    (void)ofi;
    return NBCOLL_ERR_UNSUPPORTED;
#endif
}

static nbcoll_status nbcolli_cluster_measure(const nbcoll_cluster_config *c, nbcoll_endpoint *ofi)
{
#ifdef NBCOLLI_CLUSTER_OFI
    return nbcoll_ofi_measure(ofi, c->exchange, c->user);
#else
    (void)c, (void)ofi;
    return NBCOLL_ERR_UNSUPPORTED;
#endif
}

/* The first rank that has not opened, or (null: whatever it is) has another provider than that; -1: none. */
static int nbcolli_cluster_lacks(const nbcolli_cluster_network *network, int ranks, const char *provider)
{
    for (int i = 0; i < ranks; i++)
        if (network[i].status != NBCOLL_OK || (provider && strcmp(network[i].provider, provider) != 0))
            return i;
    return -1;
}

/* The best provider differs by machine: by turns all try what some rank found best, and at last what every network
 * has. `first` is what all have said at first. */
static nbcoll_status nbcolli_cluster_agree(const nbcoll_cluster_config *c, nbcolli_cluster_network *first,
                                           nbcolli_cluster_network *network, nbcoll_endpoint **ofi)
{
    nbcolli_cluster_network mine;
    nbcoll_status status = NBCOLL_OK;

    for (int i = 0; i <= c->ranks && status == NBCOLL_OK; i++) {
        const char *name = i < c->ranks ? first[i].provider : "tcp;ofi_rxm";
        int before = 0, lacks;
        while (before < i && strcmp(first[before].provider, name) != 0)
            before++;
        if (before < i)
            continue;
        nbcoll_endpoint_close(*ofi);
        *ofi = NULL;
        mine = (nbcolli_cluster_network){0};
        nbcolli_cluster_ofi(c, name, &mine, ofi);
        status = c->exchange(c->user, &mine, network, sizeof mine);
        if (status != NBCOLL_OK)
            break;
        lacks = nbcolli_cluster_lacks(network, c->ranks, name);
        if (lacks < 0) {
            nbcolli_log(&c->host, NBCOLL_OK, "cluster: ofi by %s, which all ranks have", name);
            return NBCOLL_OK;
        }
        nbcolli_log(&c->host, NBCOLL_OK, "cluster: ofi not by %s, which rank %d has not", name, lacks);
    }
    return status == NBCOLL_OK ? NBCOLL_ERR_UNSUPPORTED : status;
}

/* All ranks do this, or none. */
static nbcoll_status nbcolli_cluster_network_open(const nbcoll_cluster_config *c, nbcoll_endpoint **out)
{
    size_t ranks = (size_t)c->ranks, networks = (2 * ranks + 1) * sizeof(nbcolli_cluster_network);
    size_t bytes = networks + ranks * sizeof(nbcoll_ofi_address);
    nbcolli_cluster_network *network = nbcolli_alloc(&c->host, bytes, 64);
    nbcoll_endpoint *ofi = NULL;

    if (!network)
        return NBCOLL_ERR_MEMORY;
    memset((void *)network, 0, bytes);
    nbcolli_cluster_network *again = network + ranks, *mine = again + ranks, *said = network;
    nbcolli_cluster_ofi(c, NULL, mine, &ofi);
    nbcoll_status status = c->exchange(c->user, mine, network, sizeof *network);
    int lacks = status == NBCOLL_OK ? nbcolli_cluster_lacks(network, c->ranks, NULL) : -1;
    if (lacks >= 0)
        status = nbcolli_ended_as(network[lacks].status);
    else if (status == NBCOLL_OK && nbcolli_cluster_lacks(network, c->ranks, network->provider) >= 0) {
        status = nbcolli_cluster_agree(c, network, again, &ofi);
        said = again;
    }
    if (status == NBCOLL_OK)
        status =
            nbcolli_cluster_ofi_meet(ofi, said, c->ranks, (nbcoll_ofi_address *)(void *)((char *)network + networks));
    nbcolli_free(&c->host, network, bytes);
    if (status == NBCOLL_OK)
        status = nbcolli_cluster_measure(c, ofi);
    if (status != NBCOLL_OK) {
        nbcoll_endpoint_close(ofi);
        return status;
    }
    *out = ofi;
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_cluster_shm(const nbcoll_cluster_config *c, const nbcolli_cluster_entry *entry,
                                         nbcoll_endpoint **out)
{
    nbcoll_shm_config config = {0};
    int first = c->rank;

    if (c->shm && nbcolli_copy_tagged(&config, c->shm, sizeof config) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    config.size = sizeof config;
    config.rank = (int)entry[c->rank].order;
    config.ranks = 0;
    for (int i = c->ranks; i-- > 0;)
        if (nbcolli_cluster_is_near(&entry[i], &entry[c->rank])) {
            config.ranks++;
            first = i;
        }
    config.id = entry[first].id;
    config.allgather = NULL;
    config.host = c->host.size ? &c->host : NULL;
    config.timeout = c->timeout;
    return nbcoll_shm_open(&config, out);
}

/* ---- what all ranks see alike ------------------------------------------------------------------------------------ */

/* Tells the log what is chosen, and why; the same on all ranks. */
static void nbcolli_cluster_say(const nbcoll_cluster_config *c, const nbcolli_cluster_entry *entry, bool is_one,
                                nbcoll_status verbs)
{
    const char *within = c->flags & NBCOLL_CLUSTER_NO_SHM ? "" : "shm within machines, ";
    int lacking = 0;

    while (lacking < c->ranks - 1 && nbcolli_ended_as(entry[lacking].status) != verbs)
        lacking++;
    if (is_one)
        nbcolli_log(&c->host, NBCOLL_OK, "cluster: shm: all %d ranks are on one machine", c->ranks);
    else if (verbs == NBCOLL_OK)
        nbcolli_log(&c->host, NBCOLL_OK, "cluster: %sverbs for all %d ranks: each has a device", within, c->ranks);
    else if (verbs == NBCOLL_ERR_UNSUPPORTED && c->flags & NBCOLL_CLUSTER_NO_OFI)
        nbcolli_log(&c->host, verbs,
                    "cluster: nothing joins the machines: rank %d has no RDMA device, and ofi is not "
                    "wanted",
                    lacking);
    else if (verbs == NBCOLL_ERR_UNSUPPORTED)
        nbcolli_log(&c->host, NBCOLL_OK, "cluster: %sofi for all %d ranks: rank %d has no RDMA device%s", within,
                    c->ranks, lacking, c->flags & NBCOLL_CLUSTER_NO_VERBS ? ", as is wanted" : "");
    else
        nbcolli_log(&c->host, verbs, "cluster: rank %d could not open its RDMA device", lacking);
}

/* Whether, and with how many endpoints, all can go on: by verbs, if they need it. */
static nbcoll_status nbcolli_cluster_judge(const nbcoll_cluster_config *c, nbcolli_cluster_entry *entry, int *n)
{
    nbcoll_status verbs = NBCOLL_OK;
    bool is_one = true;

    for (int i = 0; i < c->ranks; i++) {
        is_one = is_one && nbcolli_cluster_is_near(&entry[i], &entry[0]);
        nbcoll_status one = nbcolli_ended_as(entry[i].status);
        if (verbs == NBCOLL_OK || one == NBCOLL_ERR_UNSUPPORTED) /* who has no device says it for all */
            verbs = one;
        int j = i - 1;
        while (j >= 0 && !nbcolli_cluster_is_near(&entry[i], &entry[j]))
            j--;
        entry[i].order = j < 0 ? 0 : entry[j].order + 1;
        if (entry[i].order >= NBCOLL_SHM_RANKS)
            return NBCOLL_ERR_LIMIT;
    }
    *n = c->flags & NBCOLL_CLUSTER_NO_SHM ? 1 : is_one ? 1 : 2;
    nbcolli_cluster_say(c, entry, *n == 1 && !(c->flags & NBCOLL_CLUSTER_NO_SHM), verbs);
    return is_one && !(c->flags & NBCOLL_CLUSTER_NO_SHM) ? NBCOLL_OK : verbs;
}

/* Opens what joins the machines, in *between: verbs, which is there, or else ofi. */
static nbcoll_status nbcolli_cluster_join(const nbcoll_cluster_config *c, const nbcolli_cluster_entry *entry,
                                          nbcoll_status verbs, nbcoll_verbs_address *all, nbcoll_endpoint **between)
{
    if (verbs == NBCOLL_OK)
        return nbcolli_cluster_meet(*between, entry, c->ranks, all);
    nbcoll_endpoint_close(*between); /* where others have none */
    *between = NULL;
    return nbcolli_cluster_network_open(c, between);
}

/* Opens what comes to those that all have told their entries. */
static nbcoll_status nbcolli_cluster_settle(const nbcoll_cluster_config *c, nbcolli_cluster_entry *entry,
                                            nbcoll_verbs_address *all, nbcoll_endpoint **between,
                                            nbcoll_endpoint *end[2], int *n)
{
    bool shares = !(c->flags & NBCOLL_CLUSTER_NO_SHM);
    nbcoll_status status = NBCOLL_OK, verbs = nbcolli_cluster_judge(c, entry, n);
    bool may_go_on = verbs == NBCOLL_ERR_UNSUPPORTED && !(c->flags & NBCOLL_CLUSTER_NO_OFI);

    if (verbs != NBCOLL_OK && !may_go_on)
        return verbs;
    if (*n > shares) /* there are others, not on this machine */
        status = nbcolli_cluster_join(c, entry, verbs, all, between);
    if (status == NBCOLL_OK && shares)
        status = nbcolli_cluster_shm(c, entry, &end[0]);
    if (status == NBCOLL_OK && *n > shares) {
        end[shares] = *between;
        *between = NULL;
    }
    return status;
}

nbcoll_status nbcoll_cluster_open(const nbcoll_cluster_config *config, nbcoll_endpoint *end[2], int *n)
{
    nbcoll_cluster_config c = {0};
    nbcoll_endpoint *between = NULL;

    if (!config || !end || !n)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&c, config, sizeof c) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (!c.exchange)
        return NBCOLL_ERR_NULL;
    if (c.ranks < 1 || c.rank < 0 || c.rank >= c.ranks)
        return NBCOLL_ERR_RANK;
    size_t ranks = (size_t)c.ranks, entries = (ranks + 1) * sizeof(nbcolli_cluster_entry);
    size_t bytes = entries + ranks * sizeof(nbcoll_verbs_address);
    nbcolli_cluster_entry *entry = nbcolli_alloc(&c.host, bytes, 64), *mine;
    if (!entry)
        return NBCOLL_ERR_MEMORY;
    memset((void *)entry, 0, bytes);
    mine = entry + ranks;
    nbcolli_cluster_place(&c, mine);
    mine->status = (uint64_t)nbcolli_cluster_verbs(&c, &mine->address, &between);
    nbcoll_status status = nbcoll_shm_id_make(&mine->id);
    if (status == NBCOLL_OK)
        status = c.exchange(c.user, mine, entry, sizeof *entry);
    nbcoll_verbs_address *all = (nbcoll_verbs_address *)(void *)((char *)entry + entries);
    if (status == NBCOLL_OK)
        status = nbcolli_cluster_settle(&c, entry, all, &between, end, n);
    nbcoll_endpoint_close(between);
    nbcolli_free(&c.host, entry, bytes);
    return status;
}
