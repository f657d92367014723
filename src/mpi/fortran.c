/* SPDX-License-Identifier: BSD-3-Clause
 * Fortran. The MPIs' Fortran libraries make C's handles, MPI_IN_PLACE and MPI_BOTTOM of Fortran's and call the MPI's C
 * functions: Open MPI's always by PMPI names, MPICH's for mpi_f08. The door puts its own functions there, into the
 * tables by which the dynamic linker tells these libraries where to jump. So mpif.h, mpi and mpi_f08 are served alike,
 * and a tool that defines Fortran's names stays above. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "door.h"

/* The door's function of a PMPI name; null: it has none. */
static void *ours(const char *name)
{
    static void *door;
    Dl_info here, there;
    if (strncmp(name, "PMPI", 4) != 0 || !dladdr((void *)(uintptr_t)door_fortran, &here))
        return NULL;
    if (!door)
        door = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void *found = door ? dlsym(door, name + 1) : NULL;
    return found && dladdr(found, &there) && there.dli_fbase == here.dli_fbase ? found : NULL;
}

/* Writes into a table that may be read-only since the linker has filled it. */
static void put(void **slot, void *function, bool is_sealed)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)slot & ~(page - 1);
    if (is_sealed && mprotect((void *)first, page, PROT_READ | PROT_WRITE) < 0)
        return;
    *slot = function;
    if (is_sealed)
        mprotect((void *)first, page, PROT_READ);
}

static int look(struct dl_phdr_info *object, size_t bytes, void *user)
{
    const ElfW(Phdr) *sealed = NULL;
    const ElfW(Dyn) *entry = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const ElfW(Rela) *jumps = NULL;
    size_t room = 0;
    (void)bytes, (void)user;
    if (!strstr(object->dlpi_name, "libmpi_mpifh") && !strstr(object->dlpi_name, "libmpichfort"))
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
        if (object->dlpi_phdr[i].p_type == PT_GNU_RELRO)
            sealed = &object->dlpi_phdr[i];
    }
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        symbols = entry->d_tag == DT_SYMTAB ? (const void *)entry->d_un.d_ptr : symbols;
        names = entry->d_tag == DT_STRTAB ? (const void *)entry->d_un.d_ptr : names;
        jumps = entry->d_tag == DT_JMPREL ? (const void *)entry->d_un.d_ptr : jumps;
        room = entry->d_tag == DT_PLTRELSZ ? entry->d_un.d_val : room;
    }
    for (size_t i = 0; symbols && names && jumps && i < room / sizeof *jumps; i++) {
        void *function = ours(names + symbols[ELF64_R_SYM(jumps[i].r_info)].st_name);
        ElfW(Addr) at = jumps[i].r_offset;
        if (function)
            put((void **)(object->dlpi_addr + at), function,
                sealed && at >= sealed->p_vaddr && at < sealed->p_vaddr + sealed->p_memsz);
    }
    return 0;
}

/* Before main, since Fortran's MPI_Init is to come here, too. */
__attribute__((constructor)) void door_fortran(void)
{
    dl_iterate_phdr(look, NULL);
}
