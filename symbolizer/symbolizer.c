/* SPDX-License-Identifier: MIT */
#include "symbolizer/symbolizer.h"

#include "lib/base/dynamic_array.h"
#include "symbolizer/debug_files.h"
#include "symbolizer/die_names.h"
#include "symbolizer/elf_image.h"
#include "symbolizer/elf_symbols.h"
#include "symbolizer/function_starts.h"
#include "symbolizer/inline_chain.h"
#include "symbolizer/unit_index.h"
#include "symbolizer/unit_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /* libdw keeps all decoded line tables until the session ends, about 40 bytes a row. After this
     * many rows a new session begins, which takes less than 1 ms per thousand units. */
    ROWS_PER_SESSION = 2 * 1000 * 1000
};

struct symbolizer {
    const struct symbolizer_options *options;
    struct debug_files files;
    struct elf_machine machine;
    char *identity;
    bool is_bare;    /* no debug info at all; the note says so */
    bool was_begun;  /* open_dwarf was called */
    bool is_damaged; /* the DWARF is unusable */
    struct elf_image minidebuginfo;
    struct elf_symbols symbols;
    bool has_symbols; /* the tables were read, which is done only when needed */
    char *file_name;  /* of the object, without its folder */
    struct function_starts starts;
    Dwarf *dwarf;
    Dwarf *alternate;
    size_t n_rows; /* decoded in this session */
    struct unit_index units;
    struct unit_lines lines;
    struct inline_chain chain;
    struct die_names names;
    struct intern sources;
    struct symbolizer_level *levels;
    size_t n_levels_allocated;
};

/* One call of symbolizer_run. */
struct run {
    struct symbolizer *symbolizer;
    const struct symbolizer_position *positions;
    size_t n_positions;
    symbolizer_position_fn *on_position;
    void *context;
    struct error *err;
    int32_t *units;      /* per position, UNIT_NONE */
    uint32_t *order;     /* positions by unit, ascending inside each */
    uint64_t *addresses; /* to look up, in that order */
};

static void end_session(struct symbolizer *s)
{
    die_names_forget_units(&s->names);
    if (s->dwarf)
        dwarf_end(s->dwarf);
    s->dwarf = NULL;
    s->n_rows = 0;
}

static bool begin_session(struct symbolizer *s)
{
    const struct elf_image *image = debug_files_dwarf(&s->files);

    s->dwarf = image ? dwarf_begin_elf(image->elf, DWARF_C_READ, NULL) : NULL;
    if (s->dwarf && s->alternate)
        dwarf_setalt(s->dwarf, s->alternate);
    return s->dwarf != NULL;
}

const char *symbolizer_debug_path(const struct symbolizer *symbolizer)
{
    const struct elf_image *image = debug_files_dwarf(&symbolizer->files);

    return image && !symbolizer->is_damaged ? image->path : NULL;
}

const char *symbolizer_note(const struct symbolizer *symbolizer)
{
    return symbolizer->files.note;
}

const char *symbolizer_identity(const struct symbolizer *symbolizer)
{
    if (symbolizer->files.is_kept)
        return NULL;
    return symbolizer->files.note && !symbolizer->is_bare ? NULL : symbolizer->identity;
}

/* Adds a note about compression, for a file given to libdw or found by it. */
static int note_packed(struct symbolizer *s, const struct elf_image *image, struct error *err)
{
    unsigned type = elf_image_packed_by(image);
    char other[32];

    if (type == 0)
        return 0;
    (void)snprintf(other, sizeof(other), "method %u", type);
    return debug_files_add_note(
        &s->files, err,
        "the debug info in '%s' is compressed by %s, which this version of libelf cannot "
        "read; run 'objcopy --decompress-debug-sections %s'",
        image->path, type == ELF_IMAGE_ZSTD ? "zstd" : other, image->path);
}

static int open_alternate(struct symbolizer *s, const char *dwarf_path, struct error *err)
{
    const char *name;
    const void *build_id;
    ssize_t size = dwelf_dwarf_gnu_debugaltlink(s->dwarf, &name, &build_id);
    int status;

    if (size <= 0)
        return 0;
    status = debug_files_open_alternate(&s->files, s->options, dwarf_path, name, build_id,
                                        (size_t)size, err);
    if (status || !s->files.alternate.elf)
        return status;
    s->alternate = dwarf_begin_elf(s->files.alternate.elf, DWARF_C_READ, NULL);
    if (s->alternate)
        dwarf_setalt(s->dwarf, s->alternate);
    return note_packed(s, &s->files.alternate, err);
}

static int open_dwarf(struct symbolizer *s, struct error *err)
{
    const struct elf_image *image = debug_files_dwarf(&s->files);
    int status;

    s->was_begun = true;
    if (!image)
        return 0;
    s->is_damaged = !begin_session(s);
    status = note_packed(s, image, err);
    if (status)
        return status;
    if (s->is_damaged)
        return debug_files_add_note(&s->files, err, "the debug info in '%s' is damaged (%s)",
                                    image->path, dwarf_errmsg(-1));
    status = open_alternate(s, image->path, err);
    if (status == 0)
        status = unit_index_init(&s->units, s->dwarf, err);
    s->n_rows = s->units.n_rows;
    if (status == 0 && s->units.is_damaged)
        status =
            debug_files_add_note(&s->files, err, "the debug info in '%s' is damaged", image->path);
    return status;
}

int symbolizer_open(const struct symbolizer_options *options,
                    const struct symbolizer_object *object, struct symbolizer **ret_symbolizer,
                    struct error *err)
{
    struct symbolizer *s = calloc(1, sizeof(*s));
    const char *slash = strrchr(object->path, '/');
    int status;

    *ret_symbolizer = NULL;
    if (!s)
        return error_set(err, ERROR_NOMEM, "no memory to read '%s'", object->path);
    s->minidebuginfo = ELF_IMAGE_NONE;
    s->lines.sources = &s->sources;
    s->options = options;
    status = debug_files_open(options, object, &s->files, err);
    s->machine = elf_image_machine(s->files.object.elf ? s->files.object.elf : s->files.debug.elf);
    s->is_bare = s->files.note && s->files.object.elf;
    function_starts_init(&s->starts, s->files.object.elf);
    if (status == 0 && !(s->file_name = strdup(slash ? slash + 1 : object->path)))
        status = error_set(err, ERROR_NOMEM, "no memory to read '%s'", object->path);
    if (status == 0)
        status = debug_files_identify(&s->files, &s->identity, err);
    if (status) {
        symbolizer_close(s);
        return status;
    }
    *ret_symbolizer = s;
    return 0;
}

/* A stripped object has .dynsym, and sometimes .gnu_debugdata. */
static int add_object_symbols(struct symbolizer *s, struct error *err)
{
    const struct elf_image *object = &s->files.object;
    int status;

    if (!object->elf)
        return 0;
    status = elf_symbols_add(&s->symbols, object->elf, err);
    if (status || elf_symbols_has_symtab(object->elf)
        || !elf_image_open_minidebuginfo(object, &s->minidebuginfo))
        return status;
    return elf_symbols_add(&s->symbols, s->minidebuginfo.elf, err);
}

static int read_symbols(struct symbolizer *s, struct error *err)
{
    const struct elf_image *debug = &s->files.debug;
    bool is_in_debug = debug->elf && elf_symbols_has_symtab(debug->elf);
    int status =
        is_in_debug ? elf_symbols_add(&s->symbols, debug->elf, err) : add_object_symbols(s, err);

    s->has_symbols = true;
    return status ? status : elf_symbols_sort(&s->symbols, err);
}

static uint64_t lookup_address(const struct symbolizer *s,
                               const struct symbolizer_position *position)
{
    uint64_t address = position->offset & ~s->machine.mode_bits;

    return position->is_exact || address < s->machine.call_bytes ? address
                                                                 : address - s->machine.call_bytes;
}

static int find_symbol(struct run *run, uint64_t address, const struct elf_symbol **ret_symbol)
{
    struct symbolizer *s = run->symbolizer;
    int status = s->has_symbols ? 0 : read_symbols(s, run->err);

    *ret_symbol = status ? NULL : elf_symbols_find(&s->symbols, address);
    return status;
}

/* A function without a symbol is named like a position, by its start: positions in it are one
 * function to reports. */
static int name_by_start(struct run *run, uint64_t address, struct function_name *ret_name)
{
    struct symbolizer *s = run->symbolizer;
    uint64_t start = function_starts_find(&s->starts, address);
    char name[PATH_MAX];

    if (start == 0)
        return 0;
    (void)snprintf(name, sizeof(name), "%s+0x%" PRIx64, s->file_name, start);
    return die_names_of_symbol(&s->names, name, ret_name, run->err);
}

static int name_by_symbol(struct run *run, uint64_t address, struct function_name *ret_name)
{
    const struct elf_symbol *symbol;
    int status = find_symbol(run, address, &symbol);

    if (status)
        return status;
    return symbol ? die_names_of_symbol(&run->symbolizer->names, symbol->name, ret_name, run->err)
                  : name_by_start(run, address, ret_name);
}

/* The first piece of a function contains the entry. */
static uint64_t entry_of(Dwarf_Die *function)
{
    Dwarf_Addr base;
    Dwarf_Addr start;
    Dwarf_Addr end;

    if (dwarf_entrypc(function, &start) == 0 || dwarf_ranges(function, 0, &base, &start, &end) > 0)
        return start;
    return 0;
}

/* Compilers omit the linkage name of functions that no other unit can name: members of local
 * classes, lambdas, templates instantiated with them. The symbol table has it. */
static int name_by_entry(struct run *run, Dwarf_Die *function, struct function_name *name)
{
    const struct elf_symbol *symbol;
    uint64_t entry = name->is_plain ? entry_of(function) : 0;
    int status;

    if (entry == 0)
        return 0;
    status = find_symbol(run, entry, &symbol);
    if (status || !symbol || symbol->start != entry || symbol->name[0] != '_'
        || (symbol->name[1] != 'Z' && symbol->name[1] != 'R' && symbol->name[1] != 'D'))
        return status;
    return die_names_of_symbol(&run->symbolizer->names, symbol->name, name, run->err);
}

/* The name of a scope. If debug info has none for the function itself, that of the symbol. */
static int find_name(struct run *run, uint32_t scope, uint64_t address,
                     struct function_name *ret_name)
{
    struct symbolizer *s = run->symbolizer;
    struct scope *found = scope == SCOPE_NONE ? NULL : &s->chain.scopes[scope];
    int status;

    memset(ret_name, 0, sizeof(*ret_name));
    if (!found)
        return name_by_symbol(run, address, ret_name);
    status = die_names_of_die(&s->names, &found->die, ret_name, run->err);
    if (status || found->outer != SCOPE_NONE)
        return status;
    return ret_name->raw ? name_by_entry(run, &found->die, ret_name)
                         : name_by_symbol(run, address, ret_name);
}

static int push_level(struct run *run, size_t level, const struct function_name *name,
                      const struct source_line *at)
{
    struct symbolizer *s = run->symbolizer;

    struct symbolizer_level *levels =
        dynamic_array_reserve(s->levels, &s->n_levels_allocated, level + 1, sizeof(*levels));

    if (!levels)
        return error_set(run->err, ERROR_NOMEM, "no memory for %zu inlined calls", level);
    s->levels = levels;
    levels[level] = (struct symbolizer_level){.function = name->full,
                                              .raw_name = name->raw,
                                              .source = at->source,
                                              .line = at->line,
                                              .column = at->column};
    return 0;
}

/* Reports from the innermost scope outwards: the call site of each is the position in the next
 * one. */
static int report(struct run *run, uint32_t position, uint64_t address, uint32_t scope,
                  struct source_line at)
{
    struct symbolizer *s = run->symbolizer;
    size_t n_levels = 0;

    do {
        struct scope *inner = scope == SCOPE_NONE ? NULL : &s->chain.scopes[scope];
        struct function_name name;
        int status = find_name(run, scope, address, &name);
        if (status == 0)
            status = push_level(run, n_levels++, &name, &at);
        if (status)
            return status;
        if (!inner || inner->outer == SCOPE_NONE)
            break;
        status = unit_lines_file(&s->lines, inner->call_file, &at.source, run->err);
        if (status)
            return status;
        at.line = inner->call_line;
        at.column = inner->call_column;
        scope = inner->outer;
    } while (true);
    return run->on_position(run->context, position, s->levels, n_levels);
}

/* Adds a note if the unit's .dwo file exists and cannot be decompressed. */
static int note_packed_split(struct symbolizer *s, Dwarf_Die *skeleton, struct error *err)
{
    Dwarf_Attribute attribute;
    const char *folder = dwarf_formstring(dwarf_attr(skeleton, DW_AT_comp_dir, &attribute));
    const char *name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_dwo_name, &attribute));
    char path[PATH_MAX];
    struct elf_image image;
    int status;

    if (!name)
        name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &attribute));
    if (!name
        || (size_t)snprintf(path, sizeof(path), "%s%s%s", folder && *name != '/' ? folder : "",
                            folder && *name != '/' ? "/" : "", name)
               >= sizeof(path)
        || !elf_image_open(path, &image))
        return 0;
    status = note_packed(s, &image, err);
    elf_image_close(&image);
    return status;
}

/* Notes why split units are missing: libdw searches .dwo files where the compiler wrote them, and
 * up to 0.188 nothing else. */
static int note_split(struct symbolizer *s, Dwarf_Die *skeleton, struct error *err)
{
    const char *path = debug_files_dwarf(&s->files)->path;
    char package[PATH_MAX];
    int status = s->files.note ? 0 : note_packed_split(s, skeleton, err);

    if (status || s->files.note)
        return status;
    if ((size_t)snprintf(package, sizeof(package), "%s.dwp", path) < sizeof(package)
        && access(package, F_OK) == 0)
        return debug_files_add_note(&s->files, err,
                                    "functions of '%s' are in '%s', which libdw cannot read; keep "
                                    "the .dwo files it was made of, or build without -gsplit-dwarf",
                                    path, package);
    return debug_files_add_note(&s->files, err,
                                "functions of '%s' are in .dwo files that are not where the "
                                "compiler left them; restore them, or build without -gsplit-dwarf",
                                path);
}

/* The DIE with the functions: for a skeleton unit, the unit in its .dwo file. */
static int find_split(struct run *run, Dwarf_Die *skeleton, Dwarf_Die *ret_unit)
{
    struct symbolizer *s = run->symbolizer;
    uint8_t type = 0;
    Dwarf_Die split;

    *ret_unit = *skeleton;
    if (dwarf_cu_info(skeleton->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) != 0
        || type != DW_UT_skeleton)
        return 0;
    if (split.addr && dwarf_tag(&split) != DW_TAG_invalid) {
        *ret_unit = split;
        return 0;
    }
    return note_split(s, skeleton, run->err);
}

/* Positions outside of all units: symbols only. */
static int run_outside(struct run *run, size_t first, size_t n_positions)
{
    int status = 0;

    for (size_t i = first; status == 0 && i < first + n_positions; i++)
        status = report(run, run->order[i], run->addresses[i], SCOPE_NONE, (struct source_line){0});
    return status;
}

static int run_unit(struct run *run, int32_t unit, size_t first, size_t n_positions)
{
    struct symbolizer *s = run->symbolizer;
    const uint64_t *addresses = run->addresses + first;
    Dwarf_Die skeleton;
    Dwarf_Die die;
    int status;

    if (s->n_rows > ROWS_PER_SESSION) {
        end_session(s);
        begin_session(s);
    }
    if (!s->dwarf || !dwarf_offdie(s->dwarf, s->units.units[unit], &skeleton))
        return run_outside(run, first, n_positions);
    status = find_split(run, &skeleton, &die);
    if (status == 0)
        status = unit_lines_read(&s->lines, &skeleton, &die, run->err);
    if (status == 0)
        status = inline_chain_walk(&s->chain, &die, addresses, n_positions, run->err);
    s->n_rows += s->lines.n_lines;
    for (size_t i = 0; status == 0 && i < n_positions; i++) {
        struct source_line at;
        status = unit_lines_find(&s->lines, addresses[i], &at, run->err);
        if (status == 0)
            status = report(run, run->order[first + i], addresses[i], s->chain.innermost[i], at);
    }
    return status;
}

/* If a call is more than a byte before its return address, interrupted positions in between are out
 * of order. They are few and near their places. */
static void straighten(struct run *run, size_t first, size_t n_positions)
{
    for (size_t i = first + 1; i < first + n_positions; i++) {
        uint64_t address = run->addresses[i];
        uint32_t position = run->order[i];
        size_t place = i;
        for (; place > first && run->addresses[place - 1] > address; place--) {
            run->addresses[place] = run->addresses[place - 1];
            run->order[place] = run->order[place - 1];
        }
        run->addresses[place] = address;
        run->order[place] = position;
    }
}

static int run_units(struct run *run)
{
    int status = 0;

    for (size_t first = 0, end; status == 0 && first < run->n_positions; first = end) {
        int32_t unit = run->units[run->order[first]];
        for (end = first; end < run->n_positions && run->units[run->order[end]] == unit; end++)
            ;
        straighten(run, first, end - first);
        status = unit == UNIT_NONE ? run_outside(run, first, end - first)
                                   : run_unit(run, unit, first, end - first);
    }
    return status;
}

/* Counting sort, which preserves the ascending order inside a unit. */
static int sort_by_unit(struct run *run)
{
    const struct symbolizer *s = run->symbolizer;
    const struct unit_index *index = &s->units;
    size_t *ends = calloc(index->n_units + 2, sizeof(*ends));

    if (!ends)
        return error_set(run->err, ERROR_NOMEM, "no memory for %zu units", index->n_units);
    for (size_t i = 0; i < run->n_positions; i++) {
        run->units[i] = unit_index_find(index, lookup_address(s, &run->positions[i]));
        ends[run->units[i] + 2]++;
    }
    for (size_t i = 1; i < index->n_units + 2; i++)
        ends[i] += ends[i - 1];
    for (size_t i = 0; i < run->n_positions; i++) {
        size_t place = ends[run->units[i] + 1]++;
        run->order[place] = (uint32_t)i;
        run->addresses[place] = lookup_address(s, &run->positions[i]);
    }
    free(ends);
    return 0;
}

int symbolizer_run(struct symbolizer *symbolizer, const struct symbolizer_position *positions,
                   size_t n_positions, symbolizer_position_fn *on_position, void *context,
                   struct error *err)
{
    struct run run = {.symbolizer = symbolizer,
                      .positions = positions,
                      .n_positions = n_positions,
                      .on_position = on_position,
                      .context = context,
                      .err = err,
                      .units = malloc(n_positions * sizeof(*run.units)),
                      .order = malloc(n_positions * sizeof(*run.order)),
                      .addresses = malloc(n_positions * sizeof(*run.addresses))};
    int status = 0;

    if (n_positions && (!run.units || !run.order || !run.addresses))
        status = error_set(err, ERROR_NOMEM, "no memory for %zu positions", n_positions);
    if (status == 0 && !symbolizer->was_begun)
        status = open_dwarf(symbolizer, err);
    if (status == 0)
        status = sort_by_unit(&run);
    if (status == 0)
        status = run_units(&run);
    free(run.units);
    free(run.order);
    free(run.addresses);
    return status;
}

void symbolizer_close(struct symbolizer *symbolizer)
{
    struct symbolizer *s = symbolizer;

    if (!s)
        return;
    end_session(s);
    if (s->alternate)
        dwarf_end(s->alternate);
    function_starts_done(&s->starts);
    unit_index_done(&s->units);
    unit_lines_done(&s->lines);
    inline_chain_done(&s->chain);
    die_names_done(&s->names);
    intern_done(&s->sources);
    elf_symbols_done(&s->symbols);
    elf_image_close(&s->minidebuginfo);
    debug_files_close(&s->files);
    free(s->levels);
    free(s->identity);
    free(s->file_name);
    free(s);
}
