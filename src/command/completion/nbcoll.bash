# SPDX-License-Identifier: BSD-3-Clause
#
# Completion of nbcoll in bash: what is offered is what the command itself says.

# Operations, or the algorithms of one: _nbcoll_names OPERATION-OR-"" NBCOLL [--algorithms FILE]...
_nbcoll_names()
{
    local operation=$1
    shift
    "$@" info 2>/dev/null | awk -v operation="$operation" '
        /^operations/ { inside = 1; next }
        /^types/ { exit }
        inside && operation == "" { print $1 }
        inside && $1 == operation { $1 = ""; print }'
}

_nbcoll()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} at=1 words=
    while [ "${COMP_WORDS[at]}" = --algorithms ] && ((at + 1 < COMP_CWORD)); do
        at=$((at + 2))
    done
    local command=${COMP_WORDS[at]} operation=${COMP_WORDS[at + 1]-} nbcoll=("${COMP_WORDS[@]:0:at}")
    case $before in
    --algorithms | --tuning | --output | --svg | --plot | --transport | --timeline | --chrome)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    esac
    if ((COMP_CWORD == at)) || { ((COMP_CWORD == at + 1)) && [ "$command" = help ]; }; then
        words="$("${nbcoll[0]}" help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')"
        [[ $word != -* ]] || words="--algorithms --help --version"
    elif [[ $word == -* ]]; then
        words=$("${nbcoll[0]}" help "$command" 2>/dev/null | grep -o -e '--[a-z][a-z-]*' | sort -u)
    elif [[ $before != -* ]]; then
        case $command in
        verify | show | sim | explain | bench | tune)
            if ((COMP_CWORD == at + 2)) && [[ $command != bench && $command != tune && $command != explain ]]; then
                words="default $(_nbcoll_names "$operation" "${nbcoll[@]}")"
            else
                words=$(_nbcoll_names "" "${nbcoll[@]}")
            fi
            ;;
        run | timeline)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _nbcoll nbcoll
