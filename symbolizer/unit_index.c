/* SPDX-License-Identifier: MIT */
#include "symbolizer/unit_index.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

static int push_range(struct unit_index *index, const struct unit_range *range, struct error *err)
{
    struct unit_range *ranges = dynamic_array_reserve(index->ranges, &index->n_allocated,
                                                      index->n_ranges + 1, sizeof(*ranges));

    if (!ranges)
        return error_set(err, ERROR_NOMEM, "no memory for %zu address ranges", index->n_ranges);
    index->ranges = ranges;
    ranges[index->n_ranges++] = *range;
    return 0;
}

static int push_unit(struct unit_index *index, Dwarf_Off offset, struct error *err)
{
    Dwarf_Off *units = dynamic_array_reserve(index->units, &index->n_units_allocated,
                                             index->n_units + 1, sizeof(*units));

    if (!units)
        return error_set(err, ERROR_NOMEM, "no memory for %zu units", index->n_units);
    index->units = units;
    units[index->n_units++] = offset;
    return 0;
}

/* Code that the linker removed has address 0. */
static int add_range(struct unit_index *index, const struct unit_range *range, struct error *err)
{
    return range->start && range->start < range->end ? push_range(index, range, err) : 0;
}

/* Rows are ascending, and the end of a sequence comes before the start of another at the same
 * address. */
static int add_sequences(struct unit_index *index, Dwarf_Die *unit, struct error *err)
{
    struct unit_range range = {.unit = (int32_t)index->n_units};
    Dwarf_Lines *lines;
    size_t n = 0;
    bool is_end = true;
    int status = 0;

    if (dwarf_getsrclines(unit, &lines, &n) != 0)
        return 0;
    index->n_rows += n;
    for (size_t i = 0; status == 0 && i < n; i++) {
        Dwarf_Line *row = dwarf_onesrcline(lines, i);
        bool is_begin = is_end;
        if (dwarf_lineaddr(row, &range.end) != 0 || dwarf_lineendsequence(row, &is_end) != 0)
            break;
        if (is_begin)
            range.start = range.end;
        if (is_end)
            status = add_range(index, &range, err);
    }
    return status;
}

/* DWARF 2 has no range lists: a unit with code in several places has the range of one, or none. */
static bool has_all_ranges(Dwarf_Die *unit, bool has_any)
{
    Dwarf_Half version = 0;

    return dwarf_hasattr(unit, DW_AT_ranges)
           || (has_any && dwarf_cu_info(unit->cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) == 0
               && version > 2);
}

static int add_unit(struct unit_index *index, Dwarf_Die *unit, struct error *err)
{
    struct unit_range range = {.unit = (int32_t)index->n_units};
    size_t n_before = index->n_ranges;
    Dwarf_Addr base;
    ptrdiff_t cursor = 0;
    int status = 0;

    while (status == 0
           && (cursor = dwarf_ranges(unit, cursor, &base, &range.start, &range.end)) > 0)
        status = add_range(index, &range, err);
    if (status == 0 && !has_all_ranges(unit, index->n_ranges > n_before))
        status = add_sequences(index, unit, err);
    return status == 0 && index->n_ranges > n_before ? push_unit(index, dwarf_dieoffset(unit), err)
                                                     : status;
}

static int compare(const void *a, const void *b)
{
    const struct unit_range *x = a;
    const struct unit_range *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return (x->unit < y->unit) - (x->unit > y->unit);
}

static int sort(struct unit_index *index, struct error *err)
{
    uint64_t reach = 0;

    if (index->n_ranges == 0)
        return 0;
    qsort(index->ranges, index->n_ranges, sizeof(*index->ranges), compare);
    index->reach = malloc(index->n_ranges * sizeof(*index->reach));
    if (!index->reach)
        return error_set(err, ERROR_NOMEM, "no memory for %zu address ranges", index->n_ranges);
    for (size_t i = 0; i < index->n_ranges; i++) {
        if (index->ranges[i].end > reach)
            reach = index->ranges[i].end;
        index->reach[i] = reach;
    }
    return 0;
}

int unit_index_init(struct unit_index *ret_index, Dwarf *dwarf, struct error *err)
{
    Dwarf_CU *unit = NULL;
    int status = 0;
    int more = 0;

    memset(ret_index, 0, sizeof(*ret_index));
    while (status == 0) {
        Dwarf_Die die;
        more = dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL);
        if (more != 0)
            break;
        if (dwarf_tag(&die) == DW_TAG_compile_unit || dwarf_tag(&die) == DW_TAG_skeleton_unit)
            status = add_unit(ret_index, &die, err);
    }
    ret_index->is_damaged = more < 0;
    if (status == 0)
        status = sort(ret_index, err);
    if (status)
        unit_index_done(ret_index);
    return status;
}

int32_t unit_index_find(const struct unit_index *index, uint64_t address)
{
    size_t i;

    LOWER_BOUND(i, index->n_ranges, index->ranges[i].start <= address);
    for (; i > 0 && index->reach[i - 1] > address; i--)
        if (index->ranges[i - 1].end > address)
            return index->ranges[i - 1].unit;
    return UNIT_NONE;
}

void unit_index_done(struct unit_index *index)
{
    free(index->ranges);
    free(index->reach);
    free(index->units);
    memset(index, 0, sizeof(*index));
}
