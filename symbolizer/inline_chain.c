/* SPDX-License-Identifier: MIT */
#include "symbolizer/inline_chain.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Damaged files may nest endlessly; compilers stay far below. */
    DEEPEST = 256
};

struct walk {
    struct inline_chain *chain;
    const uint64_t *addresses;
    size_t n_addresses;
    struct error *err;
    int status;
    bool is_partial;  /* DWARF 2 has no range lists: code in several pieces has the range of one */
    bool is_thorough; /* search also where functions are rare: in types and in other functions */
};

/* State passed from a DIE to its children. */
struct place {
    uint32_t scope;
    unsigned depth;
};

static const unsigned char *visit(struct walk *walk, const struct die_entry *entry,
                                  struct place place);

/* Each visit returns the place of the next DIE. NULL ends the walk: damage, or the error in
 * walk->status. */
static const unsigned char *visit_children(struct walk *walk, const struct die_entry *entry,
                                           struct place place)
{
    struct die_reader *reader = &walk->chain->reader;
    const unsigned char *at;
    struct die_entry child;

    if (!entry->shape->has_children || place.depth >= DEEPEST)
        return die_reader_behind(reader, entry);
    at = die_reader_below(reader, entry);
    place.depth++;
    while (at && die_reader_get(reader, at, &child))
        at = visit(walk, &child, place);
    return at ? die_reader_list_end(reader, at) : NULL;
}

static size_t lower_bound(const struct walk *walk, uint64_t address)
{
    size_t i;

    LOWER_BOUND(i, walk->n_addresses, walk->addresses[i] < address);
    return i;
}

/* Which of two scopes with the position is innermost: see IC-2. */
static bool takes_over(const struct walk *walk, uint32_t current, uint32_t candidate)
{
    const struct scope *scopes = walk->chain->scopes;
    uint32_t outer = scopes[candidate].outer;

    while (walk->is_partial && outer != current && outer != SCOPE_NONE)
        outer = scopes[outer].outer;
    if (current == outer)
        return true;
    return current != SCOPE_NONE && scopes[current].outer == scopes[candidate].outer
           && scopes[candidate].size_bytes < scopes[current].size_bytes;
}

static bool claim_range(struct walk *walk, uint32_t scope, uint64_t start, uint64_t end)
{
    uint32_t *innermost = walk->chain->innermost;
    bool has_any = false;

    for (size_t i = lower_bound(walk, start); i < walk->n_addresses && walk->addresses[i] < end;
         i++) {
        if (takes_over(walk, innermost[i], scope)) {
            innermost[i] = scope;
            has_any = true;
        }
    }
    return has_any;
}

static bool keep_range(struct walk *walk, uint64_t start, uint64_t end)
{
    struct inline_chain *chain = walk->chain;
    struct code_range *ranges;

    if (start >= end)
        return true;
    ranges = dynamic_array_reserve(chain->ranges, &chain->n_ranges_allocated, chain->n_ranges + 1,
                                   sizeof(*ranges));
    if (!ranges)
        return false;
    chain->ranges = ranges;
    ranges[chain->n_ranges++] = (struct code_range){start, end};
    return true;
}

static bool read_ranges(struct walk *walk, const struct die_entry *entry)
{
    Dwarf_Die die = die_reader_die(&walk->chain->reader, entry);
    Dwarf_Addr base;
    Dwarf_Addr start;
    Dwarf_Addr end;

    walk->chain->n_ranges = 0;
    if (die_reader_range(&walk->chain->reader, entry, &start, &end))
        return keep_range(walk, start, end);
    for (ptrdiff_t cursor = 0; (cursor = dwarf_ranges(&die, cursor, &base, &start, &end)) > 0;)
        if (!keep_range(walk, start, end))
            return false;
    return true;
}

/* Size of the DIE's code if it contains a position, else 0. Leaves its ranges in the chain. */
static uint64_t relevant_size(struct walk *walk, const struct die_entry *entry)
{
    const struct inline_chain *chain = walk->chain;
    uint64_t size = 0;
    bool holds_one = false;

    if (!entry->shape->has_addresses)
        return 0;
    if (!read_ranges(walk, entry)) {
        walk->status = error_set(walk->err, ERROR_NOMEM, "no memory for address ranges");
        return 0;
    }
    for (size_t i = 0; i < chain->n_ranges; i++) {
        const struct code_range *range = &chain->ranges[i];
        size_t first = lower_bound(walk, range->start);
        size += range->end - range->start;
        holds_one |= first < walk->n_addresses && walk->addresses[first] < range->end;
    }
    return holds_one ? size : 0;
}

static bool claim(struct walk *walk, uint32_t scope)
{
    const struct inline_chain *chain = walk->chain;
    bool has_any = false;

    for (size_t i = 0; i < chain->n_ranges; i++)
        has_any |= claim_range(walk, scope, chain->ranges[i].start, chain->ranges[i].end);
    return has_any;
}

static int push_scope(struct walk *walk, const struct scope *scope)
{
    struct inline_chain *chain = walk->chain;

    struct scope *scopes = dynamic_array_reserve(chain->scopes, &chain->n_scopes_allocated,
                                                 chain->n_scopes + 1, sizeof(*scopes));

    if (!scopes)
        return error_set(walk->err, ERROR_NOMEM, "no memory for %zu scopes", chain->n_scopes);
    chain->scopes = scopes;
    scopes[chain->n_scopes++] = *scope;
    return 0;
}

static uint32_t read_number(Dwarf_Die *die, unsigned name, uint32_t missing)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;

    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value)
        || value > UINT32_MAX)
        return missing;
    return (uint32_t)value;
}

static const unsigned char *visit_code(struct walk *walk, const struct die_entry *entry,
                                       struct place place, bool is_inlined)
{
    struct die_reader *reader = &walk->chain->reader;
    struct scope scope = {.outer = is_inlined ? place.scope : SCOPE_NONE};
    bool is_entered = is_inlined && walk->is_partial;

    scope.size_bytes = relevant_size(walk, entry);
    if (scope.size_bytes == 0 && !is_entered)
        return walk->is_thorough && !is_inlined ? visit_children(walk, entry, place)
                                                : die_reader_behind(reader, entry);
    scope.die = die_reader_die(reader, entry);
    if (is_inlined) {
        scope.call_file = read_number(&scope.die, DW_AT_call_file, FILE_NONE);
        scope.call_line = read_number(&scope.die, DW_AT_call_line, 0);
        scope.call_column = read_number(&scope.die, DW_AT_call_column, 0);
    }
    walk->status = push_scope(walk, &scope);
    if (walk->status)
        return NULL;
    place.scope = (uint32_t)walk->chain->n_scopes - 1;
    return claim(walk, place.scope) || is_entered ? visit_children(walk, entry, place)
                                                  : die_reader_behind(reader, entry);
}

/* A block without addresses only groups its children. */
static bool is_block_skipped(struct walk *walk, const struct die_entry *entry)
{
    return entry->shape->has_addresses && !walk->is_partial && relevant_size(walk, entry) == 0;
}

static bool is_entered(struct walk *walk, const struct die_entry *entry)
{
    switch (entry->shape->tag) {
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
        return !is_block_skipped(walk, entry);
    case DW_TAG_namespace:
    case DW_TAG_module:
        return true;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
        return walk->is_thorough;
    default:
        return false;
    }
}

static const unsigned char *visit(struct walk *walk, const struct die_entry *entry,
                                  struct place place)
{
    const unsigned char *next;

    if (entry->shape->tag == DW_TAG_subprogram || entry->shape->tag == DW_TAG_inlined_subroutine)
        next = visit_code(walk, entry, place, entry->shape->tag == DW_TAG_inlined_subroutine);
    else if (is_entered(walk, entry))
        next = visit_children(walk, entry, place);
    else
        next = die_reader_behind(&walk->chain->reader, entry);
    return walk->status ? NULL : next;
}

static int prepare(struct walk *walk)
{
    struct inline_chain *chain = walk->chain;

    uint32_t *innermost = dynamic_array_reserve(chain->innermost, &chain->n_allocated,
                                                walk->n_addresses + 1, sizeof(*innermost));

    if (!innermost)
        return error_set(walk->err, ERROR_NOMEM, "no memory for %zu positions", walk->n_addresses);
    chain->innermost = innermost;
    chain->n_scopes = 0;
    for (size_t i = 0; i < walk->n_addresses; i++)
        chain->innermost[i] = SCOPE_NONE;
    return 0;
}

static bool is_any_missing(const struct walk *walk)
{
    for (size_t i = 0; i < walk->n_addresses; i++)
        if (walk->chain->innermost[i] == SCOPE_NONE)
            return true;
    return false;
}

static int walk_unit(struct walk *walk, Dwarf_Die *unit)
{
    struct place place = {.scope = SCOPE_NONE};
    struct die_entry entry;

    walk->status = prepare(walk);
    if (walk->status == 0 && die_reader_begin(&walk->chain->reader, unit, &entry)) {
        walk->is_partial = walk->chain->reader.version <= 2 && !dwarf_hasattr(unit, DW_AT_ranges);
        visit_children(walk, &entry, place);
    }
    if (walk->status == 0 && walk->chain->reader.is_out_of_memory)
        walk->status = error_set(walk->err, ERROR_NOMEM, "no memory for abbreviations");
    return walk->status;
}

int inline_chain_walk(struct inline_chain *chain, Dwarf_Die *unit, const uint64_t *addresses,
                      size_t n_addresses, struct error *err)
{
    struct walk walk = {
        .chain = chain, .addresses = addresses, .n_addresses = n_addresses, .err = err};
    int status = walk_unit(&walk, unit);

    if (status || !is_any_missing(&walk))
        return status;
    /* rustc puts methods into types, gcc nested functions into the outer one. */
    walk.is_thorough = true;
    return walk_unit(&walk, unit);
}

void inline_chain_done(struct inline_chain *chain)
{
    die_reader_done(&chain->reader);
    free(chain->ranges);
    free(chain->scopes);
    free(chain->innermost);
    memset(chain, 0, sizeof(*chain));
}
