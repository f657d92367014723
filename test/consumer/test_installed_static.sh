# SPDX-License-Identifier: BSD-3-Clause
#
# The static library, installed and moved, is found by pkg-config and by find_package, and a program made with it runs
# without it; so does the command, and a program that reads tuning files. Without a library the headers are enough for
# one that defines NBCOLL_IMPLEMENTATION; one that does so too late, or in C++, is told. Library and command are built
# optimised, without a warning.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$NBCOLL_SOURCE/test/consumer/installed.sh"

installed OFF -DCMAKE_BUILD_TYPE=Release -DNBCOLL_WERROR=ON
by_find_package
by_pkg_config "$work/program" --static
by_inline --static
rm "$library"/lib*
runs "$work/program"
"$work/moved/bin/nbcoll" info

by_implementation
refuses 'is of the component lab' '#define NBCOLL_IMPLEMENTATION\n#include <nbcoll/verify.h>\n' "$CC" -std=c11 -xc
refuses 'is of the component offload' '#define NBCOLL_IMPLEMENTATION\n#include <nbcoll/launch_agent.h>\n' "$CC" -std=c11 -xc
refuses 'before the first include' '#include <nbcoll/shm.h>\n#define NBCOLL_IMPLEMENTATION\n#include <nbcoll/nbcoll.h>\n' \
    "$CC" -std=c11 -xc
refuses 'before all system headers' '#include <stdio.h>\n#define NBCOLL_IMPLEMENTATION\n#include <nbcoll/nbcoll.h>\n' \
    "$CC" -std=c11 -xc
refuses 'a C file' '#define NBCOLL_IMPLEMENTATION\n#include <nbcoll/nbcoll.h>\n' "$CXX" -U_GNU_SOURCE -xc++
