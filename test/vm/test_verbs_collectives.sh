# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives over the verbs transport have their values, and their failures, in a guest.
exec sh "$(dirname "$0")/guest.sh" --limit 800 "$NBCOLL_BINARY/test/vm/collectives"
