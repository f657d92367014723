/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of hosts, as people, hostfiles, PBS and Slurm write them, give hosts and numbers of ranks; what is none is
 * refused, and named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/cluster.h>

enum { ROOM = 8 };

/* "a 0+4 b 4+1": each host, its first rank and how many it has. */
static const char *read_list(const char *list, const char *counts, int most)
{
    static char text[ROOM * 300];
    nbcoll_cluster_place place[ROOM];
    int n;

    *text = 0;
    assert_int_equal(nbcoll_cluster_read(list, counts, most, place, ROOM, &n, NULL), NBCOLL_OK);
    for (int i = 0; i < n; i++)
        sprintf(text + strlen(text), "%s%s %d+%d", i ? " " : "", place[i].name, place[i].first, place[i].ranks);
    return text;
}

static void lists_of_people_are_read(void **state)
{
    (void)state;
    assert_string_equal(read_list("a:4,b", NULL, 0), "a 0+4 b 4+1");
    assert_string_equal(read_list(" a , b:2,, a:3 ", NULL, 0), "a 0+4 b 4+2");
    assert_string_equal(read_list("# hosts\na slots=2\r\n\nb\nb:4 # more\nc", NULL, 0), "a 0+2 b 2+5 c 7+1");
    assert_string_equal(read_list("a:256", NULL, 0), "a 0+256");
    assert_string_equal(read_list("a:4,b:4", NULL, 5), "a 0+4 b 4+1");
    assert_string_equal(read_list("a:4,b:4", NULL, 4), "a 0+4");
    assert_string_equal(read_list("a:4,b:4", NULL, 9), "a 0+4 b 4+4");
}

static void the_file_of_pbs_is_read(void **state)
{
    (void)state;
    assert_string_equal(read_list("n7.x.org\nn7.x.org\nn9.x.org\nn9.x.org\n", NULL, 0), "n7.x.org 0+2 n9.x.org 2+2");
}

static void lists_of_slurm_are_read(void **state)
{
    (void)state;
    assert_string_equal(read_list("n[1-2],gpu7", "4(x2),3", 0), "n1 0+4 n2 4+4 gpu7 8+3");
    assert_string_equal(read_list("n[08-10,3]-ib", "1,2,3,4", 0), "n08-ib 0+1 n09-ib 1+2 n10-ib 3+3 n3-ib 6+4");
    assert_string_equal(read_list("r[1-2]n[01-02]", "2(x4)", 0), "r1n01 0+2 r1n02 2+2 r2n01 4+2 r2n02 6+2");
    assert_string_equal(read_list("n[1,3]:2", NULL, 0), "n1 0+2 n3 2+2");
    assert_string_equal(read_list("n", "16", 3), "n 0+3");
}

static void refuse(const char *list, const char *counts, nbcoll_status why, const char *where)
{
    nbcoll_cluster_place place[ROOM];
    const char *wrong = "";
    int n;

    assert_int_equal(nbcoll_cluster_read(list, counts, 0, place, ROOM, &n, &wrong), why);
    assert_string_equal(wrong, where);
}

static void what_is_no_list_is_refused(void **state)
{
    static const char *const bad[] = {"b:x", "b:", "b:0", "b:257", "b:4:4", "b 4", "b slots=", "b max=4", ":4", "-b",
                                      "n[1-2", "n[]", "n[1-", "n[1-]", "n[2-1]", "n[a]", "n[1,]", "n]1[", "n[-1]",
                                      "n[1-2]]", "n[9999999999]", "n[1-99999999999]", "[1-2", "b:99999999999"};
    char text[600];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "a:2,%s", bad[i]);
        refuse(text, NULL, NBCOLL_ERR_ARGUMENT, bad[i]);
    }
    memset(text, 'a', 256);
    text[256] = 0;
    refuse(text, NULL, NBCOLL_ERR_ARGUMENT, text);
    refuse("", NULL, NBCOLL_ERR_ARGUMENT, "");
    refuse("# nothing\n", NULL, NBCOLL_ERR_ARGUMENT, "# nothing\n");
}

static void counts_are_for_the_hosts(void **state)
{
    static const char *const bad[] = {"", "4", "4(x1)", "4(x3)", "4,4,4", "4(x2", "4(x)", "4(y2)", "4(x2),", "x",
                                      "0(x2)", "257(x2)", "4,,4", "-4(x2)", "4(x0),4"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        nbcoll_cluster_place place[ROOM];
        int n;
        assert_int_equal(nbcoll_cluster_read("n[1-2]", bad[i], 0, place, ROOM, &n, NULL), NBCOLL_ERR_ARGUMENT);
    }
}

static void too_many_are_refused(void **state)
{
    (void)state;
    refuse("a,n[1-8]", NULL, NBCOLL_ERR_LIMIT, "n[1-8]");
    refuse("a:200,a:57", NULL, NBCOLL_ERR_LIMIT, "a:57");
    refuse("n[1,1,1,1,1,1,1,1][1,1,1,1,1,1,1,1][1,1,1,1,1,1,1,1]", NULL, NBCOLL_ERR_LIMIT,
           "n[1,1,1,1,1,1,1,1][1,1,1,1,1,1,1,1][1,1,1,1,1,1,1,1]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_people_are_read),
        cmocka_unit_test(the_file_of_pbs_is_read),
        cmocka_unit_test(lists_of_slurm_are_read),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(counts_are_for_the_hosts),
        cmocka_unit_test(too_many_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
