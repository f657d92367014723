/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host of the component message: a rank that sends itself a number. Succeeds when it comes. */
#include <nbcoll/loopback.h>
#include <nbcoll/message.h>

int main(void)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = 1};
    nbcoll_loopback *loopback;
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_messages *m;
    int in = 7, out = 0;

    if (nbcoll_loopback_create(&config, &loopback) != NBCOLL_OK ||
        nbcoll_loopback_open(loopback, 0, &endpoint) != NBCOLL_OK ||
        nbcoll_context_create(NBCOLL_ABI, NULL, &context) != NBCOLL_OK ||
        nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER) != NBCOLL_OK ||
        nbcoll_messages_open(comm, NULL, &m, NBCOLL_FOREVER) != NBCOLL_OK)
        return 1;
    nbcoll_status s = nbcoll_sendrecv(&in, 1, NBCOLL_INT, 0, 0, &out, 1, NBCOLL_INT, 0, 0, m, NULL, NBCOLL_FOREVER);
    nbcoll_messages_close(m);
    nbcoll_context_free(context);
    nbcoll_loopback_free(loopback);
    return s != NBCOLL_OK || out != 7;
}
