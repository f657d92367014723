/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll run --hosts`: the launcher's "ranks" are remote shells, one a host, in each of which another `nbcoll run`
 * starts that host's ranks: its *part*. The command line of a part is always the same. What it is to do, and the id
 * with its secret, come by its standard input; then, a byte each, the signals that ask it to stop. The end of that
 * input asks likewise, whatever has ended it: so a part does not outlive the launcher. The first part makes the id, and
 * writes it to its standard output, before its ranks write anything; the others get it from the launcher. */
#include <pthread.h>

#include "run.h"

/* Rank of the first, ranks there and in all, words, the host; raised with its meaning. */
#define HEAD "nbcoll run 2: %d %d %d %d on %"
enum { WORDS = 50000, PATH = 4096 }; /* bytes of a command line: an empty pipe takes them all */

/* ---- the launcher ------------------------------------------------------------------------------------------------ */

void run_hosts_find(run_plan *plan)
{
    const char *slurm = getenv("SLURM_JOB_NODELIST");
    if (plan->ranks || plan->hosts || plan->hostfile || plan->part)
        return;
    plan->hosts = slurm;
    plan->hostfile = slurm ? NULL : getenv("PBS_NODEFILE");
    if (slurm && !plan->launcher)
        plan->launcher = "srun --nodes=1 --ntasks=1 --overlap --unbuffered --nodelist";
    plan->counts = slurm ? getenv("SLURM_TASKS_PER_NODE") : NULL;
}

void run_hosts_take(run_plan *plan)
{
    int wanted = plan->ranks;
    const char *hosts = plan->hosts;
    char *text = NULL;
    size_t room = 0, bytes = 0;
    if (plan->timeline || plan->agent)
        command_refuse(plan->self, "--timeline and --agent are for one machine, without --hosts");
    for (char **word = plan->words; *word; word++)
        bytes += strlen(*word) + 1;
    if (bytes > WORDS)
        command_refuse(plan->self, "with --hosts the arguments have at most %d bytes", WORDS);
    plan->launcher = plan->launcher ? plan->launcher : "ssh";
    FILE *f = hosts ? fmemopen((char *)(uintptr_t)hosts, strlen(hosts) + 1, "r") : fopen(plan->hostfile, "r");
    if (!f || getdelim(&text, &room, 0, f) < 0)
        command_fail(plan->self, "%s: %s", plan->hostfile, f ? "it is empty" : strerror(errno));
    plan->host = command_alloc(NBCOLL_SHM_RANKS, sizeof *plan->host);
#ifdef NBCOLL_HAVE_CLUSTER
    const char *wrong = "";
    if (nbcoll_cluster_read(text, plan->counts, wanted, plan->host, NBCOLL_SHM_RANKS, &plan->ranks, &wrong))
        command_refuse(plan->self, "'%.*s': hosts are 1..%d names, each with :1..:%d", (int)strcspn(wrong, ",\n"),
                       wrong, NBCOLL_SHM_RANKS, NBCOLL_SHM_RANKS);
#else
    command_fail(plan->self, "--hosts needs a build with nbcoll_cluster");
#endif
    const nbcoll_cluster_place *last = &plan->host[plan->ranks - 1];
    plan->total = last->first + last->ranks;
    if (plan->total < wanted)
        command_refuse(plan->self, "the hosts have places for %d ranks", plan->total);
    fclose(f);
    free(text);
}

void run_hosts_tell(const run_plan *plan, int host, int line, const char *id)
{
    const nbcoll_cluster_place *h = &plan->host[host];
    char text[WORDS + PATH + 2 * RUN_ID], path[PATH], *dir = getcwd(path, sizeof path);
    int words = 0, used;
    while (plan->words[words])
        words++;
    used = sprintf(text, HEAD "s%c%s%c%s", h->first, h->ranks, plan->total, words, h->name, 0, dir ? dir : "/", 0, id);
    used++;
    for (int i = 0; i < words; i++)
        used += sprintf(text + used, "%s", plan->words[i]) + 1;
    if (write(line, text, (size_t)used) < 0)
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

void run_part_read(run_plan *plan, int *argc, char **argv[])
{
    setvbuf(stdin, NULL, _IONBF, 0); /* what follows the words is for run_part_hear */
    run_heard *h = plan->heard = command_alloc(1, sizeof *h);
    char *head = next_word(h), *dir = head ? next_word(h) : NULL;
    plan->id = dir ? next_word(h) : NULL;
    if (!plan->id)
        exit(COMMAND_FAILED); /* the launcher has ended, or has nothing for us to do */
    if (sscanf(head, HEAD "255s", &plan->first, &plan->part, &plan->total, argc, plan->on) != 5 || *argc < 0 ||
        *argc > WORDS)
        command_refuse(plan->self, "no launcher of this version has started this");
    *argv = h->argv;
    for (int i = 0; i < *argc; i++)
        if (!(h->argv[i] = next_word(h)))
            exit(COMMAND_FAILED);
    for (int i = 0; i < 3; i++)
        signal((int[]){SIGINT, SIGQUIT, SIGHUP}[i], SIG_DFL);
    if (chdir(dir) < 0)
        command_fail(plan->self, "%s: %s", dir, strerror(errno));
}

void run_part_id(const run_plan *plan, char text[RUN_ID], nbcoll_tcp **tcp)
{
    snprintf(text, RUN_ID, "%s", plan->id);
    if (*plan->id)
        return;
#ifdef NBCOLL_HAVE_CLUSTER /* else --hosts is refused */
    nbcoll_tcp_config config = {.size = sizeof config, .ranks = plan->total};
    nbcoll_tcp_id id = {""};
    command_fail_status(plan->self, nbcoll_tcp_create(&config, &id, tcp));
    snprintf(text, RUN_ID, "%s", id.text);
    if (dprintf(STDOUT_FILENO, RUN_HAS_ID "%s\n", text) < 0)
        command_fail_status(plan->self, NBCOLL_ERR_TRANSPORT);
#else
    (void)tcp;
    command_fail(plan->self, "--hosts needs a build with nbcoll_cluster");
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
