/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ofi keeps the transport contract over libfabric's provider shm, which has no descriptor to sleep on (a rank looks
 * now and then), between processes: within one, who closes its end leaves the others with memory that is no more. An
 * argument: one case's name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

/* libfabric names a process's memory after its number. It leaves there what a killed process had, and a later process
 * of the same number cannot open its end: so the test removes what its killed ranks have left. */
static void remove_what_was_left(time_t since)
{
    DIR *dir = opendir("/dev/shm");

    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        struct stat is;
        int pid, end = 0;
        if (sscanf(entry->d_name, "%d:%*u:%*u%n", &pid, &end) == 1 && end > 0 && !entry->d_name[end] && pid > 0 &&
            fstatat(dirfd(dir), entry->d_name, &is, AT_SYMLINK_NOFOLLOW) == 0 && is.st_uid == geteuid() &&
            is.st_mtime >= since && kill(pid, 0) != 0 && errno == ESRCH)
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
}

int main(int argc, char **argv)
{
    const nbcoll_ofi_config usual = {.size = sizeof usual, .provider = "shm", .lost_ms = 2000};
    const time_t since = time(NULL);
    int status = conform(&usual,
                         NBCOLL_CONFORMANCE_ORDERED | NBCOLL_CONFORMANCE_BULK | NBCOLL_CONFORMANCE_REFUSES |
                             NBCOLL_CONFORMANCE_WAKEUP,
                         false, argc > 1 ? argv[1] : NULL);

    remove_what_was_left(since);
    return status;
}
