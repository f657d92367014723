/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs `nbcoll`, perhaps behind a filter of system calls, and parses its output.
 */
#include "output.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

/* 0 when it is denied from now on, to this process and its children. */
static int deny(const denial *denied)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)denied->call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((uint32_t)denied->error & SECCOMP_RET_DATA)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) | prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

json_t *output_without(const denial *denied, const char *arguments)
{
    char line[512];
    int ends[2], how;
    json_error_t error;
    const char *binary = getenv("NBCOLL_BINARY");
    assert_non_null(binary);
    snprintf(line, sizeof line, "%s/nbcoll", binary);
    if (access(line, X_OK) != 0)
        skip();
    snprintf(line, sizeof line, "exec '%s/nbcoll' %s", binary, arguments);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        alarm(60); /* ends what does not end */
        if (!denied || deny(denied) == 0)
            execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(99);
    }
    assert_true(pid > 0);
    close(ends[1]);
    json_t *root = json_loadfd(ends[0], JSON_REJECT_DUPLICATES, &error);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(how, 0);
    if (!root)
        fail_msg("%s: line %d: %s", line, error.line, error.text);
    return root;
}

json_t *output_of(const char *arguments)
{
    return output_without(NULL, arguments);
}
