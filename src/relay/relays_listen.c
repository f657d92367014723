/* SPDX-License-Identifier: BSD-3-Clause
 * How a rank that sleeps hears of what the agent publishes in its node's store. Of a thread: the leader by a bell,
 * others over the memory that the node shares. Of a process: each rank by its own command area there, if it has one. */
#include "../offload/offload.h"
#include "relays_agents.h"

void nbcolli_relays_say_commands(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    if (a->commands) /* seq_cst: before it sleeps */
        atomic_store(nbcolli_node_store_commands(&a->store, a->reader), nbcolli_agent_commands(a->commands));
}

int nbcolli_relays_listen(nbcoll_relays *r, int poller)
{
    nbcolli_relays_agents *a = r->agents;
    a->listens = 1;
    if (a->commands)
        return nbcolli_agent_watch(a->commands, poller);
    if (nbcolli_relays_leads(r))
        return !a->is_begun || nbcolli_alarm_set(&a->alarm, poller);
    /* By a thread over the memory that the node shares; the process does not know this rank. relaxed: as it stays */
    return !a->store.head || !atomic_load_explicit(&a->store.head->process, memory_order_relaxed);
}

void nbcolli_relays_listen_no_more(nbcoll_relays *r)
{
    nbcolli_relays_agents *a = r->agents;
    if (a->listens && a->commands)
        nbcolli_agent_unwatch(a->commands);
    else if (a->listens)
        nbcolli_alarm_unset(&a->alarm);
    a->listens = 0;
}

void nbcolli_relays_hear_no_more(nbcoll_relays *r)
{
    nbcolli_relays_listen_no_more(r);
    if (r->agents->commands)
        nbcolli_agent_give_back(r->agents->commands);
    r->agents->commands = NULL;
}
