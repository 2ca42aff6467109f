/* SPDX-License-Identifier: MIT */
#include "importer/model/definitions_build.h"

#include "importer/model/group_merge.h"
#include "importer/model/stack_merge.h"
#include "lib/abi/file_key.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct build {
    struct definitions *definitions;
    struct log_input *const *inputs;
    size_t n_inputs;
    uint64_t origin_ns;
    struct log_damage_report *damage;
    struct stack_merge stacks;
    struct id_table objects;
    size_t threads_capacity, objects_capacity, modules_capacity;
    size_t file_parts_capacity, messages_capacity, settings_capacity, pools_capacity;
    struct group_merge groups;
};

static uint64_t since_origin(const struct build *build, uint64_t monotonic_ns)
{
    return monotonic_ns > build->origin_ns ? monotonic_ns - build->origin_ns : 0;
}

static uint64_t time_of(const struct build *build, const struct log_input *input, uint64_t ticks)
{
    return since_origin(build, clock_map_ns(&input->clock, ticks));
}

/* End of a process without an end event. Without a trailer the recorder had not seen an end either:
 * a log that still arrives from another machine, or was cut on its way, does not show what came
 * later. */
static const char *end_without_word(const struct log_input *input)
{
    bool has_trailer = false;

    if (log_input_is_live(input))
        return "running";
    for (size_t i = 0; i < input->n_files; i++)
        has_trailer |= input->files[i]->has_trailer;
    return has_trailer || log_input_has_raw_file(input) ? "unknown" : "unseen";
}

static void set_end(struct definitions_process *process, const struct log_input *input)
{
    uint32_t end_kind = input->header.end_kind;

    process->has_end_value = true;
    process->end_value = input->header.end_value;
    switch (end_kind) {
    case LOG_END_EXIT:
    case LOG_END_QUICK:
        process->has_end_event = true;
        /* fallthrough */
    case LOG_END_IMMEDIATE:
        process->end_kind = "exit";
        return;
    case LOG_END_DETACHED:
        process->has_end_event = true;
        process->has_end_value = false;
        process->end_kind = "detached";
        return;
    case LOG_END_ABORT:
        process->has_end_event = true;
        process->end_value = SIGABRT;
        process->end_kind = "signal";
        return;
    case LOG_END_SIGNAL:
        process->end_kind = "signal";
        return;
    default:
        process->has_end_value = false;
        process->end_value = 0;
    }
    process->has_end_event = end_kind == LOG_END_EXEC;
    process->end_kind = process->has_end_event ? "exec" : end_without_word(input);
}

static uint32_t find_parent(const struct build *build, size_t child)
{
    uint64_t run_id = build->inputs[child]->header.parent_run_id;

    for (size_t i = 0; run_id != 0 && i < build->n_inputs; i++)
        if (i != child && build->inputs[i]->header.run_id == run_id)
            return (uint32_t)i + 1;
    return 0;
}

/* True if the process reached the limit of distinct threads. */
static bool has_max_threads(const struct log_names *names)
{
    static const char setting[] = "MTRACE_MAX_THREADS=";
    const size_t length = sizeof(setting) - 1;

    for (size_t k = 1; k <= names->n_texts; k++)
        if (names->texts[k].kind == LOG_DEF_SETTING
            && strncmp(names->texts[k].text, setting, length) == 0)
            return strcmp(names->texts[k].text + length, "0") != 0;
    return false;
}

/* Includes lost threads if a part of the log is lost. */
static uint32_t count_joined_threads(const struct log_input *input)
{
    uint32_t n_all = atomic_load_explicit(&input->header.n_threads, memory_order_relaxed);
    bool are_joined = (input->header.flags & LOG_FLAG_BOUNDED) || has_max_threads(&input->names);

    return are_joined && n_all > input->names.n_threads ? n_all - (uint32_t)input->names.n_threads
                                                        : 0;
}

static void fill_process(const struct build *build, size_t i)
{
    const struct log_input *input = build->inputs[i];
    const struct log_header *header = &input->header;
    struct definitions_process *process = &build->definitions->processes[i + 1];

    *process = (struct definitions_process){
        .log_path = log_input_path(input),
        .executable = input->names.executable,
        .arguments = input->names.arguments,
        .n_arguments = input->names.n_arguments,
        .parent = find_parent(build, i),
        .pid = header->pid,
        .parent_pid = header->parent_pid,
        .image = header->image,
        .run_id = header->run_id,
        .start_unix_ns = header->start_unix_ns,
        .start_ns = since_origin(build, header->start_monotonic_ns),
        .last_ns = since_origin(build, header->last_monotonic_ns),
        .arch = header->arch,
        .word_bytes = header->word_bytes,
        .clock = header->clock,
        .page_bytes = header->page_bytes,
        .flags = header->flags,
        .max_rss_bytes = header->max_rss_bytes,
        .sample_bytes = header->sample_bytes < LOG_MAX_SAMPLE_BYTES ? header->sample_bytes
                                                                    : LOG_MAX_SAMPLE_BYTES,
        .unwind_mismatches = header->unwind_mismatches,
        .unwind_checked = header->unwind_checked,
        .n_started = header->n_children,
        .n_unreported_modules = header->n_unreported_modules,
        .unreached = {header->n_deepbound, header->n_foreign, header->n_elsewhere,
                      header->n_pointers},
        .n_joined_threads = count_joined_threads(input),
        .stale_exits = header->stale_exits,
        .bad_handles = header->bad_handles,
        .refused_groups = header->refused_groups,
        .collector_version = header->collector_version,
        .unseen_allocator = header->unseen_allocator,
        .embedded_allocator = header->embedded_status == LOG_EMBEDDED_RECORDED
                                      || header->embedded_status == LOG_EMBEDDED_PARTLY
                                  ? header->embedded_allocator
                                  : "",
        .unseen_why = header->unseen_why,
    };
    if (process->last_ns < process->start_ns)
        process->last_ns = process->start_ns;
    for (int k = 0; k < LOG_DROP_REASONS; k++)
        process->dropped[k] = header->dropped[k];
    process->has_lost_events = input->has_lost_events;
    for (size_t k = 0; k < input->n_files; k++)
        process->log_bytes += input->files[k]->size_bytes;
    set_end(process, input);
}

static struct definitions_thread *add_thread(struct build *build)
{
    struct definitions *definitions = build->definitions;
    struct definitions_thread *threads =
        dynamic_array_reserve(definitions->threads, &build->threads_capacity,
                              definitions->n_threads + 2, sizeof(*threads));

    if (!threads)
        return NULL;
    definitions->threads = threads;
    return &threads[++definitions->n_threads];
}

static int fill_threads(struct build *build, size_t i)
{
    struct log_input *input = build->inputs[i];
    struct log_names *names = &input->names;
    struct definitions_process *process = &build->definitions->processes[i + 1];
    struct definitions_thread *thread;

    process->first_thread = (uint32_t)build->definitions->n_threads + 1;
    process->n_threads = (uint32_t)names->n_threads + 1;
    for (size_t k = 1; k <= names->n_threads; k++) {
        struct thread_note *note = &names->threads[k];
        thread = add_thread(build);
        if (!thread)
            return ERROR_NOMEM;
        note->id = (uint32_t)build->definitions->n_threads;
        *thread = (struct definitions_thread){
            .process = (uint32_t)i + 1,
            .tid = note->tid,
            .name = note->name,
            .start_ns =
                note->has_start ? time_of(build, input, note->start_ticks) : process->start_ns,
            .end_ns = note->has_end ? time_of(build, input, note->end_ticks) : 0,
            .stack_address = note->stack_address,
            .stack_bytes = note->stack_bytes,
            .has_end = note->has_end,
        };
    }
    thread = add_thread(build);
    if (!thread)
        return ERROR_NOMEM;
    *thread = (struct definitions_thread){
        .process = (uint32_t)i + 1, .start_ns = process->start_ns, .is_unknown = true};
    names->process = (uint32_t)i + 1;
    names->unknown_thread = (uint32_t)build->definitions->n_threads;
    return 0;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool object_equals(const void *context, uint32_t id, const void *key)
{
    const struct definitions_object *object = &((const struct definitions *)context)->objects[id];
    const struct definitions_object *wanted = key;
    if (object->arch != wanted->arch || object->word_bytes != wanted->word_bytes
        || !is_same_text(object->build_id, wanted->build_id))
        return false;
    if (object->build_id)
        return true;
    if (object->file_key || wanted->file_key)
        return object->file_key == wanted->file_key;
    return is_same_text(object->path, wanted->path) && object->mapped_bytes == wanted->mapped_bytes;
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0;

    while (text && *text)
        hash = id_table_hash(hash, (unsigned char)*text++);
    return hash;
}

/* Hashes the fields that object_equals compares. */
static uint64_t hash_object(const struct definitions_object *object)
{
    if (object->build_id)
        return hash_text(object->build_id);
    return object->file_key ? id_table_hash(object->file_key, 0)
                            : id_table_hash(hash_text(object->path), object->mapped_bytes);
}

/* Returns the id; 0: no memory. */
static uint32_t intern_object(struct build *build, const struct definitions_object *object)
{
    struct definitions *definitions = build->definitions;
    uint64_t hash = hash_object(object);
    uint32_t id = id_table_find(&build->objects, hash, object_equals, definitions, object);
    struct definitions_object *objects;

    if (id)
        return id;
    objects = dynamic_array_reserve(definitions->objects, &build->objects_capacity,
                                    definitions->n_objects + 2, sizeof(*objects));
    if (!objects)
        return 0;
    definitions->objects = objects;
    id = (uint32_t)definitions->n_objects + 1;
    if (id_table_add(&build->objects, hash, id) != 0)
        return 0;
    objects[id] = *object;
    definitions->n_objects++;
    return id;
}

/* The user started the executable by another name in its folder: redis-server is a link to
 * redis-check-rdb. In another folder the path finds no files beside the executable. */
static bool is_other_name(const char *executable, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n_folder = slash ? (size_t)(slash - path) + 1 : 0;
    struct stat file;
    struct stat other;

    return n_folder && executable && strncmp(executable, path, n_folder) == 0
           && !strchr(executable + n_folder, '/') && strcmp(executable, path) != 0
           && stat(executable, &file) == 0 && stat(path, &other) == 0 && file.st_dev == other.st_dev
           && file.st_ino == other.st_ino;
}

/* The link map has no name for the main program. */
static const char *object_path(const struct log_names *names, const struct module_note *note)
{
    if (note->path[0] != '\0')
        return is_other_name(names->executable, note->path) ? names->executable : note->path;
    return names->executable ? names->executable : "[unknown]";
}

static int fill_module(struct build *build, struct log_input *input, struct module_note *note)
{
    struct definitions *definitions = build->definitions;
    struct definitions_object object = {.path = object_path(&input->names, note),
                                        .build_id = note->build_id,
                                        .arch = input->header.arch,
                                        .word_bytes = input->header.word_bytes,
                                        .file_key = note->file_key};
    struct definitions_module *modules =
        dynamic_array_reserve(definitions->modules, &build->modules_capacity,
                              definitions->n_modules + 2, sizeof(*modules));

    if (!modules)
        return ERROR_NOMEM;
    definitions->modules = modules;
    if (!object.build_id && !object.file_key)
        object.mapped_bytes = note->size_bytes;
    note->object = intern_object(build, &object);
    if (note->object == 0)
        return ERROR_NOMEM;
    modules[++definitions->n_modules] = (struct definitions_module){
        .process = input->names.process,
        .object = note->object,
        .path = object.path,
        .load_address = note->load_address,
        .start_address = note->start_address,
        .size_bytes = note->size_bytes,
        .seen_ns = time_of(build, input, note->load_ticks),
        .unloaded_ns = note->is_unloaded ? time_of(build, input, note->unload_ticks) : 0,
        .is_unloaded = note->is_unloaded,
    };
    return 0;
}

/* ---- parts of files ---- */

struct object_of_key {
    uint64_t key;
    uint32_t object;
};

static int by_key(const void *a, const void *b)
{
    const struct object_of_key *x = a;
    const struct object_of_key *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

static int by_object_and_offset(const void *a, const void *b)
{
    const struct definitions_file_part *x = a;
    const struct definitions_file_part *y = b;

    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* 0: it has none. */
static uint64_t key_of_object(const struct definitions_object *object)
{
    const char *hex = object->build_id;
    uint8_t bytes[64]; /* as many as log_names takes */
    size_t n = 0;

    if (!hex)
        return object->file_key;
    for (; n < sizeof(bytes) && sscanf(hex + 2 * n, "%2hhx", &bytes[n]) == 1; n++) {
    }
    return file_key_of_bytes(bytes, n);
}

/* Returns a sorted list, to be freed; NULL: no memory. */
static struct object_of_key *list_keys(const struct definitions *definitions, size_t *ret_n)
{
    struct object_of_key *keys = calloc(definitions->n_objects + 1, sizeof(*keys));
    size_t n = 0;

    for (uint32_t id = 1; keys && id <= definitions->n_objects; id++) {
        keys[n] = (struct object_of_key){key_of_object(&definitions->objects[id]), id};
        n += keys[n].key != 0;
    }
    if (n)
        qsort(keys, n, sizeof(*keys), by_key);
    *ret_n = n;
    return keys;
}

static int add_file_parts(struct build *build, const struct log_names *names,
                          const struct object_of_key *keys, size_t n_keys)
{
    struct definitions *definitions = build->definitions;
    struct definitions_file_part *parts;

    if (names->n_file_parts == 0)
        return 0;
    parts = dynamic_array_reserve(definitions->file_parts, &build->file_parts_capacity,
                                  definitions->n_file_parts + names->n_file_parts, sizeof(*parts));
    if (!parts)
        return ERROR_NOMEM;
    definitions->file_parts = parts;
    for (size_t i = 1; i <= names->n_file_parts; i++) {
        const struct file_part_note *note = &names->file_parts[i];
        const struct object_of_key wanted = {.key = note->file_key};
        const struct object_of_key *found =
            n_keys ? bsearch(&wanted, keys, n_keys, sizeof(*keys), by_key) : NULL;
        if (found)
            parts[definitions->n_file_parts++] = (struct definitions_file_part){
                found->object, note->offset, note->bytes, note->n_bytes};
    }
    return 0;
}

/* Any log of a run may hold a file: the recorder copies it once. */
static int fill_file_parts(struct build *build)
{
    size_t n_keys = 0;
    struct object_of_key *keys = list_keys(build->definitions, &n_keys);
    int r = keys ? 0 : ERROR_NOMEM;

    for (size_t i = 0; r == 0 && i < build->n_inputs; i++)
        r = add_file_parts(build, &build->inputs[i]->names, keys, n_keys);
    free(keys);
    return r;
}

/* Several processes may have copied one file; the copies agree where they overlap. */
static void sort_file_parts(struct definitions *definitions)
{
    struct definitions_file_part *parts = definitions->file_parts;
    size_t n = 0;

    if (definitions->n_file_parts)
        qsort(parts, definitions->n_file_parts, sizeof(*parts), by_object_and_offset);
    for (size_t i = 0; i < definitions->n_file_parts; i++) {
        if (n == 0 || by_object_and_offset(&parts[n - 1], &parts[i]) != 0)
            parts[n++] = parts[i];
        else if (parts[n - 1].n_bytes < parts[i].n_bytes)
            parts[n - 1] = parts[i];
    }
    definitions->n_file_parts = n;
}

static int add_text(struct definitions_text **texts, size_t *n, size_t *capacity, uint32_t process,
                    const char *text)
{
    struct definitions_text *array =
        dynamic_array_reserve(*texts, capacity, *n + 1, sizeof(*array));

    if (!array)
        return ERROR_NOMEM;
    *texts = array;
    array[(*n)++] = (struct definitions_text){.process = process, .text = text};
    return 0;
}

/* Two threads may both have written it: the second note is never looked up. */
static int add_pool(struct build *build, const struct log_names *names, struct text_note *note)
{
    struct definitions *definitions = build->definitions;
    int r = add_text(&definitions->pools, &definitions->n_pools, &build->pools_capacity,
                     names->process, note->text);

    note->number = (uint32_t)definitions->n_pools;
    return r;
}

static bool is_found(const struct log_names *names, const struct text_note *note)
{
    return log_names_find_text(names, (enum log_def_kind)note->kind, note->index) == note->text;
}

static int fill_texts(struct build *build, const struct log_names *names)
{
    struct definitions *definitions = build->definitions;

    for (size_t k = 1; k <= names->n_texts; k++) {
        struct text_note *note = &names->texts[k];
        int r = 0;
        if (note->kind == LOG_DEF_POOL && is_found(names, note))
            r = add_pool(build, names, note);
        else if (note->kind == LOG_DEF_MESSAGE)
            r = add_text(&definitions->messages, &definitions->n_messages,
                         &build->messages_capacity, names->process, note->text);
        else if (note->kind == LOG_DEF_SETTING)
            r = add_text(&definitions->settings, &definitions->n_settings,
                         &build->settings_capacity, names->process, note->text);
        if (r != 0)
            return r;
    }
    return 0;
}

static int fill_log(struct build *build, size_t i)
{
    struct log_input *input = build->inputs[i];
    struct log_names *names = &input->names;
    uint64_t n_lost = 0;
    int r;

    fill_process(build, i);
    r = fill_threads(build, i);
    for (size_t k = 1; r == 0 && k <= names->n_modules; k++)
        if (names->modules[k].is_defined)
            r = fill_module(build, input, &names->modules[k]);
    if (r == 0)
        r = fill_texts(build, names);
    if (r == 0)
        r = group_merge_log(&build->groups, i);
    if (r == 0)
        r = stack_merge_log(&build->stacks, names, &n_lost);
    log_names_forget_nodes(names);
    if (n_lost == 0)
        return r;
    log_damage_add(build->damage, LOG_DAMAGE_NODE, log_input_path(input), 0, 0,
                   "stack nodes whose parent or module the log does not define");
    build->damage->count[LOG_DAMAGE_NODE] += n_lost - 1;
    return r;
}

static int number_stacks(struct build *build)
{
    uint32_t *numbers;
    int r = stack_merge_number(&build->stacks, build->definitions, &numbers);

    if (r != 0)
        return r;
    for (size_t i = 0; i < build->n_inputs; i++)
        stack_merge_renumber(&build->inputs[i]->names, numbers);
    free(numbers);
    return 0;
}

int definitions_build(struct log_input *const *inputs, size_t n_inputs, uint64_t origin_ns,
                      struct log_damage_report *damage, struct definitions *ret)
{
    struct build build = {.definitions = ret,
                          .inputs = inputs,
                          .n_inputs = n_inputs,
                          .origin_ns = origin_ns,
                          .damage = damage};
    int r = ERROR_NOMEM;

    memset(ret, 0, sizeof(*ret));
    ret->processes = calloc(n_inputs + 1, sizeof(*ret->processes));
    if (ret->processes) {
        ret->n_processes = n_inputs;
        r = stack_merge_init(&build.stacks);
    }
    group_merge_init(&build.groups, inputs, ret);
    for (size_t i = 0; r == 0 && i < n_inputs; i++)
        r = fill_log(&build, i);
    if (r == 0)
        r = fill_file_parts(&build);
    sort_file_parts(ret);
    if (r == 0)
        r = number_stacks(&build);
    if (r == 0)
        r = group_merge_finish(&build.groups, n_inputs);
    group_merge_done(&build.groups);
    stack_merge_done(&build.stacks);
    id_table_done(&build.objects);
    return r;
}

void definitions_build_done(struct definitions *definitions)
{
    free(definitions->processes);
    free(definitions->threads);
    free(definitions->objects);
    free(definitions->modules);
    free(definitions->frames);
    free(definitions->backtraces);
    free(definitions->file_parts);
    free(definitions->messages);
    free(definitions->settings);
    free(definitions->pools);
    free(definitions->groups);
    free(definitions->tags);
    free(definitions->group_tags);
    memset(definitions, 0, sizeof(*definitions));
}

/* ---- cut ---- */

/* A later image of the process had begun, so this one had ended, even if the recorder has no time
 * for it. */
static bool has_next_image(const struct definitions *definitions,
                           const struct definitions_process *process)
{
    for (size_t id = 1; id <= definitions->n_processes; id++)
        if (definitions->processes[id].pid == process->pid
            && definitions->processes[id].image == process->image + 1
            && definitions->processes[id].start_ns >= process->start_ns)
            return true;
    return false;
}

/* If the recorder did not complete the log, its header has a time before the end. */
static void cut_process(const struct definitions *definitions, struct definitions_process *process,
                        uint64_t until_ns)
{
    process->is_cut = process->last_ns > until_ns || process->has_end_event;
    if (definitions_ended_by(process, "exec") && has_next_image(definitions, process))
        process->is_cut = false;
    if (process->last_ns > until_ns)
        process->last_ns = process->start_ns > until_ns ? process->start_ns : until_ns;
}

static void cut_thread(const struct definitions *definitions, struct definitions_thread *thread,
                       uint64_t until_ns)
{
    thread->is_later = thread->start_ns > until_ns || thread->process > definitions->n_processes;
    thread->has_end &= thread->end_ns <= until_ns;
}

static void cut_modules(struct definitions *definitions, uint64_t until_ns)
{
    size_t n = 0;

    for (size_t id = 1; id <= definitions->n_modules; id++) {
        struct definitions_module *module = &definitions->modules[id];
        module->is_unloaded &= module->unloaded_ns <= until_ns;
        if (module->seen_ns <= until_ns && module->process <= definitions->n_processes)
            definitions->modules[++n] = *module;
    }
    definitions->n_modules = n;
}

void definitions_cut(struct definitions *definitions, uint64_t until_ns)
{
    definitions->is_cut = true;
    for (size_t id = 1; id <= definitions->n_processes; id++)
        cut_process(definitions, &definitions->processes[id], until_ns);
    for (size_t id = 1; id <= definitions->n_threads; id++)
        cut_thread(definitions, &definitions->threads[id], until_ns);
    cut_modules(definitions, until_ns);
}
