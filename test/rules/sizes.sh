# SPDX-License-Identifier: BSD-3-Clause
#
# sizes.sh <tree>: says which file or function of the tree is too long, and which line too wide: an algorithm file may
# have 150 lines, a file of a transport 700, the body of a function 60 (one that begins and ends with a brace in the
# first column), that of an inline function in a header of src 12, a line 120 characters.
set -eu
cd "$1"

find include src transports examples bench test \( -name '*.[ch]' -o -name '*.cpp' \) 2>/dev/null | LC_ALL=C sort |
    xargs -r awk '
    function end_file() {
        if (file ~ /^src\/algorithms\// && lines > 150 || file ~ /^transports\// && lines > 700)
            print file ": the file has " lines " lines"
    }
    FNR == 1 {
        end_file()
        file = FILENAME
        inline = start = 0
    }
    { lines = FNR }
    length($0) > 120 && file != "include/nbcoll/prefix.h" {
        print file ":" FNR ": the line has " length($0) " characters"
    }
    /^[A-Za-z]/ { inline = /^static inline/ && file ~ /^src\/.*\.h$/ }
    /^{/ { start = FNR }
    /^}/ && start {
        if (FNR - start - 1 > 60)
            print file ":" start ": the function has " FNR - start - 1 " lines"
        else if (inline && FNR - start - 1 > 12)
            print file ":" start ": the inline function has " FNR - start - 1 " lines"
        start = 0
    }
    END { end_file() }'
