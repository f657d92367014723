/* SPDX-License-Identifier: BSD-3-Clause
 * A failure in words. */
#include <stdarg.h>
#include <stdio.h>

#include "nbcoll/nbcoll.h"

/* What a rank that is waited for does. */
static const char *nbcolli_position_text(nbcoll_position position)
{
    switch (position) {
    case NBCOLL_POSITION_NOT_STARTED: return "has not started it";
    case NBCOLL_POSITION_ACTIVE: return "has started it and not ended it";
    case NBCOLL_POSITION_ENDED: return "has ended it";
    case NBCOLL_POSITION_FAILED: return "has seen it fail";
    case NBCOLL_POSITION_FREED: return "has freed the communicator";
    default: return "has not said where it is";
    }
}

/* What a rank did that ended an operation; null: more is not to be said. */
static const char *nbcolli_deed_text(nbcoll_status status)
{
    switch (status) {
    case NBCOLL_ERR_CANCELLED: return "cancelled";
    case NBCOLL_ERR_PEER_LOST: return "was lost, or has left, before the end of";
    case NBCOLL_ERR_CALL: return "had a host function that failed in";
    case NBCOLL_ERR_MEMORY: return "had no memory in";
    case NBCOLL_ERR_FAULT: return "named memory that cannot be read or written as a buffer of";
    case NBCOLL_ERR_TRUNCATED: return "sent more than the buffer holds:";
    default: return NULL;
    }
}

/* What the transport said, to come behind the sentence. */
static void nbcolli_reason_text(const nbcoll_failure *f, char *text, size_t bytes)
{
    text[0] = 0;
    if (f->reason.text && f->reason.code)
        snprintf(text, bytes, " (%s: error %d)", f->reason.text, (int)f->reason.code);
    else if (f->reason.text)
        snprintf(text, bytes, " (%s)", f->reason.text);
    else if (f->reason.code)
        snprintf(text, bytes, " (error %d)", (int)f->reason.code);
}

/* At `at` bytes of the text. Returns how many there are then. */
static size_t nbcolli_text_add(char *text, size_t bytes, size_t at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int n = vsnprintf(at < bytes ? text + at : NULL, at < bytes ? bytes - at : 0, format, args);
    va_end(args);
    return n < 0 ? at : at + (size_t)n;
}

static size_t nbcolli_call_text(const nbcoll_call *c, char *text, size_t bytes, size_t at)
{
    const char *before = " (";

    if (!c->operation)
        return nbcolli_text_add(text, bytes, at, "something else");
    at = nbcolli_text_add(text, bytes, at, "%s", c->operation);
    if (c->count) {
        at = nbcolli_text_add(text, bytes, at, " (%llu %s", (unsigned long long)c->count,
                              c->type ? c->type : "elements");
        before = ", ";
    }
    if (c->op) {
        at = nbcolli_text_add(text, bytes, at, "%s%s", before, c->op);
        before = ", ";
    }
    if (c->root >= 0) {
        at = nbcolli_text_add(text, bytes, at, "%sroot %d", before, c->root);
        before = ", ";
    }
    return before[0] == ',' ? nbcolli_text_add(text, bytes, at, ")") : at;
}

/* Of ranks that are out of step. */
static size_t nbcolli_mismatch_text(const nbcoll_failure *f, char *text, size_t bytes)
{
    unsigned long long tag = f->tag;
    char others[32] = "most ranks";

    if (f->other >= 0)
        snprintf(others, sizeof others, "rank %d", f->other);
    if (f->is_before)
        return nbcolli_text_add(text, bytes, 0, "rank %d called something else than %s before operation %llu", f->rank,
                                others, tag);
    if (f->position == NBCOLL_POSITION_FREED)
        return nbcolli_text_add(text, bytes, 0, "operation %llu waits for rank %d, which %s", tag, f->rank,
                                nbcolli_position_text(f->position));
    if (!f->called.operation && !f->expected.operation)
        return nbcolli_text_add(text, bytes, 0,
                                "the ranks are out of step, in operation %llu or before it, as rank %d has shown; what "
                                "they have called is not known here yet",
                                tag, f->rank);
    size_t at = nbcolli_text_add(text, bytes, 0, "rank %d called ", f->rank);
    at = nbcolli_call_text(&f->called, text, bytes, at);
    at = nbcolli_text_add(text, bytes, at, " as operation %llu, but %s called ", tag, others);
    return nbcolli_call_text(&f->expected, text, bytes, at);
}

size_t nbcoll_failure_text(const nbcoll_failure *failure, char *text, size_t bytes)
{
    nbcoll_failure f = failure ? *failure : (nbcoll_failure){0};
    const char *begin = f.status == NBCOLL_ERR_NO_SLOT ? "no slot is free: " : "", *deed = nbcolli_deed_text(f.status);
    char reason[160], what[40];
    int n;

    nbcolli_reason_text(&f, reason, sizeof reason);
    snprintf(what, sizeof what, !(f.tag & NBCOLL_FAILURE_MESSAGE)    ? "operation %llu"
                                : (uint32_t)f.tag == UINT32_MAX ? "a receive of any tag"
                                                                : "a message with tag %llu",
             (unsigned long long)(f.tag & ~NBCOLL_FAILURE_MESSAGE));
    if (f.status == NBCOLL_ERR_TIMEOUT || f.status == NBCOLL_ERR_NO_SLOT) {
        if (f.rank < 0)
            n = snprintf(text, bytes, "%s%s has not ended", begin, what);
        else if (f.tag & NBCOLL_FAILURE_MESSAGE) /* ranks do not ask each other for messages */
            n = snprintf(text, bytes, "%s waits for rank %d", what, f.rank);
        else if (f.position == NBCOLL_POSITION_NOT_STARTED)
            n = snprintf(text, bytes, "%srank %d has not started %s", begin, f.rank, what);
        else
            n = snprintf(text, bytes, "%s%s waits for rank %d, which %s", begin, what, f.rank,
                         nbcolli_position_text(f.position));
    } else if (f.status == NBCOLL_ERR_MISMATCH && f.rank >= 0)
        return nbcolli_mismatch_text(&f, text, bytes);
    else if (deed && f.rank >= 0)
        n = snprintf(text, bytes, "rank %d %s %s%s", f.rank, deed, what, reason);
    else
        n = snprintf(text, bytes, "%s", failure ? nbcoll_status_text(f.status) : "");
    return n < 0 ? 0 : (size_t)n;
}
