/* SPDX-License-Identifier: BSD-3-Clause
 * The catalogue: what each algorithm does, what it costs at a few ranks, who talks to whom in which round, and when it
 * is chosen. As text that is also a page of Markdown, which is installed as algorithms.md. */
#include "info.h"
#include "rules.h"
#include "sim.h"

enum { CATALOGUE_RANKS = 8, CATALOGUE_BYTES = 1024, CATALOGUE_ROUNDS = 32 };
enum { CATALOGUE_LINE = 104, CATALOGUE_WIDTH = 116 }; /* characters */

static const info_idea *idea_of(const nbcoll_algorithm *algorithm)
{
    const info_idea *idea = info_ideas;
    while (idea->name && (strcmp(idea->operation, nbcoll_operation_name(algorithm->operation)) != 0 ||
                          strcmp(idea->name, algorithm->name) != 0))
        idea++;
    return idea->name ? idea : NULL;
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
        command_fail_status(&command_info, command_choose(&none, &terms, &at, &chosen));
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

void info_algorithms(void)
{
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcoll_algorithm *algorithm;
        printf("\n## %s\n", nbcoll_operation_name((nbcoll_operation)operation));
        for (unsigned i = 0; (algorithm = catalogue_at((nbcoll_operation)operation, i)); i++) {
            const info_idea *idea = idea_of(algorithm);
            printf("\n### %s %s\n\n", nbcoll_operation_name((nbcoll_operation)operation), algorithm->name);
            command_print_words(stdout, "", "", 0, CATALOGUE_WIDTH, idea ? idea->idea : "");
            if (idea && *idea->source) {
                puts("");
                command_print_words(stdout, "Source: ", "", 0, CATALOGUE_WIDTH, idea->source);
            }
            print_parameters(algorithm);
            print_costs(algorithm);
            print_choice(algorithm);
        }
    }
}
