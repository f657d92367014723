/* SPDX-License-Identifier: BSD-3-Clause
 * See units.h. */
#include "units.h"

int nbcolli_has_units(const nbcoll_host_type *t)
{
    return (t->packed || !t->extent) && t->size >= offsetof(nbcoll_host_type, unpack_units) + sizeof t->unpack_units &&
           t->pack_units && t->unpack_units && t->of < NBCOLL_TYPE_COUNT;
}

const nbcoll_host_type *nbcolli_host_type_at(nbcoll_type type)
{
    const nbcoll_host_type *t = (const nbcoll_host_type *)type;
    if (type % _Alignof(nbcoll_host_type))
        return NULL;
    int is_whole = t->size >= offsetof(nbcoll_host_type, unpack) + sizeof t->unpack;
    return is_whole && (!t->packed || (t->pack && t->unpack) || nbcolli_has_units(t)) ? t : NULL;
}

nbcoll_type nbcolli_unit_type(nbcoll_type type)
{
    const nbcoll_host_type *t = type < NBCOLLI_FIRST_ADDRESS ? NULL : nbcolli_host_type_at(type);
    return !t ? type : nbcolli_has_units(t) ? t->of : (nbcoll_type)NBCOLL_TYPE_COUNT;
}
