/* SPDX-License-Identifier: BSD-3-Clause
 * Stand-ins for files, clocks, and the other side of sockets. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create, ppoll */
#endif
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

void (*fuzz_other_side)(void *user);
void *fuzz_other_user;

const char *fuzz_file(const uint8_t *data, size_t bytes)
{
    static char path[40];
    static int file = -1;
    if (file < 0)
        file = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_NEVER(file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, bytes, 0) != (ssize_t)bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return path;
}

/* ---- what is printed ------------------------------------------------------------------------------------------- */

static FILE *loud[2];

void fuzz_quiet(void)
{
    static FILE *nowhere;
    if (!nowhere)
        nowhere = fopen(getenv("FUZZ_LOUD") ? "/dev/stderr" : "/dev/null", "w");
    FUZZ_NEVER(!nowhere);
    if (getenv("FUZZ_LOUD"))
        setvbuf(nowhere, NULL, _IOLBF, 0);
    loud[0] = stdout;
    loud[1] = stderr;
    stdout = stderr = nowhere;
}

void fuzz_loud(void)
{
    stdout = loud[0];
    stderr = loud[1];
}

/* ---- waiting --------------------------------------------------------------------------------------------------- */

static uint64_t now(void *user)
{
    static uint64_t ns;
    (void)user;
    return ns += UINT64_C(100000000);
}

#define MOST ((size_t)1 << 30) /* bytes of one allocation */

static void *alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    return bytes > MOST ? NULL : aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void release(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

nbcoll_host fuzz_host(void)
{
    return (nbcoll_host){.size = sizeof(nbcoll_host), .now = now, .alloc = alloc, .free = release};
}

int __real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *longest, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *longest, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *longest, const sigset_t *mask)
{
    static const struct timespec none;
    if (fuzz_other_side)
        fuzz_other_side(fuzz_other_user);
    return __real_ppoll(fds, n, fuzz_other_side ? &none : longest, mask);
}

int __real_poll(struct pollfd *fds, nfds_t n, int longest);
int __wrap_poll(struct pollfd *fds, nfds_t n, int longest);
int __wrap_poll(struct pollfd *fds, nfds_t n, int longest)
{
    if (fuzz_other_side && longest)
        fuzz_other_side(fuzz_other_user);
    return __real_poll(fds, n, fuzz_other_side ? 0 : longest);
}
