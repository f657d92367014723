# SPDX-License-Identifier: BSD-3-Clause
#
# licence.sh <tree>: says which source file of the tree does not begin with its licence.
set -eu
cd "$1"

find CMakeLists.txt .ci include src transports examples bench test pkgconfig \( -name '*.[ch]' -o -name '*.cpp' \
    -o -name '*.sh' -o -name '*.py' -o -name '*.cmake' -o -name CMakeLists.txt -o -path '.ci/*' \) 2>/dev/null |
LC_ALL=C sort | while read -r file; do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' || echo "$file: has no licence line"
done
