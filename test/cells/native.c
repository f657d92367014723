/* SPDX-License-Identifier: BSD-3-Clause
 * The verifier's algorithms for ranks that share memory, which are run here. */
#include "../verify/native.c"
