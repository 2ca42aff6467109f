/* SPDX-License-Identifier: MIT */
/*
 * definitions: everything that events refer to, merged from the DEFS and NODES of all logs of a
 * recording.
 *
 * Tables are 1-based: the id is the index, element 0 is all zero and unused, n_* is the highest id.
 * Id 0 means "none". Times are ns since the start of the earliest process.
 *
 * Invariants
 *   DF-1 Backtraces are numbered in preorder: parent < id, and the subtree of a backtrace is
 *        id..last_descendant.
 *   DF-2 Two backtraces differ in parent, frame or status; two frames in object, offset, is_exact
 *        or label. Two objects differ in architecture, build id, file key (without a build id), or
 *        path or mapped size (without both). So all copies of one file are one object.
 *   DF-3 Processes are sorted by start. The threads of a process have adjacent ids; the last one
 *        has is_unknown.
 *   DF-4 The backtraces DEFINITIONS_NO_BACKTRACE and DEFINITIONS_LOST_BACKTRACE always exist; their
 *        frames have the label that reports show. Nodes whose parent is lost hang under the latter,
 *        and everything under it is truncated.
 *   DF-5 Groups with the same number in their logs and the same text are one group: a fork child
 *        has its parent's groups, and siblings register the same ones.
 *
 * Threads: read-only after log_set_open, from any thread. Strings live as long as the set.
 */
#ifndef MTRACE_IMPORTER_DEFINITIONS_H
#define MTRACE_IMPORTER_DEFINITIONS_H

#include "lib/abi/log_format.h"
#include "lib/logfile/unreached.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    DEFINITIONS_NO_BACKTRACE = 1,   /* no stack was recorded */
    DEFINITIONS_LOST_BACKTRACE = 2, /* the log lacks the event's node */
};

enum definitions_status {
    DEFINITIONS_COMPLETE = 0,
    DEFINITIONS_TRUNCATED = 1,
    DEFINITIONS_GUESSED = 2,
};

struct definitions_process {
    const char *log_path;   /* as given or found through LOG_DEF_CHILD */
    const char *executable; /* NULL if unknown */
    const char *arguments;  /* n_arguments strings, each ends with NUL */
    size_t n_arguments;
    const char *end_kind; /* 'exit', 'signal', 'exec', 'detached', 'running', 'unseen', 'unknown' */
    int32_t end_value;    /* exit status or signal number; 0 if end_kind has none */
    bool has_end_event;   /* the log has an event for this end, unless that is lost */
    bool is_cut;          /* definitions_cut: it had ended only if an event says so */
    bool has_end_value;
    uint32_t parent; /* process id, 0: none in this set */
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t image; /* how many recorded images the pid had before */
    uint64_t run_id;
    uint64_t start_unix_ns;
    uint64_t start_ns;
    uint64_t last_ns; /* last time in the headers; an event or sample may be later */
    uint32_t arch;    /* enum log_arch; 0: not known */
    uint32_t word_bytes;
    uint32_t clock; /* enum log_clock */
    uint32_t page_bytes;
    uint32_t flags;         /* LOG_FLAG_* */
    uint64_t max_rss_bytes; /* 0: not known */
    uint64_t sample_bytes;  /* from the header; 0: every block was recorded */
    uint32_t unwind_mismatches;
    uint32_t unwind_checked;
    uint32_t n_unreported_modules; /* loaded beyond the module limit: their code has no names */
    struct unreached unreached;
    uint32_t n_started;                 /* processes that it started, recorded or not */
    uint32_t n_joined_threads;          /* recorded with the number of another thread */
    uint64_t dropped[LOG_DROP_REASONS]; /* by enum log_drop */
    uint32_t stale_exits, bad_handles, refused_groups; /* struct mtrace_counts */
    bool has_lost_events; /* part of its log was unreadable when it was opened */
    bool is_left_out; /* not reported: the request is about another process, or it began later */
    const char *collector_version;
    const char *
        unseen_allocator; /* inside the executable, its blocks are missing; "": no such allocator */
    const char *unseen_why;           /* "": not known */
    const char *embedded_allocator;   /* inside the executable and recorded; "" or NULL: none */
    uint32_t first_thread, n_threads; /* ids first_thread .. first_thread + n_threads - 1 */
    uint64_t log_bytes;               /* sizes of its files */
};

struct definitions_thread {
    uint32_t process;
    uint32_t tid;
    const char *name;                    /* the last name; NULL if unknown */
    uint64_t start_ns;                   /* of its definition */
    uint64_t end_ns;                     /* valid if has_end */
    uint64_t stack_address, stack_bytes; /* 0: not known */
    bool has_end;
    bool is_unknown; /* threads that the log does not name; write it only if used */
    bool is_later;   /* definitions_cut: began later; write it only if used */
};

struct definitions_object {
    const char *path;          /* of its first mapping */
    const char *build_id;      /* lower-case hex; NULL if unknown */
    uint32_t arch, word_bytes; /* of the process that mapped it */
    uint64_t file_key;         /* LOG_DEF_FILE; 0: none */
    uint64_t mapped_bytes;     /* of an object with neither build id nor key; else 0 */
};

/* A part of an object's file that a log contains. */
struct definitions_file_part {
    uint32_t object;
    uint64_t offset; /* in the file */
    const void *bytes;
    size_t n_bytes;
};

struct definitions_module {
    uint32_t process;
    uint32_t object;
    const char *path; /* of this mapping */
    uint64_t load_address;
    uint64_t start_address;
    uint64_t size_bytes;
    uint64_t seen_ns;     /* first seen mapped */
    uint64_t unloaded_ns; /* valid if is_unloaded */
    bool is_unloaded;
};

struct definitions_frame {
    uint64_t offset;   /* ELF virtual address; without an object the address itself */
    uint32_t object;   /* 0: code outside any file */
    bool is_exact;     /* interrupted PC; else a return address */
    const char *label; /* "[no backtrace]" etc.: shown as the function; else NULL */
};

struct definitions_backtrace {
    uint32_t parent; /* 0: a root */
    uint32_t last_descendant;
    uint32_t frame;
    uint32_t depth;  /* 1 at a root */
    uint32_t status; /* enum definitions_status */
};

/* A message of the collector, a setting or a pool name, in the order of the log. */
struct definitions_text {
    uint32_t process;
    const char *text;
};

/* An allocation group. The root, number 0, is not in the table. */
struct definitions_group {
    const char *name;
    const char *text;           /* name, then key and value of each tag, each ends with NUL */
    size_t text_bytes;          /* without the last NUL */
    uint32_t id;                /* allocation_groups.group_id: 0 untracked, 2 and more */
    uint32_t first_tag, n_tags; /* in group_tags */
    bool is_lost;     /* groups that a log uses but does not define; write it only if used */
    bool is_left_out; /* not reported: no reported process has it */
};

struct definitions_tag {
    const char *key, *value;
};

/* A frame's name that the recording itself contains. */
struct definitions_level {
    uint32_t frame;
    uint32_t inline_level; /* 0: innermost */
    const char *function;  /* NULL: unknown, as source */
    const char *source;
    uint32_t line; /* 0: unknown */
};

struct definitions {
    struct definitions_process *processes;
    struct definitions_thread *threads;
    struct definitions_object *objects;
    struct definitions_module *modules;
    struct definitions_frame *frames;
    struct definitions_backtrace *backtraces;
    size_t n_processes, n_threads, n_objects, n_modules, n_frames, n_backtraces;

    struct definitions_group *groups; /* by number; empty if no program has groups */
    struct definitions_tag *tags;     /* distinct pairs of key and value */
    uint32_t *group_tags;             /* 0-based: numbers of tags */
    size_t n_groups, n_tags, n_group_tags;

    struct definitions_file_part
        *file_parts; /* 0-based, sorted by object and offset, which are unique */
    size_t n_file_parts;

    struct definitions_text *messages; /* 0-based, as settings */
    struct definitions_text *settings;
    struct definitions_text *pools; /* the first one is number 1 */
    size_t n_messages, n_settings, n_pools;

    /* definitions_cut: items without a time may be later; write groups and pools only if used */
    bool is_cut;

    /* Recordings of other tools; all zero for mtrace's logs. */
    const char *recorder;  /* "heaptrack"; NULL: our collector */
    bool has_names;        /* the only names are those in `levels`; offsets are addresses */
    bool has_no_addresses; /* addresses of events only distinguish blocks */
    const struct definitions_level *levels; /* 0-based, by frame and inline level; not owned */
    size_t n_levels;
    const char *const *suppressions; /* the program's own rules, "leak:PATTERN"; not owned */
    size_t n_suppressions;
};

/* allocation_groups.group_id of the group with this number. */
static inline uint32_t definitions_group_id(const struct definitions *definitions, uint32_t number)
{
    return number ? definitions->groups[number].id : LOG_GROUP_ROOT;
}

/* Compares end_kind, which comes from the header: the end may be later than a cut (is_cut). */
static inline bool definitions_ended_by(const struct definitions_process *process, const char *kind)
{
    return process->end_kind && strcmp(process->end_kind, kind) == 0;
}

static inline bool definitions_is_partial(const struct definitions_process *process)
{
    return (process->flags
            & (LOG_FLAG_STARTED_OFF | LOG_FLAG_TRACING_WAS_OFF | LOG_FLAG_ATTACHED
               | LOG_FLAG_TRUNCATED))
           != 0;
}

#endif
