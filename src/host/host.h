/* SPDX-License-Identifier: BSD-3-Clause
 * Calling the host's hooks, and the C library where the host has none. */
#ifndef NBCOLL_INLINE_HOST_H
#define NBCOLL_INLINE_HOST_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nbcoll/nbcoll.h"

/* For what every small operation goes through: compilers leave it a call where it has a rare branch. */
#define NBCOLLI_ALWAYS_INLINE static inline __attribute__((always_inline))

/* The function that gives the name, or the text, of what a public list has. */
#define NBCOLLI_NAME_OF(name, text) #name,
#define NBCOLLI_TEXT_OF(name, text) text,
#define NBCOLLI_TELLS(function, type, LIST, WORD, unknown)                                                             \
    const char *function(type value)                                                                                   \
    {                                                                                                                  \
        static const char *const words[] = {LIST(WORD)};                                                               \
        return (unsigned)value < sizeof words / sizeof *words ? words[value] : (unknown);                              \
    }

/* alloc and free come as a pair: a host that gives only one of them has neither. */
static inline void *nbcolli_alloc(const nbcoll_host *host, size_t bytes, size_t align)
{
    if (host->alloc && host->free)
        return host->alloc(host->user, bytes, align);
    return bytes > SIZE_MAX - align ? NULL : aligned_alloc(align, (bytes + align - 1) / align * align);
}

static inline void nbcolli_free(const nbcoll_host *host, void *memory, size_t bytes)
{
    if (!memory)
        return;
    if (host->alloc && host->free)
        host->free(host->user, memory, bytes);
    else
        free(memory);
}

/* Frees all of a list; `bytes` may depend on `it`, one of them. */
#define NBCOLLI_FREE_ALL(host, list, bytes)                                                                            \
    for (__typeof__(list) it; (it = (list)) != NULL;) {                                                                \
        (list) = it->next;                                                                                             \
        nbcolli_free(host, it, bytes);                                                                                 \
    }

#ifdef CLOCK_MONOTONIC /* where POSIX is visible */
/* Nanoseconds of a clock that never goes back. */
static inline uint64_t nbcolli_now(const nbcoll_host *host)
{
    struct timespec t;

    if (host->now)
        return host->now(host->user);
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
#endif

/* A line of the host's log, which says why there is this status: that is returned. */
__attribute__((format(printf, 3, 4))) static inline nbcoll_status nbcolli_log(const nbcoll_host *host,
                                                                              nbcoll_status why,
                                                                              const char *format, ...)
{
    char text[240];
    va_list words;

    va_start(words, format);
    vsnprintf(text, sizeof text, format, words);
    va_end(words);
    if (host->log)
        host->log(host->user, why, text);
    return why;
}

/* What somebody else says of how his part has ended; ERR_ABI: nothing ends so. */
static inline nbcoll_status nbcolli_ended_as(uint64_t said)
{
    return said == NBCOLL_OK || (said > NBCOLL_AGAIN && said < NBCOLL_STATUS_COUNT) ? (nbcoll_status)said
                                                                                   : NBCOLL_ERR_ABI;
}

/* splitmix64's finish */
static inline uint64_t nbcolli_splitmix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Up to the next multiple of 64: parts of a block that begin on lines of their own. */
static inline size_t nbcolli_lines(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Copies as much of a size-tagged struct as both sides know over `to`, which holds the defaults. */
static inline nbcoll_status nbcolli_copy_tagged(void *to, const void *from, size_t size)
{
    size_t theirs;
    memcpy(&theirs, from, sizeof theirs);
    if (theirs < sizeof theirs)
        return NBCOLL_ERR_CONFIG;
    memcpy(to, from, theirs < size ? theirs : size);
    memcpy(to, &size, sizeof size);
    return NBCOLL_OK;
}

/* The other way: `from`, over the caller's struct, whose size stays. */
static inline nbcoll_status nbcolli_give_tagged(void *to, const void *from, size_t size)
{
    size_t theirs;
    memcpy(&theirs, to, sizeof theirs);
    if (theirs < sizeof theirs)
        return NBCOLL_ERR_CONFIG;
    memcpy(to, from, theirs < size ? theirs : size);
    memcpy(to, &theirs, sizeof theirs);
    return NBCOLL_OK;
}

/* A host that a configuration embeds: one of size 0 was only zeroed, or written with its members' names. */
static inline nbcoll_status nbcolli_host_read(nbcoll_host *to, const nbcoll_host *given)
{
    *to = given->size ? (nbcoll_host){0} : *given;
    to->size = sizeof *to;
    return given->size ? nbcolli_copy_tagged(to, given, sizeof *to) : NBCOLL_OK;
}

#endif
