/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll info`: what this build of the library has, and what it finds on this machine. */
#include <hwloc.h>

#include <nbcoll/affinity.h>
#include <nbcoll/loopback.h>

#include "crew.h"
#include "run.h"
#include "sim.h"

enum { INFO_RANKS = 4096 };

#ifndef NBCOLL_TRANSPORTS
#define NBCOLL_TRANSPORTS ""
#endif

/* Adds the words of a text, separated by blanks. */
static json_t *words(const char *text)
{
    json_t *list = json_array();
    while (*(text += strspn(text, " "))) {
        size_t length = strcspn(text, " ");
        json_array_append_new(list, json_stringn(text, length));
        text += length;
    }
    return list;
}

/* What of the processor the reduction kernels ask for. */
static json_t *features(void)
{
#if defined(__x86_64__)
    json_t *list = words("sse2");
    if (__builtin_cpu_supports("avx2"))
        json_array_append_new(list, json_string("avx2"));
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        json_array_append_new(list, json_string("avx512"));
    return list;
#else
    return words("baseline");
#endif
}

static json_t *operations(void)
{
    json_t *all = json_object();
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        json_t *names = json_array();
        const nbcoll_algorithm *algorithm;
        for (unsigned i = 0; (algorithm = catalogue_at((nbcoll_operation)operation, i)); i++)
            json_array_append_new(names, json_string(algorithm->name));
        json_object_set_new(all, nbcoll_operation_name((nbcoll_operation)operation), names);
    }
    return all;
}

static json_t *types(void)
{
    json_t *sizes = json_object();
    for (int type = 0; type < NBCOLL_TYPE_COUNT; type++)
        json_object_set_new(sizes, nbcoll_type_name((nbcoll_type)type),
                            json_integer((json_int_t)nbcoll_type_size((nbcoll_type)type)));
    return sizes;
}

static json_t *reductions(void)
{
    json_t *names = json_array();
    for (int op = 0; op < NBCOLL_OP_COUNT; op++)
        json_array_append_new(names, json_string(nbcoll_op_name((nbcoll_op)op)));
    return names;
}

/* ---- shared memory, schedules, and prices of messages ------------------------------------------------------------ */

/* What the cells of communicators take of shared memory: an array of objects with the members "ranks", "bytes" (of each
 * rank's memory, for a communicator with the default configuration), "quota" (of a rank, by default) and
 * "communicators" (whose cells that has room for). */
static json_t *cells(void)
{
    json_t *all = json_array();
    for (int ranks = 2; ranks <= NBCOLL_SHM_RANKS; ranks *= 2) {
        json_int_t bytes = (json_int_t)nbcoll_cells_bytes(NULL, ranks), quota = (json_int_t)nbcoll_shm_quota(ranks);
        json_array_append_new(all, json_pack("{s:i, s:I, s:I, s:I}", "ranks", ranks, "bytes", bytes, "quota", quota,
                                             "communicators", quota / bytes));
    }
    return all;
}

static void add_end(json_t *all, const nbcoll_endpoint *end)
{
    json_t *one = json_pack("{s:s, s:I}", "transport", end->transport->name, "payload",
                            (json_int_t)end->limits.payload);
    json_object_update_new(one, command_level_object(&end->limits.price));
    json_array_append_new(all, one);
}

/* Adds what ends of shm and loopback, of one rank, name as prices: objects with "transport", "payload" and members
 * named as in nbcoll_limits. Gives what a communicator keeps of schedules, by default, as one over loopback says it: an
 * object with the member "most", bytes; 0: none could be made. */
static json_t *open_ends(json_t *prices)
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .ranks = 1};
    nbcoll_context_config config = {.size = sizeof config};
    nbcoll_schedules is = {.size = sizeof is};
    nbcoll_loopback *world = NULL;
    nbcoll_endpoint *end = NULL;
    nbcoll_context *context = NULL;
    nbcoll_comm *comm;
    nbcoll_shm_config shm = {.size = sizeof shm, .ranks = 1};
    if (nbcoll_shm_id_make(&shm.id) == NBCOLL_OK && nbcoll_shm_open(&shm, &end) == NBCOLL_OK)
        add_end(prices, end);
    nbcoll_endpoint_close(end);
    end = NULL;
    if (nbcoll_loopback_create(&loopback, &world) == NBCOLL_OK && nbcoll_loopback_open(world, 0, &end) == NBCOLL_OK)
        add_end(prices, end);
    if (end && nbcoll_context_create(NBCOLL_ABI, &config, &context) == NBCOLL_OK &&
        nbcoll_comm_create(context, end, NULL, &comm, NBCOLL_FOREVER) == NBCOLL_OK) {
        end = NULL; /* the context's */
        nbcoll_comm_schedules(comm, &is);
    }
    nbcoll_endpoint_close(end);
    nbcoll_context_free(context);
    nbcoll_loopback_free(world);
    return json_pack("{s:I}", "most", (json_int_t)is.most);
}

/* ---- the copy paths, found by trial ------------------------------------------------------------------------------ */

/* Three ranks open shared memory and tell what each found out about the others. Two of them are threads of one process,
 * the third is another one beside it, as those of `nbcoll run` are: a parent and its child may be allowed more. The
 * third also takes some of the memory that all can read. */

#define TIMEOUT UINT64_C(5000000000) /* ns to find each other: for a machine under load */

enum { RANKS = 3, APART = 2 }; /* the last rank is a process of its own */

/* What can be found out: between threads, between processes, and with memory of nbcoll_mem_alloc. */
enum { THREADS, PROCESSES, ALLOCATED, MATTERS };

/* What one rank found out. */
typedef struct finding {
    /* Of what several ranks say, the most telling: a rank that failed, rather than those that then lack it; a rank that
     * could not read, rather than the one that it could not read. 0: nothing yet. */
    int weight;
    char path[32], why[256]; /* without a path: why there is none */
} finding;

typedef struct trial {
    nbcoll_shm_id id;
    finding found[RANKS][MATTERS];
} trial;

static finding failed(nbcoll_status status)
{
    finding f = {.weight = status == NBCOLL_ERR_PEER_LOST || status == NBCOLL_ERR_TIMEOUT ? 3 : 4};
    snprintf(f.why, sizeof f.why, "%s: %s", nbcoll_status_name(status), nbcoll_status_text(status));
    return f;
}

static finding look(const nbcoll_endpoint *end, int peer)
{
    static const char *const names[] = {
        [NBCOLL_SHM_BY_REFERENCE] = "by reference",
        [NBCOLL_SHM_BY_CMA] = "process_vm_readv",
        [NBCOLL_SHM_BY_FRAGMENTS] = "fragments",
        [NBCOLL_SHM_BY_PIECES] = "pieces",
        [NBCOLL_SHM_BY_EITHER] = "pieces or process_vm_readv",
    };
    nbcoll_shm_peer is = {.size = sizeof is};
    nbcoll_status status = nbcoll_shm_describe(end, peer, &is);
    finding f = {.weight = is.error ? 2 : 1};
    if (status != NBCOLL_OK)
        return failed(status);
    snprintf(f.path, sizeof f.path, "%s", names[is.path]);
    snprintf(f.why, sizeof f.why, "%s", is.why);
    if (is.error)
        command_add(f.why, sizeof f.why, " (%s)", strerror(is.error));
    return f;
}

static finding reserve(nbcoll_endpoint *end)
{
    const nbcoll_shared *shared = end->transport->shared;
    uint64_t at;
    nbcoll_status status = shared ? shared->reserve(end, 1, &at) : NBCOLL_ERR_UNSUPPORTED;
    if (status != NBCOLL_OK)
        return failed(status);
    shared->release(end, at);
    return (finding){.weight = 1, .path = "in place"};
}

/* Notes what this rank finds, or, by an error, why it does not. */
static void live(void *user, int rank)
{
    trial *t = user;
    nbcoll_shm_config config = {.size = sizeof config, .id = t->id, .rank = rank, .ranks = RANKS, .timeout = TIMEOUT};
    nbcoll_endpoint *end = NULL;
    nbcoll_status status = nbcoll_shm_open(&config, &end);
    for (int peer = 0; peer < RANKS; peer++) {
        int about = rank == peer ? ALLOCATED : (rank == APART) != (peer == APART) ? PROCESSES : THREADS;
        if (rank == peer && rank != APART)
            continue;
        finding f = status != NBCOLL_OK ? failed(status) : peer != rank ? look(end, peer) : reserve(end);
        if (f.weight > t->found[rank][about].weight)
            t->found[rank][about] = f;
    }
    if (end)
        nbcoll_endpoint_close(end);
}

/* The most telling finding about a matter, or how the ranks ended without one. */
static finding tell(const trial *t, int matter, nbcoll_status ended)
{
    finding told = {.why = "the ranks ended before they could tell"};
    if (ended != NBCOLL_OK)
        told = failed(ended);
    told.weight = 0;
    for (int rank = 0; rank < RANKS; rank++)
        if (t->found[rank][matter].weight > told.weight)
            told = t->found[rank][matter];
    return told;
}

/* How large data moves over shared memory on this machine: an object with the members "threads", "processes" and
 * "mem_alloc" (from memory of nbcoll_mem_alloc). Each is an object of a "path" (null where none could be found) and a
 * "why", which says why it is not a better one and is empty if there is none. */
static json_t *paths(void)
{
    static const char *const names[] = {[THREADS] = "threads", [PROCESSES] = "processes", [ALLOCATED] = "mem_alloc"};
    static const trial nothing;
    trial *t = crew_share(sizeof *t);
    crew ranks = {.ranks = RANKS, .together = APART, .live = live, .user = t};
    nbcoll_status status = t ? nbcoll_shm_id_make(&t->id) : NBCOLL_ERR_MEMORY;
    if (status == NBCOLL_OK)
        status = crew_run(&ranks);
    json_t *all = json_object();
    for (int i = 0; i < MATTERS; i++) {
        finding f = tell(t ? t : &nothing, i, status);
        json_object_set_new(all, names[i], json_pack("{s:s?, s:s}", "path", *f.path ? f.path : NULL, "why", f.why));
    }
    crew_unshare(t, sizeof *t);
    return all;
}

/* ---- the machine, and where ranks run ---------------------------------------------------------------------------- */

static json_t *caches_of(hwloc_topology_t topology)
{
    json_t *all = json_array();
    for (int level = 1; level <= 4; level++) {
        hwloc_obj_type_t kind = (hwloc_obj_type_t)(HWLOC_OBJ_L1CACHE + level - 1);
        hwloc_obj_t first = hwloc_get_obj_by_type(topology, kind, 0);
        if (first)
            json_array_append_new(all, json_pack("{s:i, s:i, s:I, s:i}", "level", level, "count",
                                                 hwloc_get_nbobjs_by_type(topology, kind), "bytes",
                                                 (json_int_t)first->attr->cache.size, "processors",
                                                 hwloc_bitmap_weight(first->cpuset)));
    }
    return all;
}

/* The machine, as hwloc sees it: an object with "packages", "memories" (NUMA nodes), "cores", "processors", and
 * "caches", an array of objects with "level", "count", "bytes" and "processors" (that share one). With "why" alone
 * where the system refuses what hwloc needs. */
static json_t *machine(void)
{
    hwloc_topology_t topology;
    json_t *all = NULL;
    if (run_bind_error())
        return json_pack("{s:s}", "why", "sched_getaffinity is refused, without which hwloc finds nothing");
    if (hwloc_topology_init(&topology) < 0)
        return json_object();
    if (hwloc_topology_load(topology) == 0)
        all = json_pack("{s:i, s:i, s:i, s:i, s:o}", "packages",
                        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE), "memories",
                        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE), "cores",
                        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE), "processors",
                        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU), "caches", caches_of(topology));
    hwloc_topology_destroy(topology);
    return all ? all : json_object();
}

/* Where --bind core, scatter and l3 put so many ranks: of each a list, empty where it is not known, of processors. */
static json_t *bindings(int ranks)
{
    static const char *const ways[] = {"core", "scatter", "l3"};
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        run_binding *binding = run_bind_find(NULL, ways[i], ranks);
        json_t *places = json_array();
        char text[128];
        for (int rank = 0; rank < ranks && binding; rank++)
            json_array_append_new(places, json_string(run_bind_text(binding, rank, text, sizeof text)));
        run_bind_free(binding);
        json_object_set_new(all, ways[i], places);
    }
    return all;
}

#define INFO_REASON 160

/* Keeps the reason that is told beside a status. */
static void keep(void *user, nbcoll_status why, const char *text)
{
    (void)why;
    snprintf(user, INFO_REASON, "%s", text);
}

/* Where so many ranks and the drivers of their progress would run: an object with the members "ranks", "cores", "idle",
 * "why" and "places", an array of objects with "rank", "driver" (processors; -1: none) and "share" (what they share).
 * Or one with "why" alone. */
static json_t *places_of(int ranks)
{
    char reason[INFO_REASON] = "";
    const nbcoll_host host = {.size = sizeof host, .user = reason, .log = keep};
    nbcoll_affinity_config config = {.size = sizeof config, .ranks = ranks};
    nbcoll_affinity *found;
    nbcoll_status status = nbcoll_affinity_find(&host, &config, &found);
    if (status != NBCOLL_OK)
        return json_pack("{s:s}", "why", *reason ? reason : nbcoll_status_text(status));
    json_t *places = json_array();
    for (int i = 0; i < ranks; i++)
        json_array_append_new(places, json_pack("{s:i, s:i, s:s}", "rank", found->place[i].rank, "driver",
                                                found->place[i].driver, "share",
                                                nbcoll_affinity_near_name(found->place[i].near)));
    json_t *all = json_pack("{s:i, s:i, s:i, s:s, s:o}", "ranks", ranks, "cores", found->cores, "idle", found->idle,
                            "why", found->why, "places", places);
    nbcoll_affinity_free(found);
    return all;
}

/* ---- the catalogue ----------------------------------------------------------------------------------------------- */

/* What each algorithm does, what it costs at a few ranks, who talks to whom in which round, and when it is chosen. As
 * text that is also a page of Markdown, which is installed as algorithms.md. */

enum { CATALOGUE_RANKS = 8, CATALOGUE_BYTES = 1024, CATALOGUE_ROUNDS = 32 };
enum { CATALOGUE_LINE = 104, CATALOGUE_WIDTH = 116 }; /* characters */

/* What ideas.awk finds in the source of an algorithm: operation, name, idea, source. Null where that is nothing. */
extern const char *const info_ideas[][4];

static const char *const *idea_of(const nbcoll_algorithm *algorithm)
{
    for (int i = 0; info_ideas[i][0]; i++)
        if (strcmp(info_ideas[i][0], nbcoll_operation_name(algorithm->operation)) == 0 &&
            strcmp(info_ideas[i][1], algorithm->name) == 0)
            return info_ideas[i];
    return NULL;
}

/* ---- who talks to whom ------------------------------------------------------------------------------------------- */

/* Messages and reads by the round in which they are on their way. */
typedef struct picture {
    int rounds, shown[CATALOGUE_ROUNDS], all[CATALOGUE_ROUNDS];
    char line[CATALOGUE_ROUNDS][CATALOGUE_LINE + 1];
} picture;

static void see(void *user, const nbcoll_sim_event *event)
{
    picture *p = user;
    char pair[24];
    if (event->what != NBCOLL_SIM_MESSAGE)
        return;
    int round = (int)(event->begin / TIMELINE_ROUND);
    if (round >= CATALOGUE_ROUNDS)
        round = CATALOGUE_ROUNDS - 1;
    p->rounds = round >= p->rounds ? round + 1 : p->rounds;
    p->all[round]++;
    size_t used = strlen(p->line[round]);
    int length = snprintf(pair, sizeof pair, " %d>%d", event->rank, event->peer);
    if (p->shown[round] + 1 == p->all[round] && used + (size_t)length <= CATALOGUE_LINE) {
        memcpy(p->line[round] + used, pair, (size_t)length + 1);
        p->shown[round]++;
    }
}

static void print_picture(const picture *p)
{
    puts("");
    for (int round = 0; round < p->rounds; round++) {
        if (!p->all[round])
            continue;
        printf("    %2d%s", round + 1, p->line[round]);
        puts(p->shown[round] < p->all[round] ? " ..." : "");
    }
}

static nbcoll_case case_of(const nbcoll_algorithm *algorithm, int is_shared)
{
    int has_one = algorithm->operation == NBCOLL_OPERATION_BARRIER;
    return (nbcoll_case){.size = sizeof(nbcoll_case), .operation = algorithm->operation, .ranks = CATALOGUE_RANKS,
                         .node = is_shared ? CATALOGUE_RANKS : 0,
                         .count = has_one ? 0 : CATALOGUE_BYTES / sizeof(float),
                         .reduction = {NBCOLL_FLOAT, NBCOLL_SUM}, .known = 1};
}

/* One of which nodes are of interest runs on two, and these have two domains each where it goes by domains. */
static void print_costs(const nbcoll_algorithm *algorithm)
{
    int exposes = algorithm->flags >> 16 != 0, hierarchical = (algorithm->flags & NBCOLL_ALGORITHM_NODES) != 0;
    const int room = hierarchical ? CATALOGUE_RANKS / 2 : CATALOGUE_RANKS;
    int by_domains = (algorithm->flags & NBCOLL_ALGORITHM_DOMAINS) != 0;
    const nbcoll_placement placement = {
        .size = sizeof placement, .room = &room, .rooms = 1, .domain = by_domains ? room / 2 : 0};
    nbcoll_case at = case_of(algorithm, exposes);
    picture p = {.rounds = 0};
    nbcoll_sim_result result = {.size = sizeof result};
    nbcoll_nodes *nodes = NULL;
    command_fail_status(&command_info, nbcoll_nodes_place(&placement, CATALOGUE_RANKS, NULL, &nodes));
    at.nodes = nodes;
    at.node = hierarchical && exposes ? NBCOLL_CASE_BY_NODE : at.node;
    command_fail_status(&command_info, sim_play_rounds(algorithm, &at, room, see, &p, &result));
    nbcoll_nodes_free(nodes);
    printf("\n%d ranks%s%s", CATALOGUE_RANKS, hierarchical ? " on 2 nodes" : "", by_domains ? " of 2 domains" : "");
    if (algorithm->operation != NBCOLL_OPERATION_BARRIER)
        printf(", %d bytes", CATALOGUE_BYTES);
    printf(": %" PRIu32 " round%s", result.rounds, result.rounds == 1 ? "" : "s");
    if (result.messages)
        printf(", %" PRIu64 " messages, %" PRIu64 " bytes", result.messages, result.bytes);
    if (result.fetches)
        printf(", %" PRIu64 " reads of %" PRIu64 " bytes", result.fetches, result.fetched);
    if (result.messages)
        printf("; at most %" PRIu32 " peers", result.peers);
    puts(".");
    print_picture(&p);
}

/* ---- when it is chosen ------------------------------------------------------------------------------------------- */

enum { CHOICE_SIZES = 23 }; /* 4 bytes to 16 MiB, in powers of two */

static const int choice_ranks[] = {2, 3, 4, 8, 16, 32, 64, 128};
enum { CHOICE_RANKS = sizeof choice_ranks / sizeof *choice_ranks };

/* For which of the sizes the compiled-in choice takes the algorithm, one bit each. */
static uint32_t choose(const nbcoll_algorithm *algorithm, int ranks, int is_shared)
{
    const command_rules none = {.algorithm = NULL};
    command_chosen chosen;
    uint32_t sizes = 0;
    for (int i = 0; i < CHOICE_SIZES; i++) {
        nbcoll_case at = case_of(algorithm, 0);
        at.ranks = ranks;
        at.node = is_shared ? ranks : 0;
        at.count = algorithm->operation == NBCOLL_OPERATION_BARRIER ? 0 : (size_t)1 << i;
        nbcoll_terms terms = command_terms(&none, &at);
        command_choose(&command_info, &none, &terms, &at, &chosen);
        sizes |= (uint32_t)(chosen.choice.algorithm == algorithm) << i;
    }
    return sizes;
}

static const char *bytes_text(int power, char text[16])
{
    static const char *const units[] = {"", " K", " M"};
    int bits = power + 2; /* floats */
    snprintf(text, 16, "%d%s", 1 << bits % 10, units[bits / 10]);
    return text;
}

/* "4..2 K, 64 K..16 M" */
static void add_sizes(char *text, size_t room, uint32_t sizes)
{
    char first[16], last[16];
    const char *comma = "";
    for (int i = 0; i < CHOICE_SIZES; i++) {
        int end = i;
        if (!(sizes >> i & 1))
            continue;
        while (end + 1 < CHOICE_SIZES && sizes >> (end + 1) & 1)
            end++;
        command_add(text, room, "%s%s", comma, bytes_text(i, first));
        if (end > i)
            command_add(text, room, "..%s", bytes_text(end, last));
        comma = ", ";
        i = end;
    }
}

/* For which numbers of ranks, and for which sizes at each. */
static void add_choice(const nbcoll_algorithm *algorithm, int is_shared, char *text, size_t room)
{
    uint32_t sizes[CHOICE_RANKS];
    const char *before = is_shared ? "in shared memory at " : "over messages at ";
    for (int i = 0; i < CHOICE_RANKS; i++)
        sizes[i] = choose(algorithm, choice_ranks[i], is_shared);
    for (int i = 0; i < CHOICE_RANKS; i++) {
        int end = i;
        while (end + 1 < CHOICE_RANKS && sizes[end + 1] == sizes[i])
            end++;
        if (sizes[i]) {
            command_add(text, room, "%s%s%d", *text ? "; " : "Chosen ", before, choice_ranks[i]);
            if (end > i)
                command_add(text, room, "..%d", choice_ranks[end]);
            command_add(text, room, algorithm->operation == NBCOLL_OPERATION_BARRIER ? " ranks" : " ranks: ");
            if (algorithm->operation != NBCOLL_OPERATION_BARRIER)
                add_sizes(text, room, sizes[i]);
            before = "";
        }
        i = end;
    }
}

static void print_choice(const nbcoll_algorithm *algorithm)
{
    char text[4096] = "";
    add_choice(algorithm, 0, text, sizeof text);
    add_choice(algorithm, 1, text, sizeof text);
    puts("");
    command_add(text, sizeof text, *text ? "." : "Chosen by rules only.");
    command_print_words(stdout, "", "", 0, CATALOGUE_WIDTH, text);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void print_parameters(const nbcoll_algorithm *algorithm)
{
    static const struct {
        uint32_t flag;
        const char *text;
    } notes[] = {{NBCOLL_ALGORITHM_SEGMENT, "Reads `segment`"},
                 {NBCOLL_ALGORITHM_ARITY, "Reads `arity`"},
                 {NBCOLL_ALGORITHM_PORTS, "Reads `ports`"},
                 {NBCOLL_ALGORITHM_SPLIT, "Reads `split`"},
                 {NBCOLL_ALGORITHM_LEADERS, "Reads `leaders`"},
                 {NBCOLL_ALGORITHM_COUNTS, "Needs the counts of all ranks"},
                 {NBCOLL_ALGORITHM_REORDERS, "For commutative reductions"},
                 {NBCOLL_ALGORITHM_REPRODUCIBLE, "Keeps the tree of `NBCOLL_REPRODUCIBLE`"},
                 {NBCOLL_ALGORITHM_ARRIVAL_TOLERANT, "Tolerates late arrivals (`NBCOLL_ARRIVAL_TOLERANT`)"},
                 {NBCOLL_ALGORITHM_DIFFERS, "The bits of rounded results may differ between ranks"}};
    int n = 0;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (algorithm->flags & notes[i].flag)
            printf("%s%s", n++ ? ". " : "\n", notes[i].text);
    if (n)
        puts(".");
}

static void list_algorithms(void)
{
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcoll_algorithm *algorithm;
        printf("\n## %s\n", nbcoll_operation_name((nbcoll_operation)operation));
        for (unsigned i = 0; (algorithm = catalogue_at((nbcoll_operation)operation, i)); i++) {
            const char *const *idea = idea_of(algorithm);
            printf("\n### %s %s\n\n", nbcoll_operation_name((nbcoll_operation)operation), algorithm->name);
            command_print_words(stdout, "", "", 0, CATALOGUE_WIDTH, idea ? idea[2] : "");
            if (idea && *idea[3]) {
                puts("");
                command_print_words(stdout, "Source: ", "", 0, CATALOGUE_WIDTH, idea[3]);
            }
            print_parameters(algorithm);
            print_costs(algorithm);
            print_choice(algorithm);
        }
    }
}

/* ---- the object -------------------------------------------------------------------------------------------------- */

static json_t *collect(int ranks)
{
    json_t *prices = json_array(), *schedules = open_ends(prices);
    json_t *all = json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", NBCOLL_VERSION,
                            "abi", (int)NBCOLL_ABI, "operations", operations(), "types", types(), "reductions",
                            reductions(), "transports", words(NBCOLL_TRANSPORTS), "vectors", features(), "copy_paths",
                            paths(), "cells", cells(), "schedules", schedules, "machine",
                            machine(), "prices", prices);
    if (ranks)
        json_object_update_new(all, json_pack("{s:o, s:o}", "places", places_of(ranks), "bind",
                                              bindings(ranks)));
    return all;
}

/* ---- text: what the object has, a line for each part of it ------------------------------------------------------- */

enum { INFO_COLUMNS = 22 }; /* of names */

/* A name and its line, of a list as many; below that, what has lines of its own. */
static void print_part(int indent, const char *name, json_t *part)
{
    const char *below;
    size_t i;
    json_t *value;
    if (json_is_array(part) && json_is_object(json_array_get(part, 0))) {
        json_array_foreach(part, i, value)
            print_part(indent, name, value);
        return;
    }
    printf("%*s%-*s ", indent, "", INFO_COLUMNS - indent, name);
    row_print_members(part);
    putchar('\n');
    json_object_foreach(part, below, value)
        if (json_is_object(value) || json_is_array(value))
            print_part(indent + 2, below, value);
}

static void print_catalogue(void)
{
    puts("# The algorithms\n\n"
         "Made by `nbcoll info --algorithms` from the source: what each does, from the comment of its file; what it\n"
         "costs 8 ranks (rounds: messages that wait for each other); who sends to whom (in shared memory: is read by\n"
         "whom) in which round, as far as a line goes; and when a communicator with the defaults chooses it, by ranks\n"
         "and bytes as rules count them: of the vector, or of the block.");
    list_algorithms();
}

typedef struct wish {
    int ranks, has_json, has_algorithms;
} wish;

static void run(const command *self, int argc, char *argv[])
{
    wish w = {0};
    command_take_options(self, &argc, &argv, &w, NULL);
    if (argc)
        command_refuse(self, "it takes no words: '%s'", *argv);
    if (w.has_algorithms && (w.has_json || w.ranks))
        command_refuse(self, "--algorithms stands alone");
    if (w.has_algorithms) {
        print_catalogue();
        return;
    }
    json_t *all = collect(w.ranks);
    if (w.has_json)
        command_print_json(all);
    else {
        const char *name;
        json_t *part;
        json_object_foreach(all, name, part)
            print_part(0, name, part);
        json_decref(all);
    }
}

static const command_option options[] = {
    {"json", NULL, "one object", COMMAND_IN(wish, has_json)},
    {"ranks", "N",
     "also where N ranks would run, scattered over the cores that may be used, and where the drivers of their "
     "progress: on the cores between, dealt evenly, nearest first (-1: none); and where --bind puts them",
     COMMAND_IN(wish, ranks), 1, INFO_RANKS},
    {"algorithms", NULL,
     "the catalogue: of each algorithm its idea, its source, what it costs 8 ranks, who sends to whom, and when it "
     "is chosen; a page of Markdown", COMMAND_IN(wish, has_algorithms)},
    {0},
};

const command command_info = {
    .name = "info",
    .purpose = "lists operations, algorithms, types, reductions, transports and copy paths",
    .help =
    "usage: nbcoll info [--json] [--ranks N]\n"
    "       nbcoll info --algorithms\n\n"
    "Lists what this build has: its version, the algorithms of each operation (for small data first, for large data\n"
    "second), types and their sizes in bytes, reductions, transports, and the vector instructions of this processor\n"
    "that reductions use. Then the best copy path of shared memory, found by trial between two threads and between\n"
    "two processes: by reference, process_vm_readv, pieces that both copy through shared memory, or fragments that\n"
    "travel as messages; whether all read memory of nbcoll_mem_alloc in place; and why a path is not a better one.\n"
    "Then what the cells of a communicator take of each rank's shared memory, by the number of ranks, and for how\n"
    "many communicators its quota has room: one for which there is none left works by messages alone. Then how many\n"
    "bytes of schedules a communicator keeps (nbcoll_comm_config.schedule_bytes): a call unlike all kept ones, if in\n"
    "its count alone, builds one. Last, cores and caches of the machine, and what messages cost, as the ends of one\n"
    "rank say it to the choice of algorithms (nbcoll/select.h).\n\n",
    .run = run,
    .options = options,
};
