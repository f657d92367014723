/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks' stacks. Each is entered by the scheduler and yields to it. On x86-64 a switch is nine instructions;
 * elsewhere it is swapcontext. The address sanitizer is told which stack is in use. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "storm.h"

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define STACK (512 * 1024)
#else
#define STACK (128 * 1024)
#endif

struct fiber {
    fiber *next;
    void (*main)(void *user);
    void *user;
    char *stack;
    bool is_over;
    int error; /* its errno */
#if defined __x86_64__
    void *inside, *outside; /* stack pointers */
#else
    ucontext_t inside, outside;
#endif
    void *fake;
    const void *outer;
    size_t outer_bytes;
};

static fiber *unused;
static fiber *entered;

#if defined __x86_64__
void storm_switch(void **from, void *to);
__asm__(".text\n.globl storm_switch\n.type storm_switch, @function\nstorm_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size storm_switch, . - storm_switch\n");
#endif

static void leave_stack(fiber *f, bool for_good)
{
#if defined __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(for_good ? NULL : &f->fake, f->outer, f->outer_bytes);
#endif
    (void)for_good;
#if defined __x86_64__
    storm_switch(&f->inside, f->outside);
#else
    swapcontext(&f->inside, &f->outside);
#endif
#if defined __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(f->fake, &f->outer, &f->outer_bytes);
#endif
}

static void begin(void)
{
    fiber *f = entered;
#if defined __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(NULL, &f->outer, &f->outer_bytes);
#endif
    f->main(f->user);
    f->is_over = true;
    leave_stack(f, true);
    abort();
}

fiber *fiber_make(void (*main)(void *user), void *user)
{
    fiber *f = unused;
    if (f)
        unused = f->next;
    else {
        f = calloc(1, sizeof *f);
        f->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        mprotect(f->stack, 4096, PROT_NONE);
    }
    f->main = main;
    f->user = user;
    f->is_over = false;
#if defined __x86_64__
    void **top = (void **)(void *)(f->stack + STACK);
    *--top = NULL; /* begin returns nowhere; and is aligned as after a call */
    *--top = (void *)(uintptr_t)begin;
    for (int i = 0; i < 6; i++)
        *--top = NULL;
    f->inside = top;
#else
    getcontext(&f->inside);
    f->inside.uc_stack.ss_sp = f->stack;
    f->inside.uc_stack.ss_size = STACK;
    f->inside.uc_link = NULL;
    makecontext(&f->inside, begin, 0);
#endif
    return f;
}

void fiber_enter(fiber *f)
{
#if defined __SANITIZE_ADDRESS__
    void *fake;
    __sanitizer_start_switch_fiber(&fake, f->stack, STACK);
#endif
    entered = f;
#if defined __x86_64__
    storm_switch(&f->outside, f->inside);
#else
    swapcontext(&f->outside, &f->inside);
#endif
#if defined __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
    entered = NULL;
}

/* What a library tells threads apart by. What libc has to say about its calls it does not say here. */
int *__errno_location(void)
{
    static int *(*real)(void);
    if (entered)
        return &entered->error;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "__errno_location");
    return real();
}

void fiber_yield(fiber *f)
{
    leave_stack(f, false);
}

bool fiber_is_over(const fiber *f)
{
    return f->is_over;
}

void fiber_free(fiber *f)
{
    if (!f->is_over) { /* somebody's frames are there for good */
        free(f);
        return;
    }
    f->next = unused;
    unused = f;
}
