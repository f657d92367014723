/* SPDX-License-Identifier: BSD-3-Clause
 * What options of `nbcoll sim` say in words: machines, arrivals and programs. */
#include "sim.h"

/* ---- ranks that come late ---------------------------------------------------------------------------------------- */

/* late:RANK:US, rising:US or scattered:US */
void sim_take_arrival(const command *self, const char *value, nbcoll_sim_arrival *a)
{
    char rank[16] = "0", after[16] = "";
    unsigned long long number, us;
    int end = 0;
    if (sscanf(value, "late:%15[0-9]:%15[0-9]%n", rank, after, &end) == 2)
        a->pattern = NBCOLL_SIM_ONE_LATE;
    else if (sscanf(value, "rising:%15[0-9]%n", after, &end) == 1)
        a->pattern = NBCOLL_SIM_RISING;
    else if (sscanf(value, "scattered:%15[0-9]%n", after, &end) == 1)
        a->pattern = NBCOLL_SIM_SCATTERED;
    int is_right = end && !value[end] && command_number(rank, 0, SIM_RANKS, &number) &&
                   command_number(after, 0, SIM_US, &us);
    if (!is_right)
        command_refuse(self, "--arrival is late:RANK:US, rising:US or scattered:US, not '%s'", value);
    a->rank = (int)number;
    a->spread = us * 1000;
}

/* ---- programs: "start; wait started; compute 50us test 5us; start barrier; wait 1" ------------------------------- */

static _Noreturn void refuse(const command *self, const char *why, const char *word)
{
    command_refuse(self, "--program: %s '%s'; see nbcoll help sim", why, word ? word : "");
}

/* "50us"; ns, us, ms or s. */
static uint64_t take_time(const command *self, const char *word)
{
    static const struct unit {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    char number[16], unit[3];
    unsigned long long value;
    int end = 0, is_time = word && sscanf(word, "%15[0-9]%2[a-z]%n", number, unit, &end) == 2 && !word[end];
    for (size_t i = 0; is_time && i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].name) && command_number(number, 0, NBCOLL_SIM_MOST_NS / units[i].ns, &value))
            return value * units[i].ns;
    refuse(self, "it takes a time like 50us, not", word);
}

static void add(const command *self, sim_program *p, nbcoll_sim_action action)
{
    if (p->actions == SIM_ACTIONS)
        command_refuse(self, "--program: at most %d actions", SIM_ACTIONS);
    p->action[p->actions++] = action;
}

/* The words behind these three, ended by null: "compute TIME [test TIME]". */
static void take_compute(const command *self, sim_program *p, char **word)
{
    int tests = word[0] && word[1] && strcmp(word[1], "test") == 0;
    nbcoll_sim_action a = {.act = NBCOLL_SIM_COMPUTE, .compute = take_time(self, word[0])};
    if (tests)
        a.test_every = take_time(self, word[2]);
    if (word[tests ? 3 : 1])
        refuse(self, "one word too many:", word[tests ? 3 : 1]);
    add(self, p, a);
}

/* "start [OPERATION [ALGORITHM]]" */
static void take_start(const command *self, sim_program *p, char **word)
{
    if (p->starts == SIM_STARTS)
        command_refuse(self, "--program: at most %d starts", SIM_STARTS);
    sim_start *start = &p->start[p->starts++];
    start->operation = word[0] ? (int)command_operation(self, word[0]) : -1;
    if (word[0] && word[1] && word[2])
        command_refuse(self, "one word too many: '%s'", word[2]);
    if (word[0] && word[1])
        start->algorithm = command_find_algorithm(self, (nbcoll_operation)start->operation, word[1]);
    add(self, p, (nbcoll_sim_action){.act = NBCOLL_SIM_START});
}

/* "wait [started] [N]": for the N-th start, or for all before it. */
static void take_wait(const command *self, sim_program *p, char **word)
{
    int is_start = word[0] && strcmp(word[0], "started") == 0;
    nbcoll_sim_action a = {.act = is_start ? NBCOLL_SIM_WAIT_STARTED : NBCOLL_SIM_WAIT};
    unsigned long long first = 1, last = p->starts;
    word += is_start;
    if (word[0] && word[1])
        refuse(self, "one word too many:", word[1]);
    if (word[0] && !command_number(word[0], 1, p->starts, &first))
        command_refuse(self, "--program: wait %s: there are %u starts before it", word[0], p->starts);
    for (a.operation = (uint32_t)first - 1; a.operation < (word[0] ? first : last); a.operation++)
        add(self, p, a);
}

void sim_take_program(const command *self, const char *value, sim_program *out)
{
    static const struct verb {
        const char *name;
        void (*take)(const command *self, sim_program *p, char **word);
    } verbs[] = {{"compute", take_compute}, {"start", take_start}, {"wait", take_wait}};
    char *text = strdup(value), *next, *rest;
    if (!text)
        command_fail_status(self, NBCOLL_ERR_MEMORY);
    *out = (sim_program){.actions = 0};
    for (char *one = strtok_r(text, ";", &next); one; one = strtok_r(NULL, ";", &next)) {
        char *word[8] = {NULL};
        size_t n = 0, verb = 0;
        for (char *w = strtok_r(one, " \t", &rest); w && n < 6; w = strtok_r(NULL, " \t", &rest))
            word[n++] = w;
        while (n && verb < 3 && strcmp(word[0], verbs[verb].name) != 0)
            verb++;
        if (verb == 3)
            refuse(self, "it knows compute, start and wait, not", word[0]);
        if (n)
            verbs[verb].take(self, out, word + 1);
    }
    free(text);
    if (!out->starts)
        command_refuse(self, "--program: it starts nothing");
}

/* ---- machines: presets by name, or files ------------------------------------------------------------------------- */

#define MODEL_NUMBER(name, member, most) {name, "N", "", COMMAND_IN(nbcoll_sim_model, member), 0, most}
#define MODEL_TIME(name, member) MODEL_NUMBER(name, member, NBCOLL_SIM_MOST_NS)
#define MODEL_PRICE(name, member) MODEL_NUMBER(name, member, NBCOLL_SIM_MOST_PS)
#define MODEL_COUNT(name, member) MODEL_NUMBER(name, member, 65536)
#define MODEL_LINK(name, member)                                                                                       \
    MODEL_TIME(name ".latency", member.latency), MODEL_TIME(name ".o_send", member.o_send),                            \
        MODEL_TIME(name ".o_recv", member.o_recv), MODEL_TIME(name ".gap", member.gap),                                \
        MODEL_PRICE(name ".byte", member.byte)

const command_option sim_model_names[] = {
    MODEL_LINK("inside", inside),
    MODEL_LINK("between", between),
    MODEL_LINK("domain", domain),
    MODEL_TIME("step", step),
    MODEL_PRICE("copy", copy),
    MODEL_PRICE("reduce", reduce),
    MODEL_NUMBER("eager", eager, UINT64_MAX),
    MODEL_COUNT("node", node),
    MODEL_COUNT("cores", cores),
    MODEL_COUNT("progress", progress),
    MODEL_NUMBER("cell", cell, UINT32_MAX),
    MODEL_NUMBER("lanes", lanes, 1),
    MODEL_NUMBER("pool", pool, 1),
    MODEL_TIME("wake", wake),
    MODEL_TIME("unexpected", unexpected),
    MODEL_PRICE("unexpected_byte", unexpected_byte),
    MODEL_COUNT("interfaces", interfaces),
    MODEL_TIME("tick", tick),
    MODEL_TIME("tick_cost", tick_cost),
    MODEL_TIME("contention", contention),
    MODEL_TIME("table", table),
    {0},
};

void sim_take_named(const command *self, const char *where, const command_option names[], const char *name,
                    const char *value, void *out)
{
    unsigned long long number;
    while (names->name && strcmp(names->name, name) != 0)
        names++;
    if (!names->name)
        command_refuse(self, "%s: unknown name '%s'; see nbcoll help sim", where, name);
    if (!value || !command_number(value, 0, names->high, &number))
        command_refuse(self, "%s: %s takes a number of 0..%llu", where, name, names->high);
    command_store(names, out, number);
}

json_t *sim_numbers(const command_option names[], const void *of, int with_zeros)
{
    json_t *all = json_object();
    for (; names->name; names++)
        if (with_zeros || command_stored(names, of))
            json_object_set_new(all, names->name, json_integer((json_int_t)command_stored(names, of)));
    return all;
}

static void take_line(const command *self, const char *where, char *line, nbcoll_sim_model *model)
{
    char *rest, *name, *word;
    line[strcspn(line, "#\n")] = '\0';
    name = strtok_r(line, " \t\r", &rest);
    word = name ? strtok_r(NULL, " \t\r", &rest) : NULL;
    int is_right = word && !strtok_r(NULL, " \t\r", &rest);
    if (name)
        sim_take_named(self, where, sim_model_names, name, is_right ? word : NULL, model);
}

void sim_take_model(const command *self, const char *value, nbcoll_sim_model *out)
{
    char *line = NULL, where[160];
    size_t room = 0;
    int number = 0;
    if (nbcoll_sim_model_find(value, out) == NBCOLL_OK)
        return;
    FILE *file = fopen(value, "r");
    if (!file)
        command_refuse(self, "--model '%s' is no preset, and as a file: %s", value, strerror(errno));
    while (getline(&line, &room, file) >= 0) {
        snprintf(where, sizeof where, "%s:%d", value, ++number);
        take_line(self, where, line, out);
    }
    if (ferror(file))
        command_refuse(self, "--model %s: it cannot be read", value);
    free(line);
    fclose(file);
}
