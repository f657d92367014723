#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# verbs.sh [build directory]: bench/verbs in an emulated machine, beside ib_send_lat, ib_write_bw and ib_read_bw
# (Debian: perftest) in the same one, by turns. The environment may set ROUNDS ("1 2").
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
program=$(realpath "${1:-$here/build/release}/bench/verbs")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/program" <<END
#!/bin/sh
for round in ${ROUNDS:-1 2}; do
    $program # its messages have a header of 48 bytes
    for what in 'ib_send_lat -s 56' 'ib_send_lat -s 4048' 'ib_write_bw -s 1048576' 'ib_read_bw -s 1048576'; do
        set -- /usr/bin/\$what -d rxe0 -n 100 -F
        echo "\$what"
        "\$@" >/dev/null 2>&1 &
        sleep 1
        "\$@" 10.7.0.1 2>/dev/null | grep '^ *[0-9][0-9]* '
        wait
    done
done
END
chmod +x "$work/program"
sh "$here/test/vm/guest.sh" --cores 4 --limit 200 --with "$program" --with /bin/sh --with /usr/bin/ib_send_lat \
    --with /usr/bin/ib_write_bw --with /usr/bin/ib_read_bw "$work/program"
