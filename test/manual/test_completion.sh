# SPDX-License-Identifier: BSD-3-Clause
#
# Completion in bash, and in zsh where that is installed: commands, options, operations, algorithms, and files where an
# option takes one.
. "$NBCOLL_SOURCE/test/command/check.sh"
PATH=$NBCOLL_BINARY:$PATH
export PATH
cd "$work"
touch a.tuning

# offers wanted word...: after these words, of which the last is begun, this is offered
in_bash()
{
    bash -c '. "$1"; shift; COMP_WORDS=(nbcoll "$@"); COMP_CWORD=$#; _nbcoll; printf "%s\n" "${COMPREPLY[@]}"' \
        bash "$NBCOLL_SOURCE/src/command/completion/nbcoll.bash" "$@"
}
in_zsh()
{
    zsh -f -c 'file=$1; shift; words=(nbcoll "$@"); CURRENT=$#words; word=$words[-1]
        compadd() { shift; print -l -- ${(M)@:#${word}*} }
        _files() { print -l -- ${word}*(N) }
        . $file' zsh "$NBCOLL_SOURCE/src/command/completion/_nbcoll" "$@"
}
shells=bash
command -v zsh >/dev/null && shells="bash zsh"
offers()
{
    wanted=$1
    shift
    for shell in $shells; do
        got=$(in_$shell "$@" | tr '\n' ' ' | sed 's/ *$//')
        [ "$got" = "$wanted" ] || { echo "$shell, nbcoll $*: '$got' instead of '$wanted'" && exit 1; }
    done
}
offers 'verify' ve
offers 'show sim' s
offers 'explain' help exp
offers '--ranks' verify --ran
offers '--timeout' run --timeo
offers 'scatter scatterv' verify scat
offers 'scatter_ring' show bcast scatt
offers 'default' sim allreduce def
offers 'allgather allgatherv' bench bcast allg
offers 'a.tuning' explain bcast --tuning a.t
offers '--algorithms' --al
