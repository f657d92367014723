# SPDX-License-Identifier: BSD-3-Clause
#
# The targets of test/fuzz under libFuzzer: build/fuzz/test/fuzz/NAME [corpus...]. As tests each runs for a minute, from
# the corpus in the tree; NBCOLL_FUZZ_SECONDS says how long otherwise. What they find, they leave in found/ beside them.
set(NBCOLL_FUZZ_SECONDS 60 CACHE STRING "How long each target of test/fuzz runs as a test")
include(fuzz/common.cmake)
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LINK_OPTIONS -fsanitize=fuzzer)
check_c_source_compiles("int LLVMFuzzerTestOneInput(const char *d, int n) { return !d && n; }" NBCOLL_HAS_FUZZER)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
if(NOT NBCOLL_HAS_FUZZER)
    message(FATAL_ERROR "The targets of test/fuzz need clang and its libFuzzer (Debian: clang, libclang-rt-dev)")
endif()

add_custom_target(fuzz)
foreach(name IN LISTS fuzz_targets)
    add_executable(fuzz_${name} fuzz/${name}.c)
    fuzz_flags(fuzz_${name} ${name})
    set_target_properties(fuzz_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY fuzz)
    target_compile_definitions(fuzz_${name} PRIVATE FUZZ_ALONE)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz fuzz_${name})
    set(place ${CMAKE_CURRENT_BINARY_DIR}/fuzz)
    file(MAKE_DIRECTORY ${place}/found ${place}/corpus_${name})
    add_test(NAME fuzz/${name} COMMAND fuzz_${name} -max_total_time=${NBCOLL_FUZZ_SECONDS} -timeout=20 -rss_limit_mb=1024
        -max_len=4096 -verbosity=0 -print_final_stats=1 -artifact_prefix=${place}/found/${name}-
        ${place}/corpus_${name} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name})
    set_tests_properties(fuzz/${name} PROPERTIES LABELS "slow;fuzz" COST 1000)
endforeach()
