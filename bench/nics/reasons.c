/* SPDX-License-Identifier: BSD-3-Clause
 * Where figures are not the thesis': one parameter of the NICs changed at a time. */
#include <inttypes.h>
#include <stdio.h>

#include "nics.h"

static void free_tasks(nbcoll_nic_model *c)
{
    c->task = c->post = 0;
}

static void slow_tasks(nbcoll_nic_model *c)
{
    c->task *= 4;
}

static void no_latency(nbcoll_nic_model *c)
{
    c->latency = 0;
}

static void no_gap(nbcoll_nic_model *c)
{
    c->gap = 0;
}

static void free_bytes(nbcoll_nic_model *c)
{
    c->byte = c->gap = 0;
}

static void free_sends(nbcoll_nic_model *c)
{
    free_tasks(c);
    free_bytes(c);
}

static void free_hops(nbcoll_nic_model *c)
{
    free_sends(c);
    c->latency = 0;
}

static void free_copies(nbcoll_nic_model *c)
{
    c->copy = 0;
}

static void dear_pairs(nbcoll_nic_model *c)
{
    c->cached = 1;
    c->miss = 5000;
}

static void six_pairs(nbcoll_nic_model *c)
{
    c->cached = 6;
    c->miss = 5000;
}

static void pairs_at_hand(nbcoll_nic_model *c)
{
    c->miss = 0;
}

static void nic_a_rank(nbcoll_nic_model *c)
{
    c->nics = c->node;
}

typedef struct change {
    const char *name;
    void (*nic)(nbcoll_nic_model *nic);
} change;

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const change changes[] = {{"as it is", NULL},
                                 {"tasks cost nothing", free_tasks},
                                 {"tasks cost four times as much", slow_tasks},
                                 {"no latency", no_latency},
                                 {"no gap", no_gap},
                                 {"bytes cost nothing", free_bytes},
                                 {"bytes and tasks cost nothing", free_sends},
                                 {"bytes, tasks and latency cost nothing", free_hops},
                                 {"copies from eager buffers cost nothing", free_copies},
                                 {"all queue pairs but one fetched, 5 us each", dear_pairs},
                                 {"but six", six_pairs}};

/* Cayley's tree against Bruck's topology, pipelined, one leader on each of 4 nodes. */
static void print_cayley(void)
{
    static const size_t of[] = {16, 1024, 16384};
    nbcoll_sim_model b = machine_of("cluster_b");
    puts("| | 16 bytes: Bruck | Cayley | more | 1024: Bruck | Cayley | more | 16384: Bruck | Cayley | more |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (size_t k = 0; k < COUNT(changes); k++) {
        change_nic = changes[k].nic;
        printf("| %s |", changes[k].name);
        for (size_t i = 0; i < COUNT(of); i++) {
            double bruck = pipelined(&b, "bruck_pipelined", 1, of[i], 1).alone;
            double cayley = pipelined(&b, "cayley", 1, of[i], 1).alone;
            printf(" %.1f | %.1f | %.0f%% |", bruck / 1e3, cayley / 1e3, 100 * (cayley / bruck - 1));
        }
        puts("");
    }
    change_nic = NULL;
}

/* One fragment of each leader: what a leader sends, and which queue pairs its NIC has, at most. */
static void print_loads(void)
{
    static const char *const names[] = {"bruck_pipelined", "cayley"};
    nbcoll_sim_model b = machine_of("cluster_b");
    puts("\n| | sends, a leader at most | all together | queue pairs |\n|---|---:|---:|---:|");
    for (int k = 0; k < 4; k++) {
        play p = {.machine = &b,
                  .algorithm = allgather(names[k / 2]),
                  .ranks = 4,
                  .node = 1,
                  .bytes = FRAGMENT,
                  .ports = k % 2 ? 3 : 1};
        nbcoll_program *program[MOST];
        uint64_t most = 0, all = 0, pairs = 0;
        compile_all(&p, program);
        for (int rank = 0; rank < p.ranks; rank++) {
            nbcoll_program_info info = {.size = sizeof info};
            const nbcoll_queue_view *q;
            uint64_t sends = 0;
            expect(nbcoll_program_query(program[rank], &info), "query");
            for (uint32_t i = 0; (q = nbcoll_program_queue(program[rank], i)); i++)
                for (uint32_t t = 0; t < q->send_count; t++)
                    sends += q->sends[t].kind == NBCOLL_TASK_SEND;
            most = sends > most ? sends : most;
            pairs = info.queue_pairs > pairs ? info.queue_pairs : pairs;
            all += sends;
        }
        printf("| %s, %u port%s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " |\n", names[k / 2], p.ports,
               p.ports == 1 ? "" : "s", most, all, pairs);
        free_all(&p, program);
    }
}

/* Large blocks, flat, 128 ranks: the NIC against the baseline, both with recursive doubling. */
static void print_large(void)
{
    static const change of[] = {{"as it is", NULL},
                                {"tasks cost nothing", free_tasks},
                                {"no latency", no_latency},
                                {"all queue pairs at hand", pairs_at_hand},
                                {"copies from eager buffers cost nothing", free_copies}};
    nbcoll_sim_model a = machine_of("cluster_a");
    puts("\n| | 4096 bytes: baseline | NIC | more | 65536: baseline | NIC | more |\n"
         "|---|---:|---:|---:|---:|---:|---:|");
    for (size_t k = 0; k < COUNT(of) + 2; k++) {
        nbcoll_sim_model m = a;
        int is_own = k == COUNT(of), is_alone = k > COUNT(of);
        m.interfaces = is_own ? 0 : a.interfaces;
        change_nic = is_own ? nic_a_rank : is_alone ? NULL : of[k].nic;
        printf("| %s |", is_own ? "an interface and a NIC for each rank" : is_alone ? "a rank a node" : of[k].name);
        for (size_t bytes = 4096; bytes <= 65536; bytes *= 16) {
            play p = {.machine = &m,
                      .ranks = 128,
                      .node = is_alone ? 1 : 8,
                      .bytes = bytes,
                      .eager = eager_of(128, bytes)};
            double host = baseline(p).alone;
            take(&p, "recursive_doubling");
            double nic = offloaded(p).alone;
            printf(" %.0f | %.0f | %.0f%% |", host / 1e3, nic / 1e3, 100 * (nic / host - 1));
        }
        puts("");
    }
    change_nic = NULL;
}

void print_reasons(void)
{
    print_cayley();
    print_loads();
    print_large();
}
