/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the compiler calls where code is compiled for the thread sanitizer (-fsanitize=thread), without that: before and
 * after each atomic access others may have a turn (storm_word), so that ranks meet at every word that they share.
 * Everything happens in one order: what weaker orders would allow on top is not shown. Other accesses are left alone.
 * In test_storm nothing calls this. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "storm.h"

#define DECLARED(name)                                                                                                 \
    void name(void *at);                                                                                               \
    void name(void *at)                                                                                                \
    {                                                                                                                  \
        (void)at;                                                                                                      \
    }

/* ---- functions, and accesses that are not atomic --------------------------------------------------------------- */

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

DECLARED(__tsan_func_entry)

#define PLAIN(bytes)                                                                                                   \
    DECLARED(__tsan_read##bytes)                                                                                       \
    DECLARED(__tsan_write##bytes)                                                                                      \
    DECLARED(__tsan_read_write##bytes)                                                                                 \
    DECLARED(__tsan_unaligned_read##bytes)                                                                             \
    DECLARED(__tsan_unaligned_write##bytes)                                                                            \
    DECLARED(__tsan_unaligned_read_write##bytes)                                                                       \
    DECLARED(__tsan_volatile_read##bytes)                                                                              \
    DECLARED(__tsan_volatile_write##bytes)
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *at, size_t bytes);
void __tsan_read_range(void *at, size_t bytes)
{
    (void)at, (void)bytes;
}

void __tsan_write_range(void *at, size_t bytes);
void __tsan_write_range(void *at, size_t bytes)
{
    (void)at, (void)bytes;
}

void *__tsan_memcpy(void *to, const void *from, size_t bytes);
void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    return memcpy(to, from, bytes);
}

void *__tsan_memmove(void *to, const void *from, size_t bytes);
void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
    return memmove(to, from, bytes);
}

void *__tsan_memset(void *to, int byte, size_t bytes);
void *__tsan_memset(void *to, int byte, size_t bytes)
{
    return memset(to, byte, bytes);
}

/* ---- atomic accesses ------------------------------------------------------------------------------------------- */

#define CHANGES(bits, type, name)                                                                                      \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order);                                       \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order)                                        \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        storm_word();                                                                                                  \
        value = __atomic_##name(at, value, __ATOMIC_SEQ_CST);                                                          \
        storm_word();                                                                                                  \
        return value;                                                                                                  \
    }

/* A weak one may fail for no reason: that is left to processors that have such. */
#define COMPARES(bits, type, name)                                                                                     \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *at, type *expected, type value, int order,        \
                                                      int otherwise);                                                  \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *at, type *expected, type value, int order,        \
                                                      int otherwise)                                                   \
    {                                                                                                                  \
        (void)order, (void)otherwise;                                                                                  \
        storm_word();                                                                                                  \
        int is_done = __atomic_compare_exchange_n(at, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);         \
        storm_word();                                                                                                  \
        return is_done;                                                                                                \
    }

#define ATOMIC(bits, type)                                                                                             \
    type __tsan_atomic##bits##_load(const volatile type *at, int order);                                               \
    type __tsan_atomic##bits##_load(const volatile type *at, int order)                                                \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        storm_word();                                                                                                  \
        type value = __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                            \
        storm_word();                                                                                                  \
        return value;                                                                                                  \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order);                                        \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order)                                         \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        storm_word();                                                                                                  \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                                 \
        storm_word();                                                                                                  \
    }                                                                                                                  \
    type __tsan_atomic##bits##_exchange(volatile type *at, type value, int order);                                     \
    type __tsan_atomic##bits##_exchange(volatile type *at, type value, int order)                                      \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        storm_word();                                                                                                  \
        value = __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                      \
        storm_word();                                                                                                  \
        return value;                                                                                                  \
    }                                                                                                                  \
    CHANGES(bits, type, fetch_add)                                                                                     \
    CHANGES(bits, type, fetch_sub)                                                                                     \
    CHANGES(bits, type, fetch_and)                                                                                     \
    CHANGES(bits, type, fetch_or)                                                                                      \
    CHANGES(bits, type, fetch_xor)                                                                                     \
    CHANGES(bits, type, fetch_nand)                                                                                    \
    COMPARES(bits, type, strong)                                                                                       \
    COMPARES(bits, type, weak)
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    storm_word();
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}
