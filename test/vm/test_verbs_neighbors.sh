# SPDX-License-Identifier: BSD-3-Clause
#
# Neighbours over the verbs transport, in a guest: programs of test/neighbor, whose worlds are of that transport here.
exec sh "$(dirname "$0")/worlds.sh" neighbor_callers neighbor_calls
