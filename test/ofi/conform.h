/* SPDX-License-Identifier: BSD-3-Clause
 * The conformance suite over one provider: ranks of one process, then ranks that are processes. */
#ifndef TEST_OFI_CONFORM_H
#define TEST_OFI_CONFORM_H

#include <stdbool.h>

#include <nbcoll/conformance.h>
#include <nbcoll/ofi.h>

/* How many of the two failed; 77, and nothing is run, if libfabric has no such provider. `only`: one case, or null. */
int conform(const nbcoll_ofi_config *usual, uint32_t promises, bool in_one_process, const char *only);

/* Runs several at the same time, each in a process of its own, since they wait more than they work. Returns how many
 * have failed. */
int conform_side_by_side(const nbcoll_conformance all[], size_t n);

#endif
