# SPDX-License-Identifier: BSD-3-Clause
#
# The verbs transport keeps its contract, in a guest.
exec sh "$(dirname "$0")/guest.sh" --devices 2 --limit 800 --with "$(command -v sleep)" "$NBCOLL_BINARY/test/vm/conformance"
