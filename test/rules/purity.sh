# SPDX-License-Identifier: BSD-3-Clause
#
# purity.sh <tree>: says where the library (include, src but for src/command and src/conformance, transports) calls what
# it leaves to its host: printing, the environment, the end of the process, and, but for the files that fall back on the
# C library where a hook is missing, memory, clock and threads.
set -eu
cd "$1"

never='printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|setenv|exit|_exit|_Exit|abort|assert|signal|sigaction'
environment='getenv|secure_getenv'
hooks='malloc|calloc|realloc|aligned_alloc|posix_memalign|free|strdup|clock_gettime|gettimeofday|time|usleep|nanosleep|sched_yield|pthread_[a-z_]*|thrd_[a-z_]*'

find include src transports -name '*.[ch]' 2>/dev/null | LC_ALL=C sort | while read -r file; do
    case $file in
    src/command/* | src/conformance/*) continue ;;
    src/host/host.h | src/engine/1_state/caller.c | src/engine/6_progress/lock.c | src/engine/7_calls/wait.c | \
        src/driver/lock.c | src/driver/run.c) words="$never|$environment" ;;
    src/engine/7_calls/tick.c) words="${never%|sigaction}|$environment" ;; # asks who handles a signal; a handler's clock
    include/nbcoll/launch.h) words="$never|$hooks" ;; # compiled into programs
    *) words="$never|$environment|$hooks" ;;
    esac
    awk -v file="$file" -v words="$words" '
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
            print file ":" FNR ": calls " substr(line, RSTART, RLENGTH - 1)
    }' "$file"
done
