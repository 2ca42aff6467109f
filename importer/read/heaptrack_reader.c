/* SPDX-License-Identifier: MIT */
#include "importer/read/heaptrack_reader.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ARGUMENT_BYTES = 1 << 16,
    MESSAGE_BYTES = 128,
    DEFAULT_PAGE_BYTES = 4096,
    MAX_PAGE_BYTES = 1 << 20,
    MAX_SUPPRESSIONS = 1000, /* the ids of built-in rules follow */
};

static int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory");
}

bool heaptrack_reader_recognizes(const char *path)
{
    struct heaptrack_grammar grammar = {0};
    struct heaptrack_text text;
    struct heaptrack_line line = {0};
    char *bytes;
    size_t n_bytes;

    if (heaptrack_text_open(path, &text, NULL) == 0
        && heaptrack_text_next(&text, &bytes, &n_bytes, NULL) == 1 && n_bytes > 2)
        heaptrack_line_parse(&grammar, bytes, n_bytes, &line);
    heaptrack_text_close(&text);
    return line.kind == HEAPTRACK_VERSION && !line.is_bad;
}

bool heaptrack_reader_is_stump(const char *path)
{
    struct heaptrack_text text;
    char *bytes;
    size_t n_bytes;
    bool is_stump = heaptrack_text_open(path, &text, NULL) == 0 && text.is_compressed
                    && heaptrack_text_next(&text, &bytes, &n_bytes, NULL) == 0 && text.is_cut;

    heaptrack_text_close(&text);
    return is_stump;
}

/* ---- stacks that heaptrack cut ---- */

/*
 * heaptrack keeps the innermost 64 frames, two or four of them its own, and does not mark a cut. A
 * cut stack begins in the middle of the program, so every stack with its outermost frame has the
 * same length. Where a complete stack begins, shorter ones begin, too.
 */

enum {
    FEWEST_CUT_FRAMES = 60,
    MAX_CUT_FRAMES = 64, /* longer ones are not from heaptrack */
};

/* Adds the latest trace below `parent`. ERROR_NOMEM or 0. */
static int add_to_stack(struct heaptrack_reader *reader, uint64_t parent)
{
    uint32_t number = reader->grammar.n_traces;
    struct heaptrack_trace *traces = dynamic_array_reserve(reader->traces, &reader->traces_capacity,
                                                           number + 1u, sizeof(*traces));

    if (!traces)
        return ERROR_NOMEM;
    reader->traces = traces;
    traces[number] = (struct heaptrack_trace){.root = number, .n_frames = 1};
    if (parent > 0 && parent < number) {
        uint8_t n_outer = traces[parent].n_frames;
        traces[number].root = traces[parent].root;
        traces[number].n_frames = n_outer < UINT8_MAX ? (uint8_t)(n_outer + 1) : n_outer;
    }
    return 0;
}

/* Notes that an allocation uses this trace. */
static void note_use(struct heaptrack_reader *reader, uint64_t trace)
{
    struct heaptrack_trace *root;
    uint8_t n_frames;

    if (trace == 0 || trace > reader->grammar.n_traces)
        return;
    n_frames = reader->traces[trace].n_frames;
    root = &reader->traces[reader->traces[trace].root];
    if (n_frames < FEWEST_CUT_FRAMES || n_frames > MAX_CUT_FRAMES)
        root->has_short = true;
    else
        root->has_long = true;
}

/* After the last line: marks the stacks that heaptrack cut. */
static void mark_cut_stacks(struct heaptrack_reader *reader)
{
    for (uint32_t i = 1; i <= reader->grammar.n_traces; i++) {
        const struct heaptrack_trace *trace = &reader->traces[i];
        struct node_note *node;
        if (trace->root != i || trace->has_short || !trace->has_long)
            continue;
        node = log_names_find_node(&reader->input->names, i + LOG_NODE_FIRST - 1);
        if (node)
            node->parent = LOG_NODE_TRUNCATED;
    }
}

/* ---- definitions ---- */

static int add_argument_text(struct heaptrack_reader *reader, const struct heaptrack_line *line)
{
    bool is_more = line->kind == HEAPTRACK_ARGUMENTS_MORE;
    size_t n_before = reader->n_arguments_bytes;
    char *grown;

    if (n_before + line->text_bytes + 1 > MAX_ARGUMENT_BYTES)
        return 0;
    grown = dynamic_array_reserve(reader->arguments, &reader->arguments_capacity,
                                  n_before + line->text_bytes + 1, 1);
    if (!grown)
        return ERROR_NOMEM;
    reader->arguments = grown;
    if (is_more)
        grown[n_before++] = '\n';
    memcpy(grown + n_before, line->text, line->text_bytes);
    reader->n_arguments_bytes = n_before + line->text_bytes;
    return 0;
}

static int add_string(struct heaptrack_reader *reader, const struct heaptrack_line *line)
{
    uint32_t number = reader->grammar.n_strings;
    const char **strings = dynamic_array_reserve(reader->strings, &reader->strings_capacity,
                                                 number + 1u, sizeof(*strings));
    uint32_t *modules;

    if (!strings)
        return ERROR_NOMEM;
    reader->strings = strings;
    modules = dynamic_array_reserve(reader->string_modules, &reader->modules_capacity, number + 1u,
                                    sizeof(*modules));
    if (!modules)
        return ERROR_NOMEM;
    reader->string_modules = modules;
    if (line->is_bad || line->text_bytes == 0)
        return 0;
    strings[number] = text_arena_copy(reader->arena, line->text, line->text_bytes);
    return strings[number] ? 0 : ERROR_NOMEM;
}

/* The number if there is such a string, else 0. */
static uint32_t known_string(const struct heaptrack_reader *reader, uint64_t number)
{
    return number <= reader->grammar.n_strings && number > 0 && reader->strings[number]
               ? (uint32_t)number
               : 0;
}

/* Interpreted recordings name a module by a string, without its address. */
static int module_of(struct heaptrack_reader *reader, uint64_t number, uint32_t *ret)
{
    uint32_t string = known_string(reader, number);
    struct log_names *names = &reader->input->names;
    struct module_note *note;

    *ret = string ? reader->string_modules[string] : 0;
    if (string == 0 || *ret != 0)
        return 0;
    note = log_names_add_module(names, (uint32_t)names->n_modules + 1);
    if (!note)
        return ERROR_NOMEM;
    note->path = reader->strings[string];
    note->is_defined = true;
    *ret = reader->string_modules[string] = note->index;
    return 0;
}

static int add_level(struct heaptrack_reader *reader, struct heaptrack_fields *fields, bool *is_bad)
{
    struct heaptrack_level *levels = dynamic_array_reserve(reader->levels, &reader->levels_capacity,
                                                           reader->n_levels + 1, sizeof(*levels));
    uint64_t function = 0;
    uint64_t source = 0;
    uint64_t line = 0;

    if (!levels)
        return ERROR_NOMEM;
    reader->levels = levels;
    *is_bad = !heaptrack_line_field(fields, &function);
    if (!*is_bad && fields->at < fields->end)
        *is_bad = !heaptrack_line_field(fields, &source) || !heaptrack_line_field(fields, &line);
    if (!*is_bad)
        levels[reader->n_levels++] = (struct heaptrack_level){
            .function = known_string(reader, function),
            .source = known_string(reader, source),
            .line = line <= INT32_MAX ? (uint32_t)line : 0,
        };
    return 0;
}

static int add_ip(struct heaptrack_reader *reader, struct heaptrack_line *line)
{
    uint32_t number = reader->grammar.n_ips;
    struct heaptrack_ip *ips =
        dynamic_array_reserve(reader->ips, &reader->ips_capacity, number + 1u, sizeof(*ips));
    struct heaptrack_fields fields = line->fields;
    bool is_bad = line->is_bad;
    int r;

    if (!ips)
        return ERROR_NOMEM;
    reader->ips = ips;
    ips[number] = (struct heaptrack_ip){.address = line->a & ~LOG_NODE_EXACT,
                                        .first_level = (uint32_t)reader->n_levels};
    r = module_of(reader, line->b, &ips[number].module);
    while (r == 0 && !is_bad && fields.at < fields.end && reader->n_levels < UINT32_MAX / 2)
        r = add_level(reader, &fields, &is_bad);
    ips[number].n_levels = (uint32_t)reader->n_levels - ips[number].first_level;
    line->is_bad |= is_bad;
    return r;
}

/* heaptrack writes the address of the byte before the return address. */
static int add_trace(struct heaptrack_reader *reader, const struct heaptrack_line *line)
{
    struct log_node node = {0};

    if (add_to_stack(reader, line->is_bad ? 0 : line->b) != 0)
        return ERROR_NOMEM;
    if (line->is_bad)
        return 0;
    node.parent = line->b == 0               ? LOG_NODE_COMPLETE
                  : line->b < UINT32_MAX / 2 ? (uint32_t)line->b + LOG_NODE_FIRST - 1
                                             : 0;
    if (reader->grammar.is_raw) {
        node.address = (line->a & ~LOG_NODE_EXACT) + 1;
        node.module = heaptrack_modules_find(reader, line->a);
    } else if (line->a > 0 && line->a <= reader->grammar.n_ips) {
        node.address = reader->ips[line->a].address + 1;
        node.module = reader->ips[line->a].module;
    }
    node.address &= ~LOG_NODE_EXACT;
    return log_names_add_nodes(&reader->input->names, &node, sizeof(node),
                               reader->grammar.n_traces + LOG_NODE_FIRST - 1);
}

static int add_info(struct heaptrack_reader *reader, const struct heaptrack_line *line)
{
    size_t n = reader->grammar.n_infos;
    struct heaptrack_info *infos =
        dynamic_array_reserve(reader->infos, &reader->infos_capacity, n, sizeof(*infos));

    if (!infos)
        return ERROR_NOMEM;
    reader->infos = infos;
    infos[n - 1] = (struct heaptrack_info){
        .size = line->a,
        .trace = line->b < UINT32_MAX / 2 && !line->is_bad ? (uint32_t)line->b : UINT32_MAX};
    note_use(reader, infos[n - 1].trace);
    return 0;
}

/* Only leak rules: the program may have written comments and rules for other sanitizers. */
static int add_suppression(struct heaptrack_reader *reader, struct heaptrack_line *line)
{
    static const char kind[] = "leak:";
    size_t n_kind = sizeof(kind) - 1;
    const char **rules;

    if (line->text_bytes <= n_kind || memcmp(line->text, kind, n_kind) != 0)
        return 0;
    line->is_bad = reader->n_suppressions == MAX_SUPPRESSIONS;
    if (line->is_bad)
        return 0;
    rules = dynamic_array_reserve(reader->suppressions, &reader->suppressions_capacity,
                                  reader->n_suppressions + 1, sizeof(*rules));
    if (!rules)
        return ERROR_NOMEM;
    reader->suppressions = rules;
    rules[reader->n_suppressions] = text_arena_copy(reader->arena, line->text, line->text_bytes);
    return rules[reader->n_suppressions++] ? 0 : ERROR_NOMEM;
}

static int add_instant(struct heaptrack_reader *reader)
{
    struct heaptrack_instant *instants = dynamic_array_reserve(
        reader->instants, &reader->instants_capacity, reader->n_instants + 1, sizeof(*instants));

    if (!instants)
        return ERROR_NOMEM;
    reader->instants = instants;
    instants[reader->n_instants++] =
        (struct heaptrack_instant){reader->grammar.last_ms * 1000000, reader->n_events};
    return 0;
}

static int add_sample(struct heaptrack_reader *reader, uint64_t pages)
{
    struct log_sample *samples = dynamic_array_reserve(reader->samples, &reader->samples_capacity,
                                                       reader->n_samples + 1, sizeof(*samples));

    if (!samples)
        return ERROR_NOMEM;
    reader->samples = samples;
    samples[reader->n_samples++] = (struct log_sample){
        .kind = LOG_SAMPLE_MEMORY,
        .monotonic_ns = reader->grammar.last_ms * 1000000,
        .a = (pages & UINT32_MAX) * reader->page_bytes,
        .b = UINT64_MAX,
        .c = UINT64_MAX,
    };
    return 0;
}

static int add_executable(struct heaptrack_reader *reader, const struct heaptrack_line *line)
{
    reader->input->names.executable = text_arena_copy(reader->arena, line->text, line->text_bytes);
    return reader->input->names.executable ? 0 : ERROR_NOMEM;
}

/* Lines that count also when they are bad (HL-1). */
static int take_numbered(struct heaptrack_reader *reader, struct heaptrack_line *line)
{
    switch (line->kind) {
    case HEAPTRACK_STRING:
        return add_string(reader, line);
    case HEAPTRACK_IP:
        return add_ip(reader, line);
    case HEAPTRACK_TRACE:
        return add_trace(reader, line);
    case HEAPTRACK_INFO:
        return add_info(reader, line);
    default:
        return 0;
    }
}

static int take_good(struct heaptrack_reader *reader, struct heaptrack_line *line)
{
    switch (line->kind) {
    case HEAPTRACK_EXECUTABLE:
        return add_executable(reader, line);
    case HEAPTRACK_ARGUMENTS:
    case HEAPTRACK_ARGUMENTS_MORE:
        return add_argument_text(reader, line);
    case HEAPTRACK_SYSTEM:
        reader->page_bytes = line->a <= MAX_PAGE_BYTES ? line->a : DEFAULT_PAGE_BYTES;
        return 0;
    case HEAPTRACK_ATTACHED:
        reader->input->header.flags |= LOG_FLAG_STARTED_OFF;
        return 0;
    case HEAPTRACK_NO_MODULES:
    case HEAPTRACK_MODULE:
        return heaptrack_modules_line(reader, line);
    case HEAPTRACK_SUPPRESSION:
        return add_suppression(reader, line);
    case HEAPTRACK_ALLOC:
        if (heaptrack_grammar_has_addresses(&reader->grammar))
            note_use(reader, line->b);
        reader->n_events++;
        return 0;
    case HEAPTRACK_FREE:
        reader->n_events++;
        return 0;
    case HEAPTRACK_CLOCK:
        return add_instant(reader);
    case HEAPTRACK_MEMORY:
        return add_sample(reader, line->a);
    default:
        return 0;
    }
}

static int take_line(struct heaptrack_reader *reader, struct heaptrack_text *text, char *bytes,
                     size_t n_bytes)
{
    struct heaptrack_line line;
    int r;

    heaptrack_line_parse(&reader->grammar, bytes, n_bytes, &line);
    if (reader->is_listing_modules && line.kind != HEAPTRACK_MODULE)
        heaptrack_modules_settle(reader);
    r = take_numbered(reader, &line);
    if (r == 0 && !line.is_bad)
        r = take_good(reader, &line);
    if (line.is_bad && reader->n_bad++ == 0) {
        reader->first_bad_line = text->line_number;
        reader->first_bad_offset = text->line_offset;
    }
    return r;
}

/* ---- the first pass ---- */

static int add_damage(struct heaptrack_reader *reader, struct log_damage_report *damage,
                      const struct heaptrack_text *text)
{
    char message[MESSAGE_BYTES];
    const char *copy;
    uint64_t n_bad = reader->n_bad + text->n_too_long;
    int n;

    if (text->is_cut) {
        n = snprintf(message, sizeof(message), "file ends in the middle, behind line %" PRIu64,
                     text->line_number);
        copy = text_arena_copy(reader->arena, message, (size_t)n);
        if (!copy)
            return ERROR_NOMEM;
        log_damage_add(damage, LOG_DAMAGE_TRUNCATED, reader->path, text->offset, 0, copy);
    }
    if (n_bad == 0)
        return 0;
    n = snprintf(message, sizeof(message),
                 "line %" PRIu64 " makes no sense; lines skipped: %" PRIu64,
                 reader->n_bad ? reader->first_bad_line : text->line_number, n_bad);
    copy = text_arena_copy(reader->arena, message, (size_t)n);
    if (!copy)
        return ERROR_NOMEM;
    log_damage_add(damage, LOG_DAMAGE_RECORD, reader->path, reader->first_bad_offset, 0, copy);
    damage->count[LOG_DAMAGE_RECORD] += n_bad - 1;
    return 0;
}

static int check_version(const struct heaptrack_reader *reader, struct error *err)
{
    if (reader->grammar.file_version <= HEAPTRACK_NEWEST_VERSION)
        return 0;
    return error_set(err, ERROR_VERSION,
                     "'%s' is a heaptrack recording of format %" PRIu32
                     ", but formats 0 to %d are known; use a newer mtrace",
                     reader->path, reader->grammar.file_version, HEAPTRACK_NEWEST_VERSION);
}

static int read_definitions(struct heaptrack_reader *reader, struct log_damage_report *damage,
                            struct error *err)
{
    struct heaptrack_text text;
    char *bytes;
    size_t n_bytes;
    int r = heaptrack_text_open(reader->path, &text, err);
    int more = 0;

    while (r == 0 && (more = heaptrack_text_next(&text, &bytes, &n_bytes, err)) == 1) {
        if (take_line(reader, &text, bytes, n_bytes) != 0)
            r = out_of_memory(err);
        else
            r = check_version(reader, err);
    }
    r = r == 0 && more < 0 ? more : r;
    if (reader->is_listing_modules)
        heaptrack_modules_settle(reader);
    mark_cut_stacks(reader);
    if (r == 0 && add_damage(reader, damage, &text) != 0)
        r = out_of_memory(err);
    reader->input->files[0]->size_bytes = text.size_bytes;
    heaptrack_text_close(&text);
    return r;
}

/* heaptrack joins the arguments with spaces, so spaces inside an argument are ambiguous. */
static int split_arguments(struct heaptrack_reader *reader)
{
    struct log_names *names = &reader->input->names;
    char *text;

    if (reader->n_arguments_bytes == 0)
        return 0;
    text = text_arena_copy(reader->arena, reader->arguments, reader->n_arguments_bytes);
    if (!text)
        return ERROR_NOMEM;
    names->arguments = text;
    names->n_arguments = 1;
    if (!names->executable) /* an interpreted recording does not name it */
        names->executable = text;
    for (char *space = text; (space = strchr(space, ' ')) != NULL; names->n_arguments++)
        *space++ = '\0';
    return 0;
}

static int fill_header(struct heaptrack_reader *reader)
{
    struct log_header *header = &reader->input->header;
    uint32_t version = reader->grammar.tool_version;

    header->clock = LOG_CLOCK_MONOTONIC;
    header->page_bytes = (uint32_t)reader->page_bytes;
    header->last_monotonic_ns = header->last_ticks = reader->grammar.last_ms * 1000000;
    (void)snprintf(header->collector_version, sizeof(header->collector_version),
                   "%" PRIu32 ".%" PRIu32 ".%" PRIu32, version >> 16, version >> 8 & 255,
                   version & 255);
    return split_arguments(reader);
}

static struct log_input *make_input(const char *path, struct text_arena *arena)
{
    struct log_input *input = calloc(1, sizeof(*input));

    if (!input)
        return NULL;
    clock_map_init(&input->clock, true);
    log_names_init(&input->names, arena);
    struct log_file_reader *file = calloc(1, sizeof(*file));
    if (!file || log_input_add_file(input, file) != 0) {
        log_input_close(input);
        return NULL;
    }
    input->files[0]->path = text_arena_copy(arena, path, strlen(path));
    input->files[0]->fd = -1;
    input->files[0]->header.form = LOG_FORM_PACKED; /* no process has it mapped */
    return input;
}

int heaptrack_reader_open(const char *path, struct text_arena *arena,
                          struct log_damage_report *damage, struct heaptrack_reader **ret,
                          struct log_input **ret_input, struct error *err)
{
    struct heaptrack_reader *reader = calloc(1, sizeof(*reader));
    int r;

    if (!reader)
        return out_of_memory(err);
    reader->arena = arena;
    reader->page_bytes = DEFAULT_PAGE_BYTES;
    reader->input = make_input(path, arena);
    if (!reader->input || !reader->input->files[0]->path) {
        log_input_close(reader->input);
        heaptrack_reader_close(reader);
        return out_of_memory(err);
    }
    reader->path = reader->input->files[0]->path;
    r = read_definitions(reader, damage, err);
    if (r == 0 && fill_header(reader) != 0)
        r = out_of_memory(err);
    if (r != 0) {
        log_input_close(reader->input);
        heaptrack_reader_close(reader);
        return r;
    }
    *ret_input = reader->input;
    *ret = reader;
    return 0;
}

void heaptrack_reader_close(struct heaptrack_reader *reader)
{
    if (!reader)
        return;
    free(reader->arguments);
    free(reader->strings);
    free(reader->string_modules);
    free(reader->ips);
    free(reader->levels);
    free(reader->infos);
    free(reader->traces);
    free(reader->suppressions);
    free(reader->instants);
    free(reader->samples);
    free(reader->current_modules);
    free(reader->former_modules);
    free(reader->ranges);
    free(reader->named);
    free(reader);
}

uint64_t heaptrack_reader_n_events(const struct heaptrack_reader *reader)
{
    return reader->n_events;
}

const struct log_sample *heaptrack_reader_samples(const struct heaptrack_reader *reader,
                                                  size_t *ret_n)
{
    *ret_n = reader->n_samples;
    return reader->samples;
}

/* ---- names of an interpreted recording for its frames, after the first pass ---- */

/* A place in code, and its frame or ip. */
struct place {
    uint64_t offset;
    uint32_t object;
    uint32_t number;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;

    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static struct place *list_ips(const struct heaptrack_reader *reader)
{
    const struct log_names *names = &reader->input->names;
    struct place *places = calloc((size_t)reader->grammar.n_ips + 1, sizeof(*places));

    for (uint32_t i = 1; places && i <= reader->grammar.n_ips; i++) {
        const struct heaptrack_ip *ip = &reader->ips[i];
        places[i - 1] = (struct place){
            .offset = (ip->address + 1) & ~LOG_NODE_EXACT,
            .object = ip->module ? names->modules[ip->module].object : 0,
            .number = i,
        };
    }
    if (places && reader->grammar.n_ips > 1)
        qsort(places, reader->grammar.n_ips, sizeof(*places), compare_places);
    return places;
}

/* The first ip at the frame's place, NULL if there is none. */
static const struct heaptrack_ip *find_ip(const struct heaptrack_reader *reader,
                                          const struct place *places,
                                          const struct definitions_frame *frame)
{
    struct place wanted = {.offset = frame->offset, .object = frame->object};
    size_t i;

    if (frame->label)
        return NULL;
    LOWER_BOUND(i, reader->grammar.n_ips, compare_places(&places[i], &wanted) < 0);
    if (i == reader->grammar.n_ips || places[i].offset != frame->offset
        || places[i].object != frame->object)
        return NULL;
    return &reader->ips[places[i].number];
}

static const char *text_of(const struct heaptrack_reader *reader, uint32_t string)
{
    return string ? reader->strings[string] : NULL;
}

static void add_levels(const struct heaptrack_reader *reader, const struct heaptrack_ip *ip,
                       uint32_t frame, size_t *n)
{
    for (uint32_t k = 0; k < ip->n_levels; k++) {
        const struct heaptrack_level *level = &reader->levels[ip->first_level + k];
        reader->named[(*n)++] = (struct definitions_level){
            .frame = frame,
            .inline_level = k,
            .function = text_of(reader, level->function),
            .source = text_of(reader, level->source),
            .line = level->line,
        };
    }
}

static int name_frames(struct heaptrack_reader *reader, struct definitions *definitions)
{
    struct place *places = list_ips(reader);
    size_t n = 0;

    /* Frames are distinct places, so each ip serves one of them at most. */
    reader->named = calloc(reader->n_levels + 1, sizeof(*reader->named));
    if (!places || !reader->named) {
        free(places);
        return ERROR_NOMEM;
    }
    for (uint32_t frame = 1; frame <= definitions->n_frames; frame++) {
        const struct heaptrack_ip *ip = find_ip(reader, places, &definitions->frames[frame]);
        if (ip)
            add_levels(reader, ip, frame, &n);
    }
    free(places);
    definitions->levels = reader->named;
    definitions->n_levels = n;
    return 0;
}

int heaptrack_reader_finish(struct heaptrack_reader *reader, struct definitions *definitions,
                            struct error *err)
{
    definitions->recorder = "heaptrack";
    definitions->suppressions = reader->suppressions;
    definitions->n_suppressions = reader->n_suppressions;
    definitions->has_no_addresses = !heaptrack_grammar_has_addresses(&reader->grammar);
    if (reader->grammar.is_raw)
        return 0;
    definitions->has_names = true;
    definitions->n_modules = 0; /* their addresses are unknown */
    return name_frames(reader, definitions) == 0 ? 0 : error_set(err, ERROR_NOMEM, "out of memory");
}
