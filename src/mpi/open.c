/* SPDX-License-Identifier: BSD-3-Clause
 * The door is opened in MPI_Init, for MPI_COMM_WORLD, and closed in MPI_Finalize.
 *
 * A rank without the door takes part in nothing that the door does. So before MPI_Init each rank binds a socket that is
 * named after the job and the rank, and after it looks for those of all others: MPI_Init returns on no rank before all
 * have come to it. Only ranks that have found all others agree on the rest, and either all do or none does. A rank on
 * another machine, or in another network namespace, is not found: NBCOLL_MPI=nodes says that all have the door. */
#include <nbcoll/shm.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "door.h"

#define MINUTE (UINT64_C(60) * 1000 * 1000 * 1000)
enum { QUOTA_COMMS = 64, QUOTA_MOST = 8 << 20, TRIES = 1000000 };

static nbcoll_context *context;
static int presence = -1;
static bool is_wanted, reports;
static char job[DOOR_JOB];

/* The abstract address of a rank's socket: nothing is left of it when its process has ended. */
static socklen_t address_of(struct sockaddr_un *address, int rank)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "nbcoll-mpi-%u-%s-%d", (unsigned)getuid(),
                     job, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Another version has perhaps other handles: nothing is asked of it. Those of another MPI have another length, so that
 * no call can pass. */
static bool fits(void)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    const char *rank = NULL;
    door_fit fit = door_fits();
    if (fit == DOOR_FITS)
        return true;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks && !rank; i++)
        rank = getenv(ranks[i]);
    if (!rank || strcmp(rank, "0") == 0)
        fprintf(stderr, fit == DOOR_OTHER_MPI ? "nbcoll: the program is for another MPI than the door\n"
                                              : "nbcoll: the door is for another version of the MPI: all calls pass\n");
    if (fit == DOOR_OTHER_MPI)
        exit(EXIT_FAILURE);
    return false;
}

static void say_presence(void)
{
    struct sockaddr_un address;
    const char *asked = getenv("NBCOLL_MPI");
    int rank;
    is_wanted = fits() && !(asked && strcmp(asked, "off") == 0);
    if (!is_wanted || !door_job(job, &rank))
        return;
    presence = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t bytes = address_of(&address, rank);
    if (presence >= 0 && bind(presence, (struct sockaddr *)&address, bytes) < 0) {
        close(presence);
        presence = -1;
    }
}

/* The number of ranks whose sockets are there, and the lowest of them. */
static int present(int ranks, int *lowest)
{
    struct sockaddr_un address;
    int found = 0, looker = presence < 0 ? -1 : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (int i = 0; i < ranks && looker >= 0; i++) {
        socklen_t bytes = address_of(&address, i);
        if (connect(looker, (struct sockaddr *)&address, bytes) == 0 && found++ == 0)
            *lowest = i;
    }
    if (looker >= 0)
        close(looker);
    return found;
}

/* Each step is taken by all ranks, as long as all have taken those before it. */
static bool all(bool well)
{
    int mine = well, least = 0;
    return PMPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && least;
}

static void close_endpoints(nbcoll_endpoint *endpoint[2])
{
    for (int i = 0; i < 2; i++)
        if (endpoint[i])
            nbcoll_endpoint_close(endpoint[i]);
}

/* Within the node, and, if there are others, between them. The number of endpoints; 0: some rank could not. */
static int open_endpoints(nbcoll_endpoint *endpoint[2])
{
    nbcoll_shm_config config = {.size = sizeof config, .timeout = MINUTE};
    int n = door_nodes() > 1 ? 2 : 1;
    PMPI_Comm_rank(door_node(), &config.rank);
    PMPI_Comm_size(door_node(), &config.ranks);
    bool well = config.rank != 0 || nbcoll_shm_id_make(&config.id) == NBCOLL_OK;
    config.quota = QUOTA_COMMS * nbcoll_cells_bytes(NULL, config.ranks);
    config.quota = config.quota < QUOTA_MOST ? config.quota : QUOTA_MOST;
    if (!all(well) || PMPI_Bcast(&config.id, sizeof config.id, MPI_BYTE, 0, door_node()) != MPI_SUCCESS)
        return 0;
    if (nbcoll_shm_open(&config, &endpoint[0]) != NBCOLL_OK)
        endpoint[0] = NULL;
    endpoint[1] = n > 1 ? door_between() : NULL;
    if (all(endpoint[0] && (n == 1 || endpoint[1])))
        return n;
    close_endpoints(endpoint);
    return 0;
}

static bool open_world(int provided, bool several)
{
    nbcoll_context_config config = {.size = sizeof config, .host = {.size = sizeof config.host, .pause = door_pause}};
    nbcoll_endpoint *endpoint[2];
    nbcoll_comm *world = NULL;
    config.flags = provided == MPI_THREAD_MULTIPLE ? NBCOLL_ANY_THREAD : 0;
    bool well = door_nodes_find(several) && door_progress_prepare(door_node()) &&
                !(door_only_blocks && provided == MPI_THREAD_MULTIPLE);
    if (!all(well && nbcoll_context_create(NBCOLL_ABI, &config, &context) == NBCOLL_OK))
        return false;
    int n = open_endpoints(endpoint);
    if (n == 0)
        return false;
    nbcoll_status status = nbcoll_comm_create_over(context, n, endpoint, NULL, &world, NBCOLL_FOREVER);
    if (status != NBCOLL_OK)
        close_endpoints(endpoint); /* unless the context has them */
    return all(status == NBCOLL_OK) && all(door_comms_open(world)) && all(door_progress_start(context));
}

static void close_door(void)
{
    door_progress_stop();
    door_comms_close();
    for (int tries = 0; nbcoll_context_free(context) == NBCOLL_ERR_BUSY; tries++) {
        if (tries == TRIES) {
            nbcoll_context_abandon(context, NULL, NULL);
            break;
        }
        nbcoll_progress(context);
    }
    context = NULL;
    door_progress_end();
    door_nodes_end();
}

/* After MPI_Init, on every rank that has the door. */
static void open_door(void)
{
    int rank, ranks, speaker = 0, provided = MPI_THREAD_SINGLE;
    const char *asked = getenv("NBCOLL_MPI");
    bool several = is_wanted && asked && strstr(asked, "nodes"); /* and all have the door */
    if (presence < 0 && !several)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    PMPI_Query_thread(&provided);
    if (ranks < 2)
        return;
    if (ranks > NBCOLL_SHM_RANKS || (!several && present(ranks, &speaker) < ranks)) {
        if (rank == speaker)
            fprintf(stderr, "nbcoll: not all ranks of the program have the door, on one machine: all calls pass\n");
        return; /* the socket stays: others may not have looked yet */
    }
    door_threads = provided == MPI_THREAD_MULTIPLE;
    bool opened = open_world(provided, several);
    if (presence >= 0)
        close(presence); /* all have looked */
    bool compares = all(opened && asked && strstr(asked, "compare"));
    reports = compares || all(opened && asked && strstr(asked, "report"));
    if (opened) {
        if (!all(asked && strstr(asked, "all")))
            door_choose(ranks);
        if (reports)
            door_report_start(compares);
        return;
    }
    close_door();
    if (rank == 0)
        fprintf(stderr, "nbcoll: the door could not be opened: all calls pass\n");
}

int MPI_Init(int *argc, char ***argv)
{
    say_presence();
    int error = PMPI_Init(argc, argv);
    if (error == MPI_SUCCESS)
        open_door();
    return error;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    say_presence();
    int error = PMPI_Init_thread(argc, argv, required, provided);
    if (error == MPI_SUCCESS)
        open_door();
    return error;
}

int MPI_Finalize(void)
{
    if (reports)
        door_report();
    if (context) {
        PMPI_Barrier(MPI_COMM_WORLD); /* all have ended what they started, and nobody leaves before that */
        close_door();
    }
    return PMPI_Finalize();
}
