/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll run --hosts`: the launcher's "ranks" are remote shells, one a host, in each of which another `nbcoll run`
 * starts that host's ranks: its *part*. The command line of a part is always the same. What it is to do, and the id
 * with its secret, come by its standard input; then, a byte each, the signals that ask it to stop. The end of that
 * input asks likewise, whatever has ended it: so a part does not outlive the launcher. The first part makes the id, and
 * writes it to its standard output, before its ranks write anything; the others get it from the launcher. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

#define HEAD "nbcoll run 1: %d %d %d %d" /* rank of the first, ranks there and in all, words; raised with its meaning */
enum { WORDS = 50000, PATH = 4096 }; /* bytes of a command line: an empty pipe takes them all */

/* ---- the launcher ------------------------------------------------------------------------------------------------ */

/* Takes hosts from "a:4,b" or lines "a:4", "a slots=4", "a": each time so many ranks more. */
static int take_hosts(run_plan *plan, char *text)
{
    for (char *word, *next; (word = strtok_r(text, ",\n", &next)); text = NULL) {
        char name[64] = "", more[16] = ":1";
        unsigned long long ranks;
        int i = 0, fields = sscanf(word, " %63[^ \t\r:#] %15[^# \t\r]", name, more);
        while (i < plan->ranks && strcmp(plan->host[i].name, name) != 0)
            i++;
        if (fields <= 0) /* blank, or a comment */
            continue;
        if (!command_number(more + (*more == ':' ? 1 : strncmp(more, "slots=", 6) == 0 ? 6 : 0), 1, NBCOLL_SHM_RANKS,
                            &ranks) ||
            *name == '-' || i == NBCOLL_SHM_RANKS || plan->host[i].ranks + (int)ranks > NBCOLL_SHM_RANKS)
            return command_refuse(plan->self, "'%s': hosts are at most %d names, each with :1..:%d", word,
                                  NBCOLL_SHM_RANKS, NBCOLL_SHM_RANKS);
        snprintf(plan->host[i].name, sizeof name, "%s", name);
        plan->host[i].ranks += (int)ranks;
        plan->ranks += i == plan->ranks;
    }
    return 0;
}

int run_hosts_take(run_plan *plan)
{
    int wanted = plan->ranks, status = 0;
    size_t room = 0, bytes = 0;
    if (plan->timeline || plan->agent)
        return command_refuse(plan->self, "--timeline and --agent are for one machine, without --hosts");
    for (char **word = plan->words; *word; word++)
        bytes += strlen(*word) + 1;
    if (bytes > WORDS)
        return command_refuse(plan->self, "with --hosts the arguments have at most %d bytes", WORDS);
    plan->ranks = 0;
    plan->launcher = plan->launcher ? plan->launcher : "ssh";
    char *text = plan->hosts ? strdup(plan->hosts) : NULL;
    FILE *f = plan->hosts ? NULL : fopen(plan->hostfile, "r");
    if ((!plan->hosts && (!f || getdelim(&text, &room, 0, f) < 0)) || !(plan->host = calloc(257, sizeof *plan->host)))
        status = command_fail(plan->self, "%s: %s", plan->hostfile, f ? "it is empty" : strerror(errno));
    else
        status = take_hosts(plan, text);
    if (f)
        fclose(f);
    free(text);
    for (int i = 0; i < plan->ranks && !status; i++) {
        run_host *h = &plan->host[i];
        h->first = plan->total;
        if (wanted && wanted - plan->total <= h->ranks) {
            h->ranks = wanted - plan->total;
            plan->ranks = i + 1;
        }
        plan->total += h->ranks;
    }
    if (status || (plan->ranks && plan->total >= wanted))
        return status;
    return command_refuse(plan->self, "the hosts have places for %d ranks", plan->total);
}

void run_hosts_tell(const run_plan *plan, int host, const char *id)
{
    const run_host *h = &plan->host[host];
    char text[WORDS + PATH + 2 * RUN_ID], path[PATH], *dir = getcwd(path, sizeof path);
    int words = 0, used;
    while (plan->words[words])
        words++;
    used = sprintf(text, HEAD "%c%s%c%s", h->first, h->ranks, plan->total, words, 0, dir ? dir : "/", 0, id) + 1;
    for (int i = 0; i < words; i++)
        used += sprintf(text + used, "%s", plan->words[i]) + 1;
    if (write(h->line, text, (size_t)used) < 0)
        return; /* that it has ended is reported */
}

void run_hosts_become(const run_plan *plan, int host)
{
    char *word[64], self[4096], *next, *launcher = strdup(plan->launcher);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    int n = 0;
    self[length < 0 ? 0 : length] = 0;
    for (char *w = strtok_r(launcher, " ", &next); w && n < 59; w = strtok_r(NULL, " ", &next))
        word[n++] = w;
    memcpy(word + n, (char *[]){plan->host[host].name, self, "run", RUN_PART, NULL}, 5 * sizeof *word);
    for (int i = 0; i < 3; i++) /* from the terminal: the part hears them by its input */
        signal((int[]){SIGINT, SIGQUIT, SIGHUP}[i], SIG_IGN);
    execvp(word[0], word);
}

/* ---- the part ---------------------------------------------------------------------------------------------------- */

/* What the launcher has written, and its words. */
struct run_heard {
    char text[WORDS + PATH + 2 * RUN_ID], *argv[WORDS + 1];
    size_t bytes;
};

static char *next_word(run_heard *h)
{
    char *word = h->text + h->bytes;
    for (int c; h->bytes < sizeof h->text && (c = getchar()) != EOF;)
        if (!(h->text[h->bytes++] = (char)c))
            return word;
    return NULL;
}

int run_part_read(run_plan *plan, int *argc, char **argv[])
{
    setvbuf(stdin, NULL, _IONBF, 0); /* what follows the words is for run_part_hear */
    run_heard *h = plan->heard = calloc(1, sizeof *h);
    char *head = h ? next_word(h) : NULL, *dir = head ? next_word(h) : NULL;
    plan->id = dir ? next_word(h) : NULL;
    if (!plan->id)
        return COMMAND_FAILED; /* the launcher has ended, or has nothing for us to do */
    if (sscanf(head, HEAD, &plan->first, &plan->part, &plan->total, argc) != 4 || *argc < 0 || *argc > WORDS)
        return command_refuse(plan->self, "no launcher of this version has started this");
    *argv = h->argv;
    for (int i = 0; i < *argc; i++)
        if (!(h->argv[i] = next_word(h)))
            return COMMAND_FAILED;
    for (int i = 0; i < 3; i++)
        signal((int[]){SIGINT, SIGQUIT, SIGHUP}[i], SIG_DFL);
    return chdir(dir) == 0 ? 0 : command_fail(plan->self, "%s: %s", dir, strerror(errno));
}

int run_part_id(const run_plan *plan, char text[RUN_ID], nbcoll_tcp **tcp)
{
    snprintf(text, RUN_ID, "%s", plan->id);
    if (*plan->id)
        return 0;
#ifdef NBCOLL_HAVE_CLUSTER
    nbcoll_tcp_config config = {.size = sizeof config, .ranks = plan->total};
    nbcoll_tcp_id id = {""};
    nbcoll_status status = nbcoll_tcp_create(&config, &id, tcp);
    snprintf(text, RUN_ID, "%s", id.text);
    if (status == NBCOLL_OK && dprintf(STDOUT_FILENO, RUN_HAS_ID "%s\n", text) < 0)
        status = NBCOLL_ERR_TRANSPORT;
    return command_fail_status(plan->self, status);
#else
    return command_fail(plan->self, "--hosts needs a build with nbcoll_cluster");
#endif
}

static void *hear(void *user)
{
    char signal;
    while (read(STDIN_FILENO, &signal, 1) == 1)
        kill(getpid(), signal);
    kill(getpid(), SIGTERM);
    return user;
}

int run_part_hear(void)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, hear, NULL);
    return error ? error : pthread_detach(thread);
}
