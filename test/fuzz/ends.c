/* SPDX-License-Identifier: BSD-3-Clause
 * A command ends where something is wrong, and leaves its memory to the system: here it comes back, and what it has
 * allocated is freed. */
#include <setjmp.h>
#include <stdarg.h>

#include <jansson.h>

#include "fuzz.h"

static jmp_buf back;
static int is_running, status;
static void **held;
static size_t count, room;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
char *__real_strdup(const char *text);
_Noreturn void __real_exit(int status);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);
char *__wrap_strdup(const char *text);
int __wrap_asprintf(char **out, const char *format, ...);
_Noreturn void __wrap_exit(int status);

static void *hold(void *memory)
{
    if (is_running && memory && count == room) {
        room = 2 * room + 64;
        held = __real_realloc(held, room * sizeof *held);
        FUZZ_NEVER(!held);
    }
    if (is_running && memory)
        held[count++] = memory;
    return memory;
}

static void let_go(const void *memory)
{
    size_t i = is_running ? count : 0;
    while (i && held[i - 1] != memory)
        i--;
    if (i)
        held[i - 1] = held[--count];
}

void *__wrap_malloc(size_t bytes)
{
    return hold(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return hold(__real_calloc(n, bytes));
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    return hold(__real_aligned_alloc(align, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    void *more = __real_realloc(memory, bytes);
    if (more)
        let_go(memory);
    return hold(more);
}

void __wrap_free(void *memory)
{
    let_go(memory);
    __real_free(memory);
}

char *__wrap_strdup(const char *text)
{
    return hold(__real_strdup(text));
}

int __wrap_asprintf(char **out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(out, format, arguments);
    va_end(arguments);
    if (length >= 0)
        hold(*out);
    return length;
}

void __wrap_exit(int with)
{
    if (!is_running)
        __real_exit(with);
    status = with;
    longjmp(back, 1);
}

int fuzz_run(int (*what)(void *user), void *user)
{
    json_set_alloc_funcs(__wrap_malloc, __wrap_free);
    count = 0;
    is_running = 1;
    if (setjmp(back) == 0) {
        status = what(user);
        is_running = 0;
        count = 0; /* what is left is a leak */
    }
    is_running = 0;
    while (count)
        __real_free(held[--count]);
    __real_free(held);
    held = NULL;
    room = 0;
    return status;
}
