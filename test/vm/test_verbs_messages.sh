# SPDX-License-Identifier: BSD-3-Clause
#
# Messages over the verbs transport, in a guest: programs of test/message, whose worlds are of that transport here.
exec sh "$(dirname "$0")/worlds.sh" message_exact message_wildcards message_probed message_packed message_lost
