/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll mpirun`: starts an MPI program whose collectives nbcoll serves, by the launcher of the MPI, which loads the
 * door of src/mpi before that MPI. */
#include "command.h"

typedef struct door {
    const char *says;   /* in the first lines of the launcher's --version */
    const char *mpi;    /* in the name of the door */
    const char *option; /* of the launcher: NAME=VALUE in the environment of all ranks */
} door;

static const door doors[] = {{"(Open MPI)", "openmpi", "-x"},
                             {"(OpenRTE)", "openmpi", "-x"}, /* the same by another name */
                             {"HYDRA", "mpich", "-genv"}};
enum { DOORS = sizeof doors / sizeof *doors, PATH_ROOM = 4352 };

/* Whose launcher it is; null: another MPI's. */
static const door *door_of(const command *self, const char *launcher)
{
    char said[512];
    setenv("NBCOLL_LAUNCHER", launcher, 1); /* no word for the shell */
    FILE *version = popen("exec \"$NBCOLL_LAUNCHER\" --version 2>/dev/null", "r");
    unsetenv("NBCOLL_LAUNCHER");
    if (!version)
        command_fail(self, "%s", strerror(errno));
    size_t length = fread(said, 1, sizeof said - 1, version);
    said[length] = 0;
    while (fgetc(version) != EOF)
        ;
    if (pclose(version) != 0)
        command_refuse(self, "%s --version cannot be run", launcher);
    for (int i = 0; i < DOORS; i++)
        if (strstr(said, doors[i].says))
            return &doors[i];
    said[strcspn(said, "\n")] = 0;
    command_refuse(self, "%s is neither Open MPI's nor MPICH's: \"%s\"", launcher, said);
}

/* Where this command was built, or installed. */
static void find_door(const command *self, const door *d, char file[PATH_ROOM])
{
    if (!command_find_beside(".", "libnbcoll_", d->mpi, ".so", file, PATH_ROOM) &&
        !command_find_beside("../" NBCOLL_LIBDIR, "libnbcoll_", d->mpi, ".so", file, PATH_ROOM))
        command_refuse(self, "libnbcoll_%s.so is not there: this MPI was not when nbcoll was built", d->mpi);
}

static void run(const command *self, int argc, char *argv[])
{
    const char *launcher = "mpirun", *before = getenv("LD_PRELOAD");
    char file[PATH_ROOM], *value, **words = command_alloc((size_t)argc + 3, sizeof *words);
    int at = 1;
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        command_help(self);
        command_exit(COMMAND_OK);
    }
    if (argc > 1 && strcmp(argv[1], "--launcher") == 0) {
        if (argc < 3)
            command_refuse(self, "--launcher lacks its command");
        launcher = argv[2];
        at = 3;
    }
    if (at == argc)
        command_refuse(self, "what is %s to start?", launcher);
    const door *d = door_of(self, launcher);
    find_door(self, d, file);
    /* what the program preloads already stays before it */
    if (asprintf(&value, "LD_PRELOAD=%s%s%s", before ? before : "", before && *before ? ":" : "", file) < 0)
        command_fail_status(self, NBCOLL_ERR_MEMORY);
    memcpy(words, (char *[]){(char *)(uintptr_t)launcher, (char *)(uintptr_t)d->option, value}, 3 * sizeof *words);
    memcpy(words + 3, argv + at, (size_t)(argc - at) * sizeof *words);
    execvp(launcher, words);
    command_fail(self, "%s: %s", launcher, strerror(errno));
}

static const command_option options[] = {
    {.name = "launcher", .value = "CMD", .help = "what starts the ranks, instead of mpirun"},
    {0},
};

const command command_mpirun = {
    .name = "mpirun",
    .purpose = "starts an MPI program, whose collectives nbcoll serves",
    .help =
    "usage: nbcoll mpirun [--launcher CMD] OPTION... PROGRAM [ARGUMENT...]\n\n"
    "Starts mpirun with these options, which are its own. It loads libnbcoll_openmpi.so, or libnbcoll_mpich.so, into\n"
    "each rank before the MPI; mpirun --version tells which one. The program stays as it is. With NBCOLL_MPI=report\n"
    "rank 0 says at the end which collectives were served, why others were not, and how long those took that block;\n"
    "with compare the MPI serves one of these in eight, and is timed, too. off leaves all to the MPI.\n\n",
    .run = run,
    .options = options,
    .more = "\nThe exit status is mpirun's, or 2 where it is of another MPI, or there is no such library.\n",
};
