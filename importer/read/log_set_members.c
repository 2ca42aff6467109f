/* SPDX-License-Identifier: MIT */
/* Part of log_set: finds the logs that belong to a set. */
#include "importer/log/process_logs.h"
#include "importer/read/log_set.h"
#include "lib/base/dynamic_array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* With more logs than that, files are opened for each read. */
    MANY_LOGS = 128,
    /* Of those; the rest of the descriptors (1024 by default) is for other uses. */
    MAX_OPEN_POOLS = 512,
    /* For files that were removed before they are opened. */
    MAX_LOOKS_AGAIN = 16,
};

static int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory");
}

static struct log_input *find_run(const struct log_set *set, uint64_t run_id)
{
    for (size_t i = 0; i < set->n_inputs; i++)
        if (set->inputs[i]->header.run_id == run_id)
            return set->inputs[i];
    return NULL;
}

/* A recorder may pack and remove a live log at any time: it stays open, since its name may soon be
 * invalid. */
static void rest_files(struct log_set *set, struct log_input *input)
{
    for (size_t i = 0; i < input->n_files; i++) {
        if (process_logs_is_live(input->files[i]->path) && set->n_open_pools < MAX_OPEN_POOLS)
            set->n_open_pools++;
        else
            log_file_close_fd(input->files[i]);
    }
}

int log_set_add_input(struct log_set *set, struct log_input *input, struct error *err)
{
    struct log_input **inputs;

    if (find_run(set, input->header.run_id)) {
        log_input_close(input);
        return 0;
    }
    inputs = dynamic_array_reserve(set->inputs, &set->inputs_capacity, set->n_inputs + 1,
                                   sizeof(struct log_input *));
    if (!inputs) {
        log_input_close(input);
        return out_of_memory(err);
    }
    set->inputs = inputs;
    inputs[set->n_inputs++] = input;
    if (set->n_inputs > MANY_LOGS)
        rest_files(set, input);
    return 0;
}

static int add_path(struct log_set *set, const char *path, struct error *err)
{
    struct log_input *input;
    int r = log_input_open(path, &set->arena, set->pack, &set->damage, &input, err);

    return r != 0 ? r : log_set_add_input(set, input, err);
}

/* Path of the child's log beside its parent's; the caller frees it. */
static char *beside(const char *parent_path, const char *child_path)
{
    const char *slash = strrchr(parent_path, '/');
    const char *name = strrchr(child_path, '/');
    char *path;
    int n = slash ? (int)(slash - parent_path) + 1 : 0;

    return asprintf(&path, "%.*s%s", n, parent_path, name ? name + 1 : child_path) < 0 ? NULL
                                                                                       : path;
}

static bool is_child(const struct log_input *parent, const struct text_note *note,
                     const struct log_input *input)
{
    if (note->run_id != 0)
        return input->header.run_id == note->run_id;
    return input->header.parent_run_id == parent->header.run_id && input->header.pid == note->pid;
}

/* Is the parent's path a link into the folder where it says that the child's log is? A copied log
 * has copied children beside it, or none: the originals may have changed since. */
static bool is_link(const struct log_input *parent, const struct text_note *note)
{
    const char *name = strrchr(note->text, '/');
    char *real = realpath(log_input_path(parent), NULL);
    const char *slash = real ? strrchr(real, '/') : NULL;
    char *there = name ? strndup(note->text, (size_t)(name - note->text) + 1) : NULL;
    char *here = slash ? strndup(real, (size_t)(slash - real) + 1) : NULL;
    struct stat first, second;
    bool is_same = there && here && stat(there, &first) == 0 && stat(here, &second) == 0
                   && first.st_dev == second.st_dev && first.st_ino == second.st_ino;

    free(here);
    free(there);
    free(real);
    return is_same;
}

/* Opens the file if it is the child's log, else *ret is NULL. Damage of a file outside the set is
 * not reported. */
static int try_child(struct log_set *set, const struct log_input *parent,
                     const struct text_note *note, const char *path, struct log_input **ret,
                     struct error *err)
{
    struct log_damage_report before = set->damage;
    struct log_input *input;
    int r = log_input_open(path, &set->arena, set->pack, &set->damage, &input, NULL);

    if (r == ERROR_NOMEM)
        return out_of_memory(err);
    if (r == 0 && is_child(parent, note, input)) {
        *ret = input;
        return 0;
    }
    if (r == 0)
        log_input_close(input);
    set->damage = before;
    return 0;
}

/* A child that never called the allocator has no log. A log must exist only if its run is known and
 * the parent's log is where it was made. */
static int find_missing(struct log_set *set, const struct log_input *parent,
                        const struct text_note *note, const char *path, struct error *err)
{
    struct log_input *elsewhere = NULL;
    int r = try_child(set, parent, note, note->text, &elsewhere, err);

    if (r != 0 || (note->run_id == 0 && !elsewhere))
        return r;
    if (elsewhere)
        log_input_close(elsewhere);
    const char *name = text_arena_copy(&set->arena, path, process_logs_packed_bytes(path));
    log_damage_add(&set->damage, LOG_DAMAGE_MISSING_CHILD, name ? name : note->text, 0, 0,
                   "log of a child process is not beside its parent's, or cannot be read");
    return 0;
}

static int add_child(struct log_set *set, const struct log_input *parent,
                     const struct text_note *note, struct error *err)
{
    struct log_input *input = NULL;
    char *path;
    int r;

    if (note->run_id != 0 && find_run(set, note->run_id))
        return 0;
    path = beside(log_input_path(parent), note->text);
    if (!path)
        return out_of_memory(err);
    r = try_child(set, parent, note, path, &input, err);
    if (r == 0 && !input && is_link(parent, note))
        r = try_child(set, parent, note, note->text, &input, err);
    if (r == 0 && !input)
        r = find_missing(set, parent, note, path, err);
    free(path);
    return r == 0 && input ? log_set_add_input(set, input, err) : r;
}

/* The set grows while it is walked: children have children. */
static int add_children(struct log_set *set, struct error *err)
{
    for (size_t i = 0; i < set->n_inputs; i++) {
        const struct log_names *names = &set->inputs[i]->names;
        for (size_t k = 1; k <= names->n_texts; k++) {
            int r = 0;
            if (names->texts[k].kind == LOG_DEF_CHILD)
                r = add_child(set, set->inputs[i], &names->texts[k], err);
            if (r != 0)
                return r;
        }
    }
    return 0;
}

/* Does the header say that a process of the set is its parent? */
static bool is_descendant(struct log_set *set, const char *path)
{
    struct log_file_reader *file;
    bool is_ours;

    if (log_file_open(path, &set->arena, &file, NULL) != 0)
        return false;
    is_ours = find_run(set, file->header.parent_run_id) && !find_run(set, file->header.run_id);
    log_file_close(file);
    return is_ours;
}

/* Adds the files with matching names that belong to the set. *ret_has_vanished: one of them was
 * removed. */
static int add_members(struct log_set *set, const struct process_logs *logs, bool *ret_has_vanished,
                       struct error *err)
{
    int r = 0;

    *ret_has_vanished = false;
    for (size_t i = 0; r == 0 && i < logs->n; i++) {
        const char *path = logs->paths[i];
        if (is_descendant(set, path))
            r = add_path(set, path, err);
        if ((r == 0 || r == ERROR_IO) && access(path, F_OK) != 0 && errno == ENOENT) {
            *ret_has_vanished = true;
            r = 0;
        }
    }
    return r;
}

/* Finds images after exec, and children that no log names, by file name. Each round finds at least
 * one more rotated_number. It also finds what a file became that was packed since it was listed. */
static int add_process_logs(struct log_set *set, const char *path, struct error *err)
{
    unsigned n_vanished = 0;
    bool has_vanished;
    size_t n_before;
    int r;

    do {
        struct process_logs logs;
        n_before = set->n_inputs;
        r = process_logs_find(path, &logs) == 0 ? 0 : out_of_memory(err);
        if (r == 0)
            r = add_members(set, &logs, &has_vanished, err);
        process_logs_done(&logs);
    } while (r == 0
             && (set->n_inputs > n_before || (has_vanished && ++n_vanished < MAX_LOOKS_AGAIN)));
    return r;
}

int log_set_find_members(struct log_set *set, const char *const *paths, size_t n_paths, bool only,
                         struct error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n_paths; i++)
        r = add_path(set, paths[i], err);
    if (r != 0 || only)
        return r;
    r = add_children(set, err);
    for (size_t i = 0; r == 0 && i < n_paths; i++)
        r = add_process_logs(set, paths[i], err);
    return r;
}
