/* SPDX-License-Identifier: MIT */
/*
 * module_table: which modules were met, by where and what they are, and their ids in the log.
 *
 *      unused ──claim──► busy ──publish──► ready ──end──► ended
 *                         ▲                                 │ claim for another module: a new id
 *                         └─────────────────────────────────┘ revive for the same: the old one
 *
 * Invariants
 *   MT-1 An id names one module and one only; ids are given in a row.
 *   MT-2 A busy slot belongs to one caller.
 *   MT-3 Of a module that was revived MODULE_TABLE_REPORTED times neither its ends nor its returns are told any more, and the last that was is that it is there: so
 *        a log does not grow with a library that is opened and closed again and again.
 * Threads: any. Signals: safe; who claims blocks them until it publishes. Failure: NULL: as many
 * modules are loaded at once as there are slots.
 */
#ifndef MTRACE_COLLECTOR_MODULE_TABLE_H
#define MTRACE_COLLECTOR_MODULE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MODULE_TABLE_SLOTS = 4096,
    MODULE_TABLE_REPORTED = 8,
};

/* What tells a mapping from a later one at the same place; link_map may be another one for the same file. */
struct module_identity {
    uintptr_t start, end;
    uintptr_t link_map;
    uintptr_t dynamic;
    uintptr_t eh_frame;
};

struct module_slot;

/* The id of a ready module, 0 if there is none. */
uint32_t module_table_find(const struct module_identity *identity);

/* A busy slot: of the same file that was here before, with its old id, or with a new one. file: hash
 * of what the file is; 0: another one may have the path, it is not revived. */
struct module_slot *module_table_claim(const struct module_identity *identity, uint64_t file);
uint32_t module_table_id(const struct module_slot *slot);

/* Has the log its definition, and no end of it (MT-3)? */
bool module_table_is_settled(const struct module_slot *slot);

/* The owner of a busy slot is done; false: its definition could not be written. */
void module_table_publish(struct module_slot *slot, bool is_defined);

/* Ends every ready module of which is_there says no, telling each id to `ended` that is to be told; true: some. */
bool module_table_end(bool (*is_there)(const struct module_identity *identity),
                      void (*ended)(uint32_t id));

/* In a fork child: no module is defined yet. */
void module_table_forget(void);

#endif
