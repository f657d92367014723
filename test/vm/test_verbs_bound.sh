# SPDX-License-Identifier: BSD-3-Clause
#
# Programs whose blocks get their lengths at the start are executed over the verbs transport, in a guest.
exec sh "$(dirname "$0")/guest.sh" --limit 200 "$NBCOLL_BINARY/test/vm/bound"
