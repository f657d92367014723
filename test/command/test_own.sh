# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll --algorithms FILE` and `nbcoll bench --transport FILE`: algorithms and transports of shared objects are known to
# all subcommands. The algorithm is that of examples/own_algorithm, the transport that of examples/own_transport.
. "$(dirname "$0")/check.sh"
examples=$NBCOLL_SOURCE/examples
case $(nm "$nbcoll") in *__asan* | *__tsan*) exit 77 ;; esac # these objects are built without

build()
{
    out=$1
    shift
    "$CC" -std=gnu11 -Wall -Wextra -Wpedantic -Werror -shared -fPIC -I"$NBCOLL_SOURCE/include" "$@" -o "$out"
}
cd "$work"
build own.so "$examples/own_algorithm/main.c"

own()
{
    succeeds --algorithms own.so "$@"
}

# proved, and refuted
own verify allgather two_ways --ranks 1..9
grep -q '^allgather *two_ways .* proved$' out || fail "not proved"
own verify allgather --ranks 3 --count 1
grep -q '^allgather *two_ways .* proved$' out || fail "not among all"
sed 's/block = nbcoll_recv_block(b, a, (b->rank + hop \* from) % b->ranks);/block = nbcoll_recv_block(b, a, b->rank);/' \
    "$examples/own_algorithm/main.c" >broken.c
build broken.so broken.c
run --algorithms ./broken.so verify allgather two_ways
[ "$status" -eq 1 ] || fail "the broken one: exit status $status"

# measured, with its results looked at: the broken one is found out, and a sum that nobody makes
if "$nbcoll" info | grep -q '^transports.* shm'; then
    cat >kept.c <<'END'
#include <nbcoll/schedule.h>
static void kept(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_add_copy(b, a->recv, a->send, a->bytes);
}
static const nbcoll_algorithm algorithm = {sizeof algorithm, "kept", NBCOLL_OPERATION_ALLREDUCE, kept, 0, NULL};
NBCOLL_ALGORITHMS(&algorithm);
END
    build kept.so kept.c
    checked="--check --ranks 3 --count 10 --rounds 1 --iterations 1"
    # shellcheck disable=SC2086 # words
    own bench allgather --algorithm two_ways $checked
    # shellcheck disable=SC2086
    run --algorithms ./broken.so bench allgather --algorithm two_ways $checked
    [ "$status" -eq 3 ] && grep -q ' two_ways, blocking: rank [0-2] has a wrong byte [0-9]*$' err || fail "not found wrong"
    # shellcheck disable=SC2086
    run --algorithms ./kept.so bench allreduce --algorithm kept $checked
    [ "$status" -eq 3 ] && grep -q ' kept, blocking: rank [0-2] has a wrong byte 0$' err || fail "no sum, and not found:"
fi

# drawn, and simulated
own show allgather two_ways --ranks 5 --rank 1
grep -q '^schedule allgather/two_ways: rank 1 of 5' out || fail "not shown"
own show allgather two_ways --ranks 5 --svg rounds.svg
grep -q 'allgather two_ways' rounds.svg || fail "not drawn"
own sim allgather two_ways --ranks 64 --model ethernet
grep -q two_ways out || fail "not simulated"

# chosen by a tuning file; its cost is its own
sed -e 's/^NBCOLL_ALGORITHMS.*//' -e 's/two_ways, 0, NULL};/two_ways, 0, cost};/' \
    -e 's|^enum { RANKS|#include <nbcoll/select.h>\
static uint64_t cost(const nbcoll_terms *t, const nbcoll_args *a)\
{\
    return 1000000u * (unsigned)t->ranks + a->bytes;\
}\
&|' "$examples/own_algorithm/main.c" >costly.c
echo 'NBCOLL_ALGORITHMS(&algorithm);' >>costly.c
build costly.so costly.c
succeeds --algorithms costly.so explain allgather --messages --ranks 4 --count 8 --type BYTE
prints '  two_ways  *4000008 ns'
own explain allgather --messages --ranks 4
prints '  two_ways  *not known'

# a function of the host's: no NIC runs it
sed -e 's|^enum { RANKS|static nbcoll_status host(void *user, const nbcoll_memory memory[])\
{\
    (void)user;\
    (void)memory;\
    return NBCOLL_OK;\
}\
static void calls(nbcoll_builder *b, const nbcoll_args *a)\
{\
    two_ways(b, a);\
    if (b->rank == 2)\
        nbcoll_add_call(b, host, NULL, 0, NULL, 0, NULL);\
}\
&|' -e 's/OPERATION_ALLGATHER, two_ways, 0/OPERATION_ALLGATHER, calls, 0/' "$examples/own_algorithm/main.c" >calls.c
build calls.so calls.c
succeeds --algorithms calls.so explain allgather --messages --ranks 4 --algorithm two_ways --program
grep -q '  not as a program: allgather/two_ways: rank 2, step [0-9]*: a step calls a function of the host.s$' out ||
    fail "explain does not say that a step is a call"
own explain allgather --messages --ranks 4 --algorithm two_ways --program
grep -q '  as a program: ' out || fail "explain does not say that it could be a program"

if [ -f "$NBCOLL_BINARY/libnbcoll_tuning.a" ] || [ -f "$NBCOLL_BINARY/libnbcoll_tuning.so" ]; then
    printf '[allgather]\ntwo_ways = ranks 4..\n' >mine.tuning
    own explain allgather --messages --ranks 5 --tuning mine.tuning
    grep -q 'two_ways  *RULE *mine.tuning:2' out || fail "the file's rule is not followed"
    refuses "nbcoll explain: mine.tuning:2: allgather has no algorithm 'two_ways'" \
        explain allgather --messages --ranks 5 --tuning mine.tuning
fi
own info --algorithms
prints '### allgather two_ways'

# measured, over shared memory and over a transport of their own; tuned
if "$nbcoll" info | grep -q shm; then
    own bench allgather --algorithm two_ways,ring --ranks 2 --count 4 --rounds 2 --iterations 5 --csv
    grep -q 'allgather.*two_ways' out || fail "not measured"
    own bench allgather --algorithm two_ways --check --ranks 3 --count 4 --rounds 1 --iterations 2
    run --algorithms ./broken.so bench allgather --algorithm two_ways --check --ranks 3 --count 4 --rounds 1 --iterations 2
    [ "$status" -eq 3 ] || fail "--check of the broken one: exit status $status"
    grep -q '^nbcoll bench: allgather of 3 ranks, 4 elements: two_ways, blocking: rank . has a wrong byte [0-9]*$' err ||
        fail "--check does not say what is wrong"
    build transport.so "$examples/own_transport/socket.c" "$examples/own_transport/bootstrap.c" \
        "$examples/own_transport/plugin.c"
    own bench allgather --algorithm two_ways --transport transport.so --ranks 2 --count 4 --rounds 2 --iterations 5 --csv
    grep -q 'allgather.*two_ways' out || fail "not measured over sockets"
    refuses "nbcoll: own.so: it has no nbcoll_transport_open_rank" bench bcast --transport own.so
fi
own tune allgather --simulate --model ethernet --ranks 16 --bytes 65536 --json
grep -q two_ways out || fail "not tuned"

# what is wrong with a file
refuses "nbcoll: --algorithms lacks its file" --algorithms
refuses "nbcoll: own.so: allgather has an algorithm 'two_ways' already" --algorithms own.so --algorithms own.so info
echo 'int x;' >empty.c
build empty.so empty.c
refuses "nbcoll: empty.so: it has no nbcoll_algorithms" --algorithms empty.so info
run --algorithms none.so info
[ "$status" -eq 2 ] && grep -q '^nbcoll: none.so: ' err || fail "a missing file"
printf '#include <nbcoll/schedule.h>\nconst nbcoll_algorithm_list nbcoll_algorithms = {sizeof nbcoll_algorithms, 99, 0, 0};\n' >old.c
build old.so old.c
refuses "nbcoll: old.so: it was built for ABI 99 of nbcoll, not 3" --algorithms old.so info
