/* SPDX-License-Identifier: BSD-3-Clause
 * Counts, bytes and displacements beyond 2^32 are not cut short anywhere. Memory is sparse: one small piece, mapped
 * again and again, stands for all of a buffer but its ends; or nothing stands between two places far from each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "crew.h"
#include "world.h"

#define PIECE ((size_t)1 << 22)
#define WHOLE (((size_t)1 << 32) + PIECE)

/* So many pieces, the first `head` and the last `tail` of which are memory of their own. */
static unsigned char *map_pieces(size_t pieces, size_t head, size_t tail)
{
    int fd = memfd_create("piece", 0);
    unsigned char *at = mmap(NULL, pieces * PIECE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_true(fd >= 0 && at != MAP_FAILED);
    assert_int_equal(ftruncate(fd, (off_t)((head + 1 + tail) * PIECE)), 0);
    for (size_t i = 0; i < pieces; i++) {
        size_t from_end = pieces - i, which = i < head ? i : from_end > tail ? head : head + 1 + tail - from_end;
        assert_true(mmap(at + i * PIECE, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                         (off_t)(which * PIECE)) != MAP_FAILED);
    }
    close(fd);
    return at;
}

/* A buffer of WHOLE bytes, the last piece of which is memory of its own. */
static unsigned char *map_whole(void)
{
    return map_pieces(WHOLE / PIECE, 0, 1);
}

/* The host's memory. Scratch for a whole buffer comes behind what the library keeps of the run, which is in the first
 * piece; its end is somewhere in the last three. */
static size_t pieces_of(size_t bytes)
{
    return (bytes + PIECE - 1) / PIECE;
}

static void *take(void *user, size_t bytes, size_t align)
{
    if (bytes < WHOLE)
        return aligned_alloc(align, (bytes + align - 1) / align * align);
    ++*(int *)user;
    return map_pieces(pieces_of(bytes), 1, 3);
}

static void give(void *user, void *memory, size_t bytes)
{
    (void)user;
    if (bytes >= WHOLE)
        munmap(memory, pieces_of(bytes) * PIECE);
    else
        free(memory);
}

static void more_bytes_than_32_bits_can_count_are_broadcast(void **state)
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .ranks = 2, .payload = 65536, .depth = 8};
    unsigned char *buffer[2] = {map_whole(), map_whole()};
    nbcoll_request request[2];

    (void)state;
    for (int no_bulk = 0; no_bulk < 2 / sampled(2); no_bulk++) { /* a sanitizer is slow with messages */
        world w;
        loopback.flags = no_bulk ? NBCOLL_LOOPBACK_NO_BULK : 0;
        memset(buffer[0], 0x11 + no_bulk, PIECE);
        memset(buffer[0] + WHOLE - PIECE, 0x77 + no_bulk, PIECE);
        memset(buffer[1] + WHOLE - PIECE, 0, PIECE);
        world_open(&w, 2, &loopback, NULL, NULL);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_ibcast(buffer[r], WHOLE, NBCOLL_BYTE, 0, w.comm[r], &request[r]));
        world_finish(&w, 2, request);
        assert_memory_equal(buffer[1], buffer[0], PIECE);
        assert_memory_equal(buffer[1] + WHOLE - PIECE, buffer[0] + WHOLE - PIECE, PIECE);
        world_close(&w);
    }
    munmap(buffer[0], WHOLE);
    munmap(buffer[1], WHOLE);
}

/* Not by many messages of pieces, but with operands of that length. */
static void more_elements_than_32_bits_can_count_are_combined(void **state)
{
    unsigned char *send[2] = {map_whole(), map_whole()}, *sum = map_whole();
    nbcoll_comm_config whole = NBCOLL_COMM_DEFAULTS;
    int large = 0;
    nbcoll_host host = {.size = sizeof host, .user = &large, .alloc = take, .free = give};
    nbcoll_context_config context = {.size = sizeof context, .host = host};
    nbcoll_request request[2];
    world w;

    (void)state;
#ifdef __SANITIZE_ADDRESS__ /* the kernels take minutes then; smaller vectors go through them, too */
    skip();
#endif
    whole.large = SIZE_MAX - 1;
    for (int r = 0; r < 2; r++) {
        memset(send[r], 3 + r, PIECE);
        memset(send[r] + WHOLE - PIECE, 30 + r, PIECE);
    }
    memset(sum, 0, PIECE);
    memset(sum + WHOLE - PIECE, 0, PIECE);
    world_open(&w, 2, NULL, &context, &whole);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_ireduce(send[r], sum, WHOLE, NBCOLL_UINT8, NBCOLL_SUM, 0, w.comm[r], &request[r]));
    world_finish(&w, 2, request);
    assert_true(large > 0); /* there was scratch */
    for (size_t i = 0; i < PIECE; i++) {
        assert_int_equal(sum[i], 7);
        assert_int_equal(sum[WHOLE - 1 - i], 61);
    }
    world_close(&w);
    munmap(send[0], WHOLE);
    munmap(send[1], WHOLE);
    munmap(sum, WHOLE);
}

/* The counts of a block, and of all of them together, where only their sum is so large. */
static void blocks_lie_beyond_32_bits(void **state)
{
    enum { RANKS = 3 };
    size_t far = (size_t)3 << 31, bytes = (2 * far + 4) * sizeof(int32_t), counts[RANKS] = {1, 2, 1};
    size_t displs[RANKS] = {2 * far, far, 0};
    int32_t *recv = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int32_t send[2] = {5, 6};
    nbcoll_request request[RANKS];
    world w;

    (void)state;
    assert_true(recv != MAP_FAILED);
    world_open(&w, RANKS, NULL, NULL, NULL);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_igatherv(send, counts[r], recv, counts, displs, NBCOLL_INT32, 1, w.comm[r], &request[r]));
    EXPECT(PENDING, nbcoll_arrived(request[1], 8 * far, 4));
    world_finish(&w, RANKS, request);
    assert_int_equal(recv[0], 5);
    assert_int_equal(recv[far], 5);
    assert_int_equal(recv[far + 1], 6);
    assert_int_equal(recv[2 * far], 5);
    assert_int_equal(recv[far - 1], 0);
    world_close(&w);
    munmap(recv, bytes);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__ /* it keeps four times as much about what is touched as that is: 32 GiB */
    puts("skipped: not for the thread sanitizer");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_bytes_than_32_bits_can_count_are_broadcast),
        cmocka_unit_test(more_elements_than_32_bits_can_count_are_combined),
        cmocka_unit_test(blocks_lie_beyond_32_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
