/* SPDX-License-Identifier: BSD-3-Clause
 * Algorithms and transports from shared objects, which stay open as long as the command runs. */
#include <dlfcn.h>

#include "command.h"

enum { CATALOGUE_MOST = 256 };

static const nbcoll_algorithm *brought[CATALOGUE_MOST];
static size_t brought_count;

/* A name in a file, which is here unless its path says otherwise. */
static void *symbol_of(const char *file, const char *name)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s%s", strchr(file, '/') ? "" : "./", file);
    void *object = length < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = object ? dlsym(object, name) : NULL;
    const char *why = object ? NULL : dlerror();
    if (!object)
        command_refuse(NULL, "%s: %s", file, why ? why : "it cannot be opened");
    if (!symbol)
        command_refuse(NULL, "%s: it has no %s", file, name);
    return symbol;
}

const nbcoll_algorithm *catalogue_at(nbcoll_operation operation, unsigned i)
{
    unsigned own = 0;
    const nbcoll_algorithm *algorithm;
    while (own < i && nbcoll_algorithm_at(operation, own))
        own++;
    algorithm = nbcoll_algorithm_at(operation, own);
    for (size_t k = 0; !algorithm && k < brought_count; k++)
        if (brought[k]->operation == operation && own++ == i)
            algorithm = brought[k];
    return algorithm;
}

const nbcoll_algorithm *catalogue_find(nbcoll_operation operation, const char *name)
{
    const nbcoll_algorithm *algorithm;
    for (unsigned i = 0; (algorithm = catalogue_at(operation, i)); i++)
        if (strcmp(algorithm->name, name) == 0)
            return algorithm;
    return NULL;
}

const nbcoll_algorithm *const *catalogue_brought(size_t *n)
{
    *n = brought_count;
    return brought;
}

static void add(const char *file, uint32_t i, const nbcoll_algorithm *algorithm)
{
    if (nbcoll_rules_check(&(nbcoll_rule){.algorithm = algorithm}, 1, NULL) != NBCOLL_OK)
        command_refuse(NULL, "%s: its algorithm %u lacks its size, name, operation or function", file, (unsigned)i);
    const char *operation = nbcoll_operation_name(algorithm->operation);
    if (strcmp(algorithm->name, "default") == 0 || catalogue_find(algorithm->operation, algorithm->name))
        command_refuse(NULL, "%s: %s has an algorithm '%s' already", file, operation, algorithm->name);
    if (brought_count == CATALOGUE_MOST)
        command_refuse(NULL, "%s: there are more than %d algorithms", file, CATALOGUE_MOST);
    brought[brought_count++] = algorithm;
}

void catalogue_load(const char *file)
{
    const nbcoll_algorithm_list *list = symbol_of(file, "nbcoll_algorithms");
    if (list->abi != NBCOLL_ABI)
        command_refuse(NULL, "%s: it was built for ABI %u of nbcoll, not %u", file, (unsigned)list->abi, NBCOLL_ABI);
    for (uint32_t i = 0; i < list->count; i++)
        add(file, i, list->algorithm[i]);
}

nbcoll_transport_open *catalogue_transport(const char *file)
{
    void *symbol = symbol_of(file, "nbcoll_transport_open_rank");
    nbcoll_transport_open *open = NULL;
    memcpy(&open, &symbol, sizeof open); /* C has no cast for this */
    return open;
}
