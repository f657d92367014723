/* SPDX-License-Identifier: BSD-3-Clause
 * Messages as a program calls them. */
#include "message.h"

#include "../engine/calls/request.h"
#include "../engine/progress/lock.h"
#include "../engine/progress/progress.h"
#include "../reduce/packed.h"
#include "../host/sleep.h"

/* What a program passed. */
typedef struct nbcolli_message_call {
    nbcolli_message_is is;
    const void *send;
    void *recv;
    size_t count;
    nbcoll_type type;
    int peer, tag;
    nbcoll_messages *m;
    nbcoll_message_info *info;
} nbcolli_message_call;

/* ---- checks ------------------------------------------------------------------------------------------------------ */

NBCOLLI_ALWAYS_INLINE nbcoll_status nbcolli_message_check_name(const nbcoll_messages *m, int peer, int tag,
                                                               int receives)
{
    int least = receives ? NBCOLL_ANY_TAG : 0;

    if (peer >= m->comm->size || peer < (receives ? NBCOLL_ANY_SOURCE : 0))
        return NBCOLL_ERR_RANK;
    return tag < least ? NBCOLL_ERR_TAG : NBCOLL_OK;
}

NBCOLLI_ALWAYS_INLINE nbcoll_status nbcolli_message_check(const nbcolli_message_call *c, size_t *bytes)
{
    int receives = c->is == NBCOLLI_IS_RECV;
    const void *buffer = receives ? c->recv : c->send;

    if (!nbcolli_is_type(c->type))
        return NBCOLL_ERR_TYPE;
    if (__builtin_mul_overflow(c->count, nbcoll_type_size(c->type), bytes))
        return NBCOLL_ERR_COUNT;
    if (nbcolli_packs(c->type)) {
        if (receives && c->count > 1 && !*bytes) /* all of them lie at one place */
            return NBCOLL_ERR_TYPE;
        if (__builtin_mul_overflow(c->count, nbcolli_packed_size(c->type), bytes))
            return NBCOLL_ERR_COUNT;
    }
    if ((!buffer && *bytes) || buffer == NBCOLL_IN_PLACE)
        return NBCOLL_ERR_BUFFER;
    return nbcolli_message_check_name(c->m, c->peer, c->tag, receives);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* On the caller's side. Null: there is none to be had. */
NBCOLLI_ALWAYS_INLINE nbcolli_request *nbcolli_message_request(const nbcolli_message_call *c, size_t bytes)
{
    nbcoll_messages *m = c->m;
    int receives = c->is == NBCOLLI_IS_RECV;
    nbcolli_request *r = nbcolli_request_open(m->comm, NULL, receives ? c->info : c->send, c->recv,
                                              receives ? bytes : 0);
    if (!r)
        return NULL;
    r->executor = &m->head;
    r->tag = NBCOLL_FAILURE_MESSAGE | (uint32_t)c->tag;
    r->executed.work = NULL;
    r->executed.turn = c->is;
    r->executed.bytes = bytes;
    r->executed.room = nbcolli_packs(c->type) ? c->type : 0;
    r->executed.root = c->peer;
    atomic_store_explicit(&r->executed.awaited, c->peer, memory_order_relaxed); /* nobody knows it yet */
    return r;
}

/* On the caller's side. */
NBCOLLI_ALWAYS_INLINE nbcoll_status nbcolli_message_open(const nbcolli_message_call *c, size_t bytes, int persistent,
                                                         nbcoll_request *request)
{
    nbcoll_messages *m = c->m;
    nbcolli_request *r = nbcolli_message_request(c, bytes);
    if (!r)
        return nbcolli_request_refused(m->context);
    *request = nbcolli_request_handle(r);
    if (persistent)
        nbcolli_request_list(m->comm, r);
    else
        m->head.does->start(&m->head, r);
    return NBCOLL_OK;
}

/* From the caller's side, to which it comes back: once inside, where they get ready. */
static nbcoll_status nbcolli_message_first(nbcoll_messages *m)
{
    nbcolli_leave_caller(m->context);
    nbcoll_status s = nbcolli_enter(m->context);
    if (s == NBCOLL_OK)
        s = nbcolli_leave(m->context, nbcolli_messages_get_ready(m));
    return s == NBCOLL_OK ? nbcolli_enter_caller(m->context) : s;
}

/* Inline: for what a call has of it when it is compiled. */
NBCOLLI_ALWAYS_INLINE nbcoll_status nbcolli_message_call_in(const nbcolli_message_call *c, int persistent,
                                                            nbcoll_request *request)
{
    size_t bytes;
    nbcoll_status s = c->m && request ? nbcolli_message_check(c, &bytes) : NBCOLL_ERR_NULL;
    if (s == NBCOLL_OK)
        s = nbcolli_enter_caller(c->m->context);
    if (s == NBCOLL_OK && !c->m->is_ready)
        s = nbcolli_message_first(c->m);
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_message_open(c, bytes, persistent, request);
    nbcolli_leave_caller(c->m->context);
    return s;
}

/* Of a blocking call in a context of one thread, without a request: a line is sent, or one that is awaited comes soon.
 * 0: nothing has happened. */
static int nbcolli_message_at_once(const nbcolli_message_call *c, size_t bytes)
{
    nbcoll_messages *m = c->m;
    int is_over = 0;

    if (nbcolli_packs(c->type) || (!m->is_ready && nbcolli_messages_get_ready(m) != NBCOLL_OK))
        return 0;
    if (c->is == NBCOLLI_IS_SEND)
        return !m->at[c->peer].is_apart && nbcolli_message_fits_line(m, c->peer, bytes) &&
               nbcolli_message_send_line(m, c->peer, c->tag, c->send, bytes);
    if (c->is == NBCOLLI_IS_RECV)
        is_over = nbcolli_arrival_take_soon(m, c->peer, (uint32_t)c->tag, c->recv, bytes);
    if (is_over && c->info)
        *c->info = (nbcoll_message_info){c->peer, c->tag, bytes};
    return is_over;
}

static nbcoll_status nbcolli_message_and_wait(const nbcolli_message_call *c, uint64_t timeout)
{
    nbcoll_request request;
    size_t bytes;

    if (c->m && timeout && !(c->m->context->flags & NBCOLL_ANY_THREAD) &&
        nbcolli_message_check(c, &bytes) == NBCOLL_OK && nbcolli_enter(c->m->context) == NBCOLL_OK &&
        nbcolli_leave(c->m->context, nbcolli_message_at_once(c, bytes) ? NBCOLL_OK : NBCOLL_AGAIN) == NBCOLL_OK)
        return NBCOLL_OK;
    return nbcolli_wait_or_leave(nbcolli_message_call_in(c, 0, &request), &request, timeout);
}

#define NBCOLLI_SENDING(is)                                                                                            \
    (&(nbcolli_message_call){is, buffer, NULL, count, type, to, tag, m, NULL})
#define NBCOLLI_RECEIVING                                                                                              \
    (&(nbcolli_message_call){NBCOLLI_IS_RECV, NULL, buffer, count, type, from, tag, m, info})

nbcoll_status nbcoll_isend(const void *buffer, size_t count, nbcoll_type type, int to, int tag, nbcoll_messages *m,
                           nbcoll_request *request)
{
    return nbcolli_message_call_in(NBCOLLI_SENDING(NBCOLLI_IS_SEND), 0, request);
}

nbcoll_status nbcoll_issend(const void *buffer, size_t count, nbcoll_type type, int to, int tag, nbcoll_messages *m,
                            nbcoll_request *request)
{
    return nbcolli_message_call_in(NBCOLLI_SENDING(NBCOLLI_IS_SSEND), 0, request);
}

nbcoll_status nbcoll_irecv(void *buffer, size_t count, nbcoll_type type, int from, int tag, nbcoll_messages *m,
                           nbcoll_message_info *info, nbcoll_request *request)
{
    return nbcolli_message_call_in(NBCOLLI_RECEIVING, 0, request);
}

nbcoll_status nbcoll_send_init(const void *buffer, size_t count, nbcoll_type type, int to, int tag, nbcoll_messages *m,
                               nbcoll_request *request)
{
    return nbcolli_message_call_in(NBCOLLI_SENDING(NBCOLLI_IS_SEND), 1, request);
}

nbcoll_status nbcoll_ssend_init(const void *buffer, size_t count, nbcoll_type type, int to, int tag,
                                nbcoll_messages *m, nbcoll_request *request)
{
    return nbcolli_message_call_in(NBCOLLI_SENDING(NBCOLLI_IS_SSEND), 1, request);
}

nbcoll_status nbcoll_recv_init(void *buffer, size_t count, nbcoll_type type, int from, int tag, nbcoll_messages *m,
                               nbcoll_message_info *info, nbcoll_request *request)
{
    return nbcolli_message_call_in(NBCOLLI_RECEIVING, 1, request);
}

nbcoll_status nbcoll_send(const void *buffer, size_t count, nbcoll_type type, int to, int tag, nbcoll_messages *m,
                          uint64_t timeout)
{
    return nbcolli_message_and_wait(NBCOLLI_SENDING(NBCOLLI_IS_SEND), timeout);
}

nbcoll_status nbcoll_ssend(const void *buffer, size_t count, nbcoll_type type, int to, int tag, nbcoll_messages *m,
                           uint64_t timeout)
{
    return nbcolli_message_and_wait(NBCOLLI_SENDING(NBCOLLI_IS_SSEND), timeout);
}

nbcoll_status nbcoll_recv(void *buffer, size_t count, nbcoll_type type, int from, int tag, nbcoll_messages *m,
                          nbcoll_message_info *info, uint64_t timeout)
{
    return nbcolli_message_and_wait(NBCOLLI_RECEIVING, timeout);
}

/* Both are checked before either is started. */
nbcoll_status nbcoll_sendrecv(const void *send, size_t send_count, nbcoll_type send_type, int to, int send_tag,
                              void *recv, size_t recv_count, nbcoll_type recv_type, int from, int recv_tag,
                              nbcoll_messages *m, nbcoll_message_info *info, uint64_t timeout)
{
    nbcolli_message_call sends = {NBCOLLI_IS_SEND, send, NULL, send_count, send_type, to, send_tag, m, NULL};
    nbcolli_message_call receives = {NBCOLLI_IS_RECV, NULL, recv, recv_count, recv_type, from, recv_tag, m, info};
    nbcoll_request receive, sent;
    size_t bytes;
    nbcoll_status s = m ? nbcolli_message_check(&sends, &bytes) : NBCOLL_ERR_NULL;

    if (s == NBCOLL_OK)
        s = nbcolli_message_call_in(&receives, 0, &receive);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_go_outside(m->context); /* as where a wait asks for the time: the host's clock cannot free the context */
    uint64_t deadline = nbcolli_deadline(&m->context->host, timeout);
    nbcoll_status begun = nbcolli_message_call_in(&sends, 0, &sent);
    s = nbcolli_wait_or_leave(begun, &sent, timeout);
    if (begun != NBCOLL_OK)
        timeout = 0; /* it does not wait for what was to be an exchange */
    if (timeout)
        timeout = nbcolli_time_left(&m->context->host, deadline, NBCOLL_FOREVER);
    nbcolli_come_back(m->context);
    nbcoll_status received = nbcolli_wait_or_leave(NBCOLL_OK, &receive, timeout);
    return begun != NBCOLL_OK || received == NBCOLL_OK ? s : received;
}

/* ---- looking first ----------------------------------------------------------------------------------------------- */

/* With a handle: the message is taken out of the queue. */
static nbcoll_status nbcolli_message_probe(int from, int tag, nbcoll_messages *m, nbcoll_message_info *info,
                                           nbcoll_message *message)
{
    nbcoll_status s = nbcolli_message_check_name(m, from, tag, 1);
    if (s == NBCOLL_OK)
        s = nbcolli_enter(m->context);
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_messages_get_ready(m);
    if (s != NBCOLL_OK)
        return nbcolli_leave(m->context, s);
    nbcolli_kept *k = nbcolli_kept_find(m, from, (uint32_t)tag);
    if (!k) {
        nbcolli_pass(m->context);
        k = nbcolli_kept_find(m, from, (uint32_t)tag);
    }
    if (k)
        *info = nbcolli_arrival_info(&k->arrival);
    else
        s = nbcolli_receive_is_deserted(m, from) ? NBCOLL_ERR_PEER_LOST : NBCOLL_PENDING;
    if (k && message) {
        nbcolli_kept_probe(m, k);
        *message = (nbcoll_message){m, m->probes};
    }
    return nbcolli_leave_reporting(m->context, s);
}

nbcoll_status nbcoll_iprobe(int from, int tag, nbcoll_messages *m, nbcoll_message_info *info)
{
    return m && info ? nbcolli_message_probe(from, tag, m, info, NULL) : NBCOLL_ERR_NULL;
}

nbcoll_status nbcoll_improbe(int from, int tag, nbcoll_messages *m, nbcoll_message_info *info, nbcoll_message *message)
{
    return m && info && message ? nbcolli_message_probe(from, tag, m, info, message) : NBCOLL_ERR_NULL;
}

/* Inside: whoever takes the message out of the probed ones has it. */
static nbcoll_status nbcolli_message_receive_probed(nbcolli_message_call *c, size_t bytes, uint64_t number,
                                                    nbcoll_request *request)
{
    nbcoll_messages *m = c->m;
    nbcolli_kept *k = nbcolli_probed_find(m, number);
    if (!k)
        return NBCOLL_ERR_REQUEST;
    c->peer = k->arrival.source;
    c->tag = k->arrival.tag;
    nbcolli_caller_lock(m->context);
    nbcolli_request *r = nbcolli_message_request(c, bytes);
    nbcoll_status s = r ? NBCOLL_OK : nbcolli_request_refused(m->context);
    nbcolli_caller_unlock(m->context);
    if (!r)
        return s;
    *request = nbcolli_request_handle(r);
    nbcolli_message_receives(m, r, k);
    return NBCOLL_OK;
}

nbcoll_status nbcoll_imrecv(void *buffer, size_t count, nbcoll_type type, nbcoll_message *message,
                            nbcoll_request *request)
{
    if (!message || !request)
        return NBCOLL_ERR_NULL;
    nbcolli_message_call c = {NBCOLLI_IS_RECV, NULL, buffer, count, type, NBCOLL_ANY_SOURCE, NBCOLL_ANY_TAG,
                              message->of, NULL};
    size_t bytes;
    nbcoll_status s = c.m ? nbcolli_message_check(&c, &bytes) : NBCOLL_ERR_REQUEST;
    if (s == NBCOLL_OK)
        s = nbcolli_enter(c.m->context);
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_message_receive_probed(&c, bytes, message->number, request);
    if (s == NBCOLL_OK)
        message->of = NULL;
    return nbcolli_leave(c.m->context, s);
}
