/* SPDX-License-Identifier: MIT */
#include "recorder/patch/allocator.h"

#include "recorder/patch/elf_file.h"
#include "recorder/patch/entry_names.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char *const g_with_operators[] = {
    "libjemalloc", "libtcmalloc", "libmimalloc", "libtbbmalloc_proxy", "libsnmalloc", "librpmalloc",
    "libhoard",    "libasan.so",  "libtsan.so",  "liblsan.so",         "libclang_rt", NULL,
};

static const char *const g_first[] = {"libasan.so", "libclang_rt.asan", NULL};

/* The first library named in the text, or NULL. */
static const char *names_one(const char *text, const char *const *libraries)
{
    while (*libraries && !strstr(text, *libraries))
        libraries++;
    return *libraries;
}

/* ---- libraries of the program ---------------------------------------------------------------- */

static const char *at_address(const struct elf_file *file, uint64_t address)
{
    Elf64_Phdr segment;
    const uint8_t *bytes = NULL;

    return elf_file_find_loaded(file, address, 1, &segment, &bytes) ? (const char *)bytes : NULL;
}

static const char *needs_one(const struct elf_file *file, const Elf64_Dyn *dynamic, size_t n,
                             const char *const *libraries)
{
    const char *found = NULL;
    const char *end = (const char *)file->bytes + file->n_bytes;
    const char *names = NULL;

    for (size_t i = 0; i < n; i++)
        if (dynamic[i].d_tag == DT_STRTAB)
            names = at_address(file, dynamic[i].d_un.d_ptr);
    for (size_t i = 0; names && !found && i < n; i++) {
        uint64_t offset = dynamic[i].d_un.d_val;
        if (dynamic[i].d_tag == DT_NEEDED && offset < (uint64_t)(end - names)
            && memchr(names + offset, '\0', (size_t)(end - names) - offset))
            found = names_one(names + offset, libraries);
    }
    return found;
}

static const char *linked_one(const struct elf_file *file, void *libraries)
{
    Elf64_Phdr segment;

    for (unsigned i = 0; elf_file_get_segment(file, i, &segment); i++) {
        const Elf64_Dyn *dynamic = elf_file_at(file, segment.p_offset, segment.p_filesz);
        if (segment.p_type == PT_DYNAMIC && dynamic && segment.p_offset % 8 == 0)
            return needs_one(file, dynamic, segment.p_filesz / sizeof(*dynamic), libraries);
    }
    return NULL;
}

/* ---- inside the executable ------------------------------------------------------------------- */

static bool is_none(const struct elf_file_symbol *symbol, void *context)
{
    const char **found = context;
    struct entry_name name;

    if (!elf_file_is_function(&symbol->symbol))
        return true;
    if (entry_names_jemalloc_prefix(symbol->name) >= 0)
        *found = "jemalloc";
    else if (entry_names_find(symbol->name, NULL, &name) && name.is_telling)
        *found = name.allocator;
    return *found == NULL;
}

/* Messages that only the code of an allocator has. In two parts, so that mtrace's own executables
 * do not contain them. CPython contains mimalloc, and does not use it by default. */
static const struct message {
    const char *allocator;
    const char *first, *rest;
    const char *unless; /* NULL: always */
} g_messages[] = {
    {"jemalloc", "<jemalloc>: ", "Malformed conf string", NULL},
    {"mimalloc", "environment option ", "mimalloc_%s has an invalid value", "PYTHONMALLOC"},
    {"tcmalloc", "%7.1f MiB) ", "Bytes in use by application", NULL},
    {"snmalloc", "Failed to ", "initialise snmalloc.", NULL},
    {"Scudo", "corrupted chunk ", "header at address %p", NULL},
};

/* Searches the constants; in code there are no messages. */
static bool has_text(const struct elf_file *file, const char *text)
{
    Elf64_Shdr section;
    bool is_found = false;

    for (unsigned i = 0; !is_found && elf_file_get_section(file, i, &section); i++) {
        const void *bytes = elf_file_at(file, section.sh_offset, section.sh_size);
        is_found = section.sh_type == SHT_PROGBITS
                   && (section.sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) == SHF_ALLOC
                   && bytes && memmem(bytes, section.sh_size, text, strlen(text));
    }
    return is_found;
}

static const char *find_message(const struct elf_file *file)
{
    for (size_t i = 0; i < sizeof(g_messages) / sizeof(*g_messages); i++) {
        const struct message *message = &g_messages[i];
        char text[64];
        (void)snprintf(text, sizeof(text), "%s%s", message->first, message->rest);
        if (has_text(file, text) && !(message->unless && has_text(file, message->unless)))
            return message->allocator;
    }
    return NULL;
}

/* ---- both ------------------------------------------------------------------------------------ */

bool allocator_wants_to_be_first(const char *path, const char *preload)
{
    return (preload && names_one(preload, g_first))
           || elf_file_read(path, linked_one, (void *)(uintptr_t)g_first);
}

/* ---- one look per file ----------------------------------------------------------------------- */

enum {
    KNOWN_FILES = 16
};

#define SETTLED_NS INT64_C(100000000) /* file times have the resolution of the kernel's tick */

/* Identifies a file that is looked at again: a write changes its time. */
struct known_file {
    dev_t device;
    ino_t inode;
    off_t n_bytes;
    struct timespec changed;
    bool has_name;
    bool is_by_message; /* its functions have no names */
    bool has_plan[2];
    const char *name;
    struct patch_plan plans[2]; /* by `any` */
};

static struct known_file g_known[KNOWN_FILES];

static bool is_same(const struct known_file *known, const struct stat *status)
{
    return known->inode == status->st_ino && known->device == status->st_dev
           && known->n_bytes == status->st_size && known->changed.tv_sec == status->st_ctim.tv_sec
           && known->changed.tv_nsec == status->st_ctim.tv_nsec;
}

/* A file that has just been written may be written again with the same time; so it gets a time that
 * matches none. */
static struct timespec settled_time(const struct stat *status)
{
    static const struct timespec never;
    struct timespec now;
    int64_t age_ns;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    age_ns = (now.tv_sec - status->st_ctim.tv_sec) * INT64_C(1000000000)
             + (now.tv_nsec - status->st_ctim.tv_nsec);
    return age_ns > SETTLED_NS ? status->st_ctim : never;
}

/* The cache entry of the file, which may replace the oldest one. */
static struct known_file *know(const struct stat *status)
{
    static size_t n_made;
    struct known_file *known;

    for (size_t i = 0; i < KNOWN_FILES; i++)
        if (is_same(&g_known[i], status))
            return &g_known[i];
    known = &g_known[n_made++ % KNOWN_FILES];
    patch_plan_done(&known->plans[false]);
    patch_plan_done(&known->plans[true]);
    *known = (struct known_file){.device = status->st_dev,
                                 .inode = status->st_ino,
                                 .n_bytes = status->st_size,
                                 .changed = settled_time(status)};
    return known;
}

static void find_allocator(struct known_file *known, const struct elf_file *file)
{
    if (known->has_name)
        return;
    elf_file_visit_symbols(file, is_none, &known->name);
    if (!known->name) {
        known->name = find_message(file);
        known->is_by_message = known->name != NULL;
    }
    known->has_name = true;
}

static const char *find_name(const struct elf_file *file, void *context)
{
    struct known_file *known = know(&file->status);

    (void)context;
    find_allocator(known, file);
    return known->name;
}

const char *allocator_inside(const char *path)
{
    return elf_file_read(path, find_name, NULL);
}

static void read_plan(struct known_file *known, const struct elf_file *file, bool any,
                      struct patch_plan *ret_plan)
{
    patch_plan_read(file, any, ret_plan);
    if (ret_plan->allocator)
        return;
    find_allocator(known, file);
    if (!known->is_by_message)
        return;
    ret_plan->allocator = known->name;
    (void)snprintf(ret_plan->why, sizeof(ret_plan->why),
                   "it is stripped: keep the symbols, with 'strip --strip-debug'");
}

struct plan_wanted {
    bool any;
    const struct patch_plan *plan;
};

static const char *find_plan(const struct elf_file *file, void *context)
{
    struct plan_wanted *wanted = context;
    struct known_file *known = know(&file->status);

    if (!known->has_plan[wanted->any])
        read_plan(known, file, wanted->any, &known->plans[wanted->any]);
    known->has_plan[wanted->any] = true;
    wanted->plan = &known->plans[wanted->any];
    return NULL;
}

const struct patch_plan *allocator_plan_inside(const char *path, bool any)
{
    static const struct patch_plan none;
    struct plan_wanted wanted = {.any = any, .plan = &none};

    (void)elf_file_read(path, find_plan, &wanted);
    return wanted.plan;
}

/* ---- the program on the command line --------------------------------------------------------- */

static const char *look(const struct elf_file *file, void *context)
{
    struct allocator_use *use = context;

    use->has_operators =
        use->has_operators || linked_one(file, (void *)(uintptr_t)g_with_operators);
    if (use->wanted != ALLOCATOR_LET_BE)
        read_plan(know(&file->status), file, use->wanted == ALLOCATOR_PLAN_ANY, &use->plan);
    return NULL;
}

void allocator_look(const char *path, const char *preload, enum allocator_plan wanted,
                    struct allocator_use *ret_use)
{
    *ret_use = (struct allocator_use){
        .wanted = wanted, .has_operators = preload && names_one(preload, g_with_operators)};
    (void)elf_file_read(path, look, ret_use);
}
