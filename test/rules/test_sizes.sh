# SPDX-License-Identifier: BSD-3-Clause
#
# No algorithm, transport, function or line is longer than agreed.
. "$NBCOLL_SOURCE/test/rules/rule.sh"
rule sizes

lines 150 'int x;' | accepts src/algorithms/good.c
lines 151 'int x;' | refuses src/algorithms/bad.c ': the file has 151 lines'
lines 700 'int x;' | accepts transports/wire/wire.c
lines 701 'int x;' | refuses transports/wire/wire.c ': the file has 701 lines'
{ printf 'int f(void)\n{\n' && lines 60 '    g();' && echo '}'; } | accepts src/comm/good.c
{ printf 'int f(void)\n{\n' && lines 61 '    g();' && echo '}'; } |
    refuses src/comm/bad.c ':2: the function has 61 lines'
{ printf 'static inline int f(void)\n{\n' && lines 12 '    g();' && echo '}'; } | accepts src/comm/good.h
{ printf 'static inline int f(void)\n{\n' && lines 13 '    g();' && echo '}'; } |
    refuses src/comm/bad.h ':2: the inline function has 13 lines'
{ printf 'struct big {\n' && lines 99 '    int x;' && echo '};'; } | accepts src/comm/good.c
awk 'BEGIN { printf "%120s\n", "x" }' | accepts test/unit/test_good.cpp
awk 'BEGIN { printf "%121s\n", "x" }' | refuses test/unit/test_bad.cpp ':1: the line has 121 characters'
