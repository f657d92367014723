/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fork: at a hook or slot, inside whatever call the rank is in, its process gets a child, which calls functions on all
 * that it has inherited. Each says ERR_FORKED at once, calls no hook and no function of a transport's, and writes to no
 * memory that ranks share. The parent's job goes on as if there had been no child: its hash is the same (test_storm.c).
 */
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nbcoll/driver.h"
#include "nbcoll/message.h"
#include "nbcoll/relay.h"
#include "rank.h"

/* ---- in the child ------------------------------------------------------------------------------------------------ */

static uint64_t shared_sum(const storm *s)
{
    uint64_t sum = 0, word;
    for (int n = 0; n < s->plan.nets; n++)
        for (size_t at = 0; s->memory[n] && at + 8 <= s->plan.net[n].quota * (size_t)s->plan.ranks; at += 8) {
            memcpy(&word, s->memory[n] + at, sizeof word);
            sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        }
    return sum;
}

static void forked(actor *a, nbcoll_status status, const char *what)
{
    if (status != NBCOLL_ERR_FORKED)
        storm_find(a->storm, "rank %d, in a child of fork: %s: %s", a->rank, what, nbcoll_status_name(status));
}
#define FORKED(call) forked(a, call, #call)

static void never(void *user, void *buffer, size_t bytes)
{
    (void)buffer;
    (void)bytes;
    storm_in_child(user, "something is lent");
}

static void never_done(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    (void)status;
    storm_in_child(user, "a callback");
}

static void call_context(actor *a, nbcoll_context *context)
{
    nbcoll_failure failure;
    int fd;
    FORKED(nbcoll_progress(context));
    FORKED(nbcoll_fd(context, &fd));
    FORKED(nbcoll_arm(context));
    FORKED(nbcoll_tick(context));
    FORKED(nbcoll_last_failure(context, &failure));
    FORKED(nbcoll_context_abandon(context, never, a));
    FORKED(nbcoll_context_free(context));
}

static void call_comm(actor *a, nbcoll_comm *comm)
{
    nbcoll_cells cells = {.size = sizeof cells};
    nbcoll_schedules schedules = {.size = sizeof schedules};
    nbcoll_failure failure;
    nbcoll_request request;
    nbcoll_comm *out;
    int64_t words[RANKS_MOST] = {0}, word = 0;
    void *memory;
    FORKED(nbcoll_barrier(comm, NBCOLL_FOREVER));
    FORKED(nbcoll_ibcast(&word, 1, NBCOLL_INT64, 0, comm, &request));
    FORKED(nbcoll_allreduce(&word, words, 1, NBCOLL_INT64, NBCOLL_SUM, comm, NBCOLL_FOREVER));
    FORKED(nbcoll_alltoall_init(words, words, 0, NBCOLL_INT64, comm, &request));
    FORKED(nbcoll_allgather(&word, words, 1, NBCOLL_INT64, comm, 0));
    FORKED(nbcoll_comm_idup(comm, &out, &request));
    FORKED(nbcoll_comm_split(comm, 0, 0, &out, NBCOLL_FOREVER));
    FORKED(nbcoll_comm_ishrink(comm, &out, &request));
    FORKED(nbcoll_comm_declare_lost(comm, nbcoll_comm_rank(comm) ? 0 : nbcoll_comm_size(comm) - 1));
    FORKED(nbcoll_comm_failure(comm, &failure));
    FORKED(nbcoll_comm_cells(comm, &cells));
    FORKED(nbcoll_comm_schedules(comm, &schedules));
    FORKED(nbcoll_mem_alloc(comm, 64, &memory));
    FORKED(nbcoll_comm_free(comm));
}

/* Whichever state it is in: the child does not look. */
static void call_request(actor *a, nbcoll_request request)
{
    nbcoll_status status;
    nbcoll_request same = request;
    size_t n, index;
    FORKED(nbcoll_test(&same));
    FORKED(nbcoll_wait(&same, NBCOLL_FOREVER));
    FORKED(nbcoll_test_all(1, &same, &status));
    FORKED(nbcoll_wait_all(1, &same, &status, NBCOLL_FOREVER));
    FORKED(nbcoll_wait_any(1, &same, &n, NBCOLL_FOREVER));
    FORKED(nbcoll_wait_some(1, &same, &n, &index, &status, NBCOLL_FOREVER));
    FORKED(nbcoll_wait_started(&same, NBCOLL_FOREVER));
    FORKED(nbcoll_start(&same));
    FORKED(nbcoll_on_done(same, never_done, a));
    FORKED(nbcoll_arrived(same, 0, 0));
    FORKED(nbcoll_cancel(same));
    FORKED(nbcoll_request_free(&same));
    if (same.at != request.at)
        storm_find(a->storm, "rank %d, in a child of fork: a handle is taken", a->rank);
}

static void call_driver(actor *a, nbcoll_driver *driver, nbcoll_context *context)
{
    nbcoll_driver_counts counts = {.size = sizeof counts};
    FORKED(nbcoll_driver_remove(driver, context));
    FORKED(nbcoll_driver_run(driver, NBCOLL_FOREVER));
    FORKED(nbcoll_driver_stop(driver));
    FORKED(nbcoll_driver_count(driver, &counts));
    FORKED(nbcoll_driver_free(driver));
}

static void call_relays(actor *a, nbcoll_relays *relays)
{
    char byte = 0;
    uint64_t number;
    FORKED(nbcoll_relays_bcast(relays, &byte, 1, 0, &number));
    FORKED(nbcoll_relays_wait(relays, 0, NBCOLL_FOREVER));
    FORKED(nbcoll_relays_close(relays, NBCOLL_FOREVER));
}

static void call_messages(actor *a, nbcoll_messages *messages)
{
    nbcoll_message_info info;
    nbcoll_request request;
    char byte = 0;
    FORKED(nbcoll_isend(&byte, 1, NBCOLL_BYTE, 0, 0, messages, &request));
    FORKED(nbcoll_recv(&byte, 1, NBCOLL_BYTE, NBCOLL_ANY_SOURCE, NBCOLL_ANY_TAG, messages, &info, NBCOLL_FOREVER));
    FORKED(nbcoll_messages_close(messages));
}

void storm_in_child(actor *a, const char *what)
{
    storm_find(a->storm, "rank %d, in a child of fork: %s", a->rank, what);
    if (write(a->storm->child, a->storm->finding, strlen(a->storm->finding)) < 0)
        _exit(2);
    _exit(1);
}

static void be_child(actor *a)
{
    storm *s = a->storm;
    rank *r = a->program;
    uint64_t sum = shared_sum(s), hash = s->hash, steps = s->steps;
    size_t bytes = a->bytes;
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value.tv_sec = 10}, NULL);
    s->is_loud = false;
    for (int k = 0; k < r->opened; k++)
        if (r->open[k]->request.at) /* else the call that goes on has taken its end */
            call_request(a, r->open[k]->request);
    for (int c = 0; c < COMMS_MOST; c++)
        if (r->comm[c] && r->frees != 1 + c) {
            call_comm(a, r->comm[c]);
            if (r->relays[c])
                call_relays(a, r->relays[c]);
        }
    if (r->driver)
        call_driver(a, r->driver, r->context);
    if (r->messages)
        call_messages(a, r->messages);
    call_context(a, r->context);
    if (hash != s->hash || steps != s->steps || bytes != a->bytes || sum != shared_sum(s))
        storm_in_child(a, "something has changed");
    if (s->finding[0])
        storm_in_child(a, "it was so");
    _exit(0);
}

/* ---- in the parent ----------------------------------------------------------------------------------------------- */

/* Not while the rank's context is made or freed: then its handles are nobody's. */
void rank_forks(actor *a)
{
    storm *s = a->storm;
    const rank *r = a->program;
    int ends[2], status = 0;
    size_t length = 0;
    ssize_t got;

    if (!r || !r->context || a->stage < 2 || r->leaves || r->skips || a->is_dead)
        return;
    if (pipe(ends)) {
        storm_find(s, "rank %d cannot fork: no pipe", a->rank);
        return;
    }
    s->child = ends[1];
    pid_t child = fork();
    if (child == 0) {
        s->is_child = true;
        be_child(a);
    }
    close(ends[1]);
    char text[sizeof s->finding] = "";
    while (child > 0 && length + 1 < sizeof text && (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)got;
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child)
        storm_find(s, "rank %d cannot fork", a->rank);
    else if (!WIFEXITED(status) || WEXITSTATUS(status))
        storm_find(s, "%s (status %x)", length ? text : "a child of fork ends badly", (unsigned)status);
    met.forks++;
}
