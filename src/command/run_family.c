/* SPDX-License-Identifier: BSD-3-Clause
 * The processes that descend from this one. Orphans among them are its children (PR_SET_CHILD_SUBREAPER), so that going
 * up from any of them by parents leads here. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

/* 0 when there is none, or no such process. */
static pid_t parent_of(pid_t pid)
{
    char path[40], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length < 0 ? 0 : length] = 0;
    const char *end = strrchr(text, ')'); /* of the name, which may hold anything; then " state parent" */
    return end && end[1] && end[2] ? (pid_t)strtol(end + 3, NULL, 10) : 0;
}

static int is_family(pid_t pid)
{
    pid_t self = getpid();
    while ((pid = parent_of(pid)) > 1)
        if (pid == self)
            return 1;
    return 0;
}

/* Adds a process to those told; 0 when it is one. Without memory it is told again. */
static int is_news(run_told *told, pid_t pid)
{
    for (size_t i = 0; i < told->count; i++)
        if (told->pid[i] == pid)
            return 0;
    pid_t *more = realloc(told->pid, (told->count + 1) * sizeof *more);
    if (more) {
        told->pid = more;
        more[told->count++] = pid;
    }
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
