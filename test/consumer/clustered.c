/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that opens its endpoints, alone, by an exchange over TCP.
 */
#include <nbcoll/cluster.h>
#include <stdio.h>

int main(void)
{
    const nbcoll_tcp_config config = {.size = sizeof config, .ranks = 1};
    nbcoll_cluster_config cluster = {.size = sizeof cluster, .ranks = 1, .exchange = nbcoll_tcp_exchange};
    nbcoll_tcp_id id;
    nbcoll_tcp *tcp;
    nbcoll_endpoint *end[2];
    int n = 0;

    nbcoll_status status = nbcoll_tcp_create(&config, &id, &tcp);
    cluster.user = tcp;
    if (status == NBCOLL_OK)
        status = nbcoll_cluster_open(&cluster, end, &n);
    if (status != NBCOLL_OK || n != 1) {
        printf("%d endpoints: %s\n", n, nbcoll_status_text(status));
        return 1;
    }
    nbcoll_endpoint_close(end[0]);
    nbcoll_tcp_close(tcp);
    return 0;
}
