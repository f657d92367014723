/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll topology`: proves the topologies of relays, and prints them. */
#include <nbcoll/relay.h>
#include <nbcoll/show.h>

#include "command.h"

typedef struct wanted {
    const command *self;
    nbcoll_topology_kind kind;
    uint64_t ranks, ports;
    int rank, all;
    int lists_kinds; /* no kind was said */
    command_cases cases; /* of which the nodes are used */
} wanted;

static void take_arguments(wanted *w, int argc, char *argv[])
{
    int kind = 0;
    w->lists_kinds = argc == 1;
    command_take_options(w->self, &argc, &argv, w, NULL);
    if (w->lists_kinds)
        return;
    if (argc != 1)
        command_refuse(w->self, "it takes one kind of topology");
    while (kind < NBCOLL_TOPOLOGY_COUNT && strcmp(nbcoll_topology_name((nbcoll_topology_kind)kind), *argv) != 0)
        kind++;
    if (kind == NBCOLL_TOPOLOGY_COUNT)
        command_refuse(w->self, "unknown topology '%s'", *argv);
    if (!w->ranks)
        w->ranks = (uint64_t)w->cases.placed;
    if (w->ranks > 4096)
        command_refuse(w->self, "there are at most 4096 ranks");
    if (!w->ranks)
        command_refuse(w->self, "--ranks is missing");
    if ((uint64_t)w->rank >= w->ranks)
        command_refuse(w->self, "--rank %d: there are %d ranks", w->rank, (int)w->ranks);
    w->kind = (nbcoll_topology_kind)kind;
}

/* Of all ranks: a topology is proved together with those that it is joined to. */
static void prove_and_print(const wanted *w)
{
    int ranks = (int)w->ranks;
    nbcoll_topology **topology = command_alloc(w->ranks, sizeof *topology);
    nbcoll_relay_refutation why = {.size = sizeof why};
    nbcoll_nodes *nodes = command_nodes(w->self, &w->cases, ranks);
    nbcoll_status status = NBCOLL_OK;
    for (int rank = 0; rank < ranks && !status; rank++)
        status = nodes ? nbcoll_topology_make_nodes(w->kind, (unsigned)w->ports, nodes, rank, NULL, &topology[rank])
                       : nbcoll_topology_make(w->kind, (unsigned)w->ports, ranks, rank, NULL, &topology[rank]);
    if (!status)
        status = nbcoll_verify_topologies((const nbcoll_topology *const *)topology, ranks, NULL, &why);
    for (int rank = w->all ? 0 : w->rank; rank < (w->all ? ranks : w->rank + 1) && !status; rank++)
        status = nbcoll_show_topology(topology[rank], command_write, stdout);
    for (int rank = 0; rank < ranks; rank++)
        nbcoll_topology_free(topology[rank]);
    free(topology);
    nbcoll_nodes_free(nodes);
    if (status == NBCOLL_ERR_VERIFY)
        command_end(w->self, COMMAND_REFUTED, "%s", why.text);
    command_fail_status(w->self, status);
}

static void list_kinds(void)
{
    static const char *const ideas[NBCOLL_TOPOLOGY_COUNT] = {
        [NBCOLL_TOPOLOGY_DIRECT] = "each rank to all others",
        [NBCOLL_TOPOLOGY_RING] = "each rank to the next one",
        [NBCOLL_TOPOLOGY_EXCHANGE] = "by rounds, among ranks that differ in one digit",
        [NBCOLL_TOPOLOGY_BRUCK] = "by rounds, over growing distances",
        [NBCOLL_TOPOLOGY_CAYLEY] = "a tree in which a rank has at most K + 1 neighbours",
    };
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        printf("%-9s %s\n", nbcoll_topology_name((nbcoll_topology_kind)kind), ideas[kind]);
}

static void run(const command *self, int argc, char *argv[])
{
    wanted w = {.self = self};
    take_arguments(&w, argc, argv);
    if (w.lists_kinds)
        list_kinds();
    else
        prove_and_print(&w);
}

static const command_option options[] = {
    {"ranks", "P", "", COMMAND_IN(wanted, ranks), 1, 4096},
    {"ports", "K", "ports of exchange, bruck and cayley (2)", COMMAND_IN(wanted, ports), 1, 4096},
    {"rank", "R", "", COMMAND_IN(wanted, rank), 0, 4095},
    {"all", NULL, "those of all ranks", COMMAND_IN(wanted, all)},
    {COMMAND_NODES(wanted, "by nodes: 4x8 (four of eight ranks) or sizes, 3,1,4: first ranks are joined as KIND says")},
    {COMMAND_NUMBERING(wanted, COMMAND_NUMBERING_HELP)},
    {0},
};

const command command_topology = {
    .name = "topology",
    .purpose = "proves topologies of relays, and prints them",
    .help =
    "usage: nbcoll topology\n"
    "       nbcoll topology KIND --ranks P [--ports K] [--rank R | --all] [--nodes N [--numbering N]]\n\n"
    "Proves that by the topologies of all P ranks each block comes to each rank once, and prints that of rank R (0\n"
    "unless given): each relay, from which relays of which ranks it receives, and to which it sends on what comes;\n"
    "7_0 is relay 0 of rank 7. Without a KIND it lists them.\n\n",
    .run = run,
    .options = options,
};
