# SPDX-License-Identifier: BSD-3-Clause
#
# The library neither prints, reads the environment nor ends the process, and asks its host for memory, clock and
# threads.
. "$NBCOLL_SOURCE/test/rules/rule.sh"
rule purity

echo '    printf("x");' | refuses src/comm/bad.c ':1: calls  printf'
echo 'x = getenv("x");' | refuses transports/wire/wire.c ':1: calls  getenv'
echo '    abort ();' | refuses src/engine/bad.h ':1: calls  abort '
echo '    clock_gettime(CLOCK_REALTIME, &t);' | refuses src/host/host.h ':1: asks for a clock that can be set:     clock_gettime(CLOCK_REALTIME, &t);'
echo '    sem_timedwait(s, &t);' | refuses src/host/word.c ':1: asks for a clock that can be set:     sem_timedwait(s, &t);'
echo '    exit(1);' | refuses src/host/host.h ':1: calls  exit'
echo '    p = (char *)malloc(1);' | refuses src/comm/bad.c ':1: calls )malloc'
echo '    pthread_create(a, b, c, d);' | refuses src/comm/bad.c ':1: calls  pthread_create'
printf '/* one\n * two */ free(p);\n' | refuses src/comm/bad.c ':2: calls  free'
echo '    close(fd);' | refuses transports/shm/alive.c ':1: calls  close'
echo '    send(fd, p, 1, 0);' | refuses transports/ofi/watch.c ':1: calls  send'

echo '    free(p);' | accepts src/host/host.h
echo '    close(fd);' | accepts transports/shm/system.c
echo '    close(fd);' | accepts transports/ofi/address.c
echo '    e->os->close(fd);' | accepts transports/shm/alive.c
echo '    printf("x");' | accepts src/command/main.c
echo 'x = getenv("x");' | accepts include/nbcoll/launch.h
echo '    host->free(user, p, 1);' | accepts src/comm/good.c
echo 'void (*free)(void *user);' | accepts include/nbcoll/good.h
echo 's = "abort(1)"; /* exit(1) */ nbcolli_free(h, p, 1); // abort(1)' | accepts src/comm/good.c
printf '/* one: abort()\n * two: abort() */\n' | accepts src/comm/good.c
rm -rf "$work/tree" && mkdir "$work/tree"
[ "$(sh "$checker" "$work/tree")" = "nothing to check" ]
