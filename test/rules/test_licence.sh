# SPDX-License-Identifier: BSD-3-Clause
#
# Each file names its licence.
. "$NBCOLL_SOURCE/test/rules/rule.sh"
rule licence

echo '/* SPDX-License-Identifier: BSD-3-Clause' | accepts src/comm/good.c
printf '#!/bin/bash\n# SPDX-License-Identifier: BSD-3-Clause\n' | accepts .ci/run
echo 'int x;' | refuses include/nbcoll/bad.h ': has no licence line'
echo 'exit 0' | refuses test/bad.sh ': has no licence line'
