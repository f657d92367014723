/* SPDX-License-Identifier: BSD-3-Clause
 * How ranks that are processes of one machine learn each other's addresses: from memory that they share. */
#ifndef TEST_OFI_BOARD_H
#define TEST_OFI_BOARD_H

#include <nbcoll/ofi.h>

enum { BOARD_RANKS = 16 };

typedef struct board board;

/* Memory that processes share which are forked afterwards. */
board *board_make(void);
void board_free(board *b);

/* Writes this rank's element of all[ranks], waits for the others to do so, and reads theirs. */
void board_exchange(board *b, int rank, int ranks, nbcoll_ofi_address all[]);

/* Opens this rank's endpoint, and waits for the others to do so. Null: it was refused. */
nbcoll_endpoint *board_open(board *b, const nbcoll_ofi_config *config);

#endif
