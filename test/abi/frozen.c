/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ABI, in numbers, for 64-bit (LP64) machines: compiling this file is the test. Values are added here as the public
 * headers grow. One that changes, or goes, breaks programs already compiled: then raise NBCOLL_ABI.
 */
#include <stddef.h>

#include <nbcoll/nbcoll.h>
#include <nbcoll/neighbor.h>
#include <nbcoll/nodes.h>
#include <nbcoll/schedule.h>
#include <nbcoll/pattern.h>
#include <nbcoll/transport.h>
#include <nbcoll/select.h>
#include <nbcoll/split.h>
#include <nbcoll/driver.h>
#include <nbcoll/group.h>
#include <nbcoll/lists.h>
#include <nbcoll/message.h>
#include <nbcoll/strided.h>
#include <nbcoll/sums.h>
#include <nbcoll/tuning.h>
#include <nbcoll/affinity.h>
#include <nbcoll/verify.h>
#include <nbcoll/show.h>
#include <nbcoll/offload.h>
#include <nbcoll/relay.h>
#include <nbcoll/nic.h>
#include <nbcoll/loopback.h>
#include <nbcoll/trace.h>
#include <nbcoll/fault.h>
#include <nbcoll/launch.h>
#include <nbcoll/timeline.h>
#include <nbcoll/shm.h>
#include <nbcoll/simulate.h>
#include <nbcoll/mpi.h>
#include <nbcoll/ofi.h>
#include <nbcoll/verbs.h>
#include <nbcoll/cluster.h>
#include <nbcoll/pmix.h>
#include <nbcoll/conformance.h>

#ifdef __cplusplus
#define FROZEN(expression, number) static_assert((expression) == (number), "the ABI has changed")
#else
#define FROZEN(expression, number) _Static_assert((expression) == (number), "the ABI has changed")
#endif
#define VALUE(name, number) FROZEN((unsigned long)(name), number)
#define SIZE(type, number) FROZEN(sizeof(struct type), number)
#define OFFSET(type, member, number) FROZEN(offsetof(struct type, member), number)

/* ---- nbcoll.h ---------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_ABI, 3);
VALUE(NBCOLL_ANY_THREAD, 1);
VALUE(NBCOLL_CREDITS, 64);
VALUE(NBCOLL_ENDPOINTS, 8);
VALUE(NBCOLL_PASS_BYTES, 262144);
VALUE(NBCOLL_REPRODUCIBLE, 1);
VALUE(NBCOLL_ARRIVAL_TOLERANT, 4);
VALUE(NBCOLL_CHECKED, 8);
VALUE(NBCOLL_POSITION_UNKNOWN, 0);
VALUE(NBCOLL_POSITION_NOT_STARTED, 1);
VALUE(NBCOLL_POSITION_ACTIVE, 2);
VALUE(NBCOLL_POSITION_ENDED, 3);
VALUE(NBCOLL_POSITION_FAILED, 4);
VALUE(NBCOLL_POSITION_FREED, 5);
VALUE(NBCOLL_COUNTS_KNOWN, 2);
VALUE(NBCOLL_BY_COST, ~0ul);
VALUE(NBCOLL_FOREVER, ~0ul);
VALUE(NBCOLL_OK, 0);
VALUE(NBCOLL_PENDING, 1);
VALUE(NBCOLL_AGAIN, 2);
VALUE(NBCOLL_ERR_ARGUMENT, 3);
VALUE(NBCOLL_ERR_NULL, 4);
VALUE(NBCOLL_ERR_BUFFER, 5);
VALUE(NBCOLL_ERR_COUNT, 6);
VALUE(NBCOLL_ERR_RANK, 7);
VALUE(NBCOLL_ERR_ROOT, 8);
VALUE(NBCOLL_ERR_TYPE, 9);
VALUE(NBCOLL_ERR_OP, 10);
VALUE(NBCOLL_ERR_REQUEST, 11);
VALUE(NBCOLL_ERR_FOREIGN, 12);
VALUE(NBCOLL_ERR_ABI, 13);
VALUE(NBCOLL_ERR_CONFIG, 14);
VALUE(NBCOLL_ERR_MEMORY, 15);
VALUE(NBCOLL_ERR_LIMIT, 16);
VALUE(NBCOLL_ERR_CYCLE, 17);
VALUE(NBCOLL_ERR_UNSUPPORTED, 18);
VALUE(NBCOLL_ERR_BUSY, 19);
VALUE(NBCOLL_ERR_TIMEOUT, 20);
VALUE(NBCOLL_ERR_NO_SLOT, 21);
VALUE(NBCOLL_ERR_CANCELLED, 22);
VALUE(NBCOLL_ERR_MISMATCH, 23);
VALUE(NBCOLL_ERR_PEER_LOST, 24);
VALUE(NBCOLL_ERR_TRANSPORT, 25);
VALUE(NBCOLL_ERR_CALL, 26);
VALUE(NBCOLL_ERR_FORKED, 27);
VALUE(NBCOLL_ERR_VERIFY, 28);
VALUE(NBCOLL_ERR_ACCESS, 29);
VALUE(NBCOLL_ERR_NAMESPACE, 30);
VALUE(NBCOLL_ERR_DUPLICATE, 31);
VALUE(NBCOLL_ERR_LAUNCH, 32);
VALUE(NBCOLL_ERR_FAULT, 33);
VALUE(NBCOLL_ERR_TAG, 34);
VALUE(NBCOLL_ERR_TRUNCATED, 35);
VALUE(NBCOLL_FAILURE_MESSAGE, 9223372036854775808u);
VALUE(NBCOLL_BYTE, 0);
VALUE(NBCOLL_INT8, 1);
VALUE(NBCOLL_INT16, 2);
VALUE(NBCOLL_INT32, 3);
VALUE(NBCOLL_INT64, 4);
VALUE(NBCOLL_UINT8, 5);
VALUE(NBCOLL_UINT16, 6);
VALUE(NBCOLL_UINT32, 7);
VALUE(NBCOLL_UINT64, 8);
VALUE(NBCOLL_FLOAT, 9);
VALUE(NBCOLL_DOUBLE, 10);
VALUE(NBCOLL_LONG_DOUBLE, 11);
VALUE(NBCOLL_HALF, 12);
VALUE(NBCOLL_BFLOAT16, 13);
VALUE(NBCOLL_FLOAT_COMPLEX, 14);
VALUE(NBCOLL_DOUBLE_COMPLEX, 15);
VALUE(NBCOLL_LONG_DOUBLE_COMPLEX, 16);
VALUE(NBCOLL_BOOL, 17);
VALUE(NBCOLL_FLOAT_INT, 18);
VALUE(NBCOLL_DOUBLE_INT, 19);
VALUE(NBCOLL_LONG_INT, 20);
VALUE(NBCOLL_INT_INT, 21);
VALUE(NBCOLL_SHORT_INT, 22);
VALUE(NBCOLL_LONG_DOUBLE_INT, 23);
VALUE(NBCOLL_DOUBLE_INT64, 24);
VALUE(NBCOLL_INT64_INT64, 25);
VALUE(NBCOLL_SUM, 0);
VALUE(NBCOLL_PROD, 1);
VALUE(NBCOLL_MIN, 2);
VALUE(NBCOLL_MAX, 3);
VALUE(NBCOLL_BAND, 4);
VALUE(NBCOLL_BOR, 5);
VALUE(NBCOLL_BXOR, 6);
VALUE(NBCOLL_LAND, 7);
VALUE(NBCOLL_LOR, 8);
VALUE(NBCOLL_LXOR, 9);
VALUE(NBCOLL_MINLOC, 10);
VALUE(NBCOLL_MAXLOC, 11);
VALUE(NBCOLL_CHAR, CHAR_MIN < 0 ? 1 : 5);
VALUE(NBCOLL_SHORT, 2);
VALUE(NBCOLL_INT, 3);
VALUE(NBCOLL_LONG, 4);
VALUE(NBCOLL_LLONG, 4);
VALUE(NBCOLL_PTRDIFF, 4);
VALUE(NBCOLL_SCHAR, 1);
VALUE(NBCOLL_UCHAR, 5);
VALUE(NBCOLL_USHORT, 6);
VALUE(NBCOLL_UINT, 7);
VALUE(NBCOLL_ULONG, 8);
VALUE(NBCOLL_ULLONG, 8);
VALUE(NBCOLL_SIZE, 8);
VALUE(NBCOLL_WCHAR, WCHAR_MIN < 0 ? 3 : 7);

SIZE(nbcoll_host, 64);
OFFSET(nbcoll_host, size, 0);
OFFSET(nbcoll_host, user, 8);
OFFSET(nbcoll_host, alloc, 16);
OFFSET(nbcoll_host, free, 24);
OFFSET(nbcoll_host, log, 32);
OFFSET(nbcoll_host, now, 40);
OFFSET(nbcoll_host, pause, 48);
OFFSET(nbcoll_host, spawn, 56);

SIZE(nbcoll_context_config, 104);
OFFSET(nbcoll_context_config, size, 0);
OFFSET(nbcoll_context_config, host, 8);
OFFSET(nbcoll_context_config, observer, 72);
OFFSET(nbcoll_context_config, flags, 80);
OFFSET(nbcoll_context_config, credits, 84);
OFFSET(nbcoll_context_config, watcher, 88);
OFFSET(nbcoll_context_config, reducers, 96);

SIZE(nbcoll_transport_error, 16);
OFFSET(nbcoll_transport_error, code, 0);
OFFSET(nbcoll_transport_error, text, 8);

SIZE(nbcoll_call, 40);
OFFSET(nbcoll_call, operation, 0);
OFFSET(nbcoll_call, type, 8);
OFFSET(nbcoll_call, op, 16);
OFFSET(nbcoll_call, count, 24);
OFFSET(nbcoll_call, root, 32);
SIZE(nbcoll_failure, 144);
OFFSET(nbcoll_failure, status, 0);
OFFSET(nbcoll_failure, rank, 4);
OFFSET(nbcoll_failure, tag, 8);
OFFSET(nbcoll_failure, comm, 16);
OFFSET(nbcoll_failure, position, 24);
OFFSET(nbcoll_failure, next, 32);
OFFSET(nbcoll_failure, reason, 40);
OFFSET(nbcoll_failure, other, 56);
OFFSET(nbcoll_failure, is_before, 60);
OFFSET(nbcoll_failure, called, 64);
OFFSET(nbcoll_failure, expected, 104);

SIZE(nbcoll_request, 16);
OFFSET(nbcoll_request, at, 0);
OFFSET(nbcoll_request, generation, 8);
SIZE(nbcoll_request_head, 16);
OFFSET(nbcoll_request_head, generation, 0);
OFFSET(nbcoll_request_head, state, 8);
OFFSET(nbcoll_request_head, outcome, 12);
SIZE(nbcoll_start_block, 32);
OFFSET(nbcoll_start_block, head, 0);
OFFSET(nbcoll_start_block, process, 16);
OFFSET(nbcoll_start_block, restart, 24);
VALUE(NBCOLLI_REQUEST_INACTIVE, 1);
VALUE(NBCOLLI_REQUEST_OVER, 5);

SIZE(nbcoll_schedules, 56);
OFFSET(nbcoll_schedules, size, 0);
OFFSET(nbcoll_schedules, kept, 8);
OFFSET(nbcoll_schedules, bytes, 16);
OFFSET(nbcoll_schedules, most, 24);
OFFSET(nbcoll_schedules, operations, 32);
OFFSET(nbcoll_schedules, built, 40);
OFFSET(nbcoll_schedules, evicted, 48);

SIZE(nbcoll_cells, 32);
OFFSET(nbcoll_cells, size, 0);
OFFSET(nbcoll_cells, present, 8);
OFFSET(nbcoll_cells, lacking, 12);
OFFSET(nbcoll_cells, bytes, 16);
OFFSET(nbcoll_cells, exposures, 24);

SIZE(nbcoll_comm_config, 104);
OFFSET(nbcoll_comm_config, size, 0);
OFFSET(nbcoll_comm_config, slots, 8);
OFFSET(nbcoll_comm_config, cells, 12);
OFFSET(nbcoll_comm_config, schedules, 16);
OFFSET(nbcoll_comm_config, eager, 24);
OFFSET(nbcoll_comm_config, large, 32);
OFFSET(nbcoll_comm_config, flags, 40);
OFFSET(nbcoll_comm_config, rules, 48);
OFFSET(nbcoll_comm_config, rule_count, 56);
OFFSET(nbcoll_comm_config, node, 64);
OFFSET(nbcoll_comm_config, agent, 72);
OFFSET(nbcoll_comm_config, domain, 80);
OFFSET(nbcoll_comm_config, progress_cores, 88);
OFFSET(nbcoll_comm_config, schedule_bytes, 96);

FROZEN(sizeof(nbcoll_type), 8);
FROZEN(sizeof(nbcoll_op), 8);

SIZE(nbcoll_float_complex, 2 * sizeof(float));
OFFSET(nbcoll_float_complex, re, 0);
OFFSET(nbcoll_float_complex, im, sizeof(float));
SIZE(nbcoll_double_complex, 2 * sizeof(double));
OFFSET(nbcoll_double_complex, re, 0);
OFFSET(nbcoll_double_complex, im, sizeof(double));
SIZE(nbcoll_long_double_complex, 2 * sizeof(long double));
OFFSET(nbcoll_long_double_complex, re, 0);
OFFSET(nbcoll_long_double_complex, im, sizeof(long double));
SIZE(nbcoll_float_int, 8);
OFFSET(nbcoll_float_int, value, 0);
OFFSET(nbcoll_float_int, index, 4);
SIZE(nbcoll_double_int, 16);
OFFSET(nbcoll_double_int, value, 0);
OFFSET(nbcoll_double_int, index, 8);
SIZE(nbcoll_long_int, 16);
OFFSET(nbcoll_long_int, value, 0);
OFFSET(nbcoll_long_int, index, 8);
SIZE(nbcoll_int_int, 8);
OFFSET(nbcoll_int_int, value, 0);
OFFSET(nbcoll_int_int, index, 4);
SIZE(nbcoll_short_int, 8);
OFFSET(nbcoll_short_int, value, 0);
OFFSET(nbcoll_short_int, index, 4);
SIZE(nbcoll_long_double_int, 2 * sizeof(long double));
OFFSET(nbcoll_long_double_int, value, 0);
OFFSET(nbcoll_long_double_int, index, sizeof(long double));
SIZE(nbcoll_double_int64, 16);
OFFSET(nbcoll_double_int64, value, 0);
OFFSET(nbcoll_double_int64, index, 8);
SIZE(nbcoll_int64_int64, 16);
OFFSET(nbcoll_int64_int64, value, 0);
OFFSET(nbcoll_int64_int64, index, 8);

SIZE(nbcoll_host_type, 72);
OFFSET(nbcoll_host_type, size, 0);
OFFSET(nbcoll_host_type, extent, 8);
OFFSET(nbcoll_host_type, packed, 16);
OFFSET(nbcoll_host_type, user, 24);
OFFSET(nbcoll_host_type, pack, 32);
OFFSET(nbcoll_host_type, unpack, 40);
OFFSET(nbcoll_host_type, of, 48);
OFFSET(nbcoll_host_type, pack_units, 56);
OFFSET(nbcoll_host_type, unpack_units, 64);

SIZE(nbcoll_host_op, 40);
OFFSET(nbcoll_host_op, size, 0);
OFFSET(nbcoll_host_op, user, 8);
OFFSET(nbcoll_host_op, combine, 16);
OFFSET(nbcoll_host_op, commutative, 24);
OFFSET(nbcoll_host_op, resolve, 32);

/* ---- schedule.h -------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_START, 0);
VALUE(NBCOLL_END, 1);
VALUE(NBCOLL_ALGORITHM_REORDERS, 1);
VALUE(NBCOLL_ALGORITHM_REPRODUCIBLE, 2);
VALUE(NBCOLL_ALGORITHM_COUNTS, 4);
VALUE(NBCOLL_ALGORITHM_SEGMENT, 8);
VALUE(NBCOLL_ALGORITHM_ARITY, 16);
VALUE(NBCOLL_ALGORITHM_PORTS, 32);
VALUE(NBCOLL_ALGORITHM_SPLIT, 64);
VALUE(NBCOLL_ALGORITHM_LEADERS, 128);
VALUE(NBCOLL_ALGORITHM_NODES, 256);
VALUE(NBCOLL_ALGORITHM_DOMAINS, 1024);
VALUE(NBCOLL_ALGORITHM_DIFFERS, 512);
VALUE(NBCOLL_ALGORITHM_ARRIVAL_TOLERANT, 2048);
VALUE(NBCOLL_ALGORITHM_TOGETHER, 4096);
VALUE(NBCOLL_BUFFER_SEND, 0);
VALUE(NBCOLL_BUFFER_RECV, 1);
VALUE(NBCOLL_BUFFER_SCRATCH, 2);
VALUE(NBCOLL_BUFFER_SEND_BLOCK, 3);
VALUE(NBCOLL_BUFFER_RECV_BLOCK, 4);
VALUE(NBCOLL_BUFFER_SEND_PACKED, 5);
VALUE(NBCOLL_BUFFER_RECV_PACKED, 6);
VALUE(NBCOLL_BUFFER_COUNT, 7);
VALUE(NBCOLL_LEFT, 0);
VALUE(NBCOLL_RIGHT, 1);
VALUE(NBCOLL_NON_DEPENDENT, 0);
VALUE(NBCOLL_DEPENDENT, 1);
VALUE(NBCOLL_LANE_ANY, 0);
VALUE(NBCOLL_LANE_CALLER, 1);
VALUE(NBCOLL_LANE_PROGRESS, 2);
VALUE(NBCOLL_LANE_QUEUE, 3);
VALUE(NBCOLL_LANE_RAIL, 4);
VALUE(NBCOLL_LANE_START, 5);
VALUE(NBCOLL_JOIN, 0);
VALUE(NBCOLL_SEND, 1);
VALUE(NBCOLL_RECV, 2);
VALUE(NBCOLL_EXPOSE, 3);
VALUE(NBCOLL_FETCH, 4);
VALUE(NBCOLL_FETCH_REDUCE, 5);
VALUE(NBCOLL_COPY, 6);
VALUE(NBCOLL_REDUCE, 7);
VALUE(NBCOLL_CALL, 8);
VALUE(NBCOLL_OPERATION_BARRIER, 0);
VALUE(NBCOLL_OPERATION_BCAST, 1);
VALUE(NBCOLL_OPERATION_SCATTER, 2);
VALUE(NBCOLL_OPERATION_GATHER, 3);
VALUE(NBCOLL_OPERATION_ALLGATHER, 4);
VALUE(NBCOLL_OPERATION_REDUCE, 5);
VALUE(NBCOLL_OPERATION_ALLREDUCE, 6);
VALUE(NBCOLL_OPERATION_SCATTERV, 7);
VALUE(NBCOLL_OPERATION_GATHERV, 8);
VALUE(NBCOLL_OPERATION_ALLGATHERV, 9);
VALUE(NBCOLL_OPERATION_ALLTOALL, 10);
VALUE(NBCOLL_OPERATION_ALLTOALLV, 11);
VALUE(NBCOLL_OPERATION_ALLTOALLW, 12);
VALUE(NBCOLL_OPERATION_REDUCE_SCATTER, 13);
VALUE(NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK, 14);
VALUE(NBCOLL_OPERATION_SCAN, 15);
VALUE(NBCOLL_OPERATION_EXSCAN, 16);
VALUE(NBCOLL_STEP_READY, 0);
VALUE(NBCOLL_STEP_STARTED, 1);
VALUE(NBCOLL_STEP_ENDED, 2);
VALUE(NBCOLL_RUN_WAITS, 3);

SIZE(nbcoll_addr, 16);
OFFSET(nbcoll_addr, buffer, 0);
OFFSET(nbcoll_addr, offset, 8);

SIZE(nbcoll_region, 24);
OFFSET(nbcoll_region, at, 0);
OFFSET(nbcoll_region, bytes, 16);

SIZE(nbcoll_builder, 16);
OFFSET(nbcoll_builder, rank, 0);
OFFSET(nbcoll_builder, ranks, 4);
OFFSET(nbcoll_builder, nodes, 8);

SIZE(nbcoll_builder_config, 56);
OFFSET(nbcoll_builder_config, size, 0);
OFFSET(nbcoll_builder_config, host, 8);
OFFSET(nbcoll_builder_config, rank, 16);
OFFSET(nbcoll_builder_config, ranks, 20);
OFFSET(nbcoll_builder_config, shares, 24);
OFFSET(nbcoll_builder_config, shares_user, 32);
OFFSET(nbcoll_builder_config, cells, 40);
OFFSET(nbcoll_builder_config, flags, 44);
OFFSET(nbcoll_builder_config, nodes, 48);

SIZE(nbcoll_memory, 24);
OFFSET(nbcoll_memory, at, 0);
OFFSET(nbcoll_memory, bytes, 8);
OFFSET(nbcoll_memory, type, 16);

SIZE(nbcoll_part, 32);
OFFSET(nbcoll_part, peer, 0);
OFFSET(nbcoll_part, number, 4);
OFFSET(nbcoll_part, region, 8);

SIZE(nbcoll_reduction, 16);
OFFSET(nbcoll_reduction, type, 0);
OFFSET(nbcoll_reduction, op, 8);

SIZE(nbcoll_step_view, 184);
OFFSET(nbcoll_step_view, kind, 0);
OFFSET(nbcoll_step_view, lane, 4);
OFFSET(nbcoll_step_view, peer, 8);
OFFSET(nbcoll_step_view, number, 12);
OFFSET(nbcoll_step_view, write, 16);
OFFSET(nbcoll_step_view, read, 40);
OFFSET(nbcoll_step_view, side, 88);
OFFSET(nbcoll_step_view, reduction, 96);
OFFSET(nbcoll_step_view, parts, 112);
OFFSET(nbcoll_step_view, part_count, 120);
OFFSET(nbcoll_step_view, call, 128);
OFFSET(nbcoll_step_view, call_user, 136);
OFFSET(nbcoll_step_view, before, 144);
OFFSET(nbcoll_step_view, after_count, 148);
OFFSET(nbcoll_step_view, after, 152);
OFFSET(nbcoll_step_view, grows, 160);
OFFSET(nbcoll_step_view, piece, 168);
OFFSET(nbcoll_step_view, whole, 176);

SIZE(nbcoll_schedule_info, 96);
OFFSET(nbcoll_schedule_info, size, 0);
OFFSET(nbcoll_schedule_info, name, 8);
OFFSET(nbcoll_schedule_info, rank, 16);
OFFSET(nbcoll_schedule_info, ranks, 20);
OFFSET(nbcoll_schedule_info, steps, 24);
OFFSET(nbcoll_schedule_info, edges, 28);
OFFSET(nbcoll_schedule_info, fingerprint, 32);
OFFSET(nbcoll_schedule_info, extent, 40);

SIZE(nbcoll_args, 152);
OFFSET(nbcoll_args, size, 0);
OFFSET(nbcoll_args, operation, 8);
OFFSET(nbcoll_args, root, 12);
OFFSET(nbcoll_args, count, 16);
OFFSET(nbcoll_args, bytes, 24);
OFFSET(nbcoll_args, reduction, 32);
OFFSET(nbcoll_args, send, 48);
OFFSET(nbcoll_args, recv, 64);
OFFSET(nbcoll_args, in_place, 80);
OFFSET(nbcoll_args, segment, 88);
OFFSET(nbcoll_args, arity, 96);
OFFSET(nbcoll_args, ports, 100);
OFFSET(nbcoll_args, counts, 104);
OFFSET(nbcoll_args, displs, 112);
OFFSET(nbcoll_args, types, 120);
OFFSET(nbcoll_args, element, 128);
OFFSET(nbcoll_args, packs, 136);
OFFSET(nbcoll_args, split, 140);
OFFSET(nbcoll_args, leaders, 144);

SIZE(nbcoll_algorithm, 48);
OFFSET(nbcoll_algorithm, size, 0);
OFFSET(nbcoll_algorithm, name, 8);
OFFSET(nbcoll_algorithm, operation, 16);
OFFSET(nbcoll_algorithm, build, 24);
OFFSET(nbcoll_algorithm, flags, 32);
OFFSET(nbcoll_algorithm, cost, 40);
SIZE(nbcoll_algorithm_list, 24);
OFFSET(nbcoll_algorithm_list, size, 0);
OFFSET(nbcoll_algorithm_list, abi, 8);
OFFSET(nbcoll_algorithm_list, count, 12);
OFFSET(nbcoll_algorithm_list, algorithm, 16);

SIZE(nbcoll_event, 40);
OFFSET(nbcoll_event, moment, 0);
OFFSET(nbcoll_event, comm, 8);
OFFSET(nbcoll_event, tag, 16);
OFFSET(nbcoll_event, schedule, 24);
OFFSET(nbcoll_event, step, 32);
OFFSET(nbcoll_event, peer, 36);

SIZE(nbcoll_observer, 24);
OFFSET(nbcoll_observer, size, 0);
OFFSET(nbcoll_observer, user, 8);
OFFSET(nbcoll_observer, event, 16);

/* ---- select.h ---------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_RULES, 4096);
VALUE(NBCOLL_ANY_SHARING, 0);
VALUE(NBCOLL_SHARED, 1);
VALUE(NBCOLL_NOT_SHARED, 2);
VALUE(NBCOLL_REASON_RULE, 0);
VALUE(NBCOLL_REASON_SHARED, 1);
VALUE(NBCOLL_REASON_COST, 2);
VALUE(NBCOLL_REASON_SIZE, 3);
VALUE(NBCOLL_REASON_ONLY, 4);
VALUE(NBCOLL_REASON_RELAYS, 5);

SIZE(nbcoll_rule, 72);
OFFSET(nbcoll_rule, algorithm, 0);
OFFSET(nbcoll_rule, fewest, 8);
OFFSET(nbcoll_rule, most, 12);
OFFSET(nbcoll_rule, from, 16);
OFFSET(nbcoll_rule, below, 24);
OFFSET(nbcoll_rule, sharing, 32);
OFFSET(nbcoll_rule, line, 36);
OFFSET(nbcoll_rule, segment, 40);
OFFSET(nbcoll_rule, arity, 48);
OFFSET(nbcoll_rule, ports, 52);
OFFSET(nbcoll_rule, split, 56);
OFFSET(nbcoll_rule, leaders, 60);
OFFSET(nbcoll_rule, fewest_nodes, 64);
OFFSET(nbcoll_rule, most_nodes, 68);

SIZE(nbcoll_terms, 240);
OFFSET(nbcoll_terms, size, 0);
OFFSET(nbcoll_terms, ranks, 8);
OFFSET(nbcoll_terms, shared, 12);
OFFSET(nbcoll_terms, flags, 16);
OFFSET(nbcoll_terms, between, 24);
OFFSET(nbcoll_terms, large, 72);
OFFSET(nbcoll_terms, rules, 80);
OFFSET(nbcoll_terms, rule_count, 88);
OFFSET(nbcoll_terms, credits, 96);
OFFSET(nbcoll_terms, staging, 100);
OFFSET(nbcoll_terms, nodes, 104);
OFFSET(nbcoll_terms, inside, 112);
OFFSET(nbcoll_terms, nodes_share, 160);
OFFSET(nbcoll_terms, interfaces, 164);
OFFSET(nbcoll_terms, domain, 168);
OFFSET(nbcoll_terms, progress_cores, 216);
OFFSET(nbcoll_terms, table_ns, 220);
OFFSET(nbcoll_terms, carries, 224);
OFFSET(nbcoll_terms, staging_part, 232);
OFFSET(nbcoll_terms, ranks_per_core, 236);

SIZE(nbcoll_level, 48);
OFFSET(nbcoll_level, alpha_ns, 0);
OFFSET(nbcoll_level, overhead_ns, 4);
OFFSET(nbcoll_level, beta_ps, 8);
OFFSET(nbcoll_level, gamma_ps, 12);
OFFSET(nbcoll_level, copy_ps, 16);
OFFSET(nbcoll_level, eager_ps, 20);
OFFSET(nbcoll_level, get_ns, 24);
OFFSET(nbcoll_level, put_ns, 28);
OFFSET(nbcoll_level, fetch_ns, 32);
OFFSET(nbcoll_level, gap_ns, 36);
OFFSET(nbcoll_level, eager, 40);

SIZE(nbcoll_choice, 64);
OFFSET(nbcoll_choice, size, 0);
OFFSET(nbcoll_choice, algorithm, 8);
OFFSET(nbcoll_choice, reason, 16);
OFFSET(nbcoll_choice, arity, 20);
OFFSET(nbcoll_choice, ports, 24);
OFFSET(nbcoll_choice, split, 28);
OFFSET(nbcoll_choice, leaders, 32);
OFFSET(nbcoll_choice, segment, 40);
OFFSET(nbcoll_choice, rule, 48);
OFFSET(nbcoll_choice, bytes, 56);

/* ---- split.h ----------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_SPLIT_BLOCKING, 0);
VALUE(NBCOLL_SPLIT_COMPUTATION, 1);
VALUE(NBCOLL_SPLIT_STARTED, 2);
VALUE(NBCOLL_SPLIT_OVERLAPPED, 3);

/* ---- driver.h ---------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_DRIVER_SPIN, 20000);
VALUE(NBCOLL_TICK_LEAST, 10000);

SIZE(nbcoll_driver_config, 96);
OFFSET(nbcoll_driver_config, size, 0);
OFFSET(nbcoll_driver_config, host, 8);
OFFSET(nbcoll_driver_config, spin_ns, 72);
OFFSET(nbcoll_driver_config, cores, 80);
OFFSET(nbcoll_driver_config, core_count, 88);

SIZE(nbcoll_driver_counts, 48);
OFFSET(nbcoll_driver_counts, size, 0);
OFFSET(nbcoll_driver_counts, passes, 8);
OFFSET(nbcoll_driver_counts, sleeps, 16);
OFFSET(nbcoll_driver_counts, rings, 24);
OFFSET(nbcoll_driver_counts, looks, 32);
OFFSET(nbcoll_driver_counts, left, 40);

/* ---- message.h --------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_ANY_SOURCE, 18446744073709551615u);
VALUE(NBCOLL_ANY_TAG, 18446744073709551615u);
VALUE(NBCOLL_TAG_MOST, 2147483647);
VALUE(NBCOLL_MESSAGE_CREDITS, 64);
VALUE(NBCOLL_MESSAGE_EAGER, 4096);
VALUE(NBCOLL_MESSAGE_ANNOUNCED, 4096);
SIZE(nbcoll_list_piece, 16);
OFFSET(nbcoll_list_piece, at, 0);
OFFSET(nbcoll_list_piece, count, 8);
SIZE(nbcoll_lists, 48);
OFFSET(nbcoll_lists, type, 0);
OFFSET(nbcoll_lists, op, 8);
OFFSET(nbcoll_lists, send, 16);
OFFSET(nbcoll_lists, recv, 24);
OFFSET(nbcoll_lists, sent, 32);
OFFSET(nbcoll_lists, received, 40);
SIZE(nbcoll_messages_config, 32);
OFFSET(nbcoll_messages_config, size, 0);
OFFSET(nbcoll_messages_config, credits, 8);
OFFSET(nbcoll_messages_config, eager, 12);
OFFSET(nbcoll_messages_config, announced, 16);
OFFSET(nbcoll_messages_config, routes, 24);
OFFSET(nbcoll_messages_config, routes, 24);
SIZE(nbcoll_message_info, 16);
OFFSET(nbcoll_message_info, source, 0);
OFFSET(nbcoll_message_info, tag, 4);
OFFSET(nbcoll_message_info, bytes, 8);
SIZE(nbcoll_message, 16);
OFFSET(nbcoll_message, of, 0);
OFFSET(nbcoll_message, number, 8);

/* ---- neighbor.h -------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_NEIGHBOR_DIMS, 8);
VALUE(NBCOLL_NEIGHBOR_OFFSETS_MOST, 1024);
VALUE(NBCOLL_NEIGHBORS_MOST, 65536);

SIZE(nbcoll_neighbor_graph, 40);
OFFSET(nbcoll_neighbor_graph, size, 0);
OFFSET(nbcoll_neighbor_graph, sources, 8);
OFFSET(nbcoll_neighbor_graph, destinations, 12);
OFFSET(nbcoll_neighbor_graph, source, 16);
OFFSET(nbcoll_neighbor_graph, destination, 24);
OFFSET(nbcoll_neighbor_graph, host, 32);

SIZE(nbcoll_neighbor_grid, 64);
OFFSET(nbcoll_neighbor_grid, size, 0);
OFFSET(nbcoll_neighbor_grid, dims, 8);
OFFSET(nbcoll_neighbor_grid, extent, 16);
OFFSET(nbcoll_neighbor_grid, periodic, 24);
OFFSET(nbcoll_neighbor_grid, neighbors, 32);
OFFSET(nbcoll_neighbor_grid, offset, 40);
OFFSET(nbcoll_neighbor_grid, reorder, 48);
OFFSET(nbcoll_neighbor_grid, host, 56);

SIZE(nbcoll_neighborhood, 56);
OFFSET(nbcoll_neighborhood, size, 0);
OFFSET(nbcoll_neighborhood, comm, 8);
OFFSET(nbcoll_neighborhood, sources, 16);
OFFSET(nbcoll_neighborhood, destinations, 20);
OFFSET(nbcoll_neighborhood, source, 24);
OFFSET(nbcoll_neighborhood, destination, 32);
OFFSET(nbcoll_neighborhood, dims, 40);
OFFSET(nbcoll_neighborhood, coordinate, 48);
/* ---- strided.h and sums.h ---------------------------------------------------------------------------------------- */
SIZE(nbcoll_steps, 16);
OFFSET(nbcoll_steps, count, 0);
OFFSET(nbcoll_steps, stride, 8);
SIZE(nbcoll_strided, 112);
OFFSET(nbcoll_strided, type, 0);
OFFSET(nbcoll_strided, block, 72);
OFFSET(nbcoll_strided, inner, 80);
OFFSET(nbcoll_strided, outer, 96);
SIZE(nbcoll_strided_sum, 184);
OFFSET(nbcoll_strided_sum, op, 0);
OFFSET(nbcoll_strided_sum, strided, 40);
OFFSET(nbcoll_strided_sum, sum, 48);
OFFSET(nbcoll_strided_sum, inner, 56);
OFFSET(nbcoll_strided_sum, by, 128);
OFFSET(nbcoll_strided_sum, item, 168);
OFFSET(nbcoll_strided_sum, state, 176);
SIZE(nbcoll_bins, 32);
OFFSET(nbcoll_bins, digit, 0);
OFFSET(nbcoll_bins, place, 24);
OFFSET(nbcoll_bins, seen, 28);

/* ---- tuning.h ---------------------------------------------------------------------------------------------------- */
SIZE(nbcoll_tuning, 16);
OFFSET(nbcoll_tuning, rules, 0);
OFFSET(nbcoll_tuning, count, 8);

SIZE(nbcoll_tuning_problem, 176);
OFFSET(nbcoll_tuning_problem, size, 0);
OFFSET(nbcoll_tuning_problem, line, 8);
OFFSET(nbcoll_tuning_problem, text, 12);

/* ---- nodes.h ----------------------------------------------------------------------------------------------------- */
SIZE(nbcoll_nodes, 64);
OFFSET(nbcoll_nodes, size, 0);
OFFSET(nbcoll_nodes, ranks, 8);
OFFSET(nbcoll_nodes, count, 12);
OFFSET(nbcoll_nodes, are_blocks, 16);
OFFSET(nbcoll_nodes, node, 24);
OFFSET(nbcoll_nodes, place, 32);
OFFSET(nbcoll_nodes, begins, 40);
OFFSET(nbcoll_nodes, member, 48);
OFFSET(nbcoll_nodes, domains, 56);
VALUE(NBCOLL_NUMBERING_BLOCK, 0);
VALUE(NBCOLL_NUMBERING_ROUND_ROBIN, 1);
VALUE(NBCOLL_NUMBERING_RANDOM, 2);
SIZE(nbcoll_placement, 48);
OFFSET(nbcoll_placement, size, 0);
OFFSET(nbcoll_placement, room, 8);
OFFSET(nbcoll_placement, rooms, 16);
OFFSET(nbcoll_placement, numbering, 24);
OFFSET(nbcoll_placement, seed, 32);
OFFSET(nbcoll_placement, domain, 40);

/* ---- timeline.h -------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_TIMELINE_EVENTS, 32768);
VALUE(NBCOLL_NOTED_BEGIN, 0);
VALUE(NBCOLL_NOTED_STARTED, 1);
VALUE(NBCOLL_NOTED_ENDED, 2);
VALUE(NBCOLL_NOTED_END, 3);
VALUE(NBCOLL_NOTED_OPENED, 4);
VALUE(NBCOLL_NOTED_WAITS, 5);

SIZE(nbcoll_timeline_event, 80);
OFFSET(nbcoll_timeline_event, ns, 0);
OFFSET(nbcoll_timeline_event, comm, 8);
OFFSET(nbcoll_timeline_event, tag, 16);
OFFSET(nbcoll_timeline_event, step, 24);
OFFSET(nbcoll_timeline_event, noted, 28);
OFFSET(nbcoll_timeline_event, kind, 29);
OFFSET(nbcoll_timeline_event, unused, 30);
OFFSET(nbcoll_timeline_event, bytes, 32);
OFFSET(nbcoll_timeline_event, peer, 40);
OFFSET(nbcoll_timeline_event, number, 44);
OFFSET(nbcoll_timeline_event, name, 48);

/* ---- affinity.h -------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_NEAR_CORE, 0);
VALUE(NBCOLL_NEAR_L2, 1);
VALUE(NBCOLL_NEAR_L3, 2);
VALUE(NBCOLL_NEAR_NUMA, 3);
VALUE(NBCOLL_NEAR_PACKAGE, 4);
VALUE(NBCOLL_NEAR_MACHINE, 5);

SIZE(nbcoll_affinity_config, 64);
OFFSET(nbcoll_affinity_config, size, 0);
OFFSET(nbcoll_affinity_config, ranks, 8);
OFFSET(nbcoll_affinity_config, ranks_on, 16);
OFFSET(nbcoll_affinity_config, within, 24);
OFFSET(nbcoll_affinity_config, within_count, 32);
OFFSET(nbcoll_affinity_config, drivers_on, 40);
OFFSET(nbcoll_affinity_config, drivers_count, 48);
OFFSET(nbcoll_affinity_config, topology, 56);

SIZE(nbcoll_rank_place, 12);
OFFSET(nbcoll_rank_place, rank, 0);
OFFSET(nbcoll_rank_place, driver, 4);
OFFSET(nbcoll_rank_place, near, 8);

SIZE(nbcoll_affinity, 216);
OFFSET(nbcoll_affinity, place, 0);
OFFSET(nbcoll_affinity, ranks, 8);
OFFSET(nbcoll_affinity, cores, 12);
OFFSET(nbcoll_affinity, idle, 16);
OFFSET(nbcoll_affinity, why, 20);

/* ---- verbs.h ----------------------------------------------------------------------------------------------------- */
SIZE(nbcoll_verbs_config, 136);
OFFSET(nbcoll_verbs_config, size, 0);
OFFSET(nbcoll_verbs_config, rank, 8);
OFFSET(nbcoll_verbs_config, ranks, 12);
OFFSET(nbcoll_verbs_config, device, 16);
OFFSET(nbcoll_verbs_config, port, 24);
OFFSET(nbcoll_verbs_config, gid_index, 28);
OFFSET(nbcoll_verbs_config, credits, 32);
OFFSET(nbcoll_verbs_config, payload, 36);
OFFSET(nbcoll_verbs_config, timeout, 40);
OFFSET(nbcoll_verbs_config, retries, 44);
OFFSET(nbcoll_verbs_config, probe_ms, 48);
OFFSET(nbcoll_verbs_config, connect_ms, 52);
OFFSET(nbcoll_verbs_config, host, 56);
OFFSET(nbcoll_verbs_config, registrations, 120);
OFFSET(nbcoll_verbs_config, beside, 128);

SIZE(nbcoll_verbs_address, 144);
OFFSET(nbcoll_verbs_address, word, 0);

SIZE(nbcoll_verbs_count, 56);
OFFSET(nbcoll_verbs_count, size, 0);
OFFSET(nbcoll_verbs_count, hits, 8);
OFFSET(nbcoll_verbs_count, misses, 16);
OFFSET(nbcoll_verbs_count, kept, 24);
OFFSET(nbcoll_verbs_count, inlined, 32);
OFFSET(nbcoll_verbs_count, peers, 40);
OFFSET(nbcoll_verbs_count, peer_bytes, 48);

/* ---- mpi.h ------------------------------------------------------------------------------------------------------- */
SIZE(nbcoll_mpi_config, 160);
OFFSET(nbcoll_mpi_config, size, 0);
OFFSET(nbcoll_mpi_config, comm, 8);
OFFSET(nbcoll_mpi_config, process, 16);
OFFSET(nbcoll_mpi_config, rank, 24);
OFFSET(nbcoll_mpi_config, ranks, 28);
OFFSET(nbcoll_mpi_config, first_tag, 32);
OFFSET(nbcoll_mpi_config, credits, 36);
OFFSET(nbcoll_mpi_config, receives, 40);
OFFSET(nbcoll_mpi_config, payload, 44);
OFFSET(nbcoll_mpi_config, price, 48);
OFFSET(nbcoll_mpi_config, host, 96);

/* ---- ofi.h ------------------------------------------------------------------------------------------------------- */
SIZE(nbcoll_ofi_config, 120);
OFFSET(nbcoll_ofi_config, size, 0);
OFFSET(nbcoll_ofi_config, rank, 8);
OFFSET(nbcoll_ofi_config, ranks, 12);
OFFSET(nbcoll_ofi_config, provider, 16);
OFFSET(nbcoll_ofi_config, domain, 24);
OFFSET(nbcoll_ofi_config, address, 32);
OFFSET(nbcoll_ofi_config, credits, 40);
OFFSET(nbcoll_ofi_config, payload, 44);
OFFSET(nbcoll_ofi_config, lost_ms, 48);
OFFSET(nbcoll_ofi_config, host, 56);

SIZE(nbcoll_ofi_address, 320);
OFFSET(nbcoll_ofi_address, word, 0);

/* ---- cluster.h, pmix.h ------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_CLUSTER_NO_VERBS, 1);
VALUE(NBCOLL_CLUSTER_NO_SHM, 2);
VALUE(NBCOLL_CLUSTER_NO_OFI, 4);

SIZE(nbcoll_cluster_config, 144);
OFFSET(nbcoll_cluster_config, size, 0);
OFFSET(nbcoll_cluster_config, rank, 8);
OFFSET(nbcoll_cluster_config, ranks, 12);
OFFSET(nbcoll_cluster_config, exchange, 16);
OFFSET(nbcoll_cluster_config, user, 24);
OFFSET(nbcoll_cluster_config, shm, 32);
OFFSET(nbcoll_cluster_config, verbs, 40);
OFFSET(nbcoll_cluster_config, timeout, 48);
OFFSET(nbcoll_cluster_config, part, 56);
OFFSET(nbcoll_cluster_config, flags, 64);
OFFSET(nbcoll_cluster_config, host, 72);
OFFSET(nbcoll_cluster_config, ofi, 136);

SIZE(nbcoll_cluster_place, 264);
OFFSET(nbcoll_cluster_place, name, 0);
OFFSET(nbcoll_cluster_place, first, 256);
OFFSET(nbcoll_cluster_place, ranks, 260);

SIZE(nbcoll_tcp_place, 32);
OFFSET(nbcoll_tcp_place, size, 0);
OFFSET(nbcoll_tcp_place, host, 8);
OFFSET(nbcoll_tcp_place, secret, 16);
OFFSET(nbcoll_tcp_place, job, 24);

SIZE(nbcoll_tcp_id, 448);
OFFSET(nbcoll_tcp_id, text, 0);

SIZE(nbcoll_tcp_config, 104);
OFFSET(nbcoll_tcp_config, size, 0);
OFFSET(nbcoll_tcp_config, rank, 8);
OFFSET(nbcoll_tcp_config, ranks, 12);
OFFSET(nbcoll_tcp_config, port, 16);
OFFSET(nbcoll_tcp_config, timeout, 24);
OFFSET(nbcoll_tcp_config, host, 32);
OFFSET(nbcoll_tcp_config, listener, 96);

SIZE(nbcoll_pmix_config, 88);
OFFSET(nbcoll_pmix_config, size, 0);
OFFSET(nbcoll_pmix_config, name, 8);
OFFSET(nbcoll_pmix_config, timeout, 16);
OFFSET(nbcoll_pmix_config, host, 24);

/* ---- pattern.h --------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_ROUNDS_MAX, 31);
VALUE(NBCOLL_SEGMENTS_MAX, 256);

SIZE(nbcoll_group, 12);
OFFSET(nbcoll_group, low, 0);
OFFSET(nbcoll_group, high, 4);
OFFSET(nbcoll_group, root, 8);

/* ---- transport.h ------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_POST_DONE, 0);
VALUE(NBCOLL_POST_IN_FLIGHT, 1);
VALUE(NBCOLL_POST_NOT_NOW, 2);
VALUE(NBCOLL_POST_LOST, 3);
VALUE(NBCOLL_POST_FAILED, 4);

SIZE(nbcoll_header, 48);
OFFSET(nbcoll_header, word, 0);

SIZE(nbcoll_work, 48);
OFFSET(nbcoll_work, next, 0);
OFFSET(nbcoll_work, status, 8);
OFFSET(nbcoll_work, owner, 12);
OFFSET(nbcoll_work, scratch, 16);

SIZE(nbcoll_arrival, 80);
OFFSET(nbcoll_arrival, next, 0);
OFFSET(nbcoll_arrival, source, 8);
OFFSET(nbcoll_arrival, header, 16);
OFFSET(nbcoll_arrival, payload, 64);
OFFSET(nbcoll_arrival, bytes, 72);

SIZE(nbcoll_completions, 32);
OFFSET(nbcoll_completions, arrived, 0);
OFFSET(nbcoll_completions, completed, 8);
OFFSET(nbcoll_completions, lost, 16);
OFFSET(nbcoll_completions, departed, 20);
OFFSET(nbcoll_completions, lines, 24);

SIZE(nbcoll_key, 64);
OFFSET(nbcoll_key, word, 0);

VALUE(NBCOLL_PEER_READS, 1);
VALUE(NBCOLL_PEER_WRITES, 2);
VALUE(NBCOLL_LOCAL_END, 4);
VALUE(NBCOLL_BULK_ANY_LOCAL, 1);
VALUE(NBCOLL_BULK_ONE_KEY, 2);
SIZE(nbcoll_registration, 80);
OFFSET(nbcoll_registration, key, 0);
OFFSET(nbcoll_registration, word, 64);

SIZE(nbcoll_bulk, 64);
OFFSET(nbcoll_bulk, size, 0);
OFFSET(nbcoll_bulk, flags, 8);
OFFSET(nbcoll_bulk, register_memory, 16);
OFFSET(nbcoll_bulk, deregister_memory, 24);
OFFSET(nbcoll_bulk, get, 32);
OFFSET(nbcoll_bulk, put, 40);
OFFSET(nbcoll_bulk, reaches, 48);
OFFSET(nbcoll_bulk, view, 56);

SIZE(nbcoll_shared, 64);
OFFSET(nbcoll_shared, size, 0);
OFFSET(nbcoll_shared, reserve, 8);
OFFSET(nbcoll_shared, release, 16);
OFFSET(nbcoll_shared, map, 24);
OFFSET(nbcoll_shared, wake, 32);
OFFSET(nbcoll_shared, copy_in, 40);
OFFSET(nbcoll_shared, descriptor, 48);
OFFSET(nbcoll_shared, staging_part, 56);

SIZE(nbcoll_wakeup, 24);
OFFSET(nbcoll_wakeup, size, 0);
OFFSET(nbcoll_wakeup, fd, 8);
OFFSET(nbcoll_wakeup, arm, 16);

VALUE(NBCOLL_LINE_PAYLOAD, 48);
SIZE(nbcoll_line_arrival, 40);
OFFSET(nbcoll_line_arrival, next, 0);
OFFSET(nbcoll_line_arrival, source, 8);
OFFSET(nbcoll_line_arrival, channel, 12);
OFFSET(nbcoll_line_arrival, bytes, 16);
OFFSET(nbcoll_line_arrival, turn, 24);
OFFSET(nbcoll_line_arrival, payload, 32);

SIZE(nbcoll_lines, 32);
OFFSET(nbcoll_lines, size, 0);
OFFSET(nbcoll_lines, post, 8);
OFFSET(nbcoll_lines, take, 16);
OFFSET(nbcoll_lines, are_long, 24);

SIZE(nbcoll_limits, 88);
OFFSET(nbcoll_limits, size, 0);
OFFSET(nbcoll_limits, payload, 8);
OFFSET(nbcoll_limits, price, 16);
OFFSET(nbcoll_limits, key_bytes, 64);
OFFSET(nbcoll_limits, channels, 68);
OFFSET(nbcoll_limits, receives, 72);
OFFSET(nbcoll_limits, ranks_per_core, 76);
OFFSET(nbcoll_limits, staging, 80);
OFFSET(nbcoll_limits, interfaces, 84);

VALUE(NBCOLL_SAFE_POST, 1);
VALUE(NBCOLL_SAFE_PROGRESS, 2);
VALUE(NBCOLL_SAFE_CANCEL, 4);
VALUE(NBCOLL_SAFE_BULK, 8);
VALUE(NBCOLL_SAFE_WAKE, 16);
VALUE(NBCOLL_SAFE_LINES, 32);
SIZE(nbcoll_transport, 144);
OFFSET(nbcoll_transport, abi, 0);
OFFSET(nbcoll_transport, size, 4);
OFFSET(nbcoll_transport, name, 8);
OFFSET(nbcoll_transport, post, 16);
OFFSET(nbcoll_transport, progress, 24);
OFFSET(nbcoll_transport, cancel, 32);
OFFSET(nbcoll_transport, close, 40);
OFFSET(nbcoll_transport, bulk, 48);
OFFSET(nbcoll_transport, wakeup, 56);
OFFSET(nbcoll_transport, shared, 64);
OFFSET(nbcoll_transport, abandon, 72);
OFFSET(nbcoll_transport, give_up, 80);
OFFSET(nbcoll_transport, lines, 88);
OFFSET(nbcoll_transport, peer_limits, 96);
OFFSET(nbcoll_transport, reason, 104);
OFFSET(nbcoll_transport, signal_safe, 112);
OFFSET(nbcoll_transport, identify, 120);
OFFSET(nbcoll_transport, offload, 128);
OFFSET(nbcoll_transport, touches, 136);

VALUE(NBCOLL_POSTING_SEND, 0);
VALUE(NBCOLL_POSTING_RECEIVE, 1);
VALUE(NBCOLL_POSTING_WAIT, 2);

SIZE(nbcoll_posting, 48);
OFFSET(nbcoll_posting, kind, 0);
OFFSET(nbcoll_posting, signal, 4);
OFFSET(nbcoll_posting, memory, 8);
OFFSET(nbcoll_posting, bytes, 16);
OFFSET(nbcoll_posting, local, 24);
OFFSET(nbcoll_posting, completions, 32);
OFFSET(nbcoll_posting, count, 40);
OFFSET(nbcoll_posting, from, 44);

SIZE(nbcoll_queue_config, 48);
OFFSET(nbcoll_queue_config, size, 0);
OFFSET(nbcoll_queue_config, peer, 8);
OFFSET(nbcoll_queue_config, number, 12);
OFFSET(nbcoll_queue_config, depth, 16);
OFFSET(nbcoll_queue_config, held, 20);
OFFSET(nbcoll_queue_config, sent, 24);
OFFSET(nbcoll_queue_config, received, 32);
OFFSET(nbcoll_queue_config, shared, 40);

SIZE(nbcoll_shared_arrival, 16);
OFFSET(nbcoll_shared_arrival, pair, 0);
OFFSET(nbcoll_shared_arrival, memory, 8);

SIZE(nbcoll_queue_demand, 24);
OFFSET(nbcoll_queue_demand, size, 0);
OFFSET(nbcoll_queue_demand, pairs, 8);
OFFSET(nbcoll_queue_demand, depth, 12);
OFFSET(nbcoll_queue_demand, shared, 16);
OFFSET(nbcoll_queue_demand, shared_depth, 20);

SIZE(nbcoll_offload, 104);
OFFSET(nbcoll_offload, size, 0);
OFFSET(nbcoll_offload, open_cq, 8);
OFFSET(nbcoll_offload, open_queue, 16);
OFFSET(nbcoll_offload, post, 24);
OFFSET(nbcoll_offload, enable, 32);
OFFSET(nbcoll_offload, wait, 40);
OFFSET(nbcoll_offload, close, 48);
OFFSET(nbcoll_offload, open_shared, 56);
OFFSET(nbcoll_offload, post_shared, 64);
OFFSET(nbcoll_offload, take, 72);
OFFSET(nbcoll_offload, watch_shared, 80);
OFFSET(nbcoll_offload, close_shared, 88);
OFFSET(nbcoll_offload, admits, 96);

SIZE(nbcoll_endpoint, 120);
OFFSET(nbcoll_endpoint, transport, 0);
OFFSET(nbcoll_endpoint, rank, 8);
OFFSET(nbcoll_endpoint, ranks, 12);
OFFSET(nbcoll_endpoint, owner, 16);
OFFSET(nbcoll_endpoint, limits, 24);
OFFSET(nbcoll_endpoint, busy, 112);
OFFSET(nbcoll_endpoint, patient, 116);

/* ---- verify.h ---------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_PLACES, 8);
VALUE(NBCOLL_FLAW_NONE, 0);
VALUE(NBCOLL_FLAW_FINGERPRINT, 1);
VALUE(NBCOLL_FLAW_NO_RECV, 2);
VALUE(NBCOLL_FLAW_NO_SEND, 3);
VALUE(NBCOLL_FLAW_NO_FETCH, 4);
VALUE(NBCOLL_FLAW_NO_EXPOSE, 5);
VALUE(NBCOLL_FLAW_LENGTH, 6);
VALUE(NBCOLL_FLAW_DEADLOCK, 7);
VALUE(NBCOLL_FLAW_RACE, 8);
VALUE(NBCOLL_FLAW_UNDEFINED, 9);
VALUE(NBCOLL_FLAW_STRAY, 10);
VALUE(NBCOLL_FLAW_UNWRITTEN, 11);
VALUE(NBCOLL_FLAW_WRONG, 12);
VALUE(NBCOLL_FLAW_MISSING, 13);
VALUE(NBCOLL_FLAW_TWICE, 14);
VALUE(NBCOLL_FLAW_ORDER, 15);
VALUE(NBCOLL_FLAW_BITS, 16);
VALUE(NBCOLL_FLAW_EARLY, 17);
VALUE(NBCOLL_FLAW_TREE, 18);
VALUE(NBCOLL_FLAW_QUEUE, 19);
VALUE(NBCOLL_FLAW_ENABLED, 20);
VALUE(NBCOLL_FLAW_SHARED_CQ, 21);
VALUE(NBCOLL_FLAW_CONSUMED, 22);
VALUE(NBCOLL_FLAW_NOT_READY, 23);
VALUE(NBCOLL_FLAW_UNORDERED, 24);
VALUE(NBCOLL_FLAW_STUCK, 25);
VALUE(NBCOLL_SPREAD_EQUAL, 0);
VALUE(NBCOLL_SPREAD_HOLES, 1);
VALUE(NBCOLL_SPREAD_RISING, 2);
VALUE(NBCOLL_SPREAD_LONE, 3);

SIZE(nbcoll_place, 32);
OFFSET(nbcoll_place, rank, 0);
OFFSET(nbcoll_place, step, 4);
OFFSET(nbcoll_place, bytes, 8);

SIZE(nbcoll_refutation, 752);
OFFSET(nbcoll_refutation, size, 0);
OFFSET(nbcoll_refutation, flaw, 8);
OFFSET(nbcoll_refutation, places, 12);
OFFSET(nbcoll_refutation, place, 16);
OFFSET(nbcoll_refutation, text, 272);

SIZE(nbcoll_claim, 48);
OFFSET(nbcoll_claim, offset, 0);
OFFSET(nbcoll_claim, bytes, 8);
OFFSET(nbcoll_claim, first, 16);
OFFSET(nbcoll_claim, last, 20);
OFFSET(nbcoll_claim, from, 24);
OFFSET(nbcoll_claim, how, 32);

SIZE(nbcoll_meaning, 72);
OFFSET(nbcoll_meaning, size, 0);
OFFSET(nbcoll_meaning, user, 8);
OFFSET(nbcoll_meaning, ranks, 16);
OFFSET(nbcoll_meaning, any_order, 20);
OFFSET(nbcoll_meaning, same_bits, 24);
OFFSET(nbcoll_meaning, is_barrier, 28);
OFFSET(nbcoll_meaning, input, 32);
OFFSET(nbcoll_meaning, claim, 40);
OFFSET(nbcoll_meaning, block, 48);
OFFSET(nbcoll_meaning, same_tree, 56);
OFFSET(nbcoll_meaning, travels, 64);

VALUE(NBCOLL_CASE_BY_NODE, ~0ul);
SIZE(nbcoll_case, 96);
OFFSET(nbcoll_case, size, 0);
OFFSET(nbcoll_case, operation, 8);
OFFSET(nbcoll_case, ranks, 12);
OFFSET(nbcoll_case, root, 16);
OFFSET(nbcoll_case, node, 20);
OFFSET(nbcoll_case, count, 24);
OFFSET(nbcoll_case, reduction, 32);
OFFSET(nbcoll_case, in_place, 48);
OFFSET(nbcoll_case, spread, 52);
OFFSET(nbcoll_case, apart, 56);
OFFSET(nbcoll_case, known, 60);
OFFSET(nbcoll_case, segment, 64);
OFFSET(nbcoll_case, arity, 72);
OFFSET(nbcoll_case, ports, 76);
OFFSET(nbcoll_case, split, 80);
OFFSET(nbcoll_case, leaders, 84);
OFFSET(nbcoll_case, nodes, 88);

SIZE(nbcoll_grid, 80);
OFFSET(nbcoll_grid, size, 0);
OFFSET(nbcoll_grid, host, 8);
OFFSET(nbcoll_grid, fewest, 16);
OFFSET(nbcoll_grid, most, 20);
OFFSET(nbcoll_grid, root, 24);
OFFSET(nbcoll_grid, all_blocks, 28);
OFFSET(nbcoll_grid, counts, 32);
OFFSET(nbcoll_grid, count, 40);
OFFSET(nbcoll_grid, visit, 48);
OFFSET(nbcoll_grid, user, 56);
OFFSET(nbcoll_grid, only_visit, 64);
OFFSET(nbcoll_grid, placement, 72);

/* ---- offload.h --------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_NO_QUEUE, 4294967295);
VALUE(NBCOLL_HOLDS_SENDS, 1);
VALUE(NBCOLL_HOLDS_RECEIVES, 2);
VALUE(NBCOLL_REFUSAL_NONE, 0);
VALUE(NBCOLL_REFUSAL_CALL, 1);
VALUE(NBCOLL_REFUSAL_COMBINES, 2);
VALUE(NBCOLL_REFUSAL_BLOCKS, 3);
VALUE(NBCOLL_REFUSAL_EXPOSES, 4);
VALUE(NBCOLL_REFUSAL_TASKS, 5);
VALUE(NBCOLL_REFUSAL_QUEUE_PAIRS, 6);
VALUE(NBCOLL_REFUSAL_BUFFERS, 7);
VALUE(NBCOLL_REFUSAL_DEPTH, 8);
VALUE(NBCOLL_REFUSAL_AGENT, 9);
VALUE(NBCOLL_REFUSAL_TABLES, 10);
VALUE(NBCOLL_REFUSAL_MEMORY, 11);
VALUE(NBCOLL_REFUSAL_BETWEEN, 12);
VALUE(NBCOLL_REFUSAL_ONE_PART, 13);
VALUE(NBCOLL_REFUSAL_APART, 14);
VALUE(NBCOLL_REFUSAL_CELLS, 15);
VALUE(NBCOLL_REFUSAL_SCRATCH, 16);
VALUE(NBCOLL_REFUSAL_CARRIED, 17);
VALUE(NBCOLL_TASK_SEND, 0);
VALUE(NBCOLL_TASK_RECV, 1);
VALUE(NBCOLL_TASK_WAIT, 2);
VALUE(NBCOLL_TASK_SEND_ENABLE, 3);
VALUE(NBCOLL_TASK_RECEIVE_ENABLE, 4);
VALUE(NBCOLL_TASK_CALC, 5);
VALUE(NBCOLL_QUEUE_EAGER, 0);
VALUE(NBCOLL_QUEUE_CLEAR, 1);
VALUE(NBCOLL_QUEUE_BULK, 2);
VALUE(NBCOLL_QUEUE_MANAGEMENT, 3);
VALUE(NBCOLL_BOTH_WAYS, 0);
VALUE(NBCOLL_OUTWARD, 1);
VALUE(NBCOLL_INWARD, 2);

SIZE(nbcoll_program_config, 72);
OFFSET(nbcoll_program_config, size, 0);
OFFSET(nbcoll_program_config, host, 8);
OFFSET(nbcoll_program_config, threshold, 16);
OFFSET(nbcoll_program_config, eager, 24);
OFFSET(nbcoll_program_config, in_flight, 32);
OFFSET(nbcoll_program_config, management, 36);
OFFSET(nbcoll_program_config, tasks, 40);
OFFSET(nbcoll_program_config, queue_pairs, 48);
OFFSET(nbcoll_program_config, buffers, 56);
OFFSET(nbcoll_program_config, keeps_scratch, 64);
OFFSET(nbcoll_program_config, in_parts, 68);

SIZE(nbcoll_refusal, 288);
OFFSET(nbcoll_refusal, size, 0);
OFFSET(nbcoll_refusal, reason, 8);
OFFSET(nbcoll_refusal, rank, 12);
OFFSET(nbcoll_refusal, step, 16);
OFFSET(nbcoll_refusal, needed, 24);
OFFSET(nbcoll_refusal, allowed, 32);
OFFSET(nbcoll_refusal, text, 40);
OFFSET(nbcoll_refusal, parts, 280);

SIZE(nbcoll_task_bytes, 32);
OFFSET(nbcoll_task_bytes, eager, 0);
OFFSET(nbcoll_task_bytes, region, 8);

SIZE(nbcoll_task, 136);
OFFSET(nbcoll_task, kind, 0);
OFFSET(nbcoll_task, signal, 4);
OFFSET(nbcoll_task, queue, 8);
OFFSET(nbcoll_task, cq, 12);
OFFSET(nbcoll_task, count, 16);
OFFSET(nbcoll_task, step, 20);
OFFSET(nbcoll_task, write, 24);
OFFSET(nbcoll_task, read, 56);
OFFSET(nbcoll_task, reduction, 120);

SIZE(nbcoll_queue_view, 56);
OFFSET(nbcoll_queue_view, kind, 0);
OFFSET(nbcoll_queue_view, peer, 4);
OFFSET(nbcoll_queue_view, direction, 8);
OFFSET(nbcoll_queue_view, held, 12);
OFFSET(nbcoll_queue_view, send_cq, 16);
OFFSET(nbcoll_queue_view, receive_cq, 20);
OFFSET(nbcoll_queue_view, send_count, 24);
OFFSET(nbcoll_queue_view, sends, 32);
OFFSET(nbcoll_queue_view, receive_count, 40);
OFFSET(nbcoll_queue_view, receives, 48);

SIZE(nbcoll_program_info, 128);
OFFSET(nbcoll_program_info, size, 0);
OFFSET(nbcoll_program_info, name, 8);
OFFSET(nbcoll_program_info, rank, 16);
OFFSET(nbcoll_program_info, ranks, 20);
OFFSET(nbcoll_program_info, queues, 24);
OFFSET(nbcoll_program_info, management, 28);
OFFSET(nbcoll_program_info, cqs, 32);
OFFSET(nbcoll_program_info, tasks, 40);
OFFSET(nbcoll_program_info, connections, 48);
OFFSET(nbcoll_program_info, queue_pairs, 56);
OFFSET(nbcoll_program_info, buffers, 64);
OFFSET(nbcoll_program_info, copies, 68);
OFFSET(nbcoll_program_info, eager, 72);
OFFSET(nbcoll_program_info, threshold, 80);
OFFSET(nbcoll_program_info, extent, 88);
OFFSET(nbcoll_program_info, fingerprint, 112);
OFFSET(nbcoll_program_info, blocks, 116);

SIZE(nbcoll_agent_config, 32);
OFFSET(nbcoll_agent_config, size, 0);
OFFSET(nbcoll_agent_config, host, 8);
OFFSET(nbcoll_agent_config, eager, 16);
OFFSET(nbcoll_agent_config, depth, 24);
OFFSET(nbcoll_agent_config, in_flight, 28);

VALUE(NBCOLL_SERVE_OUTSIDE, 1);
SIZE(nbcoll_serve_config, 72);
OFFSET(nbcoll_serve_config, size, 0);
OFFSET(nbcoll_serve_config, agent, 8);
OFFSET(nbcoll_serve_config, endpoints, 16);
OFFSET(nbcoll_serve_config, sockets, 24);
OFFSET(nbcoll_serve_config, count, 32);
OFFSET(nbcoll_serve_config, programs, 36);
OFFSET(nbcoll_serve_config, tables, 40);
OFFSET(nbcoll_serve_config, copied, 48);
OFFSET(nbcoll_serve_config, flags, 56);
OFFSET(nbcoll_serve_config, scratch, 64);

SIZE(nbcoll_attach_config, 40);
OFFSET(nbcoll_attach_config, size, 0);
OFFSET(nbcoll_attach_config, host, 8);
OFFSET(nbcoll_attach_config, socket, 16);
OFFSET(nbcoll_attach_config, timeout, 24);
OFFSET(nbcoll_attach_config, memory, 32);

/* ---- nic.h ------------------------------------------------------------------------------------------------------ */
SIZE(nbcoll_nic_model, 104);
OFFSET(nbcoll_nic_model, size, 0);
OFFSET(nbcoll_nic_model, post, 8);
OFFSET(nbcoll_nic_model, task, 16);
OFFSET(nbcoll_nic_model, miss, 24);
OFFSET(nbcoll_nic_model, latency, 32);
OFFSET(nbcoll_nic_model, gap, 40);
OFFSET(nbcoll_nic_model, byte, 48);
OFFSET(nbcoll_nic_model, calc, 56);
OFFSET(nbcoll_nic_model, copy, 64);
OFFSET(nbcoll_nic_model, cached, 72);
OFFSET(nbcoll_nic_model, ports, 76);
OFFSET(nbcoll_nic_model, nics, 80);
OFFSET(nbcoll_nic_model, node, 84);
OFFSET(nbcoll_nic_model, memory, 88);
OFFSET(nbcoll_nic_model, cache, 96);
SIZE(nbcoll_nic_config, 80);
OFFSET(nbcoll_nic_config, size, 0);
OFFSET(nbcoll_nic_config, host, 8);
OFFSET(nbcoll_nic_config, ranks, 16);
OFFSET(nbcoll_nic_config, model, 24);
OFFSET(nbcoll_nic_config, start, 32);
OFFSET(nbcoll_nic_config, compute, 40);
OFFSET(nbcoll_nic_config, bind, 48);
OFFSET(nbcoll_nic_config, bind_user, 56);
OFFSET(nbcoll_nic_config, port, 64);
OFFSET(nbcoll_nic_config, port_user, 72);
SIZE(nbcoll_nic_rank, 32);
OFFSET(nbcoll_nic_rank, posted, 0);
OFFSET(nbcoll_nic_rank, ended, 8);
OFFSET(nbcoll_nic_rank, finished, 16);
OFFSET(nbcoll_nic_rank, cpu, 24);
SIZE(nbcoll_nic_result, 40);
OFFSET(nbcoll_nic_result, size, 0);
OFFSET(nbcoll_nic_result, rank, 8);
OFFSET(nbcoll_nic_result, last, 16);
OFFSET(nbcoll_nic_result, tasks, 24);
OFFSET(nbcoll_nic_result, queue_pairs, 32);

/* ---- relay.h ----------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_TOPOLOGY_DIRECT, 0);
VALUE(NBCOLL_TOPOLOGY_RING, 1);
VALUE(NBCOLL_TOPOLOGY_EXCHANGE, 2);
VALUE(NBCOLL_TOPOLOGY_BRUCK, 3);
VALUE(NBCOLL_TOPOLOGY_CAYLEY, 4);
VALUE(NBCOLL_RELAY_FLAW_NONE, 0);
VALUE(NBCOLL_RELAY_FLAW_END, 1);
VALUE(NBCOLL_RELAY_FLAW_ONE_END, 2);
VALUE(NBCOLL_RELAY_FLAW_DOUBLED, 3);
VALUE(NBCOLL_RELAY_FLAW_CREDITS, 4);
VALUE(NBCOLL_RELAY_FLAW_MISSED, 5);
VALUE(NBCOLL_RELAY_FLAW_TWICE, 6);
VALUE(NBCOLL_RELAY_FLAW_CIRCLE, 7);
VALUE(NBCOLL_RELAY_FLAW_STORE, 8);
VALUE(NBCOLL_RELAY_FLAW_PROMISE, 9);
VALUE(NBCOLL_RELAY_FLAW_STUCK, 10);
VALUE(NBCOLL_RELAY_FLAW_COUNT, 11);

SIZE(nbcoll_relay_end, 12);
OFFSET(nbcoll_relay_end, rank, 0);
OFFSET(nbcoll_relay_end, relay, 4);
OFFSET(nbcoll_relay_end, origins, 8);

SIZE(nbcoll_relay, 24);
OFFSET(nbcoll_relay, sources, 0);
OFFSET(nbcoll_relay, destinations, 4);
OFFSET(nbcoll_relay, source, 8);
OFFSET(nbcoll_relay, destination, 16);

SIZE(nbcoll_topology, 40);
OFFSET(nbcoll_topology, size, 0);
OFFSET(nbcoll_topology, name, 8);
OFFSET(nbcoll_topology, rank, 16);
OFFSET(nbcoll_topology, ranks, 20);
OFFSET(nbcoll_topology, relays, 24);
OFFSET(nbcoll_topology, connections, 28);
OFFSET(nbcoll_topology, relay, 32);

SIZE(nbcoll_relay_refutation, 224);
OFFSET(nbcoll_relay_refutation, size, 0);
OFFSET(nbcoll_relay_refutation, flaw, 8);
OFFSET(nbcoll_relay_refutation, rank, 12);
OFFSET(nbcoll_relay_refutation, relay, 16);
OFFSET(nbcoll_relay_refutation, origin, 20);
OFFSET(nbcoll_relay_refutation, text, 24);

SIZE(nbcoll_relay_play, 48);
OFFSET(nbcoll_relay_play, size, 0);
OFFSET(nbcoll_relay_play, host, 8);
OFFSET(nbcoll_relay_play, at_once, 16);
OFFSET(nbcoll_relay_play, fragments, 20);
OFFSET(nbcoll_relay_play, operations, 24);
OFFSET(nbcoll_relay_play, started, 32);
OFFSET(nbcoll_relay_play, seed, 40);

SIZE(nbcoll_relays_config, 64);
OFFSET(nbcoll_relays_config, size, 0);
OFFSET(nbcoll_relays_config, host, 8);
OFFSET(nbcoll_relays_config, topology, 16);
OFFSET(nbcoll_relays_config, ports, 20);
OFFSET(nbcoll_relays_config, at_once, 24);
OFFSET(nbcoll_relays_config, fragments, 28);
OFFSET(nbcoll_relays_config, fragment, 32);
OFFSET(nbcoll_relays_config, carries, 40);
OFFSET(nbcoll_relays_config, agent, 48);
OFFSET(nbcoll_relays_config, by_agents, 56);
OFFSET(nbcoll_relays_config, hierarchical, 60);

/* ---- loopback.h -------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_LOOPBACK_NO_BULK, 1);
VALUE(NBCOLL_LOOPBACK_LEND, 2);
VALUE(NBCOLL_LOOPBACK_SHARED, 4);
VALUE(NBCOLL_LOOPBACK_NO_GET, 8);

SIZE(nbcoll_loopback_config, 56);
OFFSET(nbcoll_loopback_config, size, 0);
OFFSET(nbcoll_loopback_config, host, 8);
OFFSET(nbcoll_loopback_config, ranks, 16);
OFFSET(nbcoll_loopback_config, seed, 24);
OFFSET(nbcoll_loopback_config, depth, 32);
OFFSET(nbcoll_loopback_config, payload, 36);
OFFSET(nbcoll_loopback_config, flags, 40);
OFFSET(nbcoll_loopback_config, pairs, 48);

/* ---- trace.h ----------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_TRACE_POST, 0);
VALUE(NBCOLL_TRACE_PROGRESS, 1);
VALUE(NBCOLL_TRACE_ARRIVED, 2);
VALUE(NBCOLL_TRACE_COMPLETED, 3);
VALUE(NBCOLL_TRACE_LOST, 4);
VALUE(NBCOLL_TRACE_CANCEL, 5);
VALUE(NBCOLL_TRACE_REGISTER, 6);
VALUE(NBCOLL_TRACE_DEREGISTER, 7);
VALUE(NBCOLL_TRACE_GET, 8);
VALUE(NBCOLL_TRACE_ARM, 9);
VALUE(NBCOLL_TRACE_CLOSE, 10);
VALUE(NBCOLL_TRACE_LEFT, 11);
VALUE(NBCOLL_TRACE_PUT, 12);
VALUE(NBCOLL_TRACE_LINE, 13);
VALUE(NBCOLL_TRACE_LINE_ARRIVED, 14);
VALUE(NBCOLL_TRACE_REASON, 15);

SIZE(nbcoll_trace_event, 96);
OFFSET(nbcoll_trace_event, call, 0);
OFFSET(nbcoll_trace_event, rank, 4);
OFFSET(nbcoll_trace_event, peer, 8);
OFFSET(nbcoll_trace_event, posted, 12);
OFFSET(nbcoll_trace_event, status, 16);
OFFSET(nbcoll_trace_event, header, 24);
OFFSET(nbcoll_trace_event, payload, 32);
OFFSET(nbcoll_trace_event, bytes, 40);
OFFSET(nbcoll_trace_event, offset, 48);
OFFSET(nbcoll_trace_event, key, 56);
OFFSET(nbcoll_trace_event, work, 64);
OFFSET(nbcoll_trace_event, reason, 72);
OFFSET(nbcoll_trace_event, turn, 80);
OFFSET(nbcoll_trace_event, access, 88);
OFFSET(nbcoll_trace_event, channel, 92);

SIZE(nbcoll_trace_config, 32);
OFFSET(nbcoll_trace_config, size, 0);
OFFSET(nbcoll_trace_config, host, 8);
OFFSET(nbcoll_trace_config, user, 16);
OFFSET(nbcoll_trace_config, event, 24);

/* ---- fault.h ----------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_FAULT_POST, 1);
VALUE(NBCOLL_FAULT_GET, 2);
VALUE(NBCOLL_FAULT_REGISTER, 4);
VALUE(NBCOLL_FAULT_PUT, 8);
VALUE(NBCOLL_FAULT_LINE, 16);
VALUE(NBCOLL_FAULT_REORDER, 1);

VALUE(NBCOLL_FAULT_KEEPS_ALL, 0);
VALUE(NBCOLL_FAULT_LOSS_UNREPORTED, 1);
VALUE(NBCOLL_FAULT_LEAVE_UNREPORTED, 2);
VALUE(NBCOLL_FAULT_ARM_ALWAYS_OK, 3);
VALUE(NBCOLL_FAULT_WORK_DROPPED, 4);
VALUE(NBCOLL_FAULT_WORK_TWICE, 5);
VALUE(NBCOLL_FAULT_MESSAGE_TWICE, 6);
VALUE(NBCOLL_FAULT_PAYLOAD_TRUNCATED, 7);
VALUE(NBCOLL_FAULT_CANCEL_WRITES, 8);
VALUE(NBCOLL_FAULT_CLOSE_DROPS, 9);
VALUE(NBCOLL_FAULT_NOT_NOW_FOREVER, 10);
SIZE(nbcoll_fault_config, 80);
OFFSET(nbcoll_fault_config, size, 0);
OFFSET(nbcoll_fault_config, host, 8);
OFFSET(nbcoll_fault_config, seed, 16);
OFFSET(nbcoll_fault_config, flags, 24);
OFFSET(nbcoll_fault_config, not_now, 28);
OFFSET(nbcoll_fault_config, hold, 32);
OFFSET(nbcoll_fault_config, longest, 36);
OFFSET(nbcoll_fault_config, fail, 40);
OFFSET(nbcoll_fault_config, fail_at, 48);
OFFSET(nbcoll_fault_config, fail_with, 56);
OFFSET(nbcoll_fault_config, lost_at, 64);
OFFSET(nbcoll_fault_config, lost, 72);
OFFSET(nbcoll_fault_config, breach, 76);

/* ---- shm.h ------------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_SHM_RANKS, 256);
VALUE(NBCOLL_SHM_NO_CMA, 1);
VALUE(NBCOLL_SHM_NO_BULK, 2);
VALUE(NBCOLL_SHM_ALLOW_PTRACER, 4);
VALUE(NBCOLL_SHM_NO_PIECES, 8);
VALUE(NBCOLL_SHM_PIECES, 16);
VALUE(NBCOLL_SHM_BOTH_SIDES, 32);
VALUE(NBCOLL_SHM_NO_STAGING, 64);
VALUE(NBCOLL_SHM_BY_REFERENCE, 0);
VALUE(NBCOLL_SHM_BY_CMA, 1);
VALUE(NBCOLL_SHM_BY_FRAGMENTS, 2);
VALUE(NBCOLL_SHM_BY_PIECES, 3);
VALUE(NBCOLL_SHM_BY_EITHER, 4);

SIZE(nbcoll_shm_id, 41);
OFFSET(nbcoll_shm_id, text, 0);

SIZE(nbcoll_shm_allgather, 40);
OFFSET(nbcoll_shm_allgather, size, 0);
OFFSET(nbcoll_shm_allgather, user, 8);
OFFSET(nbcoll_shm_allgather, start, 16);
OFFSET(nbcoll_shm_allgather, test, 24);
OFFSET(nbcoll_shm_allgather, free, 32);

SIZE(nbcoll_shm_config, 120);
OFFSET(nbcoll_shm_config, size, 0);
OFFSET(nbcoll_shm_config, host, 8);
OFFSET(nbcoll_shm_config, id, 16);
OFFSET(nbcoll_shm_config, allgather, 64);
OFFSET(nbcoll_shm_config, rank, 72);
OFFSET(nbcoll_shm_config, ranks, 76);
OFFSET(nbcoll_shm_config, timeout, 80);
OFFSET(nbcoll_shm_config, depth, 88);
OFFSET(nbcoll_shm_config, payload, 92);
OFFSET(nbcoll_shm_config, quota, 96);
OFFSET(nbcoll_shm_config, flags, 104);
OFFSET(nbcoll_shm_config, pool, 112);

SIZE(nbcoll_shm_peer, 48);
OFFSET(nbcoll_shm_peer, size, 0);
OFFSET(nbcoll_shm_peer, pid, 8);
OFFSET(nbcoll_shm_peer, path, 12);
OFFSET(nbcoll_shm_peer, error, 16);
OFFSET(nbcoll_shm_peer, why, 24);
OFFSET(nbcoll_shm_peer, by_pieces, 32);
OFFSET(nbcoll_shm_peer, by_cma, 40);

/* ---- simulate.h -------------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_SIM_MOST_NS, 1099511627776);
VALUE(NBCOLL_SIM_MOST_PS, 1048576);
VALUE(NBCOLL_SIM_MOST_BYTES, 1099511627776);
VALUE(NBCOLL_SIM_TOGETHER, 0);
VALUE(NBCOLL_SIM_APART, 1);
VALUE(NBCOLL_SIM_RANDOM, 2);
VALUE(NBCOLL_SIM_PUNCTUAL, 0);
VALUE(NBCOLL_SIM_ONE_LATE, 1);
VALUE(NBCOLL_SIM_RISING, 2);
VALUE(NBCOLL_SIM_SCATTERED, 3);
VALUE(NBCOLL_SIM_STEP, 0);
VALUE(NBCOLL_SIM_MESSAGE, 1);
VALUE(NBCOLL_SIM_STARTED, 2);
VALUE(NBCOLL_SIM_ENDED, 3);
VALUE(NBCOLL_SIM_COMPUTE, 0);
VALUE(NBCOLL_SIM_START, 1);
VALUE(NBCOLL_SIM_WAIT, 2);
VALUE(NBCOLL_SIM_WAIT_STARTED, 3);
VALUE(NBCOLL_SIM_BUILDING, 0);
VALUE(NBCOLL_SIM_PLAYING, 1);

SIZE(nbcoll_sim_link, 40);
OFFSET(nbcoll_sim_link, latency, 0);
OFFSET(nbcoll_sim_link, o_send, 8);
OFFSET(nbcoll_sim_link, o_recv, 16);
OFFSET(nbcoll_sim_link, gap, 24);
OFFSET(nbcoll_sim_link, byte, 32);

SIZE(nbcoll_sim_model, 264);
OFFSET(nbcoll_sim_model, size, 0);
OFFSET(nbcoll_sim_model, inside, 8);
OFFSET(nbcoll_sim_model, between, 48);
OFFSET(nbcoll_sim_model, step, 88);
OFFSET(nbcoll_sim_model, copy, 96);
OFFSET(nbcoll_sim_model, reduce, 104);
OFFSET(nbcoll_sim_model, eager, 112);
OFFSET(nbcoll_sim_model, node, 120);
OFFSET(nbcoll_sim_model, cores, 124);
OFFSET(nbcoll_sim_model, progress, 128);
OFFSET(nbcoll_sim_model, cell, 132);
OFFSET(nbcoll_sim_model, lanes, 136);
OFFSET(nbcoll_sim_model, wake, 144);
OFFSET(nbcoll_sim_model, unexpected, 152);
OFFSET(nbcoll_sim_model, unexpected_byte, 160);
OFFSET(nbcoll_sim_model, interfaces, 168);
OFFSET(nbcoll_sim_model, tick, 176);
OFFSET(nbcoll_sim_model, tick_cost, 184);
OFFSET(nbcoll_sim_model, pool, 192);
OFFSET(nbcoll_sim_model, contention, 200);
OFFSET(nbcoll_sim_model, domain, 208);
OFFSET(nbcoll_sim_model, table, 248);
OFFSET(nbcoll_sim_model, task, 256);

SIZE(nbcoll_sim_noise, 24);
OFFSET(nbcoll_sim_noise, period, 0);
OFFSET(nbcoll_sim_noise, length, 8);
OFFSET(nbcoll_sim_noise, share, 16);
OFFSET(nbcoll_sim_noise, phase, 20);

SIZE(nbcoll_sim_action, 24);
OFFSET(nbcoll_sim_action, act, 0);
OFFSET(nbcoll_sim_action, operation, 4);
OFFSET(nbcoll_sim_action, compute, 8);
OFFSET(nbcoll_sim_action, test_every, 16);

SIZE(nbcoll_sim_program, 16);
OFFSET(nbcoll_sim_program, action, 0);
OFFSET(nbcoll_sim_program, actions, 8);

SIZE(nbcoll_sim_arrival, 16);
OFFSET(nbcoll_sim_arrival, pattern, 0);
OFFSET(nbcoll_sim_arrival, rank, 4);
OFFSET(nbcoll_sim_arrival, spread, 8);

SIZE(nbcoll_sim_event, 56);
OFFSET(nbcoll_sim_event, what, 0);
OFFSET(nbcoll_sim_event, kind, 4);
OFFSET(nbcoll_sim_event, rank, 8);
OFFSET(nbcoll_sim_event, peer, 12);
OFFSET(nbcoll_sim_event, step, 16);
OFFSET(nbcoll_sim_event, bytes, 24);
OFFSET(nbcoll_sim_event, begin, 32);
OFFSET(nbcoll_sim_event, end, 40);
OFFSET(nbcoll_sim_event, operation, 48);

SIZE(nbcoll_sim_case, 16);
OFFSET(nbcoll_sim_case, algorithm, 0);
OFFSET(nbcoll_sim_case, at, 8);
SIZE(nbcoll_sim_config, 152);
OFFSET(nbcoll_sim_config, size, 0);
OFFSET(nbcoll_sim_config, host, 8);
OFFSET(nbcoll_sim_config, ranks, 16);
OFFSET(nbcoll_sim_config, operations, 20);
OFFSET(nbcoll_sim_config, seed, 24);
OFFSET(nbcoll_sim_config, model, 32);
OFFSET(nbcoll_sim_config, noise, 40);
OFFSET(nbcoll_sim_config, arrival, 64);
OFFSET(nbcoll_sim_config, program, 80);
OFFSET(nbcoll_sim_config, programs, 96);
OFFSET(nbcoll_sim_config, user, 104);
OFFSET(nbcoll_sim_config, event, 112);
OFFSET(nbcoll_sim_config, progress, 120);
OFFSET(nbcoll_sim_config, block, 128);
OFFSET(nbcoll_sim_config, nodes, 136);
OFFSET(nbcoll_sim_config, preposted, 144);
OFFSET(nbcoll_sim_config, repeat, 148);

SIZE(nbcoll_sim_rank, 32);
OFFSET(nbcoll_sim_rank, started, 0);
OFFSET(nbcoll_sim_rank, ended, 8);
OFFSET(nbcoll_sim_rank, waited, 16);
OFFSET(nbcoll_sim_rank, cpu, 24);

SIZE(nbcoll_sim_result, 120);
OFFSET(nbcoll_sim_result, size, 0);
OFFSET(nbcoll_sim_result, rank, 8);
OFFSET(nbcoll_sim_result, first, 16);
OFFSET(nbcoll_sim_result, last, 24);
OFFSET(nbcoll_sim_result, waited, 32);
OFFSET(nbcoll_sim_result, cpu, 40);
OFFSET(nbcoll_sim_result, messages, 48);
OFFSET(nbcoll_sim_result, bytes, 56);
OFFSET(nbcoll_sim_result, arrivals, 64);
OFFSET(nbcoll_sim_result, rounds, 72);
OFFSET(nbcoll_sim_result, peers, 76);
OFFSET(nbcoll_sim_result, links, 80);
OFFSET(nbcoll_sim_result, shapes, 84);
OFFSET(nbcoll_sim_result, memory, 88);
OFFSET(nbcoll_sim_result, fetches, 96);
OFFSET(nbcoll_sim_result, fetched, 104);
OFFSET(nbcoll_sim_result, stored, 112);

/* ---- conformance.h ----------------------------------------------------------------------------------------------- */
VALUE(NBCOLL_CONFORMANCE_ORDERED, 1);
VALUE(NBCOLL_CONFORMANCE_BULK, 2);
VALUE(NBCOLL_CONFORMANCE_WAKEUP, 4);
VALUE(NBCOLL_CONFORMANCE_KEEPS, 8);
VALUE(NBCOLL_CONFORMANCE_REFUSES, 16);
VALUE(NBCOLL_CONFORMANCE_SHARED, 32);
VALUE(NBCOLL_CONFORMANCE_QUEUES, 64);
VALUE(NBCOLL_CONFORMANCE_RECEIVES, 128);
VALUE(NBCOLL_CONFORMANCE_PASSED, 0);
VALUE(NBCOLL_CONFORMANCE_SKIPPED, 1);
VALUE(NBCOLL_CONFORMANCE_FAILED, 2);
SIZE(nbcoll_conformance_result, 40);
OFFSET(nbcoll_conformance_result, size, 0);
OFFSET(nbcoll_conformance_result, name, 8);
OFFSET(nbcoll_conformance_result, verdict, 16);
OFFSET(nbcoll_conformance_result, why, 24);
OFFSET(nbcoll_conformance_result, ns, 32);
SIZE(nbcoll_conformance, 104);
OFFSET(nbcoll_conformance, size, 0);
OFFSET(nbcoll_conformance, name, 8);
OFFSET(nbcoll_conformance, user, 16);
OFFSET(nbcoll_conformance, promises, 24);
OFFSET(nbcoll_conformance, deadline_ms, 28);
OFFSET(nbcoll_conformance, seed, 32);
OFFSET(nbcoll_conformance, only, 40);
OFFSET(nbcoll_conformance, make, 48);
OFFSET(nbcoll_conformance, destroy, 56);
OFFSET(nbcoll_conformance, open, 64);
OFFSET(nbcoll_conformance, payload, 72);
OFFSET(nbcoll_conformance, lost_ms, 80);
OFFSET(nbcoll_conformance, result, 88);
OFFSET(nbcoll_conformance, lose, 96);
