# SPDX-License-Identifier: BSD-3-Clause
#
# What the targets of test/fuzz need, one by one under libFuzzer (targets.cmake) and all together in fuzz/test_corpus.
set(fuzz_targets packed commands shm)
if(TARGET nbcoll_cluster)
    list(APPEND fuzz_targets tcp hosts)
endif()
if(TARGET nbcoll_command_parts)
    list(APPEND fuzz_targets timeline recording launch command)
endif()
if(TARGET nbcoll_tuning)
    list(APPEND fuzz_targets tuning)
endif()

list(TRANSFORM fuzz_targets REPLACE "(.+)" "fuzz/\\1.c" OUTPUT_VARIABLE fuzz_sources)

# What stands for waiting; and what a command line asks for, which command.c says.
set(fuzz_waiting poll ppoll)
set(fuzz_doing fork pthread_create dlopen popen unlink rename fopen open json_load_file nbcoll_simulate
    nbcoll_build_case nbcoll_compile_case nbcoll_shm_open nbcoll_loopback_create nbcoll_verify_grid nbcoll_select nbcoll_topology_make
    nbcoll_topology_make_nodes hwloc_topology_load)

# Of a program with some of the targets: stand-ins, and what they stand for.
function(fuzz_flags target)
    set(wrapped ${fuzz_waiting})
    if("command" IN_LIST ARGN)
        target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/command/main.c)
        set_source_files_properties(${PROJECT_SOURCE_DIR}/src/command/main.c PROPERTIES
            COMPILE_DEFINITIONS main=nbcoll_main)
        list(APPEND wrapped ${fuzz_doing})
    endif()
    if(TARGET nbcoll_command_parts)
        target_sources(${target} PRIVATE fuzz/ends.c)
        list(APPEND wrapped exit malloc calloc aligned_alloc realloc free strdup asprintf)
    endif()
    list(TRANSFORM wrapped PREPEND LINKER:--wrap=)
    target_sources(${target} PRIVATE fuzz/standins.c)
    nbcoll_flags(${target})
    foreach(library IN ITEMS nbcoll_command_parts nbcoll_tuning nbcoll_cluster)
        if(TARGET ${library})
            target_link_libraries(${target} PRIVATE ${library})
        endif()
    endforeach()
    target_link_libraries(${target} PRIVATE ${nbcoll_linked} Threads::Threads m)
    target_link_options(${target} PRIVATE ${wrapped})
endfunction()
