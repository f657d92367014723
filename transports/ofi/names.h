/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Renames the names that the transport's files share, in a vendored copy with a prefix: see nbcoll/prefix.h.
 */
#ifndef NBCOLLI_OFI_NAMES_H
#define NBCOLLI_OFI_NAMES_H
#ifdef NBCOLL_PREFIX

#define nbcolli_ofi_acknowledge NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_acknowledge)
#define nbcolli_ofi_agree NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_agree)
#define nbcolli_ofi_bulk NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_bulk)
#define nbcolli_ofi_cancel NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_cancel)
#define nbcolli_ofi_cut NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_cut)
#define nbcolli_ofi_endpoint NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_endpoint)
#define nbcolli_ofi_equip NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_equip)
#define nbcolli_ofi_find NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_find)
#define nbcolli_ofi_give_back NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_give_back)
#define nbcolli_ofi_give_up NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_give_up)
#define nbcolli_ofi_idle NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_idle)
#define nbcolli_ofi_interface NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_interface)
#define nbcolli_ofi_is_coming NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_is_coming)
#define nbcolli_ofi_is_one NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_is_one)
#define nbcolli_ofi_know NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_know)
#define nbcolli_ofi_late_arrive NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_late_arrive)
#define nbcolli_ofi_launch NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_launch)
#define nbcolli_ofi_launch_again NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_launch_again)
#define nbcolli_ofi_launch_or_wait NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_launch_or_wait)
#define nbcolli_ofi_machine NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_machine)
#define nbcolli_ofi_map NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_map)
#define nbcolli_ofi_moved NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_moved)
#define nbcolli_ofi_over NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_over)
#define nbcolli_ofi_own_arrive NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_own_arrive)
#define nbcolli_ofi_post NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_post)
#define nbcolli_ofi_progress NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_progress)
#define nbcolli_ofi_provider_hash NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_provider_hash)
#define nbcolli_ofi_receive NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_receive)
#define nbcolli_ofi_refused NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_refused)
#define nbcolli_ofi_register NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_register)
#define nbcolli_ofi_release NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_release)
#define nbcolli_ofi_say NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_say)
#define nbcolli_ofi_sent NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_sent)
#define nbcolli_ofi_split NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_split)
#define nbcolli_ofi_strip NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_strip)
#define nbcolli_ofi_tell_move NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_tell_move)
#define nbcolli_ofi_took NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_took)
#define nbcolli_ofi_touches NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_touches)
#define nbcolli_ofi_try NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_try)
#define nbcolli_ofi_wakeup NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_wakeup)
#define nbcolli_ofi_watch NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_watch)
#define nbcolli_ofi_watch_close NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_watch_close)
#define nbcolli_ofi_watch_doubt NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_watch_doubt)
#define nbcolli_ofi_watch_leave NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_watch_leave)
#define nbcolli_ofi_watch_look NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_watch_look)
#define nbcolli_ofi_watch_open NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_watch_open)
#define nbcolli_ofi_write NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_write)
#define nbcolli_ofi_wrote NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_ofi_wrote)

#endif
#endif
