# SPDX-License-Identifier: BSD-3-Clause
#
# Algorithms of the examples declare the parameters that their builders read: of others who ask for one are told that it
# is not read.
set -eu
for file in "$NBCOLL_SOURCE"/examples/*/*.[ch]; do
    grep -q 'sizeof(nbcoll_algorithm)' "$file" || continue
    for name in segment arity ports split leaders; do
        reads=$(grep -c "a->$name\b" "$file" || :)
        declares=$(grep -c "NBCOLL_ALGORITHM_$(echo "$name" | tr a-z A-Z)" "$file" || :)
        [ $((reads > 0)) -eq $((declares > 0)) ] || { echo "$file reads $name $reads times, declares it $declares times" && exit 1; }
    done
done
