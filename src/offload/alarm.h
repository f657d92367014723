/* SPDX-License-Identifier: BSD-3-Clause
 * Alarms: how agents and relays wake a rank that sleeps. */
#ifndef NBCOLLI_OFFLOAD_ALARM_H
#define NBCOLLI_OFFLOAD_ALARM_H

#include <stdatomic.h>
#include <stdint.h>

/* A bell for a rank that sleeps on an epoll descriptor of its own, by whoever has something for it. */
typedef struct nbcolli_alarm {
    int bell;                /* -1: there is none */
    int poller;              /* where the rank hears it; -1: nowhere */
    _Atomic uint32_t sleeps; /* it is about to sleep, or does */
} nbcolli_alarm;

void nbcolli_alarm_open(nbcolli_alarm *a);
void nbcolli_alarm_close(nbcolli_alarm *a);

/* The rank is about to sleep: from 1 on, what is published (seq_cst) before a ring ends that sleep, or is seen by a
 * look (seq_cst) that follows. 0: it does not. Then, also instead: it is awake. */
int nbcolli_alarm_set(nbcolli_alarm *a, int poller);
void nbcolli_alarm_unset(nbcolli_alarm *a);

/* After something was published: a rank that sleeps is woken. */
void nbcolli_alarm_ring(nbcolli_alarm *a);

#endif
