/* SPDX-License-Identifier: MIT */
#include "symbolizer/die_names.h"

#include "lib/base/dynamic_array.h"
#include "symbolizer/demangle.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

struct named_die {
    const void *die;
    struct function_name name;
};

void die_names_init(struct die_names *names)
{
    memset(names, 0, sizeof(*names));
}

void die_names_done(struct die_names *names)
{
    intern_done(&names->raw);
    intern_done(&names->text);
    free(names->full);
    hash_map_done(&names->dies);
    scope_names_done(&names->scopes);
    die_names_init(names);
}

static int no_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "no memory for the names of functions");
}

static int demangle_new(struct die_names *names, uint32_t number, struct error *err)
{
    const char *raw = intern_get(&names->raw, number);
    const char **full = dynamic_array_reserve(names->full, &names->n_full_allocated,
                                              (size_t)number + 1, sizeof(*full));
    char *text;
    int64_t kept = INTERN_NOMEM;

    if (!full)
        return no_memory(err);
    names->full = full;
    full[number] = raw;
    text = demangle_full(raw);
    if (!text)
        return 0;
    kept = intern_add(&names->text, text, strlen(text));
    free(text);
    if (kept < 0)
        return no_memory(err);
    full[number] = intern_get(&names->text, (uint32_t)kept);
    return 0;
}

int die_names_of_symbol(struct die_names *names, const char *raw, struct function_name *ret_name,
                        struct error *err)
{
    uint32_t n_before = names->raw.n_strings;
    int64_t number = intern_add(&names->raw, raw, strlen(raw));
    int status = 0;

    if (number < 0)
        return no_memory(err);
    if (number == n_before)
        status = demangle_new(names, (uint32_t)number, err);
    if (status)
        return status;
    ret_name->raw = intern_get(&names->raw, (uint32_t)number);
    ret_name->full = names->full[number];
    ret_name->is_plain = false;
    return 0;
}

/* If there is an origin it is the key: a function inlined in a thousand places has one name. */
static const void *key_of(Dwarf_Die *die)
{
    Dwarf_Die origin = *die;

    return dwarf_hasattr(die, DW_AT_linkage_name) || !scope_names_follow(&origin) ? die->addr
                                                                                  : origin.addr;
}

static int find_name(struct die_names *names, Dwarf_Die die, struct function_name *ret_name,
                     struct error *err)
{
    bool is_plain;
    const char *raw = scope_names_raw(&die, &is_plain);
    char *qualified = NULL;
    int status = 0;

    if (!raw)
        return 0;
    if (is_plain)
        status = scope_names_qualify(&names->scopes, &die, raw, &qualified, err);
    if (status == 0)
        status = die_names_of_symbol(names, qualified ? qualified : raw, ret_name, err);
    ret_name->is_plain = is_plain;
    free(qualified);
    return status;
}

int die_names_of_die(struct die_names *names, Dwarf_Die *die, struct function_name *ret_name,
                     struct error *err)
{
    const void *key = key_of(die);
    size_t n_before = names->dies.n;
    struct named_die *named = hash_map_get(&names->dies, &key, sizeof(key), sizeof(*named));
    int status = 0;

    if (!named)
        return no_memory(err);
    if (names->dies.n > n_before)
        status = find_name(names, *die, &named->name, err);
    if (status)
        return status;
    *ret_name = named->name;
    return 0;
}

void die_names_forget_units(struct die_names *names)
{
    scope_names_forget(&names->scopes);
}
