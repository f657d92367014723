/* SPDX-License-Identifier: BSD-3-Clause
 * Where the system refuses to say on which processors a thread may run (a filter of system calls), that is an error; of
 * a machine that the host has loaded before, all processors are taken. hwloc would ask for ever. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <hwloc.h>

#include "nbcoll/affinity.h"

static void keep(void *user, nbcoll_status why, const char *text)
{
    (void)why;
    *(int *)user = strstr(text, "sched_getaffinity is refused") != NULL;
}

/* In a child. 0, or the number of what is wrong. */
static int find_without(uint32_t error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getaffinity, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    int is_said = 0;
    const nbcoll_host host = {.size = sizeof host, .user = &is_said, .log = keep};
    nbcoll_affinity_config config = {.size = sizeof config, .ranks = 1};
    nbcoll_affinity *found;
    hwloc_topology_t loaded;

    alarm(60); /* ends what does not end */
    if (hwloc_topology_init(&loaded) < 0 || hwloc_topology_load(loaded) < 0)
        return 1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 2;
    if (nbcoll_affinity_find(&host, &config, &found) != NBCOLL_ERR_UNSUPPORTED || !is_said)
        return 3;
    config.topology = loaded;
    if (nbcoll_affinity_find(&host, &config, &found) != NBCOLL_OK || found->cores < 1)
        return 4;
    nbcoll_affinity_free(found);
    hwloc_topology_destroy(loaded);
    return 0;
}

static void a_system_that_refuses_is_told(void **state)
{
    static const uint32_t errors[] = {EPERM, ENOSYS, EINVAL};
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        int how;
        pid_t child = fork();
        if (child == 0)
            _exit(find_without(errors[i]));
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_int_equal(how, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_system_that_refuses_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
