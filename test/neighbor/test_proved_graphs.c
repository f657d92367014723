/* SPDX-License-Identifier: BSD-3-Clause
 * Neighbours as graphs: the verifier proves every call over all graphs of up to 3 ranks with up to two edges from each
 * to each, itself included (sanitized builds have a sample), and over seeded ones of up to 64 ranks. */
#include "proved.h"

#include <stdio.h>
#include <string.h>

#include "crew.h"

static void all_small_graphs(void **state)
{
    uint64_t random = seed_of_test();
    long long graphs = 0, proofs = 0;
    (void)state;
    for (int ranks = 1; ranks <= 3; ranks++) {
        int cells = ranks * ranks, codes = 1;
        for (int i = 0; i < cells; i++)
            codes *= 3;
        int step = ranks < 3 ? 1 : sampled(116); /* 3^9: a sample has all numbers of edges at each place */
        for (int code = (int)(random % (uint64_t)step); code < codes; code += step, graphs++) {
            int edges[9];
            all_around all;
            for (int i = 0, left = code; i < cells; i++, left /= 3)
                edges[i] = left % 3;
            all_of_graph(&all, edges, ranks, &random);
            proofs += prove_all(&all);
            all_close(&all);
        }
    }
    print_message("%lld graphs, %lld proofs\n", graphs, proofs);
    assert_true(graphs >= 3 + 81);
}

static void graphs_of_up_to_64_ranks(void **state)
{
    uint64_t random = seed_of_test();
    static int edges[PROVED_MOST * PROVED_MOST];
    int most = is_full() ? 200 : 24 / sampled(4);
    (void)state;
    for (int i = 0; i < most; i++) {
        int ranks = i == 0 ? PROVED_MOST : 4 + (int)(random_of(&random) % (PROVED_MOST - 3));
        int lone = (int)(random_of(&random) % (uint64_t)ranks), degree = 1 + (int)(random_of(&random) % 6);
        all_around all;
        memset(edges, 0, sizeof edges);
        for (int n = 0; n < ranks * degree; n++) {
            int s = (int)(random_of(&random) % (uint64_t)ranks), d = (int)(random_of(&random) % (uint64_t)ranks);
            if (s != lone && d != lone)
                edges[s * ranks + d] += 1 + (random_of(&random) % 5 == 0);
        }
        all_of_graph(&all, edges, ranks, &random);
        prove_all(&all);
        all_close(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_small_graphs), cmocka_unit_test(graphs_of_up_to_64_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
