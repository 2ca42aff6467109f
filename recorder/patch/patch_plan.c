/* SPDX-License-Identifier: MIT */
#include "recorder/patch/patch_plan.h"

#include "lib/base/dynamic_array.h"
#include "recorder/patch/elf_file.h"
#include "recorder/patch/entry_names.h"
#include "recorder/patch/trampoline.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ENTRIES = PATCH_PLAN_MAX_ENTRIES,
    MAX_OPERATOR_BYTES = 4096,
    MAX_SUSPECTS = 256, /* each needs a pass over all symbols */
};

struct entry {
    struct entry_name name;
    char symbol[ELF_FILE_NAME_BYTES];
    Elf64_Sym at;
    const char *why_not;
    bool is_dropped; /* a duplicate address, or not a complete allocator */
    struct trampoline moved;
};

struct search {
    const struct elf_file *file;
    struct entry *entries; /* owned; most programs have none */
    size_t n;
    size_t capacity;
    char own_prefix[ELF_FILE_NAME_BYTES]; /* another prefix of jemalloc; "": only the usual ones */
    const char *sanitizer;                /* NULL: none */
    bool is_any;                          /* accept without witness */
    bool has_witness;                     /* EP-3 */
    bool is_full;
    unsigned n_suspects;
    struct patch_plan *plan;
};

/* ---- finding the functions ------------------------------------------------------------------- */

/* The sanitizer to which the function belongs, or NULL. */
static const char *find_sanitizer(const char *name)
{
    static const struct {
        const char *start;
        const char *sanitizer;
    } known[] = {{"__asan_init", "AddressSanitizer"},
                 {"__tsan_init", "ThreadSanitizer"},
                 {"__lsan_init", "LeakSanitizer"},
                 {"__msan_init", "MemorySanitizer"},
                 {"__hwasan_init", "HWAddressSanitizer"}};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(name, known[i].start) == 0)
            return known[i].sanitizer;
    return NULL;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text);
    size_t n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* Only jemalloc or tcmalloc has such a name. */
static bool is_witness(const char *name)
{
    static const char *const ends[] = {"mallctl", "mallocx", "sdallocx", "tc_version"};

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        if (ends_with(name, ends[i]))
            return true;
    return strncmp(name, "_rjem_", strlen("_rjem_")) == 0 || strstr(name, "MallocExtension");
}

/* Collects what must be known of all symbols before any is judged. */
static bool look(const struct elf_file_symbol *symbol, void *context)
{
    struct search *search = context;
    int n_prefix;
    struct entry_name name;

    if (!elf_file_is_function(&symbol->symbol))
        return true;
    if (!search->sanitizer)
        search->sanitizer = find_sanitizer(symbol->name);
    search->has_witness |= is_witness(symbol->name);
    n_prefix = entry_names_jemalloc_prefix(symbol->name);
    if (n_prefix > 0 && !entry_names_find(symbol->name, NULL, &name))
        (void)snprintf(search->own_prefix, sizeof(search->own_prefix), "%.*s", n_prefix,
                       symbol->name);
    return true;
}

static bool is_operator(const struct entry_name *name, const char *symbol)
{
    return !*name->prefix && strncmp(symbol, "_Z", 2) == 0;
}

/* An unprefixed name is the allocator's only if it is global in the program. */
static bool is_meant(const struct elf_file_symbol *symbol, const struct entry_name *name)
{
    return *name->prefix || ELF64_ST_BIND(symbol->symbol.st_info) != STB_LOCAL;
}

static bool collect(const struct elf_file_symbol *symbol, void *context)
{
    struct search *search = context;
    struct entry *entries;
    const char *own = search->own_prefix;
    struct entry_name name;

    if (!elf_file_is_function(&symbol->symbol)
        || !entry_names_find(symbol->name, *own ? own : NULL, &name) || !is_meant(symbol, &name))
        return true;
    for (size_t i = 0; i < search->n; i++)
        if (search->entries[i].at.st_value == symbol->symbol.st_value
            && strcmp(search->entries[i].symbol, symbol->name) == 0)
            return true; /* present in both tables */
    entries = search->n < MAX_ENTRIES ? dynamic_array_reserve(search->entries, &search->capacity,
                                                              search->n + 1, sizeof(*entries))
                                      : NULL;
    search->is_full = entries == NULL;
    if (!entries)
        return false;
    search->entries = entries;
    entries[search->n] = (struct entry){.name = name, .at = symbol->symbol};
    memcpy(entries[search->n].symbol, symbol->name, sizeof(entries->symbol));
    search->n++;
    return true;
}

static bool has_kind(const struct search *search, const char *prefix, char kind)
{
    for (size_t i = 0; i < search->n; i++)
        if (search->entries[i].name.shape[0] == kind
            && strcmp(search->entries[i].name.prefix, prefix) == 0)
            return true;
    return false;
}

/* Prefixed names first: "malloc" may be an alias of tc_malloc. */
static int by_prefix(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    int order = (*b->name.prefix != '\0') - (*a->name.prefix != '\0');

    if (order == 0)
        order = strcmp(a->name.prefix, b->name.prefix);
    if (order == 0) /* usable-size functions before the others */
        order = (b->name.shape[0] == 'u') - (a->name.shape[0] == 'u');
    return order ? order : strcmp(a->symbol, b->symbol);
}

/* ---- C++ operators --------------------------------------------------------------------------- */

struct reference {
    const struct elf_file *file;
    uint64_t target;
    bool is_internal;
};

static bool is_other(const struct elf_file_symbol *symbol, void *context)
{
    struct reference *reference = context;

    reference->is_internal |= symbol->symbol.st_value == reference->target
                              && symbol->symbol.st_shndx != SHN_UNDEF
                              && strstr(symbol->name, "je_") != NULL;
    return !reference->is_internal;
}

static bool is_internal(uint64_t target, void *context)
{
    struct reference *reference = context;

    reference->target = target;
    elf_file_visit_symbols(reference->file, is_other, reference);
    return reference->is_internal;
}

/* C++ operators may belong to the C++ library, which calls malloc by name, or to the program, which
 * makes blocks in its own way: neither is touched. jemalloc's operators reference functions that
 * only jemalloc has. Those of other allocators are aliases of their functions. */
static bool is_foreign_operator(const struct elf_file *file, const struct entry *entry)
{
    struct reference reference = {.file = file};
    const uint8_t *code = NULL;
    Elf64_Phdr segment;

    if (!is_operator(&entry->name, entry->symbol))
        return false;
    return entry->at.st_size > MAX_OPERATOR_BYTES
           || !elf_file_find_loaded(file, entry->at.st_value, entry->at.st_size, &segment, &code)
           || !trampoline_has_reference(code, entry->at.st_size, entry->at.st_value, is_internal,
                                        &reference);
}

/* A complete allocator allocates and frees. A function with two names is redirected once. */
static void drop_others(struct search *search)
{
    for (size_t i = 0; i < search->n; i++) {
        struct entry *entry = &search->entries[i];
        for (size_t k = 0; entry->name.shape[0] != 'u' && k < i; k++)
            entry->is_dropped |= !search->entries[k].is_dropped
                                 && search->entries[k].name.shape[0] != 'u'
                                 && search->entries[k].at.st_value == entry->at.st_value;
        entry->is_dropped = entry->is_dropped || !has_kind(search, entry->name.prefix, '+')
                            || !has_kind(search, entry->name.prefix, '-')
                            || is_foreign_operator(search->file, entry);
    }
}

/* ---- checking the functions ------------------------------------------------------------------ */

static bool is_redirected(const struct entry *entry)
{
    return !entry->is_dropped && entry->name.shape[0] != 'u';
}

/* Checks the function's symbol; its code is checked later. */
static const char *why_not_called(const struct elf_file *file, const struct entry *entry,
                                  const uint8_t **ret_code)
{
    Elf64_Phdr segment;

    if (ELF64_ST_TYPE(entry->at.st_info) == STT_GNU_IFUNC)
        return "it is chosen when the program starts (IFUNC)";
    if (!elf_file_find_loaded(file, entry->at.st_value, entry->at.st_size, &segment, ret_code)
        || segment.p_flags != (PF_R | PF_X))
        return "it is not in a segment of code";
    return NULL;
}

static bool is_followed(const struct entry_name *name)
{
    return name->shape[0] != '?' && strlen(name->shape) - 1 <= ENTRY_NAMES_MAX_ARGUMENTS;
}

static void judge(const struct elf_file *file, struct entry *entry)
{
    const uint8_t *code = NULL;

    if (entry->is_dropped)
        return;
    if (!is_followed(&entry->name))
        entry->why_not = entry->name.shape[0] == '?' ? "its arguments are unknown"
                                                     : "it has more than five arguments";
    else
        entry->why_not = why_not_called(file, entry, &code);
    if (!entry->why_not && is_redirected(entry))
        entry->why_not =
            trampoline_make(code, entry->at.st_size, entry->at.st_value, &entry->moved);
}

static int by_address(const void *left, const void *right)
{
    const struct trampoline *a = *(const struct trampoline *const *)left;
    const struct trampoline *b = *(const struct trampoline *const *)right;

    return (a->address > b->address) - (a->address < b->address);
}

static void refuse(struct search *search, const struct trampoline *moved, const char *why_not)
{
    for (size_t i = 0; i < search->n; i++)
        if (&search->entries[i].moved == moved)
            search->entries[i].why_not = why_not;
}

/* The function that contains a place in the program. */
struct holder {
    uint64_t place;
    Elf64_Sym found; /* st_size 0: none */
};

static bool is_elsewhere(const struct elf_file_symbol *symbol, void *context)
{
    struct holder *holder = context;

    if (elf_file_is_function(&symbol->symbol)
        && holder->place - symbol->symbol.st_value < symbol->symbol.st_size)
        holder->found = symbol->symbol;
    return holder->found.st_size == 0;
}

/* A place outside of known functions could be code. */
static bool is_guilty(struct search *search, uint64_t place, const struct trampoline *moved)
{
    struct holder holder = {.place = place};
    const uint8_t *code = NULL;
    Elf64_Phdr segment;

    if (search->n_suspects++ >= MAX_SUSPECTS)
        return true;
    elf_file_visit_symbols(search->file, is_elsewhere, &holder);
    return holder.found.st_size == 0
           || !elf_file_find_loaded(search->file, holder.found.st_value, holder.found.st_size,
                                    &segment, &code)
           || trampoline_is_hit_by(code, holder.found.st_size, holder.found.st_value, moved);
}

/* A byte of padding that follows an indirect jump is not the displacement of a loop instruction:
 * ff e0 is jmp *%rax. Compilers do not use loop instructions, whose codes are e0 to e3. */
static bool is_padding(const uint8_t *text, size_t n, size_t at)
{
    uint8_t next = at + 1 < n ? text[at + 1] : 0;

    if (at < 2 || text[at - 2] != 0xff || (text[at - 1] & 0xfc) != 0xe0)
        return false;
    return text[at] == 0xcc || text[at] == 0x90 || (text[at] == 0x0f && next == 0x1f)
           || (text[at] == 0x66 && (next == 0x66 || next == 0x90 || next == 0x0f || next == 0x2e));
}

static void look_in_segment(struct search *search, const Elf64_Phdr *segment,
                            const struct trampoline *const *ascending, size_t n)
{
    const uint8_t *text = elf_file_at(search->file, segment->p_offset, segment->p_filesz);
    size_t at = 0;
    size_t i;

    while (text
           && (i = trampoline_find_suspect(text, segment->p_filesz, segment->p_vaddr, ascending, n,
                                           &at))
                  < n)
        if (!is_padding(text, segment->p_filesz, at - 1)
            && is_guilty(search, segment->p_vaddr + at - 1, ascending[i]))
            refuse(search, ascending[i],
                   "a jump between its first instructions cannot be excluded");
}

/* Searches the whole program for jumps into moved instructions. */
static void look_for_hits(struct search *search)
{
    const struct trampoline *ascending[MAX_ENTRIES];
    size_t n = 0;
    Elf64_Phdr segment;

    for (size_t i = 0; i < search->n; i++)
        if (is_redirected(&search->entries[i]) && !search->entries[i].why_not)
            ascending[n++] = &search->entries[i].moved;
    qsort((void *)ascending, n, sizeof(*ascending), by_address);
    for (unsigned i = 0; elf_file_get_segment(search->file, i, &segment); i++)
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X))
            look_in_segment(search, &segment, ascending, n);
}

/* EP-1. False: no plan. */
static bool refuse_some(struct search *search)
{
    struct patch_plan *plan = search->plan;
    bool is_possible = true;
    size_t n_refused = 0;

    for (size_t i = 0; i < search->n; i++) {
        const struct entry *entry = &search->entries[i];
        if (!is_redirected(entry) || !entry->why_not)
            continue;
        if (n_refused++ == 0)
            (void)snprintf(plan->why, sizeof(plan->why), "%.40s: %.80s", entry->symbol,
                           entry->why_not);
        is_possible &= entry->name.shape[0] == '+' || entry->name.shape[0] == '@'
                       || !is_followed(&entry->name);
    }
    plan->is_partial = n_refused > 0;
    return is_possible;
}

/* ---- writing the plan ------------------------------------------------------------------------ */

static void write_bytes(FILE *out, const uint8_t *bytes, size_t n)
{
    (void)fputc(',', out);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%02x", bytes[i]);
}

static void write_entry(FILE *out, const struct entry *entry)
{
    const struct trampoline *moved = &entry->moved;

    if (entry->name.shape[0] == 'u') {
        (void)fprintf(out, ";u,0,%" PRIx64, entry->at.st_value);
        return;
    }
    (void)fprintf(out, ";%s,%x,%" PRIx64, entry->name.shape, (unsigned)entry->name.call,
                  moved->address);
    write_bytes(out, moved->expected, moved->n_expected);
    write_bytes(out, moved->bytes, moved->n_bytes);
    for (size_t i = 0; i < moved->n_fixes; i++)
        (void)fprintf(out, ",%x.%x.%" PRIx64, moved->fixes[i].at, moved->fixes[i].end,
                      moved->fixes[i].target);
}

static void write_plan(struct search *search)
{
    const struct stat *status = &search->file->status;
    const char *prefix = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&search->plan->text, &n);

    if (!out)
        return;
    (void)fprintf(out, "%" PRIx64 ",%" PRIx64 ",%" PRIx64 ",%d", (uint64_t)status->st_dev,
                  (uint64_t)status->st_ino, (uint64_t)status->st_size, search->plan->is_partial);
    for (size_t i = 0; i < search->n; i++) {
        const struct entry *entry = &search->entries[i];
        if (entry->is_dropped || entry->why_not)
            continue;
        if (prefix && strcmp(prefix, entry->name.prefix) != 0)
            (void)fputs(";u,0,0", out); /* another allocator begins */
        prefix = entry->name.prefix;
        write_entry(out, entry);
    }
    if (fclose(out) != 0) {
        free(search->plan->text);
        search->plan->text = NULL;
    }
}

/* ---- the plan -------------------------------------------------------------------------------- */

static const char *name_allocator(const struct search *search)
{
    const char *name = NULL;

    for (size_t i = 0; i < search->n; i++)
        if (!search->entries[i].is_dropped
            && (!name || strcmp(search->entries[i].symbol, "mallocx") == 0))
            name = strcmp(search->entries[i].symbol, "mallocx") == 0
                       ? "jemalloc"
                       : search->entries[i].name.allocator;
    return name;
}

/* EP-3 */
static bool is_proven(const struct search *search)
{
    for (size_t i = 0; i < search->n; i++) {
        const char *allocator = search->entries[i].name.allocator;
        if (is_redirected(&search->entries[i]) && strcmp(allocator, "jemalloc") != 0
            && strcmp(allocator, "tcmalloc") != 0 && strcmp(allocator, "malloc") != 0)
            return false;
    }
    return search->has_witness;
}

/* Reasons that concern the program as a whole. */
static bool refuse_all(const struct search *search, const Elf64_Ehdr *header)
{
    struct patch_plan *plan = search->plan;

    if (search->sanitizer)
        (void)snprintf(plan->why, sizeof(plan->why),
                       "it is %s's; clang: -shared-libsan, gcc: without -static-libasan",
                       search->sanitizer);
    else if (search->is_full)
        (void)snprintf(plan->why, sizeof(plan->why), "it has too many functions");
    else if (header->e_machine != EM_X86_64)
        (void)snprintf(plan->why, sizeof(plan->why), "it is code of another processor");
    else if (!search->is_any && !is_proven(search))
        (void)snprintf(plan->why, sizeof(plan->why),
                       "with --patch they may be, see 'man mtrace-record'");
    return *plan->why != '\0';
}

static void plan_file(struct search *search)
{
    const struct elf_file *file = search->file;
    struct patch_plan *plan = search->plan;
    Elf64_Ehdr header;

    if (!elf_file_copy(file, 0, &header, sizeof(header)))
        return;
    elf_file_visit_symbols(file, look, search);
    elf_file_visit_symbols(file, collect, search);
    if (search->n == 0)
        return;
    qsort(search->entries, search->n, sizeof(*search->entries), by_prefix);
    drop_others(search);
    plan->allocator = name_allocator(search);
    if (!plan->allocator || refuse_all(search, &header))
        return;
    for (size_t i = 0; i < search->n; i++)
        judge(file, &search->entries[i]);
    look_for_hits(search);
    if (refuse_some(search))
        write_plan(search);
}

void patch_plan_read(const struct elf_file *file, bool any, struct patch_plan *ret_plan)
{
    struct search search = {.file = file, .plan = ret_plan, .is_any = any};

    *ret_plan = (struct patch_plan){0};
    plan_file(&search);
    free(search.entries);
}

struct wanted {
    struct patch_plan *plan;
    bool any;
};

static const char *read_wanted(const struct elf_file *file, void *context)
{
    const struct wanted *wanted = context;

    patch_plan_read(file, wanted->any, wanted->plan);
    return NULL;
}

void patch_plan_make(const char *path, bool any, struct patch_plan *ret_plan)
{
    struct wanted wanted = {ret_plan, any};

    *ret_plan = (struct patch_plan){0};
    (void)elf_file_read(path, read_wanted, &wanted);
}

void patch_plan_done(struct patch_plan *plan)
{
    free(plan->text);
    *plan = (struct patch_plan){0};
}
