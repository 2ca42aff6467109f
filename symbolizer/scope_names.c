/* SPDX-License-Identifier: MIT */
#include "symbolizer/scope_names.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"
#include "symbolizer/demangle.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONGEST_CHAIN = 16 /* of origins and specifications; compilers need three */
};

static const char *read_string(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    const char *text = dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;

    return text && *text ? text : NULL;
}

bool scope_names_follow(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;

    if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute)
        && !dwarf_attr(die, DW_AT_specification, &attribute))
        return false;
    return dwarf_formref_die(&attribute, die) != NULL;
}

const char *scope_names_raw(Dwarf_Die *die, bool *ret_is_plain)
{
    const char *plain = NULL;

    *ret_is_plain = false;
    for (int i = 0; i < LONGEST_CHAIN; i++) {
        const char *linkage = read_string(die, DW_AT_linkage_name);
        if (!linkage)
            linkage = read_string(die, DW_AT_MIPS_linkage_name);
        if (linkage)
            return linkage;
        if (!plain)
            plain = read_string(die, DW_AT_name);
        if (!scope_names_follow(die))
            break;
    }
    *ret_is_plain = plain != NULL;
    return plain;
}

enum {
    DEEPEST = 64, /* enclosing scopes of a function */
    DEEPEST_NAMESPACE = 256
};

#define IN_UNIT UINT32_MAX

/* The enclosing scopes of a DIE, outermost first. */
struct scope_path {
    struct scope_entry scopes[DEEPEST];
    size_t n;
};

static bool is_scope(unsigned tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        return true;
    default:
        return false;
    }
}

/* ---- entries of the unit and its namespaces ---- */

static bool keep_entry(struct scope_names *scopes, const struct die_entry *entry, uint32_t parent)
{
    struct scope_entry *entries =
        scopes->n_entries < IN_UNIT ? dynamic_array_reserve(scopes->entries, &scopes->n_allocated,
                                                            scopes->n_entries + 1, sizeof(*entries))
                                    : NULL;

    if (!entries)
        return false;
    scopes->entries = entries;
    entries[scopes->n_entries++] = (struct scope_entry){entry->at, parent, entry->shape->tag};
    return true;
}

/* Returns the place of the next DIE of the enclosing list, NULL to end the walk. */
static const unsigned char *list_below(struct scope_names *scopes, const struct die_entry *entry,
                                       uint32_t parent, unsigned depth)
{
    struct die_reader *reader = &scopes->reader;
    const unsigned char *at = die_reader_below(reader, entry);
    struct die_entry child;

    while (at && die_reader_get(reader, at, &child)) {
        bool is_namespace = child.shape->tag == DW_TAG_namespace && child.shape->has_children;
        if (is_scope(child.shape->tag) && !keep_entry(scopes, &child, parent)) {
            reader->is_out_of_memory = true;
            return NULL;
        }
        at = is_namespace && depth < DEEPEST_NAMESPACE
                 ? list_below(scopes, &child, (uint32_t)scopes->n_entries - 1, depth + 1)
                 : die_reader_behind(reader, &child);
    }
    return at ? die_reader_list_end(reader, at) : NULL;
}

static int list_unit(struct scope_names *scopes, Dwarf_Die *unit, struct error *err)
{
    struct die_entry entry;

    scopes->unit = unit->addr;
    scopes->n_entries = 0;
    if (die_reader_begin(&scopes->reader, unit, &entry) && entry.shape->has_children)
        list_below(scopes, &entry, IN_UNIT, 0);
    return scopes->reader.is_out_of_memory
               ? error_set(err, ERROR_NOMEM, "no memory for the scopes of functions")
               : 0;
}

/* The last entry at or before a place; IN_UNIT: none. */
static uint32_t find_entry(const struct scope_names *scopes, const unsigned char *at)
{
    size_t i;

    LOWER_BOUND(i, scopes->n_entries, scopes->entries[i].at <= at);
    return i ? (uint32_t)i - 1 : IN_UNIT;
}

/* ---- from there down to a DIE ---- */

static bool push_scope(struct scope_path *path, const struct scope_entry *scope)
{
    if (path->n == DEEPEST)
        return false;
    path->scopes[path->n++] = *scope;
    return true;
}

static bool push_namespaces(const struct scope_names *scopes, uint32_t index,
                            struct scope_path *path)
{
    size_t n = 0;

    for (uint32_t at = index; at != IN_UNIT; at = scopes->entries[at].parent)
        n++;
    if (n > DEEPEST)
        return false;
    path->n = n;
    for (uint32_t at = index; at != IN_UNIT; at = scopes->entries[at].parent)
        path->scopes[--n] = scopes->entries[at];
    return true;
}

/* Finds the child that is `wanted` or contains it; false: none. */
static bool find_child(struct scope_names *scopes, const struct die_entry *around,
                       const unsigned char *wanted, struct die_entry *ret_child)
{
    struct die_reader *reader = &scopes->reader;
    const unsigned char *at = die_reader_below(reader, around);

    while (at && at <= wanted && die_reader_get(reader, at, ret_child)) {
        at = die_reader_behind(reader, ret_child);
        if (!at || at > wanted)
            return die_reader_get(reader, ret_child->at, ret_child);
    }
    return false;
}

/* False: damaged, or nested too deeply. */
static bool find_path(struct scope_names *scopes, const unsigned char *wanted,
                      struct scope_path *path)
{
    uint32_t first = find_entry(scopes, wanted);
    struct die_entry entry;

    path->n = 0;
    if (first == IN_UNIT || !push_namespaces(scopes, scopes->entries[first].parent, path)
        || !die_reader_get(&scopes->reader, scopes->entries[first].at, &entry))
        return false;
    while (entry.at != wanted) {
        struct scope_entry scope = {entry.at, IN_UNIT, entry.shape->tag};
        struct die_entry around = entry;
        if (!entry.shape->has_children || (is_scope(scope.tag) && !push_scope(path, &scope))
            || !find_child(scopes, &around, wanted, &entry))
            return false;
    }
    return true;
}

static bool is_other_language(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case -1: /* a partial unit */
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case DW_LANG_ObjC_plus_plus:
    case 0x002b: /* C++17 and C++20, which the header does not know */
    case 0x002c:
        return false;
    default:
        return true;
    }
}

/* Finds the enclosing scopes of a DIE. The path is empty if there are none with a C++ name. */
static int find_scopes(struct scope_names *scopes, Dwarf_Die *die, struct scope_path *path,
                       struct error *err)
{
    Dwarf_Die unit;
    int status = 0;

    path->n = 0;
    if (!dwarf_diecu(die, &unit, NULL, NULL) || is_other_language(&unit))
        return 0;
    if (scopes->unit != unit.addr)
        status = list_unit(scopes, &unit, err);
    if (status == 0 && !find_path(scopes, die->addr, path))
        path->n = 0;
    return status;
}

/* ---- lambdas ---- */

static void move_die(Dwarf_Die *die, const unsigned char *at)
{
    die->addr = (void *)(uintptr_t)at;
    die->abbrev = NULL;
}

/* True for a type without a name that has a function: the type of a lambda. */
static bool is_lambda(struct scope_names *scopes, const unsigned char *at, const Dwarf_Die *sibling)
{
    struct die_reader *reader = &scopes->reader;
    Dwarf_Die die = *sibling;
    struct die_entry entry;
    struct die_entry child;

    move_die(&die, at);
    if (dwarf_hasattr(&die, DW_AT_name) || !die_reader_get(reader, at, &entry)
        || !entry.shape->has_children)
        return false;
    for (at = die_reader_below(reader, &entry); at && die_reader_get(reader, at, &child);
         at = die_reader_behind(reader, &child))
        if (child.shape->tag == DW_TAG_subprogram)
            return true;
    return false;
}

static bool is_class(unsigned tag)
{
    return tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
}

/* Counts lambdas below a DIE that begin before `end`. Blocks belong to their function. */
static unsigned count_lambdas(struct scope_names *scopes, const unsigned char *around,
                              const unsigned char *end, const Dwarf_Die *sibling, unsigned depth)
{
    struct die_reader *reader = &scopes->reader;
    const unsigned char *at;
    struct die_entry entry;
    unsigned n = 0;

    if (depth == DEEPEST || !die_reader_get(reader, around, &entry) || !entry.shape->has_children)
        return 0;
    at = die_reader_below(reader, &entry);
    while (at && at < end && die_reader_get(reader, at, &entry)) {
        if (entry.shape->tag == DW_TAG_lexical_block)
            n += count_lambdas(scopes, at, end, sibling, depth + 1);
        else if (is_class(entry.shape->tag))
            n += is_lambda(scopes, at, sibling);
        at = die_reader_get(reader, at, &entry) ? die_reader_behind(reader, &entry) : NULL;
    }
    return n;
}

/* Compilers number the lambdas of a function in order. */
static unsigned lambda_number(struct scope_names *scopes, const struct scope_path *path, size_t i,
                              const Dwarf_Die *sibling)
{
    const unsigned char *at = path->scopes[i].at;

    while (i > 0 && path->scopes[i - 1].tag == DW_TAG_lexical_block)
        i--;
    return count_lambdas(scopes, i > 0 ? path->scopes[i - 1].at : scopes->unit, at, sibling, 0) + 1;
}

/* ---- names ---- */

struct parts {
    char *texts[DEEPEST]; /* innermost first */
    size_t n;
};

static char *name_without(struct scope_names *scopes, const struct scope_path *path, size_t i,
                          const Dwarf_Die *die)
{
    unsigned tag = path->scopes[i].tag;
    char *text = NULL;

    if (is_class(tag) && is_lambda(scopes, path->scopes[i].at, die))
        return asprintf(&text, "{lambda#%u}", lambda_number(scopes, path, i, die)) < 0 ? NULL
                                                                                       : text;
    if (tag == DW_TAG_namespace)
        return strdup("(anonymous namespace)");
    return strdup(tag == DW_TAG_subprogram ? "{unnamed function}" : "{unnamed type}");
}

/* Moves the innermost scope from the path to the parts; leaves *die at its declaration. A linkage
 * name already contains the outer scopes and ends the path. */
static bool add_part(struct scope_names *scopes, struct parts *parts, struct scope_path *path,
                     Dwarf_Die *die)
{
    size_t i = path->n - 1;
    bool is_plain;
    const char *name;
    char *text = NULL;

    move_die(die, path->scopes[i].at);
    name = scope_names_raw(die, &is_plain);
    if (name && !is_plain && path->scopes[i].tag == DW_TAG_subprogram)
        text = demangle_qualified(name);
    path->n = text ? 0 : i;
    if (!text)
        text = name ? strdup(name) : name_without(scopes, path, i, die);
    parts->texts[parts->n++] = text;
    return text != NULL;
}

/* Adds the scopes from *die outwards. If this ends at a declaration elsewhere, the scopes of that
 * declaration follow. */
static int add_parts(struct scope_names *scopes, struct parts *parts, Dwarf_Die *die,
                     bool *ret_has_more, struct error *err)
{
    struct scope_path path;
    int status = find_scopes(scopes, die, &path, err);

    *ret_has_more = false;
    while (status == 0 && path.n > 0 && parts->n < DEEPEST && !*ret_has_more) {
        const unsigned char *at = path.scopes[path.n - 1].at;
        if (path.scopes[path.n - 1].tag == DW_TAG_lexical_block) {
            path.n--;
            continue;
        }
        if (!add_part(scopes, parts, &path, die))
            return error_set(err, ERROR_NOMEM, "no memory for a name");
        *ret_has_more = path.n > 0 && die->addr != at;
    }
    return status;
}

static char *join(const struct parts *parts, const char *plain)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = parts->n; i > 0; i--)
        (void)fprintf(out, "%s::", parts->texts[i - 1]);
    (void)fputs(plain, out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

int scope_names_qualify(struct scope_names *scopes, Dwarf_Die *die, const char *plain,
                        char **ret_name, struct error *err)
{
    struct parts parts = {.n = 0};
    Dwarf_Die at = *die;
    bool has_more = true;
    int status = 0;

    *ret_name = NULL;
    while (status == 0 && has_more)
        status = add_parts(scopes, &parts, &at, &has_more, err);
    if (status == 0 && parts.n > 0) {
        *ret_name = join(&parts, plain);
        if (!*ret_name)
            status = error_set(err, ERROR_NOMEM, "no memory for a name");
    }
    for (size_t i = 0; i < parts.n; i++)
        free(parts.texts[i]);
    return status;
}

void scope_names_forget(struct scope_names *scopes)
{
    scopes->unit = NULL;
    scopes->n_entries = 0;
}

void scope_names_done(struct scope_names *scopes)
{
    die_reader_done(&scopes->reader);
    free(scopes->entries);
    memset(scopes, 0, sizeof(*scopes));
}
