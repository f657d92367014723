# SPDX-License-Identifier: BSD-3-Clause
#
# --json prints one object and nothing else; its text is known but for times and the checksum's digits.
. "$(dirname "$0")/common.sh"

printf 'a b\nc\n' >text
scan --ranks 2 --concurrent 3 --work 5 text missing
number='[0-9][0-9]*\.[0-9][0-9]*\(e-[0-9]*\)*'
sed -e "s/\"seconds\": $number,/\"seconds\": S,/" -e "s/^    $number/    W/" \
    -e "s/\"sequential_seconds\": $number/\"sequential_seconds\": S/" \
    -e 's/"checksum": "[0-9a-f]\{16\}"/"checksum": "C"/' \
    -e 's/"frequencies": "[0-9a-f]\{16\}"/"frequencies": "F"/' out >plain
cat >expected <<'END'
{
  "files": 1,
  "skipped": 1,
  "lines": 2,
  "words": 3,
  "bytes": 6,
  "checksum": "C",
  "seconds": S,
  "waited": [
    W,
    W
  ],
  "ranks": 2,
  "concurrent": 3,
  "blocking": false,
  "work": 5,
  "buffer": 524288,
  "checked": true,
  "grams": 3,
  "sequences": 7,
  "frequencies": "F",
  "sequential_seconds": S
}
END
diff expected plain || fail "another object"
same "stderr" "linescan: missing: skipped: No such file or directory" "$(cat err)"
scan --ranks 1 --blocking --no-check text
same "blocking" "true 1 false" "$(field blocking) $(field concurrent) $(field checked)"
