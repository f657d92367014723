/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The system as it is. See system.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "shm.h"

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#define PR_SET_PTRACER_ANY ((unsigned long)-1)
#endif

#if defined __SANITIZE_THREAD__
#define NBCOLLI_SHM_BARRIERS 0 /* the sanitizer does not know of them */
#elif defined __has_feature
#define NBCOLLI_SHM_BARRIERS (!__has_feature(thread_sanitizer))
#else
#define NBCOLLI_SHM_BARRIERS 1
#endif

nbcoll_status nbcolli_shm_status(int error)
{
    switch (error) {
    case ENOSYS:
    case EPERM:
    case EACCES:
    case EINVAL:
    case ENODEV:
    case EOPNOTSUPP:
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT:
        return NBCOLL_ERR_UNSUPPORTED;
    case ENOMEM:
    case ENOSPC:
    case ENOBUFS:
    case ENOLCK:
    case EFBIG:
        return NBCOLL_ERR_MEMORY;
    default:
        return NBCOLL_ERR_TRANSPORT;
    }
}

/* ---- the process ------------------------------------------------------------------------------------------------- */

static uint32_t nbcolli_shm_os_space(const char *name)
{
    char path[40] = "/proc/thread-self/ns/";
    struct stat st;

    memcpy(path + strlen(path), name, strlen(name) + 1);
    return stat(path, &st) == 0 ? (uint32_t)st.st_ino : 0;
}

static void nbcolli_shm_os_allow_ptracer(void)
{
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* fails without Yama, where it is not needed */
}

static bool nbcolli_shm_os_join_barriers(void)
{
    return NBCOLLI_SHM_BARRIERS && syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

static bool nbcolli_shm_os_barrier(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

static int nbcolli_shm_os_watch(int pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0); /* by number: the C library may be older than the kernel */
}

static int nbcolli_shm_os_gather(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

/* ---- the segment ------------------------------------------------------------------------------------------------- */

/* Would reserving so much end in the out-of-memory killer, or a signal, instead of an error? */
static nbcoll_status nbcolli_shm_os_is_too_much(size_t bytes)
{
    struct sysinfo machine;
    struct rlimit file;

    if (sysinfo(&machine) == 0 && bytes / machine.mem_unit > machine.totalram / 2)
        return NBCOLL_ERR_LIMIT;
    if (getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY && bytes > file.rlim_cur)
        return NBCOLL_ERR_MEMORY;
    return NBCOLL_OK;
}

/* In parts, since a signal undoes the call that it interrupts. */
static nbcoll_status nbcolli_shm_os_reserve(int fd, size_t bytes)
{
    size_t piece = bytes, done = 0;

    while (done < bytes) {
        size_t n = piece < bytes - done ? piece : bytes - done;
        if (fallocate(fd, 0, (off_t)done, (off_t)n) == 0)
            done += n;
        else if (errno == EINTR)
            piece = (piece / 2 + NBCOLLI_SHM_PAGE - 1) / NBCOLLI_SHM_PAGE * NBCOLLI_SHM_PAGE;
        else
            return nbcolli_shm_status(errno);
    }
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_shm_os_make(size_t bytes, int *out)
{
    nbcoll_status s = nbcolli_shm_os_is_too_much(bytes);
    int fd;

    if (s != NBCOLL_OK)
        return s;
    fd = memfd_create("nbcoll", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return nbcolli_shm_status(errno);
    s = nbcolli_shm_os_reserve(fd, bytes);
    if (s == NBCOLL_OK && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        s = nbcolli_shm_status(errno);
    if (s == NBCOLL_OK)
        *out = fd;
    else
        close(fd);
    return s;
}

static bool nbcolli_shm_os_is_whole(int fd, size_t bytes)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);

    return fstat(fd, &st) == 0 && st.st_size >= 0 && (size_t)st.st_size == bytes && seals >= 0 &&
           (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) == (F_SEAL_SHRINK | F_SEAL_GROW);
}

static void *nbcolli_shm_os_map(int fd, size_t bytes, size_t wiped)
{
    int how = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how, fd, 0);

    if (at == MAP_FAILED)
        return NULL;
    if (wiped) /* kernels that have pidfds have it */
        madvise((char *)at + bytes - wiped, wiped, MADV_WIPEONFORK);
    return at;
}

static int nbcolli_shm_os_lock(int fd, int byte)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(fd, F_SETLK, &lock);
}

static bool nbcolli_shm_os_is_locked(int fd, int byte)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

static int nbcolli_shm_os_copy(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static int nbcolli_shm_os_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static int nbcolli_shm_os_listen(const struct sockaddr *at, socklen_t bytes, int most)
{
    int fd = nbcolli_shm_os_socket(), why;

    if (fd < 0 || (bind(fd, at, bytes) == 0 && listen(fd, most) == 0))
        return fd;
    why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int nbcolli_shm_os_accept(int listener)
{
    return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static nbcoll_status nbcolli_shm_os_identify(int socket, int *pid)
{
    struct ucred cred;
    socklen_t bytes = sizeof cred;

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &bytes) != 0)
        return nbcolli_shm_status(errno);
    *pid = cred.pid;
    if (cred.uid != geteuid())
        return NBCOLL_ERR_ACCESS;
    return cred.pid > 0 ? NBCOLL_OK : NBCOLL_ERR_NAMESPACE; /* 0: not visible from here */
}

const struct nbcolli_shm_system nbcolli_shm_system = {
    .pid = getpid,
    .space = nbcolli_shm_os_space,
    .cores = nbcolli_cores_allowed,
    .random = getrandom,
    .allow_ptracer = nbcolli_shm_os_allow_ptracer,
    .join_barriers = nbcolli_shm_os_join_barriers,
    .barrier = nbcolli_shm_os_barrier,
    .read_memory = process_vm_readv,
    .write_memory = process_vm_writev,
    .bell = nbcolli_bell_open,
    .ring = nbcolli_bell_ring,
    .heard = nbcolli_bell_hush,
    .watch = nbcolli_shm_os_watch,
    .gather = nbcolli_shm_os_gather,
    .attend = epoll_ctl,
    .ready = epoll_wait,
    .sleep = nbcolli_sleep,
    .make = nbcolli_shm_os_make,
    .is_whole = nbcolli_shm_os_is_whole,
    .map = nbcolli_shm_os_map,
    .unmap = munmap,
    .lock = nbcolli_shm_os_lock,
    .is_locked = nbcolli_shm_os_is_locked,
    .close = close,
    .copy = nbcolli_shm_os_copy,
    .socket = nbcolli_shm_os_socket,
    .listen = nbcolli_shm_os_listen,
    .connect = connect,
    .accept = nbcolli_shm_os_accept,
    .identify = nbcolli_shm_os_identify,
    .send = send,
    .send_with = sendmsg,
    .receive = recvmsg,
};
