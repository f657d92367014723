# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of linescan share: a directory of their own (removed at the end), seeded text, wc's answer, and the
# fields of the JSON object.
set -eu
LC_ALL=C
export LC_ALL

linescan=$NBCOLL_BINARY/examples/linescan/linescan
if [ ! -x "$linescan" ]; then
    echo "no $linescan: zlib or jansson is missing"
    exit 1
fi
seed=${NBCOLL_SEED:-20261121}
echo "seed $seed"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch"

fail() {
    echo "FAILED: $*"
    exit 1
}

# text SALT LINES WORDS: lines of up to WORDS words of random bytes, control characters and bytes above 127 included.
text() {
    awk -v seed="$((seed + $1))" -v lines="$2" -v words="$3" 'BEGIN {
        srand(seed)
        for (i = 0; i < 256; i++)
            byte[i] = sprintf("%c", i)
        split(" |  |\t|\v|\f|\r|", space, "|")
        for (l = 0; l < lines; l++) {
            line = ""
            for (w = int(rand() * (words + 1)); w > 0; w--) {
                for (n = int(rand() * 9); n > 0; n--) {
                    c = 33 + int(rand() * 94)
                    if (rand() < 0.05)
                        c = 1 + int(rand() * 255)
                    line = line byte[c]
                }
                line = line space[1 + int(rand() * 6)]
            }
            print line
        }
    }'
}

# wc_of FILE...: "lines words bytes", the sums over the files one by one.
wc_of() {
    for file in "$@"; do
        case $(head -c 2 "$file" | od -An -tx1) in
        ' 1f 8b') zcat "$file" | wc ;;
        *) wc <"$file" ;;
        esac
    done | awk '{ l += $1; w += $2; b += $3 } END { printf "%d %d %d\n", l, w, b }'
}

# scan ARGUMENT...: runs linescan --json; sets `status`, `lines_words_bytes`, `checksum`; the rest is in out and err.
scan() {
    status=0
    "$linescan" --json "$@" >out 2>err || status=$?
    lines_words_bytes="$(field lines) $(field words) $(field bytes)"
    checksum=$(field checksum)
}

field() {
    sed -n "s/^  \"$1\": \"*\\([^\",]*\\)\"*,*\$/\\1/p" out
}

# same WHAT EXPECTED GOT
same() {
    [ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'; stderr: $(cat err)"
}
