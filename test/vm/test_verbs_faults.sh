# SPDX-License-Identifier: BSD-3-Clause
#
# What is lost over the verbs transport is found and survived, in a guest.
exec sh "$(dirname "$0")/guest.sh" --limit 800 "$NBCOLL_BINARY/test/vm/faults"
