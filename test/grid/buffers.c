/* SPDX-License-Identifier: BSD-3-Clause
 * See buffers.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffers.h"
#include "world.h"

enum { FRONT = 64, GUARD = 0xb7 };

static size_t front_of(const buffer *b)
{
    size_t room = b->mapped - b->bytes;
    return room < FRONT ? room : FRONT;
}

buffer buffer_make(size_t bytes, uint64_t random)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), mapped = (bytes + page) / page * page;
    buffer b = {NULL, mapped, NULL, bytes, malloc(bytes + 1), malloc(bytes + 1)};

    b.map = mmap(NULL, mapped + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b.map == MAP_FAILED || !b.before || !b.expected || mprotect(b.map + mapped, page, PROT_NONE) != 0)
        abort();
    b.at = b.map + mapped - bytes;
    memset(b.at - front_of(&b), GUARD, front_of(&b));
    for (size_t i = 0; i < bytes; i += sizeof random) {
        uint64_t word = world_random(&random);
        memcpy(b.at + i, &word, bytes - i < sizeof word ? bytes - i : sizeof word);
    }
    return b;
}

void buffer_settle(buffer *b)
{
    memcpy(b->before, b->at, b->bytes);
    memcpy(b->expected, b->at, b->bytes);
}

void buffer_restore(const buffer *b)
{
    if (b->mapped)
        memcpy(b->at, b->before, b->bytes);
}

int buffer_is_intact(const buffer *b)
{
    for (size_t i = 1; b->mapped && i <= front_of(b); i++)
        if ((unsigned char)b->at[-(ptrdiff_t)i] != GUARD)
            return 0;
    return 1;
}

void buffer_free(buffer *b)
{
    if (b->mapped)
        munmap(b->map, b->mapped + (size_t)sysconf(_SC_PAGESIZE));
    free(b->before);
    free(b->expected);
    memset(b, 0, sizeof *b);
}
