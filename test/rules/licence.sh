# SPDX-License-Identifier: BSD-3-Clause
#
# licence.sh <tree>: says which source file of the tree does not begin with its licence.
set -eu
cd "$1"

find CMakeLists.txt .ci include src transports examples bench test pkgconfig \( -name '*.[ch]' -o -name '*.cpp' \
    -o -name '*.sh' -o -name '*.py' -o -name '*.cmake' -o -name CMakeLists.txt -o -path '.ci/*' \) 2>/dev/null |
LC_ALL=C sort | xargs -r awk '
function end() { if (file != "" && !licensed) print file ": has no licence line" }
FNR == 1 { end(); file = FILENAME; licensed = 0 }
FNR <= 2 && /SPDX-License-Identifier: BSD-3-Clause/ { licensed = 1 }
END { end() }'
