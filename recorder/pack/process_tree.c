/* SPDX-License-Identifier: MIT */
#include "recorder/pack/process_tree.h"

#include "lib/logfile/definition_parts.h"
#include "lib/process/writer_liveness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 1024,
    NAME_BYTES = 32,
    MAX_LISTED = 8,
};

struct member {
    struct member *next; /* in its bucket */
    pid_t pid;
    pid_t parent; /* announced it; 0: none */
    uint32_t n_logs;
    uint32_t n_ended;
    uint64_t n_dropped;
    uint64_t announced_ticks; /* 0: not announced */
    uint64_t nothing_ticks;   /* an exec failed: it was its parent after all; 0: none */
    uint64_t start_ns;        /* of the latest log that ended */
    enum log_end end_kind;    /* of that log */
    bool had_no_room;         /* for at least one of its logs */
    bool has_raw;             /* a log that was not read */
    bool is_elsewhere;        /* the PID is of another namespace and cannot be looked up here */
    uint32_t n_renamed;       /* children with a log under another PID than announced */
    uint32_t n_missed;        /* announced ones without a log of their PID */
    char name[NAME_BYTES];
};

struct process_tree {
    uint32_t n_started;
    struct member *buckets[BUCKETS];
};

struct process_tree *process_tree_new(void)
{
    return calloc(1, sizeof(struct process_tree));
}

void process_tree_free(struct process_tree *process_tree)
{
    struct member *next;

    if (!process_tree)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct member *member = process_tree->buckets[i]; member; member = next) {
            next = member->next;
            free(member);
        }
    free(process_tree);
}

static struct member *find(const struct process_tree *process_tree, pid_t pid)
{
    struct member *member = process_tree->buckets[(uint32_t)pid % BUCKETS];

    while (member && member->pid != pid)
        member = member->next;
    return member;
}

/* Created if missing; NULL without memory. */
static struct member *get(struct process_tree *process_tree, pid_t pid)
{
    struct member **bucket = &process_tree->buckets[(uint32_t)pid % BUCKETS];
    struct member *member = find(process_tree, pid);

    if (member)
        return member;
    member = calloc(1, sizeof(*member));
    if (member) {
        *member = (struct member){.next = *bucket, .pid = pid};
        *bucket = member;
    }
    return member;
}

/* ---- input ----------------------------------------------------------------------------------- */

/* The base name; the path ends with a NUL or the text. */
static void set_name(struct member *member, const char *text, size_t n_bytes)
{
    size_t n = strnlen(text, n_bytes);
    size_t start = n;

    while (start > 0 && text[start - 1] != '/')
        start--;
    (void)snprintf(member->name, sizeof(member->name), "%.*s", (int)(n - start), text + start);
    for (char *c = member->name; *c; c++)
        if (*c < ' ')
            *c = '?';
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void learn(struct process_tree *process_tree, pid_t pid, const struct log_def *def,
                  const char *text)
{
    struct member *member = get(process_tree, def->kind == LOG_DEF_CHILD ? (pid_t)def->a : pid);

    if (!member)
        return;
    if (def->kind == LOG_DEF_CHILD)
        member->parent = pid;
    if (def->kind == LOG_DEF_PROCESS)
        set_name(member, text, def->text_bytes);
    else if (def->extra == LOG_CHILD_CAME_TO_NOTHING)
        member->nothing_ticks = later(member->nothing_ticks, def->ticks);
    else
        member->announced_ticks = later(member->announced_ticks, def->ticks);
}

void process_tree_learn(struct process_tree *process_tree, pid_t pid, const void *payload,
                        size_t n_bytes)
{
    const struct log_def *def;
    size_t at = 0;

    while ((def = definition_parts_def(payload, n_bytes, &at)) != NULL)
        if (def->kind == LOG_DEF_CHILD || def->kind == LOG_DEF_PROCESS)
            learn(process_tree, pid, def, (const char *)(def + 1));
}

void process_tree_note_log(struct process_tree *process_tree, pid_t pid, bool is_here)
{
    struct member *member = get(process_tree, pid);

    if (!member)
        return;
    member->n_logs++;
    member->is_elsewhere |= !is_here;
}

void process_tree_note_no_room(struct process_tree *process_tree, pid_t pid)
{
    struct member *member = get(process_tree, pid);

    if (member)
        member->had_no_room = true;
}

void process_tree_note_raw(struct process_tree *process_tree, pid_t pid)
{
    struct member *member = get(process_tree, pid);

    if (member)
        member->has_raw = true;
}

void process_tree_note_renamed(struct process_tree *process_tree, pid_t parent)
{
    struct member *member = get(process_tree, parent);

    if (member)
        member->n_renamed++;
}

void process_tree_note_end(struct process_tree *process_tree, pid_t pid, enum log_end end_kind,
                           uint64_t start_ns, uint64_t n_dropped)
{
    struct member *member = get(process_tree, pid);

    if (!member)
        return;
    member->n_ended++;
    if (start_ns >= member->start_ns) {
        member->start_ns = start_ns;
        member->end_kind = end_kind;
    }
    member->n_dropped += n_dropped;
}

void process_tree_note_started(struct process_tree *process_tree, uint32_t n)
{
    process_tree->n_started += n;
}

/* ---- output ---------------------------------------------------------------------------------- */

static enum process_tree_status status_of(const struct member *member)
{
    if (member->n_logs == 0 && member->had_no_room)
        return PROCESS_TREE_NO_ROOM;
    if (member->n_logs == 0)
        return member->announced_ticks > member->nothing_ticks && !member->has_raw
                   ? PROCESS_TREE_NO_LOG
                   : PROCESS_TREE_RECORDED;
    if (member->n_ended < member->n_logs)
        return PROCESS_TREE_RUNNING;
    if (member->had_no_room)
        return PROCESS_TREE_PART_ROOM;
    if (member->end_kind == LOG_END_EXEC && !member->has_raw)
        return PROCESS_TREE_WENT_ON;
    return member->n_dropped ? PROCESS_TREE_INCOMPLETE : PROCESS_TREE_RECORDED;
}

bool process_tree_is_expecting(const struct process_tree *process_tree)
{
    uint32_t n_known = 0; /* includes the program itself, which was not announced */

    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct member *member = process_tree->buckets[i]; member;
             member = member->next) {
            if (status_of(member) == PROCESS_TREE_NO_LOG && writer_liveness_is_alive(member->pid))
                return true;
            n_known += member->announced_ticks > member->nothing_ticks || member->n_logs > 0
                       || member->had_no_room || member->has_raw;
        }
    return n_known < process_tree->n_started + 1;
}

/* From its log, or from the kernel if its log was not read. */
static const char *name_of(const struct member *member, char *text, int n_bytes)
{
    char path[64];
    FILE *file;

    text[0] = '\0';
    if (*member->name || member->is_elsewhere)
        return *member->name ? member->name : text;
    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)member->pid);
    file = fopen(path, "re");
    if (!file || !fgets(text, n_bytes, file))
        text[0] = '\0';
    if (file)
        fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static void count_missed(struct process_tree *process_tree)
{
    struct member *parent;

    for (size_t i = 0; i < BUCKETS; i++)
        for (struct member *member = process_tree->buckets[i]; member; member = member->next)
            member->n_missed = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct member *member = process_tree->buckets[i]; member; member = member->next)
            if (status_of(member) == PROCESS_TREE_NO_LOG
                && (parent = find(process_tree, member->parent)) != NULL)
                parent->n_missed++;
}

/* Each announced child of this parent has a log, although some have another PID in it. If there are
 * fewer logs, it is unknown whose are missing. */
static bool is_renamed(const struct process_tree *process_tree, const struct member *member)
{
    const struct member *parent = find(process_tree, member->parent);

    return parent && !parent->is_elsewhere && parent->n_missed <= parent->n_renamed;
}

static size_t append(char *text, size_t used, size_t n_bytes, const struct member *member)
{
    const char *comma = used ? ", " : "";
    char comm[NAME_BYTES];
    const char *name = name_of(member, comm, sizeof(comm));
    int n = snprintf(text + used, n_bytes - used, *name ? "%s%d (%s)" : "%s%d", comma,
                     (int)member->pid, name);

    return n > 0 && (size_t)n < n_bytes - used ? used + (size_t)n : used;
}

uint32_t process_tree_list(struct process_tree *process_tree, enum process_tree_status status,
                           char *text, size_t n_bytes)
{
    uint32_t n = 0;
    size_t used = 0;

    text[0] = '\0';
    if (status == PROCESS_TREE_NO_LOG)
        count_missed(process_tree);
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct member *member = process_tree->buckets[i]; member; member = member->next)
            if (status_of(member) == status
                && !(status == PROCESS_TREE_NO_LOG && is_renamed(process_tree, member))
                && n++ < MAX_LISTED)
                used = append(text, used, n_bytes, member);
    if (n > MAX_LISTED)
        (void)snprintf(text + used, n_bytes - used, " and %u more", n - MAX_LISTED);
    return n;
}
