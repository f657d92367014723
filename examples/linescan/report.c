/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The final table, or the JSON object.
 */
#include "report.h"
#include "verdict.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

static double megabytes_a_second(uint64_t bytes, double seconds)
{
    return seconds > 0 ? 1e-6 * (double)bytes / seconds : 0;
}

static void print_table(const outcome *out)
{
    const totals *t = &out->total;
    printf("files     %20zu  skipped %zu\n", out->files, out->skipped);
    printf("lines     %20" PRIu64 "\n", t->lines);
    printf("words     %20" PRIu64 "\n", t->words);
    printf("bytes     %20" PRIu64 "\n", t->bytes);
    printf("checksum  %20.16" PRIx64 "\n", t->checksum);
    if (out->grams)
        printf("sequences %20" PRIu64 "  of 1 to %u bytes, counted in 65536 classes; checksum %016" PRIx64 "\n",
               t->sequences, out->grams, t->frequencies);
    printf("time      %18.3f s  %.1f MB/s\n", out->seconds, megabytes_a_second(t->bytes, out->seconds));
    if (out->checked)
        printf("sequential%18.3f s  %.1f MB/s, %s\n", out->sequential_seconds,
               megabytes_a_second(out->sequential.bytes, out->sequential_seconds),
               out->agrees ? "the same totals" : "OTHER TOTALS");
    printf("waited   ");
    for (int i = 0; i < out->ranks; i++)
        printf(" %.1f%%", 100 * out->waited[i]);
    printf("  (share of the time, by rank)\n");
}

static void print_form(const char *name, const spread *seconds, double waited)
{
    printf("  %-22s %7.2f s  [%.2f, %.2f]   rank 0 waits %.0f%% of the time\n", name, seconds->middle, seconds->low,
           seconds->high, 100 * waited);
}

static void print_comparison(const options *o, const outcome *out, const comparison *c)
{
    char text[VERDICT_BYTES];
    printf("%.0f MB of text: rank 0 of %d decompresses and scatters it, all ranks count its words and\n"
           "sequences of bytes, on %d processor%s. Medians of %d rounds by turns [least, most]:\n",
           1e-6 * (double)out->total.bytes, out->ranks, c->processors, c->processors == 1 ? "" : "s", c->rounds);
    print_form("blocking scatter", &c->seconds[BLOCKING], c->waited[BLOCKING]);
    print_form("nonblocking scatters", &c->seconds[NONBLOCKING], c->waited[NONBLOCKING]);
    if (out->checked)
        printf("  %-22s %7.2f s%s\n", "one process alone", out->sequential_seconds,
               out->agrees ? "  (all have the same totals)" : "  OTHER TOTALS");
    verdict(c, text);
    printf("%s\n", text);
    if (o->picture)
        printf("Who waited when: %s\n", o->picture);
}

static json_t *json_spread(const spread *s)
{
    return json_pack("[f, f, f]", s->low, s->middle, s->high);
}

static json_t *json_comparison(const comparison *c)
{
    return json_pack("{s:i, s:i, s:f, s:o, s:o, s:o}", "rounds", c->rounds, "processors", c->processors, "others",
                     c->others, "blocking", json_spread(&c->seconds[BLOCKING]), "nonblocking",
                     json_spread(&c->seconds[NONBLOCKING]), "gain", json_spread(&c->gain));
}

static void print_json(const options *o, const outcome *out, const comparison *c)
{
    const totals *t = &out->total;
    char checksum[17], frequencies[17];
    snprintf(checksum, sizeof checksum, "%016" PRIx64, t->checksum); /* as text: JSON numbers end at 2^53 */
    snprintf(frequencies, sizeof frequencies, "%016" PRIx64, t->frequencies);
    json_t *waited = json_array();
    for (int i = 0; i < out->ranks; i++)
        json_array_append_new(waited, json_real(out->waited[i]));
    json_t *object = json_pack("{s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:o, s:i, s:i, s:b, s:I, s:I, s:b}",  //
                               "files", (json_int_t)out->files, "skipped", (json_int_t)out->skipped,      //
                               "lines", (json_int_t)t->lines, "words", (json_int_t)t->words,              //
                               "bytes", (json_int_t)t->bytes, "checksum", checksum,                       //
                               "seconds", out->seconds, "waited", waited,                                 //
                               "ranks", out->ranks, "concurrent", o->concurrent, "blocking", o->blocking, //
                               "work", (json_int_t)o->work, "buffer", (json_int_t)o->buffer, "checked", out->checked);
    if (out->grams)
        json_object_update_new(object, json_pack("{s:i, s:I, s:s}", "grams", (int)out->grams, "sequences",
                                                 (json_int_t)t->sequences, "frequencies", frequencies));
    if (out->checked)
        json_object_set_new(object, "sequential_seconds", json_real(out->sequential_seconds));
    if (o->compare)
        json_object_set_new(object, "comparison", json_comparison(c));
    if (!object || json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)))
        fatal("JSON", "cannot be written");
    json_decref(object);
    putchar('\n');
}

static int say_mismatch(const outcome *out)
{
    const totals *a = &out->total, *b = &out->sequential;
    fprintf(stderr,
            "linescan: the ranks' totals differ from the sequential ones\n"
            "  ranks       %" PRIu64 " lines %" PRIu64 " words %" PRIu64 " bytes checksum %016" PRIx64 " %" PRIu64
            " sequences checksum %016" PRIx64 "\n"
            "  sequential  %" PRIu64 " lines %" PRIu64 " words %" PRIu64 " bytes checksum %016" PRIx64 " %" PRIu64
            " sequences checksum %016" PRIx64 "\n",
            a->lines, a->words, a->bytes, a->checksum, a->sequences, a->frequencies, b->lines, b->words, b->bytes,
            b->checksum, b->sequences, b->frequencies);
    return EXIT_MISMATCH;
}

int report(const options *o, const outcome *out, const comparison *c, bool no_file)
{
    if (out->interrupted) {
        fprintf(stderr, "linescan: interrupted after %zu files\n", out->files);
        return EXIT_INTERRUPTED;
    }
    if (o->json)
        print_json(o, out, c);
    else if (o->compare)
        print_comparison(o, out, c);
    else
        print_table(out);
    if (fflush(stdout) || ferror(stdout))
        fatal("output", "cannot be written");
    if (out->differs) {
        fprintf(stderr, "linescan: jobs with the same text had different totals\n");
        return EXIT_MISMATCH;
    }
    if (out->checked && !out->agrees)
        return say_mismatch(out);
    return no_file || out->skipped ? EXIT_SKIPPED : EXIT_CLEAN;
}
