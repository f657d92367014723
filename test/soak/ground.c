/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Namespaces, control groups (of both versions) and filters, without a library. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "soak.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* ---- namespaces -------------------------------------------------------------------------------------------------- */

static pid_t first; /* of a PID namespace: with it all end */

static int write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;
    if (fd < 0)
        return errno;
    if (write(fd, text, strlen(text)) < 0)
        error = errno;
    close(fd);
    return error;
}

int ground_enter(ground g)
{
    int error;
    if (unshare(g == GROUND_PID ? CLONE_NEWPID : CLONE_NEWTIME) != 0)
        return errno;
    if (g == GROUND_TIME) { /* the clock is 30 years old */
        error = write_text("/proc/self/timens_offsets", "monotonic 946080000 0\nboottime 946080000 0\n");
        if (error)
            ground_leave(g);
        return error;
    }
    first = fork();
    if (first == 0) {
        signal(SIGCHLD, SIG_IGN);
        for (;;)
            pause();
    }
    return first < 0 ? errno : 0;
}

void ground_leave(ground g)
{
    int fd = open(g == GROUND_PID ? "/proc/self/ns/pid" : "/proc/self/ns/time", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        (void)setns(fd, g == GROUND_PID ? CLONE_NEWPID : CLONE_NEWTIME);
    close(fd);
}

void ground_end(void)
{
    if (first > 0) {
        kill(first, SIGKILL);
        waitpid(first, NULL, 0);
    }
    first = 0;
}

int ground_small(size_t bytes)
{
    char options[60], page[4096] = "";
    int fd;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return errno;
    snprintf(options, sizeof options, "size=%zu", bytes ? bytes : 4096);
    if (mount("tmpfs", "/dev/shm", "tmpfs", bytes ? 0 : MS_RDONLY, options) != 0)
        return errno;
    fd = open("/dev/shm/full", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    while (fd >= 0 && write(fd, page, sizeof page) > 0)
        ;
    if (fd >= 0)
        close(fd);
    return 0;
}

/* ---- control groups ---------------------------------------------------------------------------------------------- */

static void group_path(const char *controller, const char *file, char path[200])
{
    static pid_t owner;
    struct stat s;
    owner = owner ? owner : getpid(); /* the parent's */
    snprintf(path, 200, "/sys/fs/cgroup/%s", controller);
    bool is_first = stat(path, &s) == 0 && S_ISDIR(s.st_mode);
    snprintf(path, 200, "/sys/fs/cgroup%s%s/nbcoll_soak_%d%s%s", is_first ? "/" : "", is_first ? controller : "",
             (int)owner, file ? "/" : "", file ? file : "");
}

int ground_group(const char *controller, const char *file, const char *value)
{
    char path[200];
    group_path(controller, NULL, path);
    if (mkdir(path, 0700) != 0)
        return errno;
    int error = file ? ground_write(controller, file, value) : 0;
    if (error)
        ground_remove(controller);
    return error;
}

int ground_write(const char *controller, const char *file, const char *value)
{
    char path[200];
    group_path(controller, file, path);
    return write_text(path, value);
}

int ground_join(const char *controller)
{
    return ground_write(controller, "cgroup.procs", "0");
}

void ground_remove(const char *controller)
{
    char path[200];
    group_path(controller, NULL, path);
    for (int i = 0; i < 200 && rmdir(path) != 0 && errno == EBUSY; i++) /* those that have ended leave it late */
        soak_sleep(5 * MILLISECOND);
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

int ground_filter(int call, int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
               ? 0
               : errno;
}
