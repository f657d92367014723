/* SPDX-License-Identifier: BSD-3-Clause
 * What shm.c, processes.c and sockets.c share: the processes of a world whose ranks are joined by shm, and the system
 * that they ask. */
#ifndef STORM_SHM_H
#define STORM_SHM_H

#include <errno.h>

#include "storm.h"
#include "../../transports/shm/shm.h"

/* What the system of a world is like. Of 1000: where nothing else is said. */
typedef struct weather {
    int copies; /* process_vm_readv: 0 works; refused to all (1), of some (2), from some call on (3); 4: absent */
    unsigned cut;       /* copies that end early */
    unsigned unreadable; /* copies that the kernel cannot make, of memory that its owner can read */
    unsigned interrupted; /* calls */
    int barriers;       /* membarrier: 0 works; absent on some (1), refused from some call on (2) */
    int cores;          /* 0: one for each rank; 1: one for all; 2: not known; 3: one for two */
    bool has_no_pidfd;
    unsigned execs;     /* deaths by which a process becomes another program */
    uint64_t bell;      /* ns that a bell takes at most */
    uint64_t late;      /* ns until a death is seen, at most */
    uint32_t flags;     /* of the openings */
    size_t pool;
    bool gathers;       /* the ranks find each other by an allgather */
    int refuses, refused_call; /* rank + 1 of which this call of its opening is refused; 0: none */
    int refused_with;          /* errno */
} weather;

typedef enum file_kind { FILE_BELL, FILE_WATCH, FILE_GATHER, FILE_MEMORY, FILE_LISTENER, FILE_SOCKET } file_kind;
typedef struct control control;

typedef struct file {
    struct file *next; /* of all */
    file_kind kind;
    int users;   /* descriptors, control messages under way */
    int process; /* BELL: whom it wakes; WATCH: whom it watches; else who made it */
    uint64_t rung;
    struct file *watched[RANKS_MOST + 1]; /* GATHER */
    uint32_t data[RANKS_MOST + 1];
    int n_watched;
    struct file *other; /* SOCKET: null where that is closed, or not connected */
    int peer;           /* whose that is, or was */
    bool is_connected, is_reset;
    control *first;
    char name[128]; /* LISTENER */
    size_t name_bytes;
    struct file *waiting[RANKS_MOST]; /* connections that are not accepted */
    uint64_t waiting_at[RANKS_MOST];
    int n_waiting;
} file;

struct control {
    control *next;
    uint64_t at; /* it can be received from then on */
    size_t bytes;
    int files;
    file *file[2 + 2 * RANKS_MOST];
    unsigned char data[];
};

typedef struct descriptor {
    file *file; /* null: closed */
    int process;
} descriptor;

typedef struct process { /* a rank's */
    actor *actor;
    bool is_gone, has_exec; /* it has died; and is another program since */
    uint64_t watch_at, lock_at; /* when that is seen */
    bool is_locked[RANKS_MOST]; /* its bytes of the segment */
    int maps, descriptors;      /* that it holds */
    uint64_t heard_at;          /* when its bell wakes it; UINT64_MAX: it was not rung */
    uint64_t calls, copies, barriers;
    nbcoll_host host;
    nbcoll_endpoint *endpoint; /* null: it has none, or none any more */
    const nbcoll_transport *real;
    nbcoll_transport table;
    nbcoll_bulk bulk;
    nbcoll_shared shared;
    nbcoll_wakeup wakeup;
    nbcoll_lines lines;
    bool is_opening, is_leaving, is_closed, is_armed;
    bool has_tried; /* its last control message of an opening is sent */
    bool is_deaf;   /* since then a system call was refused */
    nbcoll_status opened;
    void *entries; /* for those of all */
    size_t entry_bytes;
    uint64_t shown[RANKS_MOST]; /* entries that it has put into its ring to that rank, as far as its posts are over */
    unsigned last_type;
} process;

struct shm {
    weather weather;
    process process[RANKS_MOST];
    descriptor *descriptor;
    size_t descriptors, descriptors_room;
    file *files;
    unsigned char *segment;
    size_t segment_bytes;
    unsigned char *entries; /* of the allgather */
    int n_entries;
    uint64_t long_copies; /* of all ranks, to the segment */
};

enum { PID_FIRST = 1000, FD_FIRST = 5000 };

extern const struct nbcolli_shm_system shm_system;

/* The process that calls. */
process *shm_caller(void);
process *shm_of_pid(storm *s, int pid); /* or null */
/* A call of the system's begins: it takes its time. Returns 0, or the errno with which it is refused. */
int shm_call(process *p);
/* EINTR, now and then. */
bool shm_is_interrupted(process *p);

file *shm_file(process *p, file_kind kind);
int shm_descriptor(process *p, file *f);
/* What it names; null, and errno, where that is none of the caller's, which is a finding. */
file *shm_file_of(process *p, int fd, file_kind kind);
void shm_release(storm *s, file *f);
int shm_close(int fd);

/* sockets.c */
void shm_file_ends(storm *s, file *f);
bool shm_has_come(storm *s, const file *f);
int sockets_socket(void);
int sockets_listen(const struct sockaddr *at, socklen_t bytes, int most);
int sockets_connect(int socket, const struct sockaddr *at, socklen_t bytes);
int sockets_accept(int listener);
nbcoll_status sockets_identify(int socket, int *pid);
ssize_t sockets_send(int socket, const void *from, size_t bytes, int flags);
ssize_t sockets_send_with(int socket, const struct msghdr *message, int flags);
ssize_t sockets_receive(int socket, struct msghdr *message, int flags);
nbcoll_status sockets_sleep(const nbcoll_host *host, struct pollfd *fds, size_t n, uint64_t longest, uint64_t *looks);

/* processes.c */
void processes_make(storm *s);
void processes_free(storm *s);
void process_dies(process *p);
/* It has closed its endpoint, or has none: what it still holds is a finding. */
void process_is_clean(process *p);

#endif
