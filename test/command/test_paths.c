/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nbcoll info` tells how large data moves over shared memory on this machine, and why not better: what one process can
 * do with the memory of another beside it; and what a machine that refuses a system call has instead.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "output.h"

#define OTHER "the peer is another process"
#define REFUSED "process_vm_readv is not permitted"

/* Checks one of the findings: its path (null: none), and how its reason begins. */
static void check(const json_t *root, const char *matter, const char *path, const char *why)
{
    const json_t *found = json_object_get(json_object_get(root, "copy_paths"), matter);
    const char *path_found = json_string_value(json_object_get(found, "path"));
    const char *why_found = json_string_value(json_object_get(found, "why"));
    assert_non_null(why_found);
    if (path && path_found)
        assert_string_equal(path_found, path);
    else
        assert_ptr_equal(path_found, path);
    if (strncmp(why_found, why, strlen(why)) != 0 || !*why != !*why_found)
        fail_msg("%s: '%s' instead of '%s...'", matter, why_found, why);
}

static int is_readable = 0x600df00d;

/* 0, or the errno of reading a sibling's memory. */
static int read_sibling(void)
{
    pid_t owner = fork();
    if (owner == 0) {
        pause();
        _exit(0);
    }
    pid_t reader = fork();
    if (reader == 0) {
        int copy = 0;
        struct iovec to = {&copy, sizeof copy}, from = {&is_readable, sizeof is_readable};
        _exit(process_vm_readv(owner, &to, 1, &from, 1, 0) == sizeof copy && copy == is_readable ? 0 : errno);
    }
    assert_true(owner > 0 && reader > 0);
    int how;
    assert_int_equal(waitpid(reader, &how, 0), reader);
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    assert_true(WIFEXITED(how));
    return WEXITSTATUS(how);
}

static void processes_read_each_other_where_the_machine_lets_them(void **state)
{
    (void)state;
    json_t *root = output_of("info --json");
    int error = read_sibling();
    check(root, "threads", "by reference", "");
    check(root, "processes", error ? "pieces" : "pieces or process_vm_readv", error ? "" : OTHER);
    check(root, "mem_alloc", "in place", "");
    json_decref(root);
}

static void what_a_machine_refuses_is_told(void **state)
{
    static const struct {
        denial denied;
        const char *threads, *threads_why, *processes, *processes_why;
    } cases[] = {
        {{SYS_process_vm_readv, EPERM}, "by reference", "", "pieces", REFUSED},
        {{SYS_process_vm_readv, ENOSYS}, "by reference", "", "pieces", "this kernel, or a system call filter"},
        {{SYS_process_vm_readv, EINVAL}, "by reference", "", "pieces", "process_vm_readv failed (Invalid argument)"},
        {{SYS_memfd_create, ENOSYS}, NULL, "NBCOLL_ERR_UNSUPPORTED: ", NULL, "NBCOLL_ERR_UNSUPPORTED: "},
        {{SYS_fallocate, ENOSPC}, NULL, "NBCOLL_ERR_MEMORY: ", NULL, "NBCOLL_ERR_MEMORY: "},
#ifndef __SANITIZE_ADDRESS__ /* which makes a process of its own at the end */
        {{SYS_clone, EAGAIN}, NULL, "NBCOLL_ERR_MEMORY: ", NULL, "NBCOLL_ERR_MEMORY: "},
#endif
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *root = output_without(&cases[i].denied, "info --json");
        check(root, "threads", cases[i].threads, cases[i].threads_why);
        check(root, "processes", cases[i].processes, cases[i].processes_why);
        int is_open = cases[i].threads != NULL;
        check(root, "mem_alloc", is_open ? "in place" : NULL, is_open ? "" : cases[i].threads_why);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_read_each_other_where_the_machine_lets_them),
        cmocka_unit_test(what_a_machine_refuses_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
