/* SPDX-License-Identifier: BSD-3-Clause
 * The journal of `nbcoll tune`: a line of JSON with the settings, then one for each finished point. What a kill left of
 * the last line is dropped; a point whose candidates are others now is taken again. */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "json.h"
#include "sim.h"
#include "tune.h"

struct tune_journal {
    char *name;
    FILE *file;
};

/* ---- lines ----------------------------------------------------------------------------------------------------- */

static json_t *numbers(const size_t number[], size_t n)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(all, json_integer((json_int_t)number[i]));
    return all;
}

/* All that times and points depend on. */
static json_t *settings_of(const tune *t)
{
    json_t *operations = json_array();
    for (size_t i = 0; i < t->operations; i++)
        json_array_append_new(operations, json_string(nbcoll_operation_name(t->operation[i])));
    json_t *all = json_pack("{s:s, s:i, s:b, s:o, s:o, s:o, s:s, s:s}", "version", NBCOLL_VERSION, "abi",
                            (int)NBCOLL_ABI, "simulated", t->is_simulated, "operations", operations, "ranks",
                            numbers(t->ranks, t->rows), "bytes", numbers(t->bytes, t->columns), "type",
                            nbcoll_type_name(t->plan.reduction.type), "op", nbcoll_op_name(t->plan.reduction.op));
    json_t *more =
        t->is_simulated
            ? json_pack("{s:o}", "model", sim_numbers(sim_model_names, &t->model, 0))
            : json_pack("{s:b, s:b, s:s, s:i, s:i}", "changing", t->is_changing, "threads", t->plan.are_threads, "bind",
                        t->plan.bind ? t->plan.bind : "", "rounds", t->plan.rounds, "iterations", t->plan.iterations);
    json_object_update(all, more);
    json_decref(more);
    return all;
}

static json_t *point_object(const tune *t, const tune_point *p)
{
    return json_pack("{s:s, s:I, s:I, s:s#, s:o}", "operation", nbcoll_operation_name(p->operation), "ranks",
                     (json_int_t)t->ranks[p->row], "bytes", (json_int_t)t->bytes[p->column], "mood", &p->mood, 1,
                     "times", tune_times(p));
}

static int write_line(const tune *t, tune_journal *j, json_t *line)
{
    int failed = json_dumpf(line, j->file, JSON_COMPACT) != 0 || fputc('\n', j->file) == EOF || fflush(j->file) != 0;
    json_decref(line);
    if (failed)
        command_refuse(t->self, "%s: it could not be written", j->name);
    return failed ? COMMAND_FAILED : 0;
}

int tune_journal_add(const tune *t, tune_journal *j, const tune_point *p)
{
    return j ? write_line(t, j, point_object(t, p)) : 0;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* The point of a line, or null. */
static tune_point *find_point(const tune *t, const json_t *line)
{
    const char *operation = row_text(line, "operation");
    for (size_t i = 0; operation && i < tune_all(t); i++) {
        tune_point *p = &t->point[i];
        if (p->is_there && (long long)t->ranks[p->row] == row_number(line, "ranks") &&
            (long long)t->bytes[p->column] == row_number(line, "bytes") &&
            strcmp(nbcoll_operation_name(p->operation), operation) == 0)
            return p;
    }
    return NULL;
}

/* Takes the time of a candidate. Is it there? */
static int take_time(tune_time *time, json_t *times)
{
    json_t *row;
    size_t i;
    json_array_foreach(times, i, row)
    {
        time->us = row_real(row, "us");
        time->noise = row_real(row, "noise");
        json_t *wanted = tune_time_object(time);
        int is_there = json_equal(wanted, row) && time->us >= 0 && time->noise >= 0;
        json_decref(wanted);
        if (is_there)
            return 1;
    }
    return 0;
}

/* 0: it is no line of a point. */
static int take_point(tune *t, json_t *line)
{
    tune_point *p = find_point(t, line);
    const char *mood = row_text(line, "mood");
    int is_whole = 1;
    if (!p || !mood || !mood[0])
        return 0;
    for (size_t i = 0; i < p->times; i++)
        is_whole &= take_time(&p->time[i], json_object_get(line, "times"));
    p->is_done |= is_whole;
    p->mood = mood[0];
    return 1;
}

static int take_line(tune *t, const tune_journal *j, json_t *line, size_t number)
{
    if (number > 1)
        return take_point(t, line)
                   ? 0
                   : command_refuse(t->self, "%s:%zu: no line of a journal; remove it to begin anew", j->name, number);
    json_t *settings = settings_of(t);
    int is_same = json_equal(settings, line);
    json_decref(settings);
    return is_same ? 0
                   : command_refuse(t->self,
                                    "%s was begun with other settings, or by another version; "
                                    "remove it to begin anew",
                                    j->name);
}

/* Reads all lines; *lines of them are good. The file then ends behind them. */
static int read_lines(tune *t, const tune_journal *j, size_t *lines)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t length;
    off_t good = 0;
    int status = 0;
    for (*lines = 0; !status && (length = getline(&text, &room, j->file)) > 0; good += length) {
        json_t *line = text[length - 1] == '\n' ? json_loadb(text, (size_t)length, 0, NULL) : NULL;
        if (!line && getc(j->file) == EOF)
            break; /* the last one, and only a part of it */
        status = line ? take_line(t, j, line, ++*lines)
                      : command_refuse(t->self, "%s:%zu: no line of a journal; remove it to begin anew", j->name,
                                       *lines + 1);
        json_decref(line);
    }
    free(text);
    if (!status && (fseeko(j->file, good, SEEK_SET) != 0 || ftruncate(fileno(j->file), good) != 0))
        status = command_fail(t->self, "%s: %s", j->name, strerror(errno));
    return status;
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

static int open_file(const tune *t, tune_journal *j)
{
    int fd = asprintf(&j->name, "%s.journal", t->output) < 0 ? (j->name = NULL, -1)
                                                             : open(j->name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    j->file = fd < 0 ? NULL : fdopen(fd, "r+");
    if (!j->file)
        return command_fail(t->self, "%s: %s", j->name ? j->name : t->output, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return command_fail(t->self, "%s: another nbcoll tune is at work on it", j->name);
    return 0;
}

int tune_journal_open(tune *t, tune_journal **out)
{
    size_t lines;
    *out = NULL;
    if (!t->output)
        return 0;
    tune_journal *j = calloc(1, sizeof *j);
    int status = j ? open_file(t, j) : COMMAND_FAILED;
    if (!status)
        status = read_lines(t, j, &lines);
    if (!status && lines == 0)
        status = write_line(t, j, settings_of(t));
    for (size_t i = 0; i < tune_all(t); i++)
        t->resumed += t->point[i].is_done != 0;
    if (status)
        tune_journal_close(j, 0);
    else
        *out = j;
    return status;
}

void tune_journal_close(tune_journal *j, int is_through)
{
    if (!j)
        return;
    if (is_through)
        unlink(j->name);
    if (j->file)
        fclose(j->file);
    free(j->name);
    free(j);
}
