/* SPDX-License-Identifier: MIT */
#include "symbolizer/inline_chain.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Damaged files nest without end; compilers stay far below. */
    DEEPEST = 256
};

struct walk {
    struct inline_chain *chain;
    const uint64_t *addresses;
    size_t n_addresses;
    struct error *err;
    bool is_thorough; /* look also where functions are rare: in types and in other functions */
};

/* What the walk carries from a DIE to its children. */
struct place {
    uint32_t scope;
    unsigned depth;
};

static int visit(struct walk *walk, Dwarf_Die *die, struct place place);

static int visit_children(struct walk *walk, Dwarf_Die *die, struct place place)
{
    Dwarf_Die child;
    int status = 0;

    if (place.depth >= DEEPEST || dwarf_child(die, &child) != 0)
        return 0;
    place.depth++;
    while (status == 0) {
        const void *before = child.addr;
        status = visit(walk, &child, place);
        /* A damaged DW_AT_sibling may point back. */
        if (dwarf_siblingof(&child, &child) != 0 || child.addr <= before)
            break;
    }
    return status;
}

static size_t lower_bound(const struct walk *walk, uint64_t address)
{
    size_t low = 0;
    size_t high = walk->n_addresses;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (walk->addresses[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Which of the scopes that hold a position keeps it: see IC-2. */
static bool takes_over(const struct inline_chain *chain, uint32_t current, uint32_t candidate)
{
    const struct scope *scopes = chain->scopes;

    if (current == scopes[candidate].outer)
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
        if (takes_over(walk->chain, innermost[i], scope)) {
            innermost[i] = scope;
            has_any = true;
        }
    }
    return has_any;
}

/* Most DIEs are declarations. Their abbreviation says so; dwarf_ranges would read all their
 * attributes three times to find out. */
static bool has_addresses(Dwarf_Die *die)
{
    return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

/* Bytes of the DIE's code when it holds a position, else 0. */
static uint64_t relevant_size(const struct walk *walk, Dwarf_Die *die)
{
    Dwarf_Addr base;
    Dwarf_Addr start;
    Dwarf_Addr end;
    uint64_t size = 0;
    bool holds_one = false;

    if (!has_addresses(die))
        return 0;
    for (ptrdiff_t cursor = 0; (cursor = dwarf_ranges(die, cursor, &base, &start, &end)) > 0;) {
        size_t first = lower_bound(walk, start);
        if (start >= end)
            continue;
        size += end - start;
        holds_one |= first < walk->n_addresses && walk->addresses[first] < end;
    }
    return holds_one ? size : 0;
}

static bool claim(struct walk *walk, uint32_t scope)
{
    Dwarf_Die *die = &walk->chain->scopes[scope].die;
    Dwarf_Addr base;
    Dwarf_Addr start;
    Dwarf_Addr end;
    bool has_any = false;

    for (ptrdiff_t cursor = 0; (cursor = dwarf_ranges(die, cursor, &base, &start, &end)) > 0;)
        has_any |= claim_range(walk, scope, start, end);
    return has_any;
}

static int push_scope(struct walk *walk, const struct scope *scope)
{
    struct inline_chain *chain = walk->chain;

    if (chain->n_scopes == chain->n_scopes_allocated) {
        size_t n_allocated = chain->n_scopes_allocated ? chain->n_scopes_allocated * 2 : 256;
        void *grown = realloc(chain->scopes, n_allocated * sizeof(*chain->scopes));
        if (!grown)
            return error_set(walk->err, ERROR_NOMEM, "no memory for %zu scopes", n_allocated);
        chain->scopes = grown;
        chain->n_scopes_allocated = n_allocated;
    }
    chain->scopes[chain->n_scopes++] = *scope;
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

static int visit_code(struct walk *walk, Dwarf_Die *die, struct place place, bool is_inlined)
{
    struct scope scope = {.die = *die, .outer = is_inlined ? place.scope : SCOPE_NONE};
    int status;

    scope.size_bytes = relevant_size(walk, die);
    if (scope.size_bytes == 0)
        return walk->is_thorough && !is_inlined ? visit_children(walk, die, place) : 0;
    if (is_inlined) {
        scope.call_file = read_number(die, DW_AT_call_file, FILE_NONE);
        scope.call_line = read_number(die, DW_AT_call_line, 0);
        scope.call_column = read_number(die, DW_AT_call_column, 0);
    }
    status = push_scope(walk, &scope);
    place.scope = (uint32_t)walk->chain->n_scopes - 1;
    if (status || !claim(walk, place.scope))
        return status;
    return visit_children(walk, die, place);
}

/* A block without addresses of its own only groups what is in it. */
static int visit_block(struct walk *walk, Dwarf_Die *die, struct place place)
{
    if (has_addresses(die) && relevant_size(walk, die) == 0)
        return 0;
    return visit_children(walk, die, place);
}

static int visit(struct walk *walk, Dwarf_Die *die, struct place place)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_subprogram:
        return visit_code(walk, die, place, false);
    case DW_TAG_inlined_subroutine:
        return visit_code(walk, die, place, true);
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
        return visit_block(walk, die, place);
    case DW_TAG_namespace:
    case DW_TAG_module:
        return visit_children(walk, die, place);
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
        return walk->is_thorough ? visit_children(walk, die, place) : 0;
    default:
        return 0;
    }
}

static int prepare(struct walk *walk)
{
    struct inline_chain *chain = walk->chain;

    if (walk->n_addresses > chain->n_allocated) {
        void *grown = realloc(chain->innermost, walk->n_addresses * sizeof(*chain->innermost));
        if (!grown)
            return error_set(walk->err, ERROR_NOMEM, "no memory for %zu positions",
                             walk->n_addresses);
        chain->innermost = grown;
        chain->n_allocated = walk->n_addresses;
    }
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

int inline_chain_walk(struct inline_chain *chain, Dwarf_Die *unit, const uint64_t *addresses,
                      size_t n_addresses, struct error *err)
{
    struct walk walk = {
        .chain = chain, .addresses = addresses, .n_addresses = n_addresses, .err = err};
    struct place place = {.scope = SCOPE_NONE};
    int status = prepare(&walk);

    if (status == 0)
        status = visit_children(&walk, unit, place);
    if (status || !is_any_missing(&walk))
        return status;
    /* rustc puts methods into their types, gcc nested functions into the outer one. */
    walk.is_thorough = true;
    status = prepare(&walk);
    return status ? status : visit_children(&walk, unit, place);
}

void inline_chain_done(struct inline_chain *chain)
{
    free(chain->scopes);
    free(chain->innermost);
    memset(chain, 0, sizeof(*chain));
}
