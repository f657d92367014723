/* SPDX-License-Identifier: BSD-3-Clause
 * Alarms: see alarm.h. */
#include "alarm.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "../host/wakeup.h"

void nbcolli_alarm_open(nbcolli_alarm *a)
{
    a->bell = nbcolli_bell_open();
    a->poller = -1;
    atomic_init(&a->sleeps, 0);
}

void nbcolli_alarm_close(nbcolli_alarm *a)
{
    if (a->bell >= 0)
        close(a->bell);
    a->bell = -1;
}

int nbcolli_alarm_set(nbcolli_alarm *a, int poller)
{
    struct epoll_event event = {.events = EPOLLIN};
    if (a->bell < 0)
        return 0;
    if (a->poller < 0) {
        nbcolli_bell_hush(a->bell); /* of an earlier sleep */
        if (epoll_ctl(poller, EPOLL_CTL_ADD, a->bell, &event))
            return 0;
        a->poller = poller;
    }
    atomic_store(&a->sleeps, 1); /* seq_cst: before the look */
    return 1;
}

void nbcolli_alarm_unset(nbcolli_alarm *a)
{
    if (a->poller < 0)
        return;
    atomic_store_explicit(&a->sleeps, 0, memory_order_relaxed); /* who has taken it rings for nobody */
    epoll_ctl(a->poller, EPOLL_CTL_DEL, a->bell, NULL);
    a->poller = -1;
}

void nbcolli_alarm_ring(nbcolli_alarm *a)
{
    if (nbcolli_wakeup_take(&a->sleeps))
        nbcolli_bell_ring(a->bell);
}
