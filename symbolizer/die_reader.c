/* SPDX-License-Identifier: MIT */
#include "symbolizer/die_reader.h"

#include "lib/base/dynamic_array.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum {
    VARYING = -1,
    /* Producers number abbreviations from 1 on. */
    HIGHEST_CODE = 1 << 20
};

/* ---- numbers ---- */

static bool read_leb128(const unsigned char **at, const unsigned char *end, uint64_t *ret)
{
    uint64_t value = 0;

    for (unsigned shift = 0; *at < end; shift += 7) {
        unsigned char byte = *(*at)++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return false;
}

static uint64_t read_fixed(const unsigned char *at, size_t n_bytes)
{
    uint64_t value = 0;

    /* Only objects with this machine's byte order are read. */
    memcpy(&value, at, n_bytes < sizeof(value) ? n_bytes : sizeof(value));
    return value;
}

/* ---- forms ---- */

static int32_t form_bytes(const struct die_reader *reader, unsigned form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return reader->address_bytes;
    case DW_FORM_ref_addr:
        return reader->version <= 2 ? reader->address_bytes : reader->offset_bytes;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return reader->offset_bytes;
    default:
        return VARYING;
    }
}

static const unsigned char *skip_bytes(const struct die_reader *reader, const unsigned char *at,
                                       uint64_t n_bytes)
{
    return n_bytes <= (uint64_t)(reader->end - at) ? at + n_bytes : NULL;
}

static const unsigned char *skip_block(const struct die_reader *reader, const unsigned char *at,
                                       size_t length_bytes)
{
    if ((size_t)(reader->end - at) < length_bytes)
        return NULL;
    return skip_bytes(reader, at + length_bytes, read_fixed(at, length_bytes));
}

/* NULL: damage, or an unknown form. */
static const unsigned char *skip_form(const struct die_reader *reader, const unsigned char *at,
                                      unsigned form)
{
    int32_t n_bytes = form_bytes(reader, form);
    const unsigned char *nul;
    uint64_t value;

    if (n_bytes != VARYING)
        return skip_bytes(reader, at, (uint64_t)n_bytes);
    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        return read_leb128(&at, reader->end, &value) ? at : NULL;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        return read_leb128(&at, reader->end, &value) ? skip_bytes(reader, at, value) : NULL;
    case DW_FORM_block1:
        return skip_block(reader, at, 1);
    case DW_FORM_block2:
        return skip_block(reader, at, 2);
    case DW_FORM_block4:
        return skip_block(reader, at, 4);
    case DW_FORM_string:
        nul = memchr(at, '\0', (size_t)(reader->end - at));
        return nul ? nul + 1 : NULL;
    case DW_FORM_indirect:
        if (!read_leb128(&at, reader->end, &value) || value == DW_FORM_indirect
            || value == DW_FORM_implicit_const || value > UINT16_MAX)
            return NULL;
        return skip_form(reader, at, (unsigned)value);
    default:
        return NULL;
    }
}

/* ---- abbreviations ---- */

static bool reserve_shape(struct die_reader *reader, size_t code)
{
    void *shapes = dynamic_array_reserve(reader->shapes, &reader->shapes_allocated, code + 1,
                                         sizeof(*reader->shapes));

    reader->is_out_of_memory |= !shapes;
    if (!shapes)
        return false;
    reader->shapes = shapes;
    if (code >= reader->n_shapes) {
        memset(&reader->shapes[reader->n_shapes], 0,
               (code + 1 - reader->n_shapes) * sizeof(*reader->shapes));
        reader->n_shapes = code + 1;
    }
    return true;
}

static bool add_form(struct die_reader *reader, struct die_shape *shape, unsigned name,
                     unsigned form)
{
    int32_t n_bytes = form_bytes(reader, form);
    void *forms = dynamic_array_reserve(reader->forms, &reader->forms_allocated,
                                        reader->n_forms + 1, sizeof(*reader->forms));

    reader->is_out_of_memory |= !forms;
    if (!forms)
        return false;
    reader->forms = forms;
    reader->forms[reader->n_forms++] =
        (struct die_form){.name = (uint16_t)name, .form = (uint16_t)form};
    shape->n_forms++;
    shape->has_sibling |= name == DW_AT_sibling;
    shape->has_addresses |= name == DW_AT_low_pc || name == DW_AT_ranges;
    if (n_bytes == VARYING || shape->attribute_bytes == VARYING
        || shape->attribute_bytes > INT32_MAX / 2)
        shape->attribute_bytes = VARYING;
    else
        shape->attribute_bytes += n_bytes;
    return true;
}

/* dwarf_getattrcnt is not usable: up to 0.188 it counts constants in abbreviations as
 * attributes. */
static bool add_abbrev(struct die_reader *reader, Dwarf_Abbrev *abbrev)
{
    size_t code = dwarf_getabbrevcode(abbrev);
    struct die_shape shape = {.first_form = (uint32_t)reader->n_forms,
                              .tag = (uint16_t)dwarf_getabbrevtag(abbrev),
                              .has_children = dwarf_abbrevhaschildren(abbrev) == DW_CHILDREN_yes};
    unsigned name;
    unsigned form;

    if (code == 0 || code > HIGHEST_CODE || !reserve_shape(reader, code))
        return false;
    for (size_t i = 0; dwarf_getabbrevattr_data(abbrev, i, &name, &form, NULL, NULL) == 0; i++)
        if (!add_form(reader, &shape, name, form))
            return false;
    if (!reader->shapes[code].tag)
        reader->shapes[code] = shape;
    return true;
}

/* Abbreviations are read up to the requested one: small units may have large tables. */
static const struct die_shape *find_shape(struct die_reader *reader, uint64_t code)
{
    while (code >= reader->n_shapes || !reader->shapes[code].tag) {
        size_t length = 0;
        Dwarf_Abbrev *abbrev;
        if (reader->has_all_abbrevs)
            return NULL;
        abbrev = dwarf_getabbrev(&reader->unit, reader->next_abbrev, &length);
        if (!abbrev || abbrev == DWARF_END_ABBREV || length == 0 || !add_abbrev(reader, abbrev))
            reader->has_all_abbrevs = true;
        reader->next_abbrev += length;
    }
    return &reader->shapes[code];
}

/* ---- entries ---- */

bool die_reader_begin(struct die_reader *reader, Dwarf_Die *unit, struct die_entry *ret_entry)
{
    Dwarf *dwarf = dwarf_cu_getdwarf(unit->cu);
    Dwarf_Off offset = dwarf_dieoffset(unit);
    Dwarf_Off in_unit = dwarf_cuoffset(unit);
    Dwarf_Off next;
    Dwarf_Half version;
    size_t header_bytes;

    reader->unit = *unit;
    reader->n_shapes = reader->n_forms = 0;
    reader->next_abbrev = 0;
    reader->has_all_abbrevs = reader->is_out_of_memory = false;
    if (offset == (Dwarf_Off)-1 || in_unit > offset
        || dwarf_next_unit(dwarf, offset - in_unit, &next, &header_bytes, &version, NULL,
                           &reader->address_bytes, &reader->offset_bytes, NULL, NULL)
               != 0
        || next <= offset)
        return false;
    reader->version = version;
    reader->start = (const unsigned char *)unit->addr - in_unit;
    reader->end = (const unsigned char *)unit->addr + (next - offset);
    return die_reader_get(reader, unit->addr, ret_entry);
}

bool die_reader_get(struct die_reader *reader, const unsigned char *at, struct die_entry *ret_entry)
{
    uint64_t code;

    ret_entry->at = at;
    if (!read_leb128(&at, reader->end, &code) || code == 0)
        return false;
    ret_entry->attributes = at;
    ret_entry->shape = find_shape(reader, code);
    return ret_entry->shape != NULL;
}

const unsigned char *die_reader_list_end(const struct die_reader *reader, const unsigned char *at)
{
    uint64_t code;

    return read_leb128(&at, reader->end, &code) && code == 0 ? at : NULL;
}

const unsigned char *die_reader_below(const struct die_reader *reader,
                                      const struct die_entry *entry)
{
    const struct die_shape *shape = entry->shape;
    const struct die_form *forms = &reader->forms[shape->first_form];
    const unsigned char *at = entry->attributes;

    if (shape->attribute_bytes != VARYING)
        return skip_bytes(reader, at, (uint64_t)shape->attribute_bytes);
    for (uint32_t i = 0; at && i < shape->n_forms; i++)
        at = skip_form(reader, at, forms[i].form);
    return at;
}

/* Target of DW_AT_sibling; NULL: none, or before the entry. */
static const unsigned char *read_sibling(const struct die_reader *reader,
                                         const struct die_entry *entry)
{
    const struct die_shape *shape = entry->shape;
    const struct die_form *forms = &reader->forms[shape->first_form];
    const unsigned char *at = entry->attributes;
    uint32_t i = 0;
    int32_t n_bytes;
    uint64_t offset;

    for (; at && i < shape->n_forms && forms[i].name != DW_AT_sibling; i++)
        at = skip_form(reader, at, forms[i].form);
    if (!at || i == shape->n_forms)
        return NULL;
    n_bytes = form_bytes(reader, forms[i].form);
    if (forms[i].form == DW_FORM_ref_udata) {
        if (!read_leb128(&at, reader->end, &offset))
            return NULL;
    } else if (n_bytes < 1 || n_bytes > 8 || forms[i].form == DW_FORM_ref_addr
               || !skip_bytes(reader, at, (uint64_t)n_bytes)) {
        return NULL;
    } else {
        offset = read_fixed(at, (size_t)n_bytes);
    }
    if (offset >= (uint64_t)(reader->end - reader->start))
        return NULL;
    return reader->start + offset > entry->attributes ? reader->start + offset : NULL;
}

const unsigned char *die_reader_behind(struct die_reader *reader, const struct die_entry *entry)
{
    const unsigned char *at = entry->shape->has_sibling ? read_sibling(reader, entry) : NULL;
    size_t depth = entry->shape->has_children;

    if (at)
        return at;
    at = die_reader_below(reader, entry);
    while (at && depth > 0) {
        struct die_entry child;
        const unsigned char *behind = NULL;
        if (!die_reader_get(reader, at, &child)) {
            at = die_reader_list_end(reader, at);
            depth--;
            continue;
        }
        if (child.shape->has_sibling)
            behind = read_sibling(reader, &child);
        if (!behind)
            depth += child.shape->has_children;
        at = behind ? behind : die_reader_below(reader, &child);
    }
    return at;
}

static bool is_plain_number(unsigned form)
{
    return form == DW_FORM_data1 || form == DW_FORM_data2 || form == DW_FORM_data4
           || form == DW_FORM_data8;
}

bool die_reader_range(const struct die_reader *reader, const struct die_entry *entry,
                      uint64_t *ret_start, uint64_t *ret_end)
{
    const struct die_form *forms = &reader->forms[entry->shape->first_form];
    const unsigned char *at = entry->attributes;
    bool has_start = false, has_size = false;

    for (uint32_t i = 0; at && i < entry->shape->n_forms && !(has_start && has_size); i++) {
        int32_t n_bytes = form_bytes(reader, forms[i].form);
        const unsigned char *behind = skip_form(reader, at, forms[i].form);
        if (!behind || forms[i].name == DW_AT_ranges)
            return false;
        if (forms[i].name == DW_AT_low_pc && forms[i].form == DW_FORM_addr && n_bytes <= 8) {
            *ret_start = read_fixed(at, (size_t)n_bytes);
            has_start = true;
        } else if (forms[i].name == DW_AT_high_pc) {
            if (!is_plain_number(forms[i].form))
                return false;
            *ret_end = read_fixed(at, (size_t)n_bytes);
            has_size = true;
        }
        at = behind;
    }
    if (!has_start || !has_size)
        return false;
    *ret_end += *ret_start;
    return true;
}

/* The state that dwarf_child and dwarf_siblingof return: libdw finds the abbreviation when
 * needed. */
Dwarf_Die die_reader_die(const struct die_reader *reader, const struct die_entry *entry)
{
    Dwarf_Die die;

    memset(&die, 0, sizeof(die));
    die.addr = (void *)(uintptr_t)entry->at;
    die.cu = reader->unit.cu;
    return die;
}

void die_reader_done(struct die_reader *reader)
{
    free(reader->shapes);
    free(reader->forms);
    memset(reader, 0, sizeof(*reader));
}
