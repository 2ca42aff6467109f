/* SPDX-License-Identifier: MIT */
/*
 * definitions: everything the events refer to, under the ids of the database.
 *
 * Model:   all DEFS and NODES of all logs of a recording, merged: one table per word of the
 *          database. Tables are 1-based: element 0 is all zero and unused, the id is the index,
 *          n_* counts the elements 1..n. Id 0 means "none".
 * Invariants
 *   DF-1 backtraces are numbered in preorder: parent < id, and the subtree of a backtrace is
 *        id..last_descendant.
 *   DF-2 Two backtraces differ in parent, frame or status; two frames in object, offset or
 *        is_exact (or label). Two objects differ in architecture or build id; without a build id in the key of
 *        the file; without both in path or mapped size. So all copies of one file are one object.
 *   DF-3 processes are in order of their start; the threads of a process have adjacent ids, the
 *        last of them is the one with is_unknown.
 *   DF-4 Backtrace DEFINITIONS_NO_BACKTRACE and DEFINITIONS_LOST_BACKTRACE exist always; their
 *        frames carry the label that people read. Nodes whose parent the log lost hang under the
 *        latter; everything under it is truncated.
 *   DF-5 Groups that have the same number in their logs and the same text are one group: a fork child has those of its
 *        parent, and siblings what each registers the same way.
 * Threads: read-only after log_set_open, from any thread. All strings live as long as the set.
 * Times:   ns since the start of the earliest process.
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
    DEFINITIONS_NO_BACKTRACE = 1,   /* no stack was taken */
    DEFINITIONS_LOST_BACKTRACE = 2, /* the event names a node that the log does not hold */
};

enum definitions_status {
    DEFINITIONS_COMPLETE = 0,
    DEFINITIONS_TRUNCATED = 1,
    DEFINITIONS_GUESSED = 2,
};

struct definitions_process {
    const char *log_path;   /* as given, or as found through LOG_DEF_CHILD */
    const char *executable; /* NULL if unknown */
    const char *arguments;  /* n_arguments strings, one behind the other, each ends with NUL */
    size_t n_arguments;
    const char *end_kind; /* 'exit', 'signal', 'exec', 'detached', 'running', 'unseen', 'unknown' */
    int32_t end_value;    /* exit status or signal number; 0 if end_kind has none */
    bool has_end_event;   /* its log tells of this end by an event, unless that is lost */
    bool is_cut;          /* definitions_cut: it had ended by then only if an event says so */
    bool has_end_value;
    uint32_t parent; /* process id, 0: none in this set */
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t image; /* how many recorded images the pid had before */
    uint64_t run_id;
    uint64_t start_unix_ns;
    uint64_t start_ns;
    uint64_t last_ns; /* last instant the headers know; an event or sample may be later */
    uint32_t arch;    /* enum log_arch; 0: not known */
    uint32_t word_bytes;
    uint32_t clock; /* enum log_clock */
    uint32_t page_bytes;
    uint32_t flags;         /* LOG_FLAG_* */
    uint64_t max_rss_bytes; /* 0: not known */
    uint64_t sample_bytes;  /* of its header; 0: every block was recorded */
    uint32_t unwind_mismatches;
    uint32_t unwind_checked;
    uint32_t
        n_unreported_modules; /* loaded beside as many as are told apart: their code has no names */
    struct unreached unreached;
    uint32_t n_joined_threads;                         /* recorded under the numbers of others */
    uint64_t dropped[LOG_DROP_REASONS];                /* by enum log_drop */
    uint32_t stale_exits, bad_handles, refused_groups; /* struct mtrace_counts */
    bool has_lost_events; /* some of its log could not be read when it was opened */
    bool is_left_out;     /* of what is told: another one is asked about, or it began later */
    const char *collector_version;
    const char *unseen_allocator;     /* inside the executable, its blocks are missing; "": none */
    const char *unseen_why;           /* "": not known */
    uint32_t first_thread, n_threads; /* ids first_thread .. first_thread + n_threads - 1 */
    uint64_t log_bytes;               /* sizes of its files */
};

struct definitions_thread {
    uint32_t process;
    uint32_t tid;
    const char *name;                    /* the last one it had; NULL if unknown */
    uint64_t start_ns;                   /* of its definition */
    uint64_t end_ns;                     /* meant only with has_end */
    uint64_t stack_address, stack_bytes; /* 0: not known */
    bool has_end;
    bool is_unknown; /* stands for threads the log does not name; write it only when used */
    bool is_later;   /* definitions_cut: began later; write it only when used */
};

struct definitions_object {
    const char *path;          /* that it was first mapped by */
    const char *build_id;      /* lower-case hex; NULL if unknown */
    uint32_t arch, word_bytes; /* as of the process that mapped it */
    uint64_t file_key;         /* LOG_DEF_FILE; 0: none */
    uint64_t mapped_bytes;     /* of an object that has neither build id nor key; else 0 */
};

/* Bytes of an object's file that a log has. */
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
    uint64_t seen_ns;     /* mapped then or before */
    uint64_t unloaded_ns; /* meant only with is_unloaded */
    bool is_unloaded;
};

struct definitions_frame {
    uint64_t offset;   /* ELF virtual address; without an object the address itself */
    uint32_t object;   /* 0: code outside any file */
    bool is_exact;     /* an interrupted pc; else a return address */
    const char *label; /* "[no backtrace]" and the like: shown as the function; else NULL */
};

struct definitions_backtrace {
    uint32_t parent; /* 0: a root */
    uint32_t last_descendant;
    uint32_t frame;
    uint32_t depth;  /* 1 at a root */
    uint32_t status; /* enum definitions_status */
};

/* Messages of the collector, settings in force and names of pools, in the order of the log. */
struct definitions_text {
    uint32_t process;
    const char *text;
};

/* Whom the program charges memory to. The root, number 0, is none of these. */
struct definitions_group {
    const char *name;
    const char *text;  /* name, then key and value of each tag, with NULs between and one behind */
    size_t text_bytes; /* without the last NUL */
    uint32_t id;       /* allocation_groups.group_id: 0 untracked, 2 and more */
    uint32_t first_tag, n_tags; /* in group_tags */
    bool
        is_lost; /* stands for groups that a log names and does not define; write it only when used */
    bool is_left_out; /* of what is told: no process that is has it */
};

struct definitions_tag {
    const char *key, *value;
};

/* A name that the recording itself gives to a frame. */
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

    struct definitions_group
        *groups;                  /* by number; none, and no lost one, where no program has any */
    struct definitions_tag *tags; /* each pair of key and value once */
    uint32_t *group_tags;         /* 0-based: numbers of tags */
    size_t n_groups, n_tags, n_group_tags;

    struct definitions_file_part *file_parts; /* 0-based, by object and offset, no two of both */
    size_t n_file_parts;

    struct definitions_text *messages; /* 0-based, these two */
    struct definitions_text *settings;
    struct definitions_text *pools; /* the first one is number 1 */
    size_t n_messages, n_settings, n_pools;

    bool
        is_cut; /* definitions_cut: what has no time may be later; write groups and pools only when used */

    /* Recordings of others; all zero for our own logs. */
    const char *recorder;  /* "heaptrack"; NULL: our collector */
    bool has_names;        /* frames have the names in `levels` or none; offsets are addresses */
    bool has_no_addresses; /* those of events only tell blocks apart */
    const struct definitions_level *levels; /* 0-based, by frame and inline level; not owned */
    size_t n_levels;
    const char *const *suppressions; /* the program's own rules, "leak:PATTERN"; not owned */
    size_t n_suppressions;
};

/* allocation_groups.group_id of a number. */
static inline uint32_t definitions_group_id(const struct definitions *definitions, uint32_t number)
{
    return number ? definitions->groups[number].id : LOG_GROUP_ROOT;
}

/* Was it recorded late, or not all the time, or its log cut? */
/* kind: of end_kind. By the log's header, which may tell of a later end than was asked for (is_cut). */
static inline bool definitions_ended_by(const struct definitions_process *process, const char *kind)
{
    return process->end_kind && strcmp(process->end_kind, kind) == 0;
}

static inline bool definitions_is_partial(const struct definitions_process *process)
{
    return (process->flags
            & (LOG_FLAG_STARTED_OFF | LOG_FLAG_SIDE_TRACING_OFF | LOG_FLAG_ATTACHED | LOG_FLAG_CUT))
           != 0;
}

#endif
