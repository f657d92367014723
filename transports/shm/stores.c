/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies to memory that another core has just read: plainly, or by stores past the cache, which need not fetch the
 * lines from that core first. If the cores are far apart that fetch is the larger half of a copy; if they share a cache
 * it is cheaper to leave the lines there. The answer may change while a program runs, since a virtual machine's cores
 * move. So it is measured all the time: after each 4 MiB, and more often at first, the beginnings of a few copies are
 * made both ways, in turn, and and the way that was faster by a tenth serves from then on. Only beginnings, to keep
 * looking cheap: if cores are far apart, a large copy takes six times as long in the wrong way. The copy alone is
 * timed: in 1300 comparisons by scatters on a machine of both kinds its verdict was that of the whole transfers. */
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "shm.h"

#define NBCOLLI_SHM_STORES_LEAST 4096u             /* bytes of the smallest copy that is timed */
#define NBCOLLI_SHM_STORES_BEGINNING 16384u        /* of a copy are timed */
#define NBCOLLI_SHM_STORES_FIRST ((size_t)1 << 18) /* bytes between the first two looks; then twice as many, to */
#define NBCOLLI_SHM_STORES_MOST ((size_t)1 << 22)
#define NBCOLLI_SHM_STORES_TRIES 6 /* copies of a look: three each way, so that a disturbed one does not count */

void nbcolli_shm_stores_open(struct nbcolli_shm_stores *s)
{
    *s = (struct nbcolli_shm_stores){
        .past = true, .apart = NBCOLLI_SHM_STORES_FIRST, .least = {UINT64_MAX, UINT64_MAX}};
}

size_t nbcolli_shm_stores_look(struct nbcolli_shm_stores *s, size_t bytes, bool *past)
{
    *past = s->past;
    if (s->until > bytes) {
        s->until -= bytes;
        return 0;
    }
    if (bytes < NBCOLLI_SHM_STORES_LEAST)
        return 0;
    *past = s->past == (s->tries % 2 != 0);
    return bytes < NBCOLLI_SHM_STORES_BEGINNING ? bytes : NBCOLLI_SHM_STORES_BEGINNING;
}

void nbcolli_shm_stores_took(struct nbcolli_shm_stores *s, bool past, size_t bytes, uint64_t ns)
{
    uint64_t each = (ns << 16) / bytes;

    if (each < s->least[past])
        s->least[past] = each;
    if (++s->tries < NBCOLLI_SHM_STORES_TRIES)
        return;
    if (s->least[!s->past] * 10 < s->least[s->past] * 9)
        s->past = !s->past;
    s->until = s->apart;
    s->apart = s->apart < NBCOLLI_SHM_STORES_MOST ? 2 * s->apart : s->apart;
    s->tries = 0;
    s->least[0] = s->least[1] = UINT64_MAX;
}

static void nbcolli_shm_store(unsigned char *to, const unsigned char *from, size_t bytes, bool past)
{
    size_t done = 0;

#ifdef __SSE2__
    if (past && (uintptr_t)to % 16) {
        done = 16 - (uintptr_t)to % 16;
        done = done < bytes ? done : bytes;
        memcpy(to, from, done);
    }
    for (; past && bytes - done >= 64; done += 64)
        for (size_t i = done; i < done + 64; i += 16)
            _mm_stream_si128((__m128i *)(void *)(to + i), _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
    _mm_sfence(); /* later stores publish them */
#else
    (void)past;
#endif
    memcpy(to + done, from + done, bytes - done);
}

/* Stores the beginning of a copy in the way to be timed, and times it. Returns its bytes. */
static size_t nbcolli_shm_store_timed(struct nbcolli_shm_end *e, void *to, const void *from, size_t bytes)
{
    bool past;
    size_t beginning = nbcolli_shm_stores_look(&e->stores, bytes, &past);

    if (!beginning)
        return 0;
    uint64_t start = nbcolli_now(&e->host);
    nbcolli_shm_store(to, from, beginning, past);
    nbcolli_shm_stores_took(&e->stores, past, beginning, nbcolli_now(&e->host) - start);
    return beginning;
}

/* Where memcpy stores whole lines without reading them first (rep movsb), it no longer does if `to` is in its page less
 * than a line behind where `from` is in its own: on a Zen 5 it took 4.7 times as long then, if the reader's cache held
 * the lines. */
static bool nbcolli_shm_is_just_behind(const void *to, const void *from, size_t bytes)
{
    return bytes >= NBCOLLI_SHM_STORES_LEAST && ((uintptr_t)to - (uintptr_t)from) % 4096 - 1 < 63;
}

void nbcolli_shm_copy_in(nbcoll_endpoint *ep, int reader, void *to, const void *from, size_t bytes)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);
    bool beside = reader >= 0 && e->peer[reader].beside, is_behind = nbcolli_shm_is_just_behind(to, from, bytes);
    size_t done = beside || is_behind ? 0 : nbcolli_shm_store_timed(e, to, from, bytes);

    nbcolli_shm_store((unsigned char *)to + done, (const unsigned char *)from + done, bytes - done,
                      (e->stores.past && !beside) || is_behind);
}
