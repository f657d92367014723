/* SPDX-License-Identifier: BSD-3-Clause
 * The processes that descend from this one. Orphans among them are its children (PR_SET_CHILD_SUBREAPER), so that going
 * up from any of them by parents leads here. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "run.h"

char run_family_state(pid_t pid, pid_t *parent)
{
    char path[40], text[256], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[length < 0 ? 0 : length] = 0;
    if (fd >= 0)
        close(fd);
    const char *end = strrchr(text, ')'); /* of the name, which may hold anything */
    return end && sscanf(end + 1, " %c %d", &state, parent) == 2 ? state : 0;
}

static int is_family(pid_t pid)
{
    while (pid > 1 && run_family_state(pid, &pid))
        if (pid == getpid())
            return 1;
    return 0;
}

/* Adds a process to those told; 0 when it is one. Without memory it is told again. */
static int is_news(run_told *told, pid_t pid)
{
    for (size_t i = 0; i < told->count; i++)
        if (told->pid[i] == pid)
            return 0;
    command_append(&told->pid, &told->count, &told->room, &pid, sizeof pid);
    return 1;
}

int run_family_signal(int signal, run_told *told)
{
    DIR *all = opendir("/proc");
    if (!all)
        return -1;
    int seen = 0;
    for (struct dirent *entry; (entry = readdir(all));) {
        pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        seen |= pid == getpid();
        if (pid > 1 && is_family(pid) && (!told || is_news(told, pid)))
            kill(pid, signal);
    }
    closedir(all);
    return seen ? 0 : -1;
}

ssize_t run_fork(pid_t *pid, void *said, size_t room, int (*become)(void *user, int report), void *user)
{
    int report[2];
    pid_t self = getpid();
    ssize_t bytes = -1;
    if (pipe2(report, O_CLOEXEC) < 0)
        return -1;
    *pid = fork();
    if (*pid == 0) {
        close(report[0]);
        /* We may have died before the kernel knew that the child is to follow. */
        int is_orphan = prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != self;
        _exit(is_orphan ? COMMAND_FAILED : become(user, report[1]));
    }
    close(report[1]);
    while (*pid > 0 && (bytes = read(report[0], said, room)) < 0 && errno == EINTR)
        ;
    int error = errno;
    close(report[0]);
    errno = error;
    return bytes;
}
