# SPDX-License-Identifier: BSD-3-Clause
#
# Programs are executed over the verbs transport, in a guest, and its queue pairs are used by themselves.
exec sh "$(dirname "$0")/worlds.sh" programs pairs
