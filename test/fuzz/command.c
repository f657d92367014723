/* SPDX-License-Identifier: BSD-3-Clause
 * Command lines of `nbcoll`, a word a line: each is taken, or refused with exit status 2, or 3 where what it asks for
 * fails. All that it asks for fails here, once the words have been read: no file is opened, nothing loaded, started,
 * built or played. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

#include <jansson.h>

#include "fuzz.h"
#include "command.h"
#include "nbcoll/nic.h"
#include "nbcoll/loopback.h"
#include "nbcoll/relay.h"
#include "nbcoll/select.h"
#include "nbcoll/shm.h"
#include "nbcoll/simulate.h"

int nbcoll_main(int argc, char *argv[]); /* main of src/command/main.c */

static int is_confined;

/* Until the words are read these do what they always do, and then nothing. */
#define FAILS(error, result, type, name, parameters, arguments)                                                        \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters                                                                                      \
    {                                                                                                                  \
        if (!is_confined)                                                                                              \
            return __real_##name arguments;                                                                            \
        errno = (error);                                                                                               \
        return (result);                                                                                               \
    }
#define REFUSES(name, parameters, arguments) FAILS(0, NBCOLL_ERR_MEMORY, nbcoll_status, name, parameters, arguments)

FAILS(EAGAIN, -1, pid_t, fork, (void), ())
FAILS(EAGAIN, EAGAIN, int, pthread_create,
      (pthread_t *thread, const pthread_attr_t *how, void *(*what)(void *), void *with), (thread, how, what, with))
FAILS(ENOENT, NULL, void *, dlopen, (const char *name, int flags), (name, flags))
FAILS(ENOENT, NULL, FILE *, popen, (const char *what, const char *mode), (what, mode))
FAILS(ENOENT, -1, int, unlink, (const char *name), (name))
FAILS(ENOENT, -1, int, rename, (const char *name, const char *other), (name, other))
FAILS(ENOSYS, -1, int, hwloc_topology_load, (void *topology), (topology))
REFUSES(nbcoll_simulate, (const nbcoll_sim_config *c, nbcoll_sim_build *build, void *user, nbcoll_sim_result *out),
        (c, build, user, out))
REFUSES(nbcoll_build_case, (const nbcoll_algorithm *a, const nbcoll_case *c, int rank, const nbcoll_host *h,
                            nbcoll_schedule **out), (a, c, rank, h, out))
REFUSES(nbcoll_compile_case, (const nbcoll_algorithm *a, const nbcoll_case *c, const nbcoll_host *h,
                              const nbcoll_program_config *p, int first, int n, nbcoll_program *out[],
                              nbcoll_refusal *why), (a, c, h, p, first, n, out, why))
REFUSES(nbcoll_shm_open, (const nbcoll_shm_config *c, nbcoll_endpoint **out), (c, out))
REFUSES(nbcoll_loopback_create, (const nbcoll_loopback_config *c, nbcoll_loopback **out), (c, out))
REFUSES(nbcoll_verify_grid, (const nbcoll_algorithm *a, const nbcoll_grid *grid, nbcoll_case *c,
                             nbcoll_refutation *out), (a, grid, c, out))
REFUSES(nbcoll_select, (const nbcoll_terms *terms, const nbcoll_args *a, nbcoll_choice *out), (terms, a, out))
REFUSES(nbcoll_topology_make, (nbcoll_topology_kind kind, unsigned ports, int ranks, int rank, const nbcoll_host *h,
                             nbcoll_topology **out), (kind, ports, ranks, rank, h, out))
REFUSES(nbcoll_topology_make_nodes, (nbcoll_topology_kind kind, unsigned ports, const nbcoll_nodes *nodes, int rank,
                                   const nbcoll_host *h, nbcoll_topology **out), (kind, ports, nodes, rank, h, out))

json_t *__real_json_load_file(const char *name, size_t flags, json_error_t *error);
json_t *__wrap_json_load_file(const char *name, size_t flags, json_error_t *error);
json_t *__wrap_json_load_file(const char *name, size_t flags, json_error_t *error)
{
    return __real_json_load_file(is_confined ? "/dev/null/nowhere" : name, flags, error);
}

/* What libFuzzer finds is still written. */
FILE *__real_fopen(const char *name, const char *mode);
FILE *__wrap_fopen(const char *name, const char *mode);
FILE *__wrap_fopen(const char *name, const char *mode)
{
    if (!is_confined || strstr(name, "/found/"))
        return __real_fopen(name, mode);
    errno = ENOENT;
    return NULL;
}

int __real_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    errno = ENOENT;
    return is_confined ? -1 : __real_open(name, flags, mode);
}

/* ---------------------------------------------------------------------------------------------------------------- */

enum { WORDS = 40 };

static int split(char *text, char *word[])
{
    int words = 0;
    for (char *next; words < WORDS && text; text = next) {
        next = strchr(text, '\n');
        if (next)
            *next++ = 0;
        if (*text || next)
            word[words++] = text;
    }
    word[words] = NULL;
    return words;
}

typedef struct line {
    int words;
    char **word;
} line;

static int run(void *user)
{
    const line *l = user;
    return nbcoll_main(l->words, l->word);
}

FUZZ(command)
{
    static char name[] = "nbcoll";
    char *text = calloc(bytes + 1, 1), *word[1 + WORDS + 1] = {name};
    FUZZ_NEVER(!text);
    if (bytes)
        memcpy(text, data, bytes);
    int words = split(text, word + 1);
    optind = 0; /* from the beginning again */
    fuzz_quiet();
    is_confined = 1;
    int status = fuzz_run(run, &(line){1 + words, word});
    is_confined = 0;
    fuzz_loud();
    FUZZ_NEVER(status < COMMAND_OK || status > COMMAND_FAILED);
    free(text);
    return 0;
}
