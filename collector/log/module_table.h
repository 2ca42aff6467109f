/* SPDX-License-Identifier: MIT */
/*
 * module_table: the modules seen so far, by address and identity, and their ids in the log.
 *
 *      unused ──claim──► busy ──publish──► ready ──end──► ended
 *                         ▲                                 │ claim for another module: a new id
 *                         └─────────────────────────────────┘ revive for the same: the old one
 *
 * Invariants
 *   MT-1 An id names one module only. Ids are consecutive.
 *   MT-2 A busy slot belongs to one caller.
 *   MT-3 After a module was revived MODULE_TABLE_REPORTED times, its ends and returns are not
 *        reported any more; the last report says that it is loaded. So a library that is opened and
 *        closed again and again does not make the log grow.
 *
 * Threads: any. Async-signal-safe; the owner of a busy slot blocks signals until it publishes.
 * NULL: as many modules are loaded as there are slots.
 */
#ifndef MTRACE_COLLECTOR_MODULE_TABLE_H
#define MTRACE_COLLECTOR_MODULE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MODULE_TABLE_SLOTS = 4096,
    MODULE_TABLE_REPORTED = 8,
};

/* Distinguishes a mapping from a later one at the same place. One file may have different link_maps
 * over time. */
struct module_identity {
    uintptr_t start, end;
    uintptr_t link_map;
    uintptr_t dynamic;
    uintptr_t eh_frame;
};

struct module_slot;

/* The id of a ready module, 0 if there is none. */
uint32_t module_table_find(const struct module_identity *identity);

/* Returns a busy slot. If the same file was here before, the slot has its old id, else a new one.
 * file: hash of the file's identity; 0: unknown, the slot is not revived. NULL: all slots are in
 * use. */
struct module_slot *module_table_claim(const struct module_identity *identity, uint64_t file);
uint32_t module_table_id(const struct module_slot *slot);

/* True if the log has the definition of the module, and no end after it (MT-3). */
bool module_table_is_settled(const struct module_slot *slot);

/* Ends the ownership of a busy slot. is_defined: the definition was written. */
void module_table_publish(struct module_slot *slot, bool is_defined);

/* Ends every ready module for which is_there returns false. Calls `ended` for each id that must be
 * reported. True: some ended. */
bool module_table_end(bool (*is_there)(const struct module_identity *identity),
                      void (*ended)(uint32_t id));

/* In a fork child: the log has no modules yet. */
void module_table_forget(void);

#endif
