/* SPDX-License-Identifier: BSD-3-Clause
 * The program `nbcoll`: finds the subcommand, runs it, and sees that its output was written. */
#include <stdio.h>
#include <string.h>

#include "command.h"

static const command *const commands[] = {&command_verify,  &command_show,     &command_sim,
                                         &command_explain, &command_bench,    &command_tune,
                                         &command_run,     &command_timeline, &command_info,
                                         &command_topology};
#define COMMANDS (sizeof commands / sizeof commands[0])

static void usage(FILE *out)
{
    fputs("usage: nbcoll [--algorithms FILE.so]... COMMAND [ARGUMENT...]\n"
          "       nbcoll help COMMAND\n"
          "       nbcoll -h | --help | --version\n\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->purpose);
    fputs("\n--algorithms FILE.so adds algorithms of your own, which the object lists by NBCOLL_ALGORITHMS\n"
          "(nbcoll/schedule.h), to those that the commands know, also in tuning files.\n",
          out);
}

static const command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    command_refuse(NULL, "unknown command '%s'; see nbcoll --help", name);
    return NULL;
}

static int help(const char *name)
{
    const command *c = name ? find(name) : NULL;
    if (c)
        command_help(c);
    else if (!name)
        usage(stdout);
    return name && !c ? COMMAND_USAGE : COMMAND_OK;
}

/* Takes the options before the command. 0, or an exit status after naming what is wrong; *words are left out then. */
static int take_algorithms(int argc, char *argv[], int *words)
{
    int status = 0;
    for (*words = 0; !status && argc > *words + 1 && strcmp(argv[*words + 1], "--algorithms") == 0; *words += 2) {
        if (argc < *words + 3)
            return command_refuse(NULL, "--algorithms lacks its file");
        status = catalogue_load(argv[*words + 2]);
    }
    return status;
}

static int run(int argc, char *argv[])
{
    int words, failed = take_algorithms(argc, argv, &words);
    if (failed)
        return failed;
    argc -= words;
    argv += words;
    if (argc < 2) {
        usage(stderr);
        return COMMAND_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "--version") == 0) {
        printf("nbcoll %s, ABI %u\n", NBCOLL_VERSION, NBCOLL_ABI);
        return COMMAND_OK;
    }
    const command *c = find(argv[1]);
    int status = c ? c->run(c, argc - 1, argv + 1) : COMMAND_USAGE;
    return status == COMMAND_HELPED ? COMMAND_OK : status;
}

int main(int argc, char *argv[])
{
    int status = run(argc, argv);
    return fflush(stdout) || ferror(stdout) ? command_fail(NULL, "the output could not be written") : status;
}
