/* SPDX-License-Identifier: MIT */
#include "importer/read/log_set.h"

#include "importer/log/log_input.h"
#include "importer/model/definitions_build.h"
#include "importer/model/group_merge.h"
#include "importer/read/log_record.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/monotonic.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* approximate bytes of a raw event */
    EVENT_BYTES = 20,
};

static int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory");
}

static int compare_inputs(const void *left, const void *right)
{
    const struct log_header *a = &(*(struct log_input *const *)left)->header;
    const struct log_header *b = &(*(struct log_input *const *)right)->header;

    if (a->start_monotonic_ns != b->start_monotonic_ns)
        return a->start_monotonic_ns < b->start_monotonic_ns ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    return (a->run_id > b->run_id) - (a->run_id < b->run_id);
}

/* Earlier logs have numbers by position: a log found late comes after them, although it began
 * earlier. */
static void put_known_first(struct log_set *set, const struct log_set_options *options)
{
    size_t n_known = 0;

    for (size_t k = 0; options && k < options->n_pasts; k++) {
        size_t i = n_known;
        while (i < set->n_inputs && set->inputs[i]->header.run_id != options->pasts[k].run_id)
            i++;
        if (i == set->n_inputs)
            continue;
        struct log_input *known = set->inputs[i];
        memmove(&set->inputs[n_known + 1], &set->inputs[n_known],
                (i - n_known) * sizeof(struct log_input *));
        set->inputs[n_known++] = known;
    }
}

static int put_past(struct log_input *input, const struct log_set_past *past)
{
    if (!input->has_time_shift && past->has_time_shift) {
        input->has_time_shift = true;
        input->time_shift = past->time_shift;
        clock_map_round(&input->clock, input->time_shift);
    }
    return clock_map_put_past(&input->clock, &past->clock);
}

static int put_pasts(struct log_set *set, const struct log_set_options *options, struct error *err)
{
    static const struct log_set_past none = {0};

    for (size_t i = 0; i < set->n_inputs; i++) {
        struct log_input *input = set->inputs[i];
        const struct log_set_past *past = &none;
        for (size_t k = 0; options && k < options->n_pasts; k++)
            if (input->header.run_id == options->pasts[k].run_id)
                past = &options->pasts[k];
        if (put_past(input, past) != 0)
            return out_of_memory(err);
        if (log_input_is_bounded(input))
            log_input_check_rotated_logs(input, past->first_rotated_number, past->n_losses,
                                         past->lost_bytes, &set->damage);
    }
    return 0;
}

/* Logs of one machine have the same tick rate: a log too short to know it uses that of another. */
static int finish_clocks(struct log_set *set, struct error *err)
{
    uint64_t rate = (1ull << 32) / 3; /* 3 GHz if nothing is known */

    for (size_t i = set->n_inputs; i-- > 0;) {
        uint64_t known = clock_map_rate(&set->inputs[i]->clock);
        if (known != 0)
            rate = known;
    }
    for (size_t i = 0; i < set->n_inputs; i++) {
        bool is_late;
        if (clock_map_make(&set->inputs[i]->clock, rate, &is_late) != 0)
            return out_of_memory(err);
    }
    return 0;
}

static uint64_t min_time(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t begin_ticks(const struct log_fallback_record *fallback)
{
    struct log_record record = {.words = fallback->words, .ticks = fallback->ticks};

    return log_record_is_pair(&record) ? log_record_begin_ticks(&record) : fallback->ticks;
}

/* The first time of a FALLBACK segment is that of its earliest record. Unreadable segments are
 * reported when the events are read. */
static int find_fallback_time(struct log_set *set, struct log_input *input, size_t ref,
                              uint64_t *ret_ticks, struct error *err)
{
    static _Thread_local uint64_t payload[LOG_SEGMENT_BYTES / sizeof(uint64_t)];
    const struct log_fallback_record *records = (const struct log_fallback_record *)payload;
    int r = log_input_read(input, ref, set->pack, payload, &ref, err);

    *ret_ticks = r == 0 ? UINT64_MAX : 0;
    if (r == ERROR_FORMAT)
        return 0;
    for (size_t i = 0; r == 0 && i < input->segments.refs[ref].raw_bytes / sizeof(*records); i++)
        if (records[i].valid == LOG_FALLBACK_VALID)
            *ret_ticks = min_time(*ret_ticks, begin_ticks(&records[i]));
    return r;
}

static int add_place(struct log_set *set, size_t input_index, size_t ref_index, struct error *err)
{
    struct log_input *input = set->inputs[input_index];
    const struct log_segment_ref *ref = &input->segments.refs[ref_index];
    const uint64_t slack = LOG_SET_SLACK_NS << CLOCK_MAP_FRACTION_BITS;
    struct clock_cursor cursor = {0};
    uint64_t ticks = ref->base_ticks;
    struct segment_place *order =
        dynamic_array_reserve(set->order, &set->order_capacity, set->n_order + 1, sizeof(*order));
    uint64_t time;
    int r = 0;

    if (!order)
        return out_of_memory(err);
    set->order = order;
    if (ref->kind == LOG_SEGMENT_FALLBACK)
        r = find_fallback_time(set, input, ref_index, &ticks, err);
    if (r != 0)
        return r;
    time = log_set_time(set, input, &cursor, ticks);
    order[set->n_order++] = (struct segment_place){.first_time = time > slack ? time - slack : 0,
                                                   .input = (uint32_t)input_index,
                                                   .ref = (uint32_t)ref_index};
    return 0;
}

static int compare_places(const void *left, const void *right)
{
    const struct segment_place *a = left;
    const struct segment_place *b = right;

    if (a->first_time != b->first_time)
        return a->first_time < b->first_time ? -1 : 1;
    if (a->input != b->input)
        return a->input < b->input ? -1 : 1;
    return (a->ref > b->ref) - (a->ref < b->ref); /* by sequence, LI */
}

static uint64_t estimate_events(const struct log_set *set)
{
    uint64_t n_events = 0;

    for (size_t i = 0; i < set->n_order; i++) {
        const struct log_segment_ref *ref =
            &set->inputs[set->order[i].input]->segments.refs[set->order[i].ref];
        n_events += ref->is_packed ? ref->n_events : ref->raw_bytes / EVENT_BYTES;
    }
    return n_events;
}

static int order_segments(struct log_set *set, struct error *err)
{
    for (size_t i = 0; i < set->n_inputs; i++) {
        const struct log_segment_list *list = &set->inputs[i]->segments;
        for (size_t k = 0; k < list->n; k++) {
            int r = 0;
            if (k == 0 || list->refs[k].sequence != list->refs[k - 1].sequence)
                r = add_place(set, i, k, err);
            if (r != 0)
                return r;
        }
    }
    if (set->n_order > 0)
        qsort(set->order, set->n_order, sizeof(*set->order), compare_places);
    set->n_segments = set->n_order;
    set->n_events = estimate_events(set);
    return 0;
}

void log_set_be_frugal(struct log_set *set)
{
    set->is_frugal = true;
}

void log_set_skip_done(struct log_set *set, const struct stream_state *state)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n_order; i++) {
        const struct log_input *input = set->inputs[set->order[i].input];
        const struct log_segment_ref *ref = &input->segments.refs[set->order[i].ref];
        const struct segment_position *position =
            stream_state_find(state, input->header.run_id, ref->sequence);
        if (!position || !position->is_done)
            set->order[n++] = set->order[i];
    }
    set->n_order = n;
}

int log_set_forget_removed(const struct log_set *set, struct stream_state *state)
{
    struct stream_state kept = {0};
    const struct segment_position *positions = state->positions.elements;

    for (size_t i = 0; i < set->n_order; i++) {
        const struct log_input *input = set->inputs[set->order[i].input];
        const struct log_segment_ref *ref = &input->segments.refs[set->order[i].ref];
        if (stream_state_find(state, input->header.run_id, ref->sequence)
            && !stream_state_get(&kept, input->header.run_id, ref->sequence))
            goto no_memory;
    }
    for (size_t i = 0; i < state->positions.n; i++) {
        const struct segment_position *position = &positions[i];
        struct segment_position *copy =
            position->is_done ? stream_state_find(&kept, position->run_id, position->sequence)
                              : stream_state_get(&kept, position->run_id, position->sequence);
        if (!copy && !position->is_done)
            goto no_memory;
        if (copy)
            *copy = *position;
    }
    state->n_forgotten += state->positions.n - kept.positions.n;
    hash_map_done(&state->positions);
    state->positions = kept.positions;
    return 0;
no_memory:
    stream_state_done(&kept);
    return ERROR_NOMEM;
}

/* Time of the log's last sample; later records are written about a second after it. */
static int find_last_sample(const struct log_set *set, const struct log_input *input,
                            uint64_t *ret_ns)
{
    static _Thread_local struct log_sample
        samples[PACK_PAYLOAD_MAX_BYTES / sizeof(struct log_sample) + 1];
    size_t n = 0;

    for (size_t i = input->n_samples; i-- > 0 && n == 0;)
        if (log_input_read_samples(input, i, set->pack, samples, &n, NULL) != 0)
            n = 0;
    *ret_ns = n ? samples[n - 1].monotonic_ns : 0;
    return n > 0;
}

/* The last time that is packed unchanged (GR-3). */
static uint64_t watermark_time(const struct log_set *set, const struct log_input *input)
{
    struct clock_cursor cursor = {0};

    if (!input->is_growing || input->watermark_ticks == 0 || input->watermark_ticks == UINT64_MAX)
        return UINT64_MAX;
    uint64_t end =
        log_set_time(set, input, &cursor, input->watermark_ticks & UINT64_MAX << input->time_shift);
    return end ? end - 1 : 0;
}

/* Watermark of one log, whose times are final up to these ticks. */
static uint64_t mark_of(const struct log_set *set, const struct log_input *input,
                        uint64_t final_ticks)
{
    uint64_t origin = set->origin_ns << CLOCK_MAP_FRACTION_BITS;
    struct clock_cursor cursor = {0};
    uint64_t mark;
    uint64_t sample_ns;

    if (!input->is_growing)
        return UINT64_MAX;
    if (final_ticks == 0 || (input->n_files > 1 && !input->has_time_shift)) /* LI-3 */
        return 0;
    mark = min_time(log_set_time(set, input, &cursor, final_ticks), watermark_time(set, input));
    if (input->header.end_kind != LOG_END_UNKNOWN || !find_last_sample(set, input, &sample_ns))
        return mark;
    sample_ns <<= CLOCK_MAP_FRACTION_BITS;
    return min_time(mark, sample_ns > origin ? sample_ns - origin : 0);
}

/* What processes of this machine wrote by this time was seen, at least in the live log. */
static uint64_t opening_time(const struct log_set *set)
{
    return set->opened_ns > set->origin_ns && log_input_has_raw_file(set->inputs[0])
               ? (set->opened_ns - set->origin_ns) << CLOCK_MAP_FRACTION_BITS
               : 0;
}

uint64_t log_set_watermark(const struct log_set *set, uint64_t time_limit_ns)
{
    const uint64_t time_limit = time_limit_ns << CLOCK_MAP_FRACTION_BITS;
    uint64_t furthest = opening_time(set);
    uint64_t mark = UINT64_MAX;
    uint64_t watermark = UINT64_MAX;

    for (size_t i = 0; i < set->n_inputs; i++) {
        uint64_t own = mark_of(set, set->inputs[i], set->inputs[i]->clock.final_ticks);
        mark = min_time(mark, own);
        watermark = min_time(watermark, watermark_time(set, set->inputs[i]));
        if (own != UINT64_MAX && own > furthest)
            furthest = own;
    }
    if (time_limit && mark < furthest && furthest - mark > time_limit)
        mark = min_time(furthest - time_limit, watermark);
    return mark;
}

static int build_definitions(struct log_set *set, struct error *err)
{
    if (definitions_build(set->inputs, set->n_inputs, set->origin_ns, &set->damage,
                          &set->definitions)
        != 0)
        return out_of_memory(err);
    return 0;
}

static int open_heaptrack(struct log_set *set, const char *path, struct error *err)
{
    struct log_input *input;
    int r = heaptrack_reader_open(path, &set->arena, &set->damage, &set->heaptrack, &input, err);

    if (r == 0)
        r = log_set_add_input(set, input, err);
    if (r == 0)
        r = build_definitions(set, err);
    if (r == 0)
        r = heaptrack_reader_finish(set->heaptrack, &set->definitions, err);
    set->opening_damage = set->damage;
    return r;
}

/* True if a path is a recording of heaptrack, which is one process of its own. */
static bool find_heaptrack(const char *const *paths, size_t n_paths, const char **ret)
{
    for (size_t i = 0; i < n_paths; i++) {
        *ret = paths[i];
        if (heaptrack_reader_recognizes(paths[i]))
            return true;
    }
    return false;
}

static int fill(struct log_set *set, const char *const *paths, size_t n_paths,
                const struct log_set_options *options, struct error *err)
{
    const char *heaptrack;
    int r;

    set->opened_ns = monotonic_now_ns();
    set->keeps_later = options && options->keeps_later;
    if (find_heaptrack(paths, n_paths, &heaptrack)) {
        if (n_paths == 1)
            return open_heaptrack(set, heaptrack, err);
        return error_set(err, ERROR_USAGE,
                         "'%s' is a heaptrack recording; import it into a database of its own",
                         heaptrack);
    }

    for (size_t i = 0; i < n_paths; i++)
        if (heaptrack_reader_is_stump(paths[i]))
            return error_set(err, ERROR_FORMAT,
                             "'%s' is compressed, and cut or damaged before the end of its first "
                             "line; copy or record it again",
                             paths[i]);

    set->pack = pack_new();
    if (!set->pack)
        return out_of_memory(err);
    r = log_set_find_members(set, paths, n_paths, options && options->only, err);
    if (r != 0)
        return r;
    if (set->n_inputs == 0)
        return error_set(err, ERROR_USAGE, "no log was named");
    qsort(set->inputs, set->n_inputs, sizeof(struct log_input *), compare_inputs);
    put_known_first(set, options);
    set->origin_ns = set->inputs[0]->header.start_monotonic_ns;
    for (size_t i = 0; i < set->n_inputs; i++)
        set->is_growing |= set->inputs[i]->is_growing;
    r = put_pasts(set, options, err);
    if (r == 0)
        r = finish_clocks(set, err);
    if (r == 0)
        r = build_definitions(set, err);
    if (r == 0)
        r = order_segments(set, err);
    set->opening_damage = set->damage;
    return r;
}

int log_set_open(const char *const *paths, size_t n_paths, const struct log_set_options *options,
                 struct log_set **ret, struct error *err)
{
    struct log_set *set = calloc(1, sizeof(*set));
    int r;

    if (!set)
        return out_of_memory(err);
    r = fill(set, paths, n_paths, options, err);
    if (r == 0 && options && options->until_ns)
        r = log_set_cut(set, options->until_ns, NULL, err);
    if (r != 0) {
        log_set_close(set);
        return r;
    }
    *ret = set;
    return 0;
}

/* A running program was alive when the set was opened, although its log may have been idle for
 * long. */
static void extend_running(struct log_set *set)
{
    uint64_t now_ns = set->opened_ns > set->origin_ns ? set->opened_ns - set->origin_ns : 0;

    for (size_t i = 0; i < set->n_inputs; i++) {
        const struct log_input *input = set->inputs[i];
        struct definitions_process *process = &set->definitions.processes[i + 1];
        if (input->is_growing && log_input_has_raw_file(input)
            && input->header.end_kind == LOG_END_UNKNOWN && process->last_ns < now_ns
            && log_input_is_live(input))
            process->last_ns = now_ns;
    }
}

/* If the end was not recorded, the header has an earlier time than the end. */
static bool find_later(const struct log_set *set)
{
    bool has_later = set->is_growing || set->heaptrack;

    for (size_t i = 0; i < set->n_inputs && !has_later; i++) {
        const struct definitions_process *process = &set->definitions.processes[i + 1];
        has_later = set->inputs[i]->header.end_kind == LOG_END_UNKNOWN
                    || log_set_is_after_end(set, process->start_ns)
                    || log_set_is_after_end(set, process->last_ns);
    }
    return has_later;
}

static void leave_out_later(struct log_set *set)
{
    for (size_t id = 1; id <= set->n_inputs; id++)
        set->definitions.processes[id].is_left_out =
            log_set_is_after_end(set, set->definitions.processes[id].start_ns);
}

/* Removes processes that began after the requested end. */
static void drop_later_inputs(struct log_set *set)
{
    if (set->keeps_later) {
        leave_out_later(set);
        return;
    }
    while (set->n_inputs > 1
           && log_set_is_after_end(set, set->definitions.processes[set->n_inputs].start_ns))
        log_input_close(set->inputs[--set->n_inputs]);
    set->definitions.n_processes = set->n_inputs;
}

static void drop_later_segments(struct log_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n_order; i++) {
        const struct segment_place *place = &set->order[i];
        if (place->input < set->n_inputs
            && !log_set_is_after_end(set, place->first_time >> CLOCK_MAP_FRACTION_BITS))
            set->order[n++] = *place;
    }
    set->n_segments -= set->n_order - n;
    set->n_order = n;
    set->n_events = estimate_events(set);
}

int log_set_cut(struct log_set *set, uint64_t until_ns, const char *until_marker, struct error *err)
{
    set->until_ns = until_ns ? until_ns : 1; /* 0 means no end */
    free(set->until_marker);
    set->until_marker = until_marker ? strdup(until_marker) : NULL;
    if (until_marker && !set->until_marker)
        return out_of_memory(err);
    extend_running(set);
    set->has_later |= find_later(set);
    drop_later_inputs(set);
    drop_later_segments(set);
    definitions_cut(&set->definitions, set->until_ns);
    return 0;
}

uint32_t log_set_find_process(const struct log_set *set, uint64_t run_id)
{
    for (size_t i = 0; i < set->n_inputs; i++)
        if (set->inputs[i]->header.run_id == run_id)
            return (uint32_t)i + 1;
    return 0;
}

/* A group that another process made after the fork has an id of the merged groups that this process
 * may have used for its own. */
static void keep_groups_of(struct log_set *set, const struct log_names *names)
{
    struct definitions_group *groups = set->definitions.groups;

    for (size_t number = 1; number <= set->definitions.n_groups; number++)
        groups[number].is_left_out = !groups[number].is_lost;
    for (size_t i = 1; i <= names->n_groups; i++) {
        struct definitions_group *group = &groups[names->groups[i].number];
        group->is_left_out = false;
        if (group_merge_is_id(names->groups[i].index))
            group->id = names->groups[i].index;
    }
}

bool log_set_keep_only_run(struct log_set *set, uint64_t run_id)
{
    uint32_t reported = log_set_find_process(set, run_id);

    for (uint32_t id = 1; reported && id <= set->n_inputs; id++)
        set->definitions.processes[id].is_left_out = id != reported;
    if (reported)
        keep_groups_of(set, &set->inputs[reported - 1]->names);
    return reported != 0;
}

void log_set_close(struct log_set *set)
{
    if (!set)
        return;
    heaptrack_reader_close(set->heaptrack);
    for (size_t i = 0; i < set->n_inputs; i++)
        log_input_close(set->inputs[i]);
    free(set->inputs);
    definitions_build_done(&set->definitions);
    text_arena_done(&set->arena);
    pack_free(set->pack);
    free(set->order);
    free(set->until_marker);
    free(set);
}

bool log_set_has_later(const struct log_set *set)
{
    return set->has_later;
}

const struct definitions *log_set_definitions(const struct log_set *set)
{
    return &set->definitions;
}

const struct log_damage_report *log_set_damage(const struct log_set *set)
{
    return &set->damage;
}

uint64_t log_set_estimated_events(const struct log_set *set)
{
    return set->heaptrack ? heaptrack_reader_n_events(set->heaptrack) : set->n_events;
}

bool log_set_is_growing(const struct log_set *set)
{
    return set->is_growing;
}

bool log_set_still_grows(const struct log_set *set)
{
    for (size_t i = 0; i < set->n_inputs; i++)
        if (log_input_still_grows(set->inputs[i]))
            return true;
    return false;
}

uint64_t log_set_n_segments(const struct log_set *set)
{
    return set->n_segments;
}
