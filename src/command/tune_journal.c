/* SPDX-License-Identifier: BSD-3-Clause
 * The journal of `nbcoll tune`: a line of JSON with the settings, then one for each finished point. What a kill left of
 * the last line is dropped; a point whose candidates are others now is taken again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "sim.h"
#include "tune.h"

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* All that times and points depend on. */
static json_t *settings_of(const tune *t)
{
    char grid[TUNE_TEXT] = "";
    for (size_t i = 0; i < t->operations; i++)
        command_add(grid, TUNE_TEXT, "%s ", nbcoll_operation_name(t->operation[i]));
    tune_add_grid(t, grid);
    json_t *all = json_pack("{s:s, s:i, s:b, s:s}", "version", NBCOLL_VERSION, "abi", (int)NBCOLL_ABI, "simulated",
                            t->is_simulated, "grid", grid);
    if (t->is_simulated)
        json_object_set_new(all, "model", sim_numbers(sim_model_names, &t->model, 0));
    else
        json_object_update_new(all, json_pack("{s:b, s:s?, s:i, s:i}", "threads", t->plan.are_threads, "bind",
                                              t->plan.bind, "rounds", t->plan.rounds, "iterations",
                                              t->plan.iterations));
    return all;
}

static int write_line(const tune *t, json_t *line)
{
    int failed = json_dumpf(line, t->journal, JSON_COMPACT) || fputc('\n', t->journal) == EOF || fflush(t->journal);
    json_decref(line);
    return failed ? command_fail(t->self, "%s: it could not be written", t->journal_name) : 0;
}

int tune_journal_add(const tune *t, const tune_point *p)
{
    return t->journal ? write_line(t, tune_point_object(t, p)) : 0;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The point of a line, or null. */
static tune_point *find_point(const tune *t, const json_t *line)
{
    const char *operation = row_text(line, "operation");
    for (tune_point *p = t->point; operation && p < t->point + t->points; p++)
        if ((long long)t->ranks[p->row] == row_number(line, "ranks") &&
            (long long)t->bytes[p->column] == row_number(line, "bytes") &&
            strcmp(nbcoll_operation_name(p->operation), operation) == 0)
            return p;
    return NULL;
}

/* The settings, or a point. 0, or COMMAND_USAGE after naming what is wrong. */
static int take_line(tune *t, const json_t *line, size_t number)
{
    const char *latency = row_text(line, "latency"), *other = "was begun with other settings, or by another version";
    if (number == 1) {
        json_t *settings = settings_of(t);
        int is_same = json_equal(settings, line);
        json_decref(settings);
        return is_same ? 0 : command_refuse(t->self, "%s %s; remove it to begin anew", t->journal_name, other);
    }
    tune_point *p = latency && *latency ? find_point(t, line) : NULL;
    if (!p)
        return command_refuse(t->self, "%s:%zu: no line of a journal; remove it to begin anew", t->journal_name,
                              number);
    json_t *times = json_object_get(line, "times");
    p->is_done = json_array_size(times) == p->times;
    for (size_t i = 0; i < p->times; i++) {
        const json_t *row = json_array_get(times, i);
        p->time[i].us = row_real(row, "us");
        p->time[i].noise = row_real(row, "noise");
        json_t *wanted = tune_time_object(&p->time[i]);
        p->is_done &= json_equal(wanted, row);
        json_decref(wanted);
    }
    p->latency = *latency;
    return 0;
}

/* Reads all lines; *lines of them are good. The file then ends behind them. */
static int read_lines(tune *t, size_t *lines)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t length;
    off_t good = 0;
    int status = 0;
    for (*lines = 0; !status && (length = getline(&text, &room, t->journal)) > 0; good += length) {
        json_t *line = text[length - 1] == '\n' ? json_loadb(text, (size_t)length, 0, NULL) : NULL;
        if (!line && getc(t->journal) == EOF)
            break; /* the last one, and only a part of it */
        status = take_line(t, line, ++*lines);
        json_decref(line);
    }
    free(text);
    if (!status && (fseeko(t->journal, good, SEEK_SET) != 0 || ftruncate(fileno(t->journal), good) != 0))
        status = command_fail(t->self, "%s: %s", t->journal_name, strerror(errno));
    return status;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

int tune_journal_open(tune *t)
{
    size_t lines;
    if (!t->output)
        return 0;
    if (asprintf(&t->journal_name, "%s.journal", t->output) < 0)
        return command_fail_status(t->self, NBCOLL_ERR_MEMORY);
    int fd = open(t->journal_name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    t->journal = fd < 0 ? NULL : fdopen(fd, "r+");
    if (!t->journal)
        return command_fail(t->self, "%s: %s", t->journal_name, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return command_fail(t->self, "%s: another nbcoll tune is at work on it", t->journal_name);
    int status = read_lines(t, &lines);
    for (size_t i = 0; i < t->points; i++)
        t->resumed += t->point[i].is_done != 0;
    return !status && lines == 0 ? write_line(t, settings_of(t)) : status;
}

void tune_journal_close(tune *t, int is_through)
{
    if (is_through && t->journal)
        unlink(t->journal_name);
    if (t->journal)
        fclose(t->journal);
    free(t->journal_name);
}
