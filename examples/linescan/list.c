/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Walks directories for .gz files. Links inside a directory are not followed, so that no text is counted twice; a path
 * that was named may be a link.
 */
#include "list.h"
#include "options.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add(list *l, const char *path, uint64_t bytes)
{
    if (l->count == l->room) {
        l->room = l->room ? 2 * l->room : 64;
        l->file = realloc(l->file, l->room * sizeof *l->file);
        if (!l->file)
            fatal("list of files", "no memory");
    }
    char *copy = strdup(path);
    if (!copy)
        fatal("list of files", "no memory");
    l->file[l->count++] = (listed){copy, bytes};
    l->bytes += bytes;
}

static void skip(list *l, const char *path, const char *why)
{
    fprintf(stderr, "linescan: %s: skipped: %s\n", path, why);
    l->skipped++;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const listed *)a)->path, ((const listed *)b)->path);
}

static void visit(list *l, const FTSENT *e)
{
    int named = e->fts_level == FTS_ROOTLEVEL;
    switch (e->fts_info) {
    case FTS_F:
        if (named || (e->fts_namelen > 3 && strcmp(e->fts_name + e->fts_namelen - 3, ".gz") == 0))
            add(l, e->fts_path, (uint64_t)e->fts_statp->st_size);
        break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        skip(l, e->fts_path, strerror(e->fts_errno));
        break;
    case FTS_SL:
    case FTS_SLNONE:
        if (named)
            skip(l, e->fts_path, "a link to nothing");
        break;
    case FTS_DEFAULT:
        if (named)
            skip(l, e->fts_path, "neither a regular file nor a directory");
        break;
    default: /* directories, on the way in and out */
        break;
    }
}

list list_files(char *const *paths, int count)
{
    list l = {0};
    for (int i = 0; i < count; i++) {
        char *one[] = {paths[i], NULL};
        size_t first = l.count;
        FTS *walk = fts_open(one, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
        if (!walk) {
            skip(&l, paths[i], strerror(errno));
            continue;
        }
        for (FTSENT *e; (e = fts_read(walk));)
            visit(&l, e);
        fts_close(walk);
        if (l.count > first)
            qsort(l.file + first, l.count - first, sizeof *l.file, by_path);
    }
    return l;
}

void list_free(list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->file[i].path);
    free(l->file);
    *l = (list){0};
}
