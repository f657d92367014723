/* SPDX-License-Identifier: BSD-3-Clause
 * Starting `nbcoll run` for a test, and waiting for its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "started.h"

enum { MINUTE = 60000 };

/* In the child. The presence pipe stays open in it on purpose. */
static void become(const char *arguments, const char *script, const char *terminal, const int output[2])
{
    char words[256], command[4096], *argv[32] = {"nbcoll", "run"};
    int argc = 2;
    snprintf(command, sizeof command, "%s/nbcoll", getenv("NBCOLL_BINARY"));
    snprintf(words, sizeof words, "%s", arguments);
    for (char *word = strtok(words, " "); word && argc < 28; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc++] = "sh";
    argv[argc++] = "-c";
    argv[argc] = (char *)script;
    setsid();
    if (terminal)
        dup2(open(terminal, O_RDWR), STDIN_FILENO); /* the first one that a session opens becomes its own */
    dup2(output[1], STDOUT_FILENO);
    dup2(output[1], STDERR_FILENO);
    close(output[0]);
    close(output[1]);
    execv(command, argv);
    _exit(99);
}

void start(started *s, const char *arguments, const char *script, int has_terminal)
{
    int output[2], presence[2];
    char terminal[64] = "";
    s->length = 0;
    s->text[0] = 0;
    s->terminal = -1;
    if (has_terminal) {
        s->terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(s->terminal >= 0 && grantpt(s->terminal) == 0 && unlockpt(s->terminal) == 0);
        assert_int_equal(ptsname_r(s->terminal, terminal, sizeof terminal), 0);
    }
    assert_int_equal(pipe(output), 0);
    assert_int_equal(pipe(presence), 0);
    fcntl(presence[0], F_SETFD, FD_CLOEXEC);
    fcntl(output[0], F_SETPIPE_SZ, 4096); /* who writes more than that at a time is seen to block */
    fflush(NULL);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0)
        become(arguments, script, has_terminal ? terminal : NULL, output);
    close(output[1]);
    close(presence[1]);
    s->output = output[0];
    s->presence = presence[0];
}

/* Fails, and leaves nothing behind itself: what we started is a session and group of its own. */
static void give_up(const started *s, const char *why)
{
    kill(-s->pid, SIGKILL);
    fail_msg("%s after:\n%s", why, s->text);
}

/* Reads what is there, or waits for it. 0 at the end. */
static int read_more(started *s)
{
    struct pollfd ready = {s->output, POLLIN, 0};
    if (poll(&ready, 1, MINUTE) != 1)
        give_up(s, "nothing comes any more");
    ssize_t bytes = read(s->output, s->text + s->length, sizeof s->text - 1 - s->length);
    assert_true(bytes >= 0);
    s->length += (size_t)bytes;
    s->text[s->length] = 0;
    return bytes > 0;
}

void await(started *s, const char *text, int n)
{
    while (times(s, text) < n)
        if (!read_more(s))
            fail_msg("'%s' did not come %d times:\n%s", text, n, s->text);
}

int finish_unread(started *s)
{
    struct pollfd ready = {s->presence, POLLIN, 0};
    int how;
    if (poll(&ready, 1, MINUTE) != 1)
        give_up(s, "a process is left");
    assert_int_equal(waitpid(s->pid, &how, 0), s->pid);
    close(s->output);
    close(s->presence);
    if (s->terminal >= 0)
        close(s->terminal);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1 - WTERMSIG(how);
}

int finish(started *s)
{
    while (read_more(s))
        ;
    return finish_unread(s);
}

int times(const started *s, const char *text)
{
    int n = 0;
    for (const char *at = s->text; (at = strstr(at, text)); at += strlen(text))
        n++;
    return n;
}

int has(const started *s, const char *text)
{
    return times(s, text) > 0;
}

int number_after(const started *s, const char *word)
{
    const char *at = strstr(s->text, word);
    if (!at)
        fail_msg("no '%s' in:\n%s", word, s->text);
    return at ? (int)strtol(at + strlen(word), NULL, 10) : 0;
}
