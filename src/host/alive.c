/* SPDX-License-Identifier: BSD-3-Clause
 * The word by which a forked child is known: see alive.h. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alive.h"

nbcoll_status nbcolli_alive_open(const volatile uint32_t **out)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t *word = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (word == MAP_FAILED)
        return NBCOLL_ERR_MEMORY;
    if (madvise(word, page, MADV_WIPEONFORK) != 0) {
        int why = errno;
        munmap(word, page);
        return why == ENOMEM || why == EAGAIN ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_UNSUPPORTED;
    }
    *word = 1;
    *out = word;
    return NBCOLL_OK;
}

void nbcolli_alive_close(const volatile uint32_t *alive)
{
    munmap((void *)(uintptr_t)alive, (size_t)sysconf(_SC_PAGESIZE));
}
