# SPDX-License-Identifier: BSD-3-Clause
#
# No file includes what its layer may not know.
. "$NBCOLL_SOURCE/test/rules/rule.sh"
rule includes

echo '#include <nbcoll/schedule.h>' | accepts src/algorithms/good.c
echo '#include <string.h>' | accepts src/algorithms/good.c
echo '#include "nbcoll/pattern.h"' | accepts src/algorithms/good.c
echo '#include "nbcoll/transport.h"' | refuses src/algorithms/bad.c ':1: must not include nbcoll/transport.h'
echo '#include "../../src/engine/core.h"' | refuses src/algorithms/bad.c ':1: must not include ../../src/engine/core.h'
echo ' # include "../comm/comm.h"' | refuses src/algorithms/bad.c ':1: must not include ../comm/comm.h'

echo '#include "nbcoll/wire.h"' | accepts transports/wire/wire.c
echo '#include "ring.h"' | accepts transports/wire/wire.c
echo '#include "nbcoll/loopback.h"' | refuses transports/wire/wire.c ':1: must not include nbcoll/loopback.h'
echo '#include "../../src/engine/core.h"' | refuses transports/wire/wire.c ':1: must not include ../../src/engine/core.h'
echo '#include "../loopback/ring.h"' | refuses transports/wire/wire.c ':1: must not include ../loopback/ring.h'

echo '#include <nbcoll/verify.h>' | accepts examples/program/main.c
echo '#include "../../src/host/host.h"' | refuses src/command/main.c ':1: must not include ../../src/host/host.h'
echo '#include "../../src/host/host.h"' | refuses examples/one.c ':1: must not include ../../src/host/host.h'
echo '#include "../src/schedule/builder.h"' | refuses bench/one.c ':1: must not include ../src/schedule/builder.h'
echo '#include "../examples/chain/chain.h"' | accepts bench/one.c
echo '#include "../calls.h"' | accepts bench/against/one.c

echo '#include "nbcoll.h"' | accepts include/nbcoll/new.h
echo '#include "inline/core.h"' | refuses include/nbcoll/new.h ':1: must not include inline/core.h'
echo '#include "../transports/loopback/ring.h"' |
    refuses src/comm/comm.c ':1: must not include ../transports/loopback/ring.h'
