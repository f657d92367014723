/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drivers: collectives that move while the program computes. A driver owns the progress of one or more contexts: it
 * takes what comes, executes steps, and sleeps while there is nothing to do. A rank that calls nothing between a start
 * and its wait then finds the operation done.
 *
 * In an application, one thread that the library makes:
 *
 *     nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD};
 *     ... a context and a communicator as always ...
 *     nbcoll_driver *driver;
 *     nbcoll_driver_create(NULL, &driver);
 *     nbcoll_driver_add(driver, context);
 *     nbcoll_driver_start(driver);
 *     nbcoll_iallreduce(mine, sum, n, NBCOLL_DOUBLE, NBCOLL_SUM, comm, &request);
 *     compute();
 *     nbcoll_wait(&request, NBCOLL_FOREVER);
 *     nbcoll_driver_free(driver);                 before the context
 *
 * A host with threads of its own sets `host.spawn` of the configuration, which makes that thread. Or one of its threads
 * calls nbcoll_driver_run(driver, timeout), which returns at the timeout, or when nbcoll_driver_stop is called.
 *
 * Without a core or a thread to spare, a timer whose signal interrupts the program is the driver: see ticks, below.
 *
 * Without a driver nothing changes, and nothing costs. docs/drivers.md says when to take one.
 *
 * What changes while a driver runs. Operations advance without calls. nbcoll_test looks, and progresses nothing. A wait
 * makes passes of its own for a short time, in which the driver leaves that context alone; then it sleeps until the
 * driver wakes it. A wait for operations of up to 64 contexts is one sleep, which any of their drivers ends. It looks
 * each millisecond if one of them has no driver, and on systems before Linux 5.16. Callbacks (`done`), CALL steps,
 * observers and the functions of host types and operations run on the thread of the driver as well. Steps of the lane
 * CALLER never do: they run in the next test, wait or progress. Steps of the lane PROGRESS run on the driver only.
 * While a driver runs a CALL step or a function of a host's type or operation, no other thread is inside that context:
 * deadlines and cancelling take effect when the function returns, as they do where another thread runs it.
 * nbcoll_progress may still be called. Between the runs of a driver, and after its last one, the program's calls
 * progress its contexts.
 *
 * Any thread may call at any time, unless a call says otherwise. From inside a `done` that a driver runs, and from
 * other functions that the library calls, calls on that driver return ERR_BUSY. All calls on a driver that was
 * inherited through fork() return ERR_FORKED; its thread exists in the parent only.
 */
#include "nbcoll.h"

#ifndef NBCOLL_DRIVER_H
#define NBCOLL_DRIVER_H

#if defined NBCOLL_WITH_DRIVER && !NBCOLL_WITH_DRIVER
#error "nbcoll/driver.h is of the component driver: define NBCOLL_WITH_DRIVER=1, or link nbcoll_driver"
#endif

NBCOLLI_BEGIN

typedef struct nbcoll_driver nbcoll_driver;

#define NBCOLL_DRIVER_SPIN 20000u /* the default, in nanoseconds */

typedef struct nbcoll_driver_config {
    size_t size;
    nbcoll_host host;    /* copied. `spawn` makes the thread of nbcoll_driver_start; without it, the C library's
                            pthread_create does, with all signals blocked. With `pause` the driver calls that between
                            looks that find nothing, and neither spins nor sleeps. A host of size 0 has no hooks */
    uint64_t spin_ns;    /* the driver goes on looking for so long after it has found something, before it sleeps; it
                            yields between two looks. If a computing thread shares its core it looks for 10 us at most,
                            and does not yield. 0: NBCOLL_DRIVER_SPIN */
    const int *cores;    /* [core_count], the processors on which the thread of nbcoll_driver_start is to run
                            (affinity.h finds some); read by nbcoll_driver_create only. The thread binds itself; if the
                            system refuses that, it runs anywhere. Null: it is not bound */
    size_t core_count;
} nbcoll_driver_config;

/* Makes a driver, without contexts and without a thread. `config` may be null. It takes two descriptors. Errors:
 * ERR_NULL, ERR_CONFIG (`size`; a negative core, or one of 1024 and more), ERR_MEMORY, ERR_TRANSPORT (no descriptor),
 * ERR_UNSUPPORTED (the kernel does not wipe memory on fork). */
NBCOLL_API nbcoll_status nbcoll_driver_create(const nbcoll_driver_config *config, nbcoll_driver **out);

/* Puts a context into the driver. The caller still owns it, and frees it after it was taken out. Allowed while the
 * driver runs, and while operations are active. A context made without NBCOLL_ANY_THREAD is refused (ERR_CONFIG), since
 * a second thread would be inside. If the context has an endpoint whose transport has no wakeup, and operations
 * outstanding, the driver looks every millisecond. Errors: ERR_NULL, ERR_CONFIG, ERR_BUSY (it is in a driver, this or
 * another), ERR_MEMORY, ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_driver_add(nbcoll_driver *driver, nbcoll_context *context);

/* Takes a context out, when the driver has ended its pass over it, callbacks included. Tests and waits progress its
 * operations from now on; waits that sleep do so, too. Errors: ERR_NULL, ERR_ARGUMENT (it is not in this driver),
 * ERR_BUSY, ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_driver_remove(nbcoll_driver *driver, nbcoll_context *context);

/* Puts an agent into the driver (offload.h). The caller still owns it, and closes it after it was taken out; before,
 * closing is ERR_BUSY. Its programs and relays then go on without calls of their ranks, and nobody else calls
 * nbcoll_agent_progress. Allowed while programs are under way. Starts, cancelling and the opening of relays wake the
 * driver. Nothing tells the driver that a program can go on, so it looks: after it has found nothing for spin_ns it
 * sleeps 20 us between looks, and longer, up to a millisecond, the longer nothing has moved. An agent with nothing
 * under way costs nothing. This takes one descriptor, until the agent is closed. Errors: ERR_NULL, ERR_CONFIG (another
 * process executes: nbcoll_agent_attach), ERR_BUSY (it is in a driver, this or another), ERR_MEMORY, ERR_TRANSPORT (no
 * descriptor), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_driver_add_agent(nbcoll_driver *driver, struct nbcoll_agent *agent);

/* Takes an agent out, when the driver is not inside. Its programs and relays wait for calls of nbcoll_agent_progress,
 * or for the next driver. Errors: ERR_NULL, ERR_ARGUMENT (it is not in this driver), ERR_BUSY, ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_driver_remove_agent(nbcoll_driver *driver, struct nbcoll_agent *agent);

/* Has a thread made that runs the driver until nbcoll_driver_free. Errors: ERR_NULL, ERR_BUSY (it has a thread, or is
 * running), what `spawn` returns, ERR_MEMORY (the system makes no thread), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_driver_start(nbcoll_driver *driver);

/* Runs the driver on the calling thread for `timeout` nanoseconds, or until it is stopped. Errors: ERR_NULL,
 * ERR_TIMEOUT (that time is over), ERR_BUSY (it is running, on whatever thread), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_driver_run(nbcoll_driver *driver, uint64_t timeout);

/* Ends the run that is under way, or the next one, which then returns NBCOLL_OK. Does not wait for it. May be called
 * from everywhere, also from inside callbacks and signal handlers. Errors: ERR_NULL, ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_driver_stop(nbcoll_driver *driver);

/* Stops the thread of nbcoll_driver_start and waits for it; a thread that the library made has ended then, so that a
 * fork may follow. Takes all contexts and agents out, and frees the driver. No other call on it may be under way. Null
 * is accepted. Errors: ERR_BUSY (a call of nbcoll_driver_run has not returned: stop it first; or this is inside a
 * callback), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_driver_free(nbcoll_driver *driver);

/* What a driver has done since it was made. */
typedef struct nbcoll_driver_counts {
    size_t size;
    uint64_t passes; /* over one context or agent, each */
    uint64_t sleeps; /* times that it gave its processor away */
    uint64_t rings;  /* of these, ended by a call on one of the contexts or agents, or on the driver */
    uint64_t looks;  /* of these, ended by their timeout: at most ten a second while operations are outstanding; more if
                        agents have something under way */
    uint64_t left;   /* steps of the lane START that were not done when the start returned */
} nbcoll_driver_counts;
/* Set out->size before. Errors: ERR_NULL, ERR_CONFIG (out->size), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_driver_count(const nbcoll_driver *driver, nbcoll_driver_counts *out);

/* ---- ticks ----------------------------------------------------------------------------------------------------- */

/* A timer interrupts the computation, and its signal's handler progresses the context. The host provides the handler;
 * the library only makes the timer:
 *
 *     static void on_tick(int number, siginfo_t *info, void *machine)
 *     {
 *         nbcoll_tick(info->si_value.sival_ptr);           the context
 *     }
 *
 *     struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
 *     sigaction(SIGRTMIN, &action, NULL);
 *     ... a context of one thread and a communicator ...
 *     nbcoll_tick_start(context, SIGRTMIN, 100000);        each 100 us
 *     nbcoll_iallreduce(mine, sum, n, NBCOLL_DOUBLE, NBCOLL_SUM, comm, &request);
 *     compute();
 *     nbcoll_wait(&request, NBCOLL_FOREVER);
 *     nbcoll_tick_stop(context);                           before the context is freed
 *
 * A tick takes what has come, copies, combines with predefined operations, and posts. The next test, wait or progress
 * does what is not safe in a signal handler: CALL steps; types that pack and operations of the host; callbacks; what
 * needs memory (an early message without room for it, an operation that waits for a slot); failures, cancelling and the
 * making of communicators. Once a message asks for such a thing, ticks do nothing until that call. They do not check
 * deadlines. An agent (offload.h) executes without ticks; that call sees the end.
 *
 * A tick calls neither watcher nor observer. If the watcher has heard of an operation (nbcoll_context_config), that
 * call also ends the operation and tells it. An observer hears of each step, so ticks could do nothing: a context has
 * an observer, or ticks. */

#define NBCOLL_TICK_LEAST 10000u /* ns: the shortest period. A signal costs the program one to some microseconds, in a
                                    virtual machine tens: with a period of less than that it would do nothing else */

/* Ticks may come from now on. If `signal` is not 0 the library makes a timer that sends it each `period` nanoseconds to
 * the calling thread, which must be the one that uses the context; the signal's value is the context. If `signal` is 0
 * the host calls nbcoll_tick in its own way, and `period` is ignored. System calls of the program are interrupted, or
 * begun again, as for any signal. Errors: ERR_NULL, ERR_BUSY (this context has ticks), ERR_CONFIG (a context made with
 * NBCOLL_ANY_THREAD, which a driver may have instead, or with an observer; a signal that has no handler, or is blocked
 * on this thread; a period below NBCOLL_TICK_LEAST), ERR_UNSUPPORTED (the context has no endpoint yet; or a transport
 * of one does not promise what a tick needs, nbcoll_transport.signal_safe: loopback does not, shm does without a `now`
 * of the host's, trace and fault do not; or the system makes no such timer), ERR_MEMORY, ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_tick_start(nbcoll_context *context, int signal, uint64_t period);

/* No tick does anything from now on, and the timer is deleted; a signal of the host's own may still call nbcoll_tick,
 * as long as the context exists. Until then nbcoll_context_free returns ERR_BUSY. Errors: ERR_NULL, ERR_ARGUMENT (it
 * has no ticks), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_tick_stop(nbcoll_context *context);

/* A tick: async-signal-safe, on the thread that uses the context. It returns at once if it has interrupted the library,
 * if the program is about to sleep (between nbcoll_arm and the next call), and if the program has had less time since
 * the last tick than that took. OK: a pass was made. PENDING: it was not. Errors: ERR_NULL, ERR_CONFIG (the context has
 * no ticks), ERR_UNSUPPORTED (an endpoint has come since whose transport does not promise what it needs), ERR_FORKED.
 * */
NBCOLL_API nbcoll_status nbcoll_tick(nbcoll_context *context);

NBCOLLI_END
#endif
