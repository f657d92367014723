/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys of real text.
 */
#define _XOPEN_SOURCE 700
#include "keys.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum { DESCRIPTORS = 16, PART = 1 << 16 };

static key_list *into; /* nftw passes nothing along */
static int files, nth_of_all, of_all, failed, lacks_memory;

static void add(uint64_t hash)
{
    if (into->count == into->room) {
        size_t room = into->room ? 2 * into->room : PART;
        uint64_t *key = realloc(into->key, room * sizeof *key);
        if (!key) {
            lacks_memory = 1;
            return;
        }
        into->key = key;
        into->room = room;
    }
    /* FNV's high bits are weak in short lines. */
    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
    into->key[into->count++] = hash ^ hash >> 29;
}

/* FNV-1a of each line. */
static void read_file(const char *path)
{
    static unsigned char part[PART];
    const uint64_t basis = 0xcbf29ce484222325u;
    uint64_t hash = basis;
    gzFile file = gzopen(path, "rb");
    int got = file ? 1 : -1;

    while (got > 0 && (got = gzread(file, part, sizeof part)) > 0)
        for (int i = 0; i < got; i++)
            if (part[i] == '\n') {
                add(hash);
                hash = basis;
            } else
                hash = (hash ^ part[i]) * 0x100000001b3u;
    if (hash != basis)
        add(hash);
    if (got < 0) {
        fprintf(stderr, "radixsort: %s cannot be read\n", path);
        failed++;
    }
    if (file)
        gzclose(file);
}

static int visit(const char *path, const struct stat *s, int type, struct FTW *where)
{
    size_t length = strlen(path);
    int is_named = where->level == 0; /* else it was found in a directory */
    (void)s;
    if (type == FTW_F && (is_named || (length > 3 && !strcmp(path + length - 3, ".gz"))) &&
        files++ % of_all == nth_of_all)
        read_file(path);
    return lacks_memory;
}

int keys_read(key_list *k, char *const *paths, int count, int nth, int of)
{
    *k = (key_list){0};
    into = k;
    nth_of_all = nth;
    of_all = of;
    for (int i = 0; i < count && !lacks_memory; i++)
        if (nftw(paths[i], visit, DESCRIPTORS, FTW_PHYS) < 0) {
            failed++;
            if (nth == 0) /* it is the same for the others */
                fprintf(stderr, "radixsort: %s: %s\n", paths[i], strerror(errno));
        }
    return lacks_memory ? -1 : failed;
}
