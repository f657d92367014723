/* SPDX-License-Identifier: BSD-3-Clause
 * The program `nbcoll`: finds the subcommand, runs it, and sees that its output was written. */
#include "command.h"

static const command *const commands[] = {&command_verify,  &command_show,     &command_sim,
                                         &command_explain, &command_bench,    &command_tune,
                                         &command_run,     &command_mpirun,   &command_timeline,
                                         &command_info,    &command_topology};
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
}

int main(int argc, char *argv[])
{
    for (; argc > 1 && strcmp(argv[1], "--algorithms") == 0; argc -= 2, argv += 2) {
        if (argc < 3)
            command_refuse(NULL, "--algorithms lacks its file");
        catalogue_load(argv[2]);
    }
    if (argc < 2) {
        usage(stderr);
        return COMMAND_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        if (argc > 2)
            command_help(find(argv[2]));
        else
            usage(stdout);
        command_exit(COMMAND_OK);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("nbcoll %s, ABI %u\n", NBCOLL_VERSION, NBCOLL_ABI);
        command_exit(COMMAND_OK);
    }
    const command *c = find(argv[1]);
    c->run(c, argc - 1, argv + 1);
    command_exit(COMMAND_OK);
}
