/* SPDX-License-Identifier: BSD-3-Clause
 * What lies in the corpora comes to its end as its target says (fuzz.h), also cut short. What was once found lies
 * there, by the name of what it did. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "fuzz.h"

/* FUZZ_TARGETS is X(name) of each that is built. */
#define X(name) int fuzz_##name(const uint8_t *data, size_t bytes);
FUZZ_TARGETS
#undef X

enum { MOST = 8192 };

typedef struct target {
    const char *name;
    int (*run)(const uint8_t *data, size_t bytes);
} target;

static size_t read_all(const char *directory, const char *name, uint8_t data[MOST])
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    size_t bytes = fread(data, 1, MOST, in);
    fclose(in);
    return bytes;
}

/* Whole; then without its second half, and without its last byte. */
static void replay(const target *t, const char *name, const uint8_t *data, size_t bytes)
{
    const size_t length[] = {bytes, bytes / 2, bytes ? bytes - 1 : 0};
    print_message("%s/%s\n", t->name, name);
    for (int i = 0; i < 3; i++) {
        uint8_t *exact = malloc(length[i] ? length[i] : 1); /* a byte further on is nobody's */
        assert_non_null(exact);
        memcpy(exact, data, length[i]);
        t->run(exact, length[i]);
        free(exact);
    }
}

static void corpus_comes_to_its_end(void **state)
{
    const target *t = *state;
    static uint8_t data[MOST];
    char directory[400];
    int files = 0;
    snprintf(directory, sizeof directory, "%s/fuzz/corpus/%s", NBCOLL_TEST_DIR, t->name);
    DIR *all = opendir(directory);
    assert_non_null(all);
    for (const struct dirent *one; (one = readdir(all));)
        if (one->d_name[0] != '.') {
            replay(t, one->d_name, data, read_all(directory, one->d_name, data));
            files++;
        }
    closedir(all);
    assert_true(files > 0);
}

int main(void)
{
#define X(name) {#name, fuzz_##name},
    static target targets[] = {FUZZ_TARGETS};
#undef X
    enum { TARGETS = sizeof targets / sizeof targets[0] };
    struct CMUnitTest tests[TARGETS];
    for (int i = 0; i < TARGETS; i++)
        tests[i] = (struct CMUnitTest){targets[i].name, corpus_comes_to_its_end, NULL, NULL, &targets[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
