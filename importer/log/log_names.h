/* SPDX-License-Identifier: MIT */
/*
 * log_names: the DEFS and NODES of one log under its own ids, and the ids of the database for them.
 *
 * Payloads are parsed into notes. They are not trusted and may come in any order, repeatedly. After
 * all logs are read the definitions are merged (definitions_build.h), which stores the ids of the
 * database here for the events.
 *
 * Invariants
 *   LN-1 Memory grows with the definitions that are really in the log: at most 5 KiB per node, and
 *        32 MiB for its id.
 *   LN-2 Node pages hold parsed nodes until log_names_forget_nodes. Backtrace pages hold ids of the
 *        database after stack_merge_log.
 *
 * Threads: read-only after the merge. Errors: ERROR_NOMEM.
 */
#ifndef MTRACE_IMPORTER_LOG_NAMES_H
#define MTRACE_IMPORTER_LOG_NAMES_H

#include "importer/log/text_arena.h"
#include "lib/abi/log_format.h"
#include "lib/base/hash_map.h"

enum {
    LOG_NAMES_PAGE = 256,          /* nodes per page */
    LOG_NAMES_MAX_NODES = 1 << 29, /* nodes beyond 8 GiB of raw nodes are lost */
};

struct thread_note {
    uint32_t index; /* of the log */
    uint32_t tid;
    uint64_t start_ticks, end_ticks;
    uint64_t stack_address, stack_bytes; /* 0: not known */
    const char *name;
    bool has_start, has_end;
    uint32_t id; /* of the database */
};

struct module_note {
    uint32_t index;
    bool is_defined; /* else only its unload was seen */
    bool is_unloaded;
    uint64_t load_address, start_address, size_bytes;
    uint64_t load_ticks, unload_ticks;
    const char *path;
    const char *build_id; /* lower-case hex or NULL */
    uint64_t file_key;    /* of LOG_DEF_FILE; 0: none */
    uint32_t object;      /* id of the database */
};

/* A part of a module's file: LOG_DEF_FILE_PART. */
struct file_part_note {
    uint64_t file_key, offset;
    const void *bytes;
    size_t n_bytes;
};

struct text_note {
    uint32_t index;
    uint8_t kind;    /* LOG_DEF_PATH, MARKER, POOL, MESSAGE, SETTING, CHILD */
    uint32_t number; /* POOL: in definitions */
    uint32_t pid;    /* CHILD */
    uint64_t run_id; /* CHILD */
    const char *text;
};

/* Name and tags of a group as in the log. */
struct group_note {
    uint32_t index;  /* of the log */
    uint32_t number; /* in definitions */
    const char *text;
    size_t text_bytes;
};

/* A parsed NODES slot; address 0: not in the log. */
struct node_note {
    uint32_t parent;
    uint32_t module;
    uint64_t address; /* with LOG_NODE_EXACT */
};

struct log_names {
    struct text_arena *arena; /* of the set; holds all texts */
    const char *executable;   /* NULL until LOG_DEF_PROCESS */
    const char *arguments;    /* strings, each ends with NUL */
    size_t n_arguments;

    struct thread_note *threads; /* 1-based, as the id tables below */
    struct module_note *modules;
    struct text_note *texts;
    struct group_note *groups;
    struct file_part_note *file_parts;
    size_t n_file_parts, file_parts_capacity;
    size_t n_threads, threads_capacity;
    size_t n_modules, modules_capacity;
    size_t n_texts, texts_capacity;
    size_t n_groups, groups_capacity;
    struct id_table thread_table, module_table, text_table, group_table, file_part_table;

    struct node_note **node_pages;
    uint32_t **backtrace_pages; /* node -> backtrace id */
    size_t n_pages, node_pages_capacity, backtrace_pages_capacity;
    size_t n_nodes;

    uint32_t process;        /* id of the database */
    uint32_t unknown_thread; /* for threads without a note */
    uint32_t lost_group;     /* number of the group for groups without a note; 0: root */
};

void log_names_init(struct log_names *names, struct text_arena *arena);
void log_names_done(struct log_names *names);

/* Parses n_bytes of a DEFS payload from its start. ret_n_unknown counts records of unknown
 * kinds. */
int log_names_add_defs(struct log_names *names, const void *payload, size_t n_bytes,
                       uint64_t *ret_n_unknown);

/* Parses n_bytes of a NODES payload whose first slot is first_node. */
int log_names_add_nodes(struct log_names *names, const void *payload, size_t n_bytes,
                        uint32_t first_node);

/* Returns or creates the note of a module; NULL: no memory. */
struct module_note *log_names_add_module(struct log_names *names, uint32_t index);

/* Frees the parsed nodes, but not the map from node to backtrace. */
void log_names_forget_nodes(struct log_names *names);

/* NULL if the log does not define it. */
const struct module_note *log_names_find_module(const struct log_names *names, uint32_t index);
const struct thread_note *log_names_find_thread(const struct log_names *names, uint32_t index);
const char *log_names_find_text(const struct log_names *names, enum log_def_kind kind,
                                uint32_t index);

/* NULL if the log does not define it. */
const struct group_note *log_names_find_group(const struct log_names *names, uint32_t index);

/* Number of a group in definitions, 0: the root. */
uint32_t log_names_group(const struct log_names *names, uint32_t index);

/* Number of a pool in definitions, 0: the log does not define it. */
uint32_t log_names_pool(const struct log_names *names, uint32_t index);

/* Thread id of the database; the unknown thread when the log does not define it. */
uint32_t log_names_thread(const struct log_names *names, uint32_t index);

/* The parsed node, NULL if the log does not hold it. */
static inline struct node_note *log_names_find_node(const struct log_names *names, uint32_t node)
{
    size_t page = node / LOG_NAMES_PAGE;
    struct node_note *note;

    if (page >= names->n_pages || !names->node_pages[page])
        return NULL;
    note = &names->node_pages[page][node % LOG_NAMES_PAGE];
    return note->address != 0 ? note : NULL;
}

/* Backtrace id of a node, 0 if the log does not hold it. */
static inline uint32_t log_names_backtrace(const struct log_names *names, uint32_t node)
{
    size_t page = node / LOG_NAMES_PAGE;

    if (page >= names->n_pages || !names->backtrace_pages[page])
        return 0;
    return names->backtrace_pages[page][node % LOG_NAMES_PAGE];
}

#endif
