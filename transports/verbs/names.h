/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Renames the names that the transport's files share, in a vendored copy with a prefix: see nbcoll/prefix.h.
 */
#ifndef NBCOLLI_VERBS_NAMES_H
#define NBCOLLI_VERBS_NAMES_H
#ifdef NBCOLL_PREFIX

#define nbcolli_verbs_agree NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_agree)
#define nbcolli_verbs_ask_again NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_ask_again)
#define nbcolli_verbs_bulk NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_bulk)
#define nbcolli_verbs_cancel NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_cancel)
#define nbcolli_verbs_close_queue NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_close_queue)
#define nbcolli_verbs_connected NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_connected)
#define nbcolli_verbs_cut NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_cut)
#define nbcolli_verbs_disconnect NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_disconnect)
#define nbcolli_verbs_equip NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_equip)
#define nbcolli_verbs_find NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_find)
#define nbcolli_verbs_flush NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_flush)
#define nbcolli_verbs_forget_all NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_forget_all)
#define nbcolli_verbs_give_up NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_give_up)
#define nbcolli_verbs_goodbye_apart NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_goodbye_apart)
#define nbcolli_verbs_hear NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_hear)
#define nbcolli_verbs_hear_offers NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_hear_offers)
#define nbcolli_verbs_heard NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_heard)
#define nbcolli_verbs_is_one NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_is_one)
#define nbcolli_verbs_join NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_join)
#define nbcolli_verbs_join_rank NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_join_rank)
#define nbcolli_verbs_know NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_know)
#define nbcolli_verbs_let_go NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_let_go)
#define nbcolli_verbs_listen NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_listen)
#define nbcolli_verbs_memory NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_memory)
#define nbcolli_verbs_offload NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_offload)
#define nbcolli_verbs_open_queue NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_open_queue)
#define nbcolli_verbs_over NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_over)
#define nbcolli_verbs_pair_advance NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_pair_advance)
#define nbcolli_verbs_pair_lose NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_pair_lose)
#define nbcolli_verbs_pair_poll NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_pair_poll)
#define nbcolli_verbs_pin NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_pin)
#define nbcolli_verbs_post NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_post)
#define nbcolli_verbs_prepare NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_prepare)
#define nbcolli_verbs_progress NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_progress)
#define nbcolli_verbs_receive NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_receive)
#define nbcolli_verbs_release NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_release)
#define nbcolli_verbs_say NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_say)
#define nbcolli_verbs_send NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_send)
#define nbcolli_verbs_split NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_split)
#define nbcolli_verbs_strip NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_strip)
#define nbcolli_verbs_took NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_took)
#define nbcolli_verbs_try NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_try)
#define nbcolli_verbs_unprepare NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_unprepare)
#define nbcolli_verbs_wakeup NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_wakeup)
#define nbcolli_verbs_want NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_want)
#define nbcolli_verbs_way NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcolli_verbs_way)

#endif
#endif
