# SPDX-License-Identifier: BSD-3-Clause
#
# What a start and a wait of 8 bytes over shm may take at each of two ranks when nobody waits, in instructions, with those
# of the measuring program: 350 of a persistent request, 500 of another one, and of a blocking call no more than of that;
# 5 % are allowed for other compilers. And what a scatter or gather of 8 bytes by cells takes of its root and of each other
# rank, persistent, by start and tests, with the same 5 %. And a message (bench/message.c). And, over loopback, a test
# that finds nothing, and an empty start with its test (bench/overhead.c). Of the release build alone.
program=$NBCOLL_BINARY/bench/path
. "$NBCOLL_SOURCE/test/support/instructions.sh"

failed=0
for operation in bcast barrier allreduce; do
    for side in 0 1; do
        before=0
        for form in nonblocking persistent blocking; do
            once=$(instructions $side $operation $form 1)
            thrice=$(instructions $side $operation $form 3)
            count=$(((thrice - once) / 2000))
            case $form in
            nonblocking) most=525 before=$count ;;
            persistent) most=372 ;;
            blocking) most=$before ;;
            esac
            echo "$operation, $form, rank $side: $count of at most $most"
            [ "$count" -gt 0 ] && [ "$count" -le "$most" ] || failed=1
        done
    done
done

# cells RANKS OPERATION SIDE MOST
cells()
{
    [ $3 = root ] && ranks=1 || ranks=$(($1 - 1))
    program=$NBCOLL_BINARY/bench/peers
    count=$(instructions "$3" "$1" "$2" slots)
    count=$((count / 1000 / ranks))
    echo "$2 by cells, $1 ranks, $3: $count of at most $4"
    [ "$count" -gt 0 ] && [ "$count" -le "$4" ] || failed=1
}
# message FORM BYTES SIDE MOST
message()
{
    program=$NBCOLL_BINARY/bench/message
    counts=
    for n in 1 3; do
        counts="$counts $(instructions "$3" "$1" "$2" $n)"
    done
    set -- "$@" $counts
    count=$((($6 - $5) / 2048))
    echo "message of $2 bytes, $1, rank $3: $count of at most $4"
    [ "$count" -gt 0 ] && [ "$count" -le "$4" ] || failed=1
}
message blocking 8 0 260
message blocking 8 1 360
message posted 1024 0 665
message posted 1024 1 1010
message window 8 0 515
message window 8 1 760

# overhead PART MOST
overhead()
{
    program=$NBCOLL_BINARY/bench/overhead
    count=$(($(instructions "$1" "$1") / 1000))
    echo "overhead, $1: $count of at most $2"
    [ "$count" -gt 0 ] && [ "$count" -le "$2" ] || failed=1
}
overhead test 372
overhead start 548
overhead persistent 162

cells 4 scatter root 572
cells 4 scatter leaf 371
cells 16 scatter root 1048
cells 4 gather root 585
cells 4 gather leaf 405
exit $failed
