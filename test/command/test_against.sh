# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll bench --against` puts together what the programs of all peers say: here a launcher says it that is none.
. "$(dirname "$0")/check.sh"

refuses "nbcoll bench: --against is mpi, openmpi, openmpi-no-cma or mpich, not 'lam'" bench --against lam
refuses "nbcoll bench: --against is mpi, openmpi, openmpi-no-cma or mpich, not 'openmpi,lam'" bench --against openmpi,lam
refuses "nbcoll bench: --against is mpi, openmpi, openmpi-no-cma or mpich, not ''" bench --against ''
refuses "nbcoll bench: --against does not compare scan" bench scan --against mpi
refuses "nbcoll bench: with --against go only --ranks, --count, --buffers, --rounds, --iterations, --latency, --parts, --relaxed, --csv, --json and --plot" \
    bench bcast --against mpi --tests 3
refuses "nbcoll bench: --latency goes with --against" bench bcast --latency C
refuses "nbcoll bench: --parts goes with --against" bench bcast --parts
refuses "nbcoll bench: --relaxed goes with --against" bench bcast --relaxed
refuses "nbcoll bench: --latency is S, C or X, not 'D'" bench --against mpi --latency D

# without shared memory there are no ranks
"$nbcoll" info | grep -q '^transports.* shm' || exit 0

# a command beside which only the program for Open MPI lies
mkdir -p "$work/bench/against" "$work/path"
cp "$nbcoll" "$work/nbcoll"
nbcoll=$work/nbcoll
printf '#!/bin/sh\n' >"$work/bench/against/openmpi"
cp "$work/bench/against/openmpi" "$work/path/mpirun.openmpi"
chmod +x "$work/bench/against/openmpi" "$work/path/mpirun.openmpi"
PATH=$work/path:$PATH

run bench --against mpich
[ "$status" -eq 3 ] || fail "mpich is not there: exit status $status"
grep -q "^nbcoll bench: --against mpich: " "$work/err" || fail "mpich is not there: no word of it"

# launcher: what it says, once for each peer ("none" is an argument of the one without CMA). In the first, nbcoll takes 3
# where blocking takes 2 and another form 4, which is wrong; in the second, 3 where it takes 6. Copies take 1.8.
entry()
{
    echo "{\"library\":\"$1\",\"memory\":\"$2\",\"form\":\"$3\",\"right\":$4,\"p99\":9,\"us\":[$5,$5,$6,$5,$5]}"
}
first="$(entry nbcoll private persistent true 3 30),$(entry nbcoll private nonblocking true 1.5 2)"
first="$first,$(entry mpi private blocking true 2 2),$(entry mpi private nonblocking false 1 1)"
first="$first,$(entry mpi private persistent true 4 4),$(entry copies private ring true 1.8 1.8)"
second="$(entry nbcoll private persistent true 3 3),$(entry nbcoll private nonblocking true 3 3)"
second="$second,$(entry mpi private blocking true 6 6)"
cat >"$work/path/mpirun.openmpi" <<END
#!/bin/sh
echo "\$*" >>"$work/said"
echo noise
echo '{"mpi":"Open MPI 9","ranks":2,"cores":2,"fifo":false,"clock":0.02}'
cell='{"operation":"bcast","bytes":65536,"turns":1,"latency":[0.05,0.3],"retaken":1,"preempted":0,"entries":['
case "\$*" in
*" --mca "*) echo "\$cell"'$second]}' ;;
*) echo "\$cell"'$first]}' ;;
esac
END
run bench bcast --against openmpi,openmpi-no-cma,mpich --count 16384 --rounds 5 --csv
cat >"$work/expected" <<'END'
operation,ranks,bytes,buffers,memory,form,us,p99,peer,peer_form,peer_us,ratio,low,high,copies,line_before,line_after,retaken,preempted,calls,lines,waiting
bcast,2,65536,reused,private,nonblocking,1.5000,9.0000,Open MPI 9,blocking,2.0000,0.7500,0.7500,1.0000,1.8000,0.0500,0.3000,1,0,,,
bcast,2,65536,reused,private,persistent,3.0000,9.0000,Open MPI 9,blocking,2.0000,1.5000,1.5000,15.0000,1.8000,0.0500,0.3000,1,0,,,
END
[ "$status" -eq 0 ] || fail "exit status $status"
diff -u "$work/expected" "$work/out" || fail "these are not the rows"
[ "$(cat "$work/err")" = "wrong, not timed: Open MPI 9, nonblocking bcast of 2 ranks" ] || fail "nothing is wrong:"

# where the command is installed its programs lie elsewhere
mkdir -p "$work/libexec/nbcoll" "$work/bin"
cp "$nbcoll" "$work/bin/nbcoll"
cp "$work/bench/against/openmpi" "$work/libexec/nbcoll/openmpi"
"$work/bin/nbcoll" bench bcast --against openmpi --count 16384 --rounds 5 --csv >"$work/out" 2>"$work/err" ||
    fail "installed:"
[ "$(wc -l <"$work/out")" -eq 3 ] || fail "installed:"

# the programs are asked for what was said, without CMA where that was said
grep -q -- "--bind-to none -n 2 $work/bench/against/openmpi -o bcast -c 16384 -b reused -r 5 -i 0\$" "$work/said" ||
    fail "$(cat "$work/said")"
grep -q -- "--mca btl_vader_single_copy_mechanism none -n 2 " "$work/said" || fail "$(cat "$work/said")"

# a table has a summary, and nothing that is this project's alone: what it aims at, and its word for where the cores are
run bench bcast --against openmpi --count 16384 --rounds 5
prints 'bcast, 2 ranks, 65536 bytes, buffers reused; a line 0.050, 0.300 us;'
prints '  beside Open MPI 9, blocking'
grep -q "^ private  *nonblocking  *1.50  *2.00  *0.75  *0.75  *1.00  *1.80$" "$work/out" || fail "no row"
grep -q "^ *2 16, 64 K *data *persistent *1 *1.50 *1.50 bcast 65536$" "$work/out" || fail "no summary"
! grep -iwE 'aims?|met|missed|latency classes?KEEP|targets?' "$work/out" || fail "it speaks of aims:"
[ -z "$(awk 'length > 80' "$work/out")" ] || fail "the table is wider than 80 columns"

# a picture
! command -v gnuplot >/dev/null || {
    run bench bcast --against openmpi --count 16384 --rounds 5 --plot "$work/picture.svg"
    [ "$status" -eq 0 ] || fail "no picture: exit status $status"
    [ "$(grep -c '<svg' "$work/picture.svg")" -eq 1 ] || fail "no picture"
}

# the parts of a time add up to it, persistent: 3 = 0.5 + 1.8 + 0.2 + 0.5, nonblocking: 1.5 = 0.3 + 1.8 - 0.9 + 0.3
cp "$work/path/mpirun.openmpi" "$work/whole"
first="$first,$(entry nbcoll private apart true 2.5 2.5),$(entry nbcoll private 'started apart' true 1.2 1.2)"
sed "s/\"preempted\":0/\"preempted\":0,\"calls\":0.5,\"started_calls\":0.3/; s/^\*) echo.*/*) echo \"\$cell\"'$first]}' ;;/" "$work/whole" \
    >"$work/path/mpirun.openmpi"
run bench bcast --against openmpi --count 16384 --rounds 5 --parts --latency C
grep -q "^ *= 0.50 calls + 1.80 copies + 0.20 lines + 0.50 waiting$" "$work/out" || fail "no parts"
grep -q "^ *= 0.30 calls + 1.80 copies + -0.90 lines + 0.30 waiting$" "$work/out" || fail "no parts of start and wait"
grep -q -- " -x -l 0.038 -h 0.13$" "$work/said" || fail "the program is not asked for parts in a latency class: $(cat "$work/said")"
cp "$work/whole" "$work/path/mpirun.openmpi"

# a wrong result of nbcoll's own is a failure
first="$(entry nbcoll private persistent false 3 3),$(entry mpi private blocking true 2 2)"
sed -i "s/^\*) echo.*/*) echo \"\$cell\"'$first]}' ;;/" "$work/path/mpirun.openmpi"
run bench bcast --against openmpi --count 16384 --rounds 5 --csv
[ "$status" -eq 1 ] || fail "a wrong result: exit status $status"
[ "$(cat "$work/err")" = "wrong, not timed: nbcoll, persistent bcast of 2 ranks" ] || fail "a wrong result:"
[ "$(wc -l <"$work/out")" -eq 1 ] || fail "a wrong result was timed:"

# so is a launcher that starts something else, or fails
sed -i 's/"ranks":2/"ranks":1/' "$work/path/mpirun.openmpi"
run bench bcast --against openmpi --count 16384
[ "$status" -eq 3 ] || fail "another MPI: exit status $status"
grep -q "^nbcoll bench: --against openmpi: mpirun.openmpi is the launcher of another MPI" "$work/err" || fail "another MPI:"
sed -i 's/"ranks":1/"ranks":2/; $a exit 3' "$work/path/mpirun.openmpi"
run bench bcast --against openmpi --count 16384
[ "$status" -eq 3 ] || fail "a failed launcher: exit status $status"
grep -q "^nbcoll bench: --against openmpi: mpirun.openmpi did not end well" "$work/err" || fail "a failed launcher:"
