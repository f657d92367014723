# SPDX-License-Identifier: BSD-3-Clause
#
# Messages that agents carry over the verbs transport, in a guest.
exec sh "$(dirname "$0")/worlds.sh" message_carried
