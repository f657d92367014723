# SPDX-License-Identifier: BSD-3-Clause
#
# purity.sh <tree>: says where the library (include, src but for src/command, src/conformance and src/mpi, transports)
# calls what it leaves to its host: printing, the environment, the end of the process, and, but for the files that fall
# back on the C library where a hook is missing, memory, clock and threads; where it asks for a clock that can be set;
# and where shm or ofi calls the system past its table. A tree without files is said, too.
set -eu
cd "$1"

never='printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|setenv|exit|_exit|_Exit|abort|assert|signal|sigaction'
environment='getenv|secure_getenv'
hooks='malloc|calloc|realloc|aligned_alloc|posix_memalign|free|strdup|clock_gettime|gettimeofday|time|usleep|nanosleep|sched_yield|pthread_[a-z_]*|thrd_[a-z_]*'
settable='CLOCK_(REALTIME|TAI)[A-Z_]*|gettimeofday|timespec_get|[a-z_]*timed(wait|lock|rdlock|wrlock|send|receive|join_np)'
calls='close|open|read|write|fcntl|ioctl|mmap|munmap|madvise|mprotect|syscall|poll|ppoll|epoll_[a-z0-9_]*|eventfd|getpid|gettid|geteuid|getuid|stat|fstat|getrandom|prctl|sysinfo|getrlimit|fallocate|ftruncate|memfd_create|process_vm_[a-z]*|socket|socketpair|bind|listen|accept|accept4|connect|shutdown|getsockopt|setsockopt|send|sendmsg|recv|recvmsg|kill|fork|sched_[a-z]*|nbcolli_sleep|nbcolli_cores_allowed|nbcolli_bell_[a-z]*'

files=$(find include src transports -name '*.[ch]' 2>/dev/null | LC_ALL=C sort)
[ -n "$files" ] || echo "nothing to check"
echo "$files" | grep -v '^src/command/\|^src/conformance/\|^src/mpi/' | xargs -r awk -v never="$never" -v environment="$environment" -v hooks="$hooks" -v settable="$settable" -v calls="$calls" '
    function words_of(file) {
        if (file ~ /^src\/(host\/host\.h|engine\/state\/caller\.h|engine\/progress\/lock\.c)$/ ||
            file ~ /^src\/(engine\/calls\/wait\.c|driver\/lock\.c|driver\/run\.c)$/)
            return never "|" environment
        if (file == "src/driver/tick.c") { # asks who handles a signal; the clock of a handler
            sub(/\|sigaction$/, "", never_here)
            return never_here "|" environment
        }
        if (file ~ /^include\/nbcoll\/launch(_agent|_cluster)?\.h$/) # compiled into programs
            return never "|" hooks
        if (file ~ /^transports\/(shm|ofi)\// && file !~ /^transports\/(shm\/system|ofi\/(system|address))\.c$/)
            return never "|" environment "|" hooks "|" calls
        return never "|" environment "|" hooks
    }
    FNR == 1 {
        comment = 0
        never_here = never
        words = words_of(FILENAME)
    }
    # Comments and strings go; what follows a dot, an arrow or a star is a member, a hook of the host itself.
    {
        line = $0
        gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
        gsub(/\/\*([^*]|\*[^\/])*\*\//, " ", line)
        if (comment && sub(/^.*\*\//, "", line))
            comment = 0
        if (comment)
            next
        sub(/\/\/.*/, "", line)
        if (sub(/\/\*.*/, "", line))
            comment = 1
        if (match(line, "(^|[^A-Za-z0-9_.>*])(" words ")[ ]*\\("))
            print FILENAME ":" FNR ": calls " substr(line, RSTART, RLENGTH - 1)
        if (match(line, "(^|[^A-Za-z0-9_])(" settable ")([^A-Za-z0-9_]|$)"))
            print FILENAME ":" FNR ": asks for a clock that can be set: " line
    }'
