/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The algorithms that the command knows: those of the library, and behind them those that shared objects have brought
 * (--algorithms FILE before the subcommand). Also transports, of which an object brings one.
 */
#ifndef CATALOGUE_H
#define CATALOGUE_H

#include <nbcoll/select.h>
#include <nbcoll/transport.h>

/* Adds those of a file. 0, or COMMAND_USAGE after naming what is wrong. */
int catalogue_load(const char *file);

/* As nbcoll_algorithm_at and nbcoll_algorithm_find. */
const nbcoll_algorithm *catalogue_at(nbcoll_operation operation, unsigned i);
const nbcoll_algorithm *catalogue_find(nbcoll_operation operation, const char *name);

/* Those that were brought. */
const nbcoll_algorithm *const *catalogue_brought(size_t *n);

/* What opens the ends of a file's transport; null after naming what is wrong on standard error. */
nbcoll_transport_open *catalogue_transport(const char *file);

#endif
