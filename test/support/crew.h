/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks as processes, as threads, or both: runs them, collects how they ended, and kills what is left at a deadline, so
 * that a test that hangs fails. Include cmocka.h first.
 */
#ifndef TEST_CREW_H
#define TEST_CREW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nbcoll/nbcoll.h"

enum { RANKS_MOST = 100, RANKS_SECONDS = 60 };

/* What a rank does. It fails by CHECK, which ends its process, or by dying. */
typedef void rank_main(int rank, void *user);

/* How many ranks each process has; {1, 3}: rank 0 in one, ranks 1 to 3 as threads of another. Ends with 0. Where there
 * are both, let rank 0 be alone: the thread sanitizer does not see that what it prepares for all may reach another
 * thread of its process by way of a third one in another. */
typedef struct crew {
    int threads[RANKS_MOST + 1];
} crew;

#define CREW(...) ((crew){{__VA_ARGS__, 0}})
#define PROCESSES_2 CREW(1, 1)
#define PROCESSES_3 CREW(1, 1, 1)

int crew_ranks(const crew *c);
int crew_processes(const crew *c);

/* Forks a process for each element, each of which runs main for its ranks and exits. Returns when all have ended;
 * status[] is as waitpid gives it. A process that kept a descriptor fails. False if some had to be killed. */
bool crew_run(const crew *c, rank_main *main, void *user, int status[]);
/* All must end with exit status 0; else the test fails. */
void crew_succeeds(const crew *c, rank_main *main, void *user);

/* In a rank. */
#define CHECK(condition) ((condition) ? (void)0 : rank_fails(__FILE__, __LINE__, #condition))
#define CHECK_STATUS(status, call) rank_wants(__FILE__, __LINE__, #call, status, call)
_Noreturn void rank_fails(const char *file, int line, const char *what);
void rank_wants(const char *file, int line, const char *what, nbcoll_status wanted, nbcoll_status is);

/* Until so many have come; where they do not, it fails before the crew is killed. */
void rank_await(const atomic_int *count, int number);

/* What is to take less than `most`, and took so long. A machine that is busy elsewhere may delay it, a fault does so
 * each time: whether some rank was late is asked behind the crew's run, which is tried again then:
 *
 *     int tries = 0;
 *     do
 *         assert_true(crew_run(...));
 *     while (crew_was_late(&tries));
 *
 * The third time in a row fails the test. */
void rank_in_time(uint64_t took, uint64_t most);
bool crew_was_late(int *tries);

/* Memory that forked processes share. */
void *shared_memory(size_t bytes);
bool is_full(void); /* NBCOLL_FULL=1: all of it, not a sample */
/* Of what a test repeats under a sanitizer, each n-th is enough: n then; 1 without one, and with NBCOLL_FULL=1. */
int sampled(int n);
uint64_t seed_of_test(void); /* printed; NBCOLL_TEST_SEED sets another */
uint64_t random_of(uint64_t *state);
uint64_t clock_ns(void);
/* Is another process stopped by a signal? */
bool process_is_stopped(pid_t pid);
/* Open descriptors of this process. */
int descriptors(void);
/* On which this process may run. */
int cores(void);

#define SECOND UINT64_C(1000000000)

#endif
