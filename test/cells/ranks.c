/* SPDX-License-Identifier: BSD-3-Clause
 * How the tests of shm join their ranks; those of cells do it as they do. */
#include "../shm/ranks.c"
