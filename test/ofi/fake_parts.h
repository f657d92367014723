/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the fake provider share: fake.c, what travels; fake_open.c, what can be opened. See fake.h.
 */
#ifndef TEST_OFI_FAKE_PARTS_H
#define TEST_OFI_FAKE_PARTS_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "fake.h"

enum { RAW_MOST = 4096, KEY_OF_FIRST_MAP = 1 << 20 };

typedef struct domain {
    struct fid_domain fid; /* first */
    struct mr *mrs;
    uint64_t mapped[RAW_MOST]; /* number of the region; 0: free */
} domain;

typedef struct cq {
    struct fid_cq fid; /* first */
    struct done *first;
    int fd; /* -1: none */
    int rank;
} cq;

typedef struct done { /* a completion */
    struct done *next;
    uint64_t at;
    void *context;
    size_t bytes;
    int error;
} done;

typedef struct receive {
    struct receive *next;
    void *to, *context;
    size_t bytes;
} receive;

typedef struct end {
    struct fid_ep fid; /* first */
    struct end *next;
    uint64_t number;
    domain *domain;
    cq *cq;
    receive *receives, **last;
    bool is_dead, is_selective;
} end;

typedef struct mr {
    struct fid_mr fid; /* first */
    struct mr *next;
    domain *domain;
    end *end; /* that it is bound to */
    char *memory;
    size_t bytes;
    uint64_t access, number;
} mr;

/* ---- fake.c ------------------------------------------------------------------------------------------------------ */

extern struct fi_ops_msg fake_messaging;
extern struct fi_ops_rma fake_writing;
extern struct fi_ops_cq fake_queue;

/* By the seed; one of so many, if it is to be this one. */
uint64_t fake_any(uint64_t below);
bool fake_takes(int *count);

/* In a world its time, else reads of completion queues. */
uint64_t fake_now(void);

void fake_must(bool holds, const char *what);
#define MUST(condition) fake_must(condition, #condition)

/* A call begins, and holds the lock until its block ends. */
int fake_begun(void);
void fake_unlock(const int *held);
#define IN_TURN __attribute__((cleanup(fake_unlock))) int held = fake_begun()

/* The endpoint has a number from now on; it is closed: what it has sent, and has not gone, is lost, though it was
 * completed. */
void fake_end_joins(end *e);
void fake_end_leaves(end *e);

/* Has an endpoint this queue? Is there anything that a read of it would bring nearer? */
bool fake_is_bound(const cq *q);
bool fake_may_come(const cq *q);

/* ---- fake_open.c ------------------------------------------------------------------------------------------------- */

/* Nothing is open any more. */
void fake_forget(void);

#endif
