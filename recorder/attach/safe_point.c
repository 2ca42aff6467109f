/* SPDX-License-Identifier: MIT */
#include "recorder/attach/safe_point.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_FRAMES = 512
};

/* How a thread entered libc. */
enum entry {
    ENTRY_UNKNOWN,
    ENTRY_CALLS_BACK, /* safe while it calls back; otherwise it may allocate, or end the process */
    ENTRY_HARMLESS,
    ENTRY_WAITS, /* for an external event, which no allocator does */
};

/* Functions that hold no libc lock while they wait for an event from outside the process. */
static const char *const waits_for_events[] = {
    "poll",         "ppoll",    "select",     "pselect",  "epoll_wait",  "epoll_pwait",
    "epoll_pwait2", "pause",    "sigsuspend", "sigwait",  "sigwaitinfo", "sigtimedwait",
    "recv",         "recvfrom", "recvmsg",    "recvmmsg", "accept",      "accept4",
    "wait4",        "waitpid",  "waitid",     "wait",     "sleep"};

/* Functions that hold no libc lock, whatever they do. */
static const char *const holds_no_lock[] = {"nanosleep",
                                            "clock_nanosleep",
                                            "usleep",
                                            "sched_yield",
                                            "syscall",
                                            "read",
                                            "write",
                                            "readv",
                                            "writev",
                                            "pread64",
                                            "pwrite64",
                                            "pread",
                                            "pwrite",
                                            "fsync",
                                            "fdatasync",
                                            "send",
                                            "sendto",
                                            "sendmsg",
                                            "sendmmsg",
                                            "sendfile64",
                                            "connect",
                                            "flock",
                                            "ioctl",
                                            "open64",
                                            "openat64",
                                            "pthread_cond_wait",
                                            "pthread_cond_timedwait",
                                            "pthread_cond_clockwait",
                                            "pthread_mutex_lock",
                                            "pthread_mutex_timedlock",
                                            "pthread_rwlock_rdlock",
                                            "pthread_rwlock_wrlock",
                                            "pthread_join",
                                            "pthread_timedjoin_np",
                                            "pthread_clockjoin_np",
                                            "pthread_barrier_wait",
                                            "sem_wait",
                                            "sem_timedwait",
                                            "sem_clockwait",
                                            "cnd_wait",
                                            "mtx_lock",
                                            "gettimeofday",
                                            "clock_gettime",
                                            "time"};

/* Functions that hold no libc lock while they call functions of the program. */
static const char *const calls_back[] = {"__libc_start_main", "qsort", "qsort_r", "bsearch"};

/* Functions of stdio that hold no lock but their stream's while they wait in read. */
static const char *const readers[] = {
    "getchar", "getc",           "fgetc",    "fgets",         "fgets_unlocked",
    "fread",   "fread_unlocked", "getdelim", "uflow",         "scanf",
    "fscanf",  "vscanf",         "vfscanf",  "default_uflow", "getc_unlocked",
};

/* Functions of a module that contains an allocator, or is one. */
static const char *const allocators[] = {
    "malloc",        "free",     "calloc", "realloc", "posix_memalign",
    "aligned_alloc", "memalign", "valloc", "pvalloc", "malloc_usable_size",
};

/* A function of an allocator in the program or in a library other than libc. */
struct range {
    uint64_t start, end;
};

enum {
    MAX_MODULES = 16
};

struct safe_point {
    const struct target *target;
    const char *library;
    Dwfl *dwfl;
    Dwfl_Callbacks callbacks;
    const Dwfl_Module *with_allocator[MAX_MODULES];
    size_t n_with_allocator;
    struct range *ranges; /* owned */
    size_t n_ranges, n_room;
};

/* As libdwfl calls it. NOLINTNEXTLINE(readability-function-size) */
static int no_debug_info(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word crc, char **ret_name)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc,
        (void)ret_name;
    return -1;
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool is_among(const char *const *names, size_t n_names, const char *name)
{
    for (size_t i = 0; i < n_names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_of_allocator(const char *name)
{
    return is_among(allocators, COUNT(allocators), name) || strncmp(name, "_Znw", 4) == 0
           || strncmp(name, "_Zna", 4) == 0 || strncmp(name, "_Zdl", 4) == 0
           || strncmp(name, "_Zda", 4) == 0;
}

static bool add_range(struct safe_point *place, uint64_t start, uint64_t size)
{
    if (place->n_ranges == place->n_room) {
        size_t n_room = place->n_room ? place->n_room * 2 : 64;
        struct range *more = realloc(place->ranges, n_room * sizeof(*more));
        if (!more)
            return false;
        place->ranges = more;
        place->n_room = n_room;
    }
    place->ranges[place->n_ranges++] = (struct range){start, start + (size ? size : 1)};
    return true;
}

/* Only a module with malloc is an allocator: operator new of libstdc++ is as safe as the malloc
 * that it calls. False: no memory. */
static bool find_allocator(struct safe_point *place, Dwfl_Module *module)
{
    int n = dwfl_module_getsymtab(module);
    size_t n_before = place->n_ranges;
    bool has_malloc = false;

    for (int i = 0; i < n; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);
        if (!name || symbol.st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol.st_info) != STT_FUNC
            || GELF_ST_BIND(symbol.st_info) == STB_LOCAL || !is_of_allocator(name))
            continue;
        has_malloc = has_malloc || strcmp(name, "malloc") == 0;
        if (!add_range(place, address, symbol.st_size))
            return false;
    }
    if (!has_malloc)
        place->n_ranges = n_before;
    else if (place->n_with_allocator == MAX_MODULES)
        return false;
    else
        place->with_allocator[place->n_with_allocator++] = module;
    return true;
}

/* Reads what the walk needs now, while no thread is stopped. */
static int read_ahead(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start,
                      void *context)
{
    struct safe_point *place = context;
    const struct target *target = place->target;
    Dwarf_Addr bias;

    (void)data, (void)name;
    (void)dwfl_module_eh_cfi(module, &bias);
    if ((start >= target->libc_base && start < target->libc_end)
        || (start >= target->loader_base && start < target->loader_end))
        return DWARF_CB_OK;
    return find_allocator(place, module) ? DWARF_CB_OK : DWARF_CB_ABORT;
}

struct safe_point *safe_point_new(const struct target *target, const char *library)
{
    struct safe_point *place = calloc(1, sizeof(*place));

    if (!place)
        return NULL;
    place->target = target;
    place->library = library;
    place->callbacks =
        (Dwfl_Callbacks){.find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = no_debug_info};
    place->dwfl = dwfl_begin(&place->callbacks);
    if (!place->dwfl || dwfl_linux_proc_report(place->dwfl, target->pid) != 0
        || dwfl_report_end(place->dwfl, NULL, NULL) != 0
        || dwfl_linux_proc_attach(place->dwfl, target->pid, true) != 0) {
        safe_point_free(place);
        return NULL;
    }
    if (dwfl_getmodules(place->dwfl, read_ahead, place, 0) != 0) {
        safe_point_free(place);
        return NULL;
    }
    return place;
}

void safe_point_free(struct safe_point *place)
{
    if (place && place->dwfl)
        dwfl_end(place->dwfl);
    if (place)
        free(place->ranges);
    free(place);
}

/* Walks frames from the innermost on. */
struct walk {
    const struct safe_point *place;
    const char *why; /* if not safe */
    const char
        *entered; /* of adjacent frames in libc, the outermost function's name; "": not known */
    unsigned n_frames;
    bool is_in_libc;
    bool has_own; /* a frame outside libc */
    bool waits;   /* for an external event */
    bool reads;   /* the innermost function is read */
};

/* libc has several names for most functions. */
static const char *plain(const char *name)
{
    if (strncmp(name, "__libc_", 7) == 0 && strncmp(name, "__libc_start", 12) != 0)
        return name + 7;
    return name + (strncmp(name, "__libc_", 7) == 0 ? 0 : strspn(name, "_"));
}

static enum entry entry_by(const char *any_name)
{
    const char *name = plain(any_name);

    return is_among(waits_for_events, COUNT(waits_for_events), name) ? ENTRY_WAITS
           : is_among(holds_no_lock, COUNT(holds_no_lock), name)     ? ENTRY_HARMLESS
           : is_among(calls_back, COUNT(calls_back), name)           ? ENTRY_CALLS_BACK
                                                                     : ENTRY_UNKNOWN;
}

static bool is_reader(const char *any_name)
{
    const char *name = plain(any_name);

    name += strncmp(name, "IO_", 3) == 0 ? 3 : 0;
    name += strncmp(name, "isoc99_", 7) == 0 ? 7 : 0;
    return is_among(readers, COUNT(readers), name);
}

/* If the program and its allocator are one module, a thread is outside the allocator only if it
 * waits: helper functions of an allocator can have any name. */
static bool may_be_in_allocator(const struct walk *walk, Dwarf_Addr pc)
{
    const struct safe_point *place = walk->place;
    const Dwfl_Module *module = dwfl_addrmodule(place->dwfl, pc);

    for (size_t i = 0; i < place->n_ranges; i++)
        if (pc >= place->ranges[i].start && pc < place->ranges[i].end)
            return true;
    for (size_t i = 0; i < place->n_with_allocator; i++)
        if (module == place->with_allocator[i])
            return !walk->waits;
    return false;
}

static bool is_in_library(const struct safe_point *place, Dwarf_Addr pc)
{
    Dwfl_Module *module = dwfl_addrmodule(place->dwfl, pc);
    const char *file =
        module ? dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL) : NULL;

    return file && strcmp(file, place->library) == 0;
}

/* The stub through which a module calls a function for the first time: it has read the GOT slot
 * already, and ld.so will store the real function there, even if the slot was rebound since. */
static bool is_in_stub(const struct safe_point *place, Dwarf_Addr pc)
{
    Dwfl_Module *module = dwfl_addrmodule(place->dwfl, pc);
    Dwarf_Addr bias;
    Elf_Scn *section = module ? dwfl_module_address_section(module, &pc, &bias) : NULL;
    GElf_Shdr header;
    size_t names;
    const char *name;

    if (!section || !gelf_getshdr(section, &header)
        || elf_getshdrstrndx(dwfl_module_getelf(module, &bias), &names) != 0)
        return false;
    name = elf_strptr(dwfl_module_getelf(module, &bias), names, header.sh_name);
    return name && strncmp(name, ".plt", 4) == 0;
}

static void leave_libc(struct walk *walk)
{
    enum entry entry = walk->is_in_libc ? entry_by(walk->entered) : ENTRY_HARMLESS;

    if (entry == ENTRY_UNKNOWN && walk->reads && !walk->has_own && is_reader(walk->entered))
        entry = ENTRY_HARMLESS;
    if (entry == ENTRY_UNKNOWN || (entry == ENTRY_CALLS_BACK && !walk->has_own))
        walk->why = *walk->entered ? walk->entered : "libc";
    walk->waits = walk->waits || (entry == ENTRY_WAITS && !walk->has_own);
    walk->is_in_libc = false;
}

static int see_frame(Dwfl_Frame *frame, void *context)
{
    struct walk *walk = context;
    const struct target *target = walk->place->target;
    Dwarf_Addr pc;
    bool is_activation;

    if (!dwfl_frame_pc(frame, &pc, &is_activation) || walk->n_frames++ == MAX_FRAMES) {
        walk->why = "a stack that is too deep";
        return DWARF_CB_ABORT;
    }
    if (!is_activation)
        pc--;
    if (pc >= target->libc_base && pc < target->libc_end) {
        const char *name = target_libc_function(target, pc);
        walk->is_in_libc = true;
        walk->entered = name ? name : "";
        walk->reads |= walk->n_frames == 1 && strcmp(plain(walk->entered), "read") == 0;
        return DWARF_CB_OK;
    }
    leave_libc(walk);
    walk->has_own = true;
    if (pc >= target->loader_base && pc < target->loader_end)
        walk->why = "ld.so";
    else if (may_be_in_allocator(walk, pc))
        walk->why = "the allocator";
    else if (is_in_library(walk->place, pc))
        walk->why = "the collector";
    else if (walk->n_frames == 1 && is_in_stub(walk->place, pc))
        walk->why = "the first call of a function";
    return walk->why ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* The outermost frames of a thread are its start functions in libc, which are not exported. */
bool safe_point_is(struct safe_point *place, pid_t tid, const char **ret_why)
{
    struct walk walk = {.place = place, .entered = ""};
    int result = dwfl_getthread_frames(place->dwfl, tid, see_frame, &walk);

    if (!walk.why && result != 0)
        walk.why = "code whose stack cannot be walked";
    if (!walk.why && !walk.has_own)
        walk.why = "the beginning or the end of a thread";
    *ret_why = walk.why;
    return !walk.why;
}

struct passage {
    const struct safe_point *place;
    unsigned n_frames;
    bool is_inside;
};

static int pass_frame(Dwfl_Frame *frame, void *context)
{
    struct passage *passage = context;
    Dwarf_Addr pc;

    if (!dwfl_frame_pc(frame, &pc, NULL) || passage->n_frames++ == MAX_FRAMES)
        return DWARF_CB_ABORT;
    passage->is_inside = is_in_library(passage->place, pc);
    return passage->is_inside ? DWARF_CB_ABORT : DWARF_CB_OK;
}

bool safe_point_is_outside(struct safe_point *place, pid_t tid)
{
    struct passage passage = {.place = place};

    return dwfl_getthread_frames(place->dwfl, tid, pass_frame, &passage) == 0 && !passage.is_inside;
}
