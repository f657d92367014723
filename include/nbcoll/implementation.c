/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What NBCOLL_IMPLEMENTATION includes. Where nbcoll is installed src/amalgamate.awk has put the sources in its place.
 */
#include "../../src/nbcoll.c"
