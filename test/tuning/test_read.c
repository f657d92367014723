/* SPDX-License-Identifier: BSD-3-Clause
 * Tuning files: each word becomes what it says, and a malformed file is refused as a whole, with line and reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/tuning.h"

static nbcoll_tuning_problem problem;

/* Reads these bytes from a file. */
static nbcoll_status read_bytes(const nbcoll_host *host, const char *text, size_t bytes, nbcoll_tuning **out)
{
    char path[] = "/tmp/nbcoll-tuning-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
    assert_int_equal(close(fd), 0);
    problem = (nbcoll_tuning_problem){.size = sizeof problem};
    nbcoll_status status = nbcoll_tuning_read(host, path, out, &problem);
    assert_int_equal(unlink(path), 0);
    return status;
}

static nbcoll_tuning *read_text(const char *text)
{
    nbcoll_tuning *tuning = NULL;
    nbcoll_status status = read_bytes(NULL, text, strlen(text), &tuning);
    if (status != NBCOLL_OK)
        print_error("line %u: %s\n", problem.line, problem.text);
    assert_int_equal(status, NBCOLL_OK);
    return tuning;
}

/* The file is refused for this. */
static void refused_bytes(nbcoll_status why, unsigned line, const char *reason, const char *text, size_t bytes)
{
    nbcoll_tuning *tuning = NULL;
    assert_int_equal(read_bytes(NULL, text, bytes, &tuning), why);
    assert_string_equal(problem.text, reason);
    assert_int_equal(problem.line, line);
    assert_null(tuning);
}

static void refused(unsigned line, const char *reason, const char *text)
{
    refused_bytes(NBCOLL_ERR_CONFIG, line, reason, text, strlen(text));
}

static void each_word_becomes_what_it_says(void **state)
{
    nbcoll_tuning *tuning = read_text("# measured by hand\n"
                                      "[bcast]\n"
                                      "  binomial = ranks 2..8 bytes ..4095 split 2 ; short ones\n"
                                      "\n"
                                      "slots_chain= shared bytes 4096.. segment 16384\r\n"
                                      "scatter_ring =\n"
                                      "[allgather]\n"
                                      "hierarchical: apart ports 2 leaders 3 nodes 2..4 ranks 5 bytes 0");
    const nbcoll_rule *r = tuning->rules;
    (void)state;
    assert_int_equal(tuning->count, 4);
    assert_ptr_equal(r[0].algorithm, nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "binomial"));
    assert_int_equal(r[0].line, 3);
    assert_int_equal(r[0].fewest, 2);
    assert_int_equal(r[0].most, 8);
    assert_int_equal(r[0].from, 0);
    assert_int_equal(r[0].below, 4096);
    assert_int_equal(r[0].split, 2);
    assert_int_equal(r[0].sharing, NBCOLL_ANY_SHARING);
    assert_string_equal(r[1].algorithm->name, "slots_chain");
    assert_int_equal(r[1].line, 5);
    assert_int_equal(r[1].sharing, NBCOLL_SHARED);
    assert_int_equal(r[1].from, 4096);
    assert_int_equal(r[1].below, 0);
    assert_int_equal(r[1].segment, 16384);
    assert_int_equal(r[2].most, 0);
    assert_int_equal(r[3].algorithm->operation, NBCOLL_OPERATION_ALLGATHER);
    assert_int_equal(r[3].line, 8);
    assert_int_equal(r[3].sharing, NBCOLL_NOT_SHARED);
    assert_int_equal(r[3].ports, 2);
    assert_int_equal(r[3].leaders, 3);
    assert_int_equal(r[3].fewest_nodes, 2);
    assert_int_equal(r[3].most_nodes, 4);
    assert_int_equal(r[3].fewest, 5);
    assert_int_equal(r[3].most, 5);
    assert_int_equal(r[3].below, 1);
    assert_int_equal(nbcoll_rules_check(tuning->rules, tuning->count, NULL), NBCOLL_OK);
    nbcoll_tuning_free(tuning);
}

static void an_empty_file_has_no_rules(void **state)
{
    (void)state;
    nbcoll_tuning *tuning = read_text("");
    assert_int_equal(tuning->count, 0);
    nbcoll_tuning_free(tuning);
    nbcoll_tuning_free(NULL);
}

static void malformed_files_are_refused_with_line_and_reason(void **state)
{
    char longer[400] = "[bcast]\nbinomial = ";
    (void)state;
    refused(1, "a rule stands before any [operation]", "binomial =\n");
    refused(1, "unknown operation 'cast'", "[cast]\nbinomial =\n");
    refused(3, "bcast has no algorithm 'bruck'", "[bcast]\nbinomial =\nbruck =\n[x\n");
    refused(2, "neither an [operation], nor ALGORITHM = ..., nor a comment", "[bcast]\nbinomial\nbruck =\n");
    refused(1, "neither an [operation], nor ALGORITHM = ..., nor a comment", "[bcast\nbruck =\n");
    refused(2, "unknown word 'rank'", "[bcast]\nbinomial = rank 2\n");
    refused(2, "'ranks' is said already, or the contrary", "[bcast]\nbinomial = ranks 2 ranks 3\n");
    refused(2, "'apart' is said already, or the contrary", "[bcast]\nbinomial = shared apart\n");
    refused(2, "segment takes a number, not '4k'", "[bcast]\nbinomial = segment 4k\n");
    refused(2, "bcast flat does not read one of these parameters", "[bcast]\nflat = arity 3\n");
    refused(2, "nodes takes a number, or a range like 2..8, 2.. or ..8, not '0..0'", "[bcast]\nflat = nodes 0..0\n");
    refused(2, "arity takes a number, not ''", "[bcast]\nbinomial = arity\n");
    memset(longer + strlen(longer), ' ', 300);
    refused(2, "the line is too long, or has a byte that is no text", longer);
    refused_bytes(NBCOLL_ERR_CONFIG, 2, "the line is too long, or has a byte that is no text",
                  "[bcast]\nbinomial =\0 ranks 2\nbinomial =\n", 38);
}

static void sections_without_rules_are_operations_too(void **state)
{
    (void)state;
    nbcoll_tuning *tuning = read_text("\xef\xbb\xbf[bcast]\n [reduce] ; none yet\n[scan]\t\r\n");
    assert_int_equal(tuning->count, 0);
    nbcoll_tuning_free(tuning);
    refused(3, "unknown operation 'cast'", "[bcast]\nbinomial =\n[cast]\n");
    refused(1, "unknown operation 'cast'", "\xef\xbb\xbf[cast]\n");
    refused(2, "unknown operation ''", "[bcast]\n[]");
    refused(2, "unknown operation ' bcast'", "\n [ bcast]\n");
    refused(1, "unknown operation 'bcast-of-a-name-that-is-much-longer-than-that-of-any-operation'",
            "[bcast-of-a-name-that-is-much-longer-than-that-of-any-operation]\n");
    refused(1, "neither an [operation], nor ALGORITHM = ..., nor a comment", "[bcast] binomial = ranks 2\n");
}

static void ranges_that_are_none_are_refused(void **state)
{
    static const char *const bad[] = {"..", "x", "8..2", "2-8", "2..x", "2..3x", "-1", "0", "99999999999",
                                      "99999999999999999999999"};
    char text[100], reason[160];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "[bcast]\nbinomial = ranks %s\n", bad[i]);
        snprintf(reason, sizeof reason, "ranks takes a number, or a range like 2..8, 2.. or ..8, not '%s'", bad[i]);
        refused(2, reason, text);
    }
}

static void as_many_rules_are_read_as_a_communicator_may_have(void **state)
{
    char *text = malloc((NBCOLL_RULES + 2) * sizeof "binomial=\n"), *end = text;
    (void)state;
    assert_non_null(text);
    end += sprintf(end, "[bcast]\n");
    for (int i = 0; i < NBCOLL_RULES; i++)
        end += sprintf(end, "binomial=\n");
    nbcoll_tuning *tuning = read_text(text);
    assert_int_equal(tuning->count, NBCOLL_RULES);
    assert_int_equal(tuning->rules[NBCOLL_RULES - 1].line, NBCOLL_RULES + 1);
    nbcoll_tuning_free(tuning);
    sprintf(end, "binomial=\n");
    refused_bytes(NBCOLL_ERR_LIMIT, NBCOLL_RULES + 2, "too many rules", text, strlen(text));
    free(text);
}

/* ---- memory and files -------------------------------------------------------------------------------------------- */

typedef struct pool {
    int left; /* allocations until there is none */
    size_t taken;
} pool;

static void *pool_alloc(void *user, size_t bytes, size_t align)
{
    pool *p = user;
    (void)align;
    if (p->left-- <= 0)
        return NULL;
    p->taken += bytes;
    return malloc(bytes);
}

static void pool_free(void *user, void *memory, size_t bytes)
{
    ((pool *)user)->taken -= bytes;
    free(memory);
}

static void without_memory_nothing_is_kept(void **state)
{
    char text[600] = "[bcast]\n";
    (void)state;
    for (int i = 0; i < 40; i++)
        strcat(text, "binomial=\n");
    for (int left = 0; left <= 4; left++) {
        pool p = {.left = left};
        const nbcoll_host host = {.size = sizeof host, .user = &p, .alloc = pool_alloc, .free = pool_free};
        nbcoll_tuning *tuning = NULL;
        nbcoll_status status = read_bytes(&host, text, strlen(text), &tuning);
        assert_int_equal(status, left < 4 ? NBCOLL_ERR_MEMORY : NBCOLL_OK); /* the file, room for 16, 32, 64 rules */
        assert_int_equal(p.taken > 0, left == 4);
        nbcoll_tuning_free(tuning);
        assert_int_equal(p.taken, 0);
    }
}

static void files_that_cannot_be_read_are_refused(void **state)
{
    nbcoll_tuning *tuning = NULL;
    (void)state;
    problem = (nbcoll_tuning_problem){.size = sizeof problem, .line = 7};
    assert_int_equal(nbcoll_tuning_read(NULL, "/no/such/file", &tuning, &problem), NBCOLL_ERR_ARGUMENT);
    assert_string_equal(problem.text, "it cannot be opened");
    assert_int_equal(problem.line, 0);
    assert_int_equal(nbcoll_tuning_read(NULL, "/tmp", &tuning, &problem), NBCOLL_ERR_ARGUMENT);
    assert_string_equal(problem.text, "it cannot be read");
    assert_int_equal(nbcoll_tuning_read(NULL, NULL, &tuning, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_tuning_read(NULL, "/no/such/file", NULL, NULL), NBCOLL_ERR_NULL);
    problem.size = 0;
    assert_int_equal(nbcoll_tuning_read(NULL, "/no/such/file", &tuning, &problem), NBCOLL_ERR_CONFIG);
    assert_null(tuning);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_becomes_what_it_says),
        cmocka_unit_test(an_empty_file_has_no_rules),
        cmocka_unit_test(malformed_files_are_refused_with_line_and_reason),
        cmocka_unit_test(sections_without_rules_are_operations_too),
        cmocka_unit_test(ranges_that_are_none_are_refused),
        cmocka_unit_test(as_many_rules_are_read_as_a_communicator_may_have),
        cmocka_unit_test(without_memory_nothing_is_kept),
        cmocka_unit_test(files_that_cannot_be_read_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
