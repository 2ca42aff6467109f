/* SPDX-License-Identifier: MIT */
#include "recorder/attaching/safe_place.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_FRAMES = 512
};

struct safe_place {
    const struct target *target;
    Dwfl *dwfl;
    Dwfl_Callbacks callbacks;
};

/* By these a thread comes into libc to wait, to be started, or to call back, without any lock of libc's. */
static const char *const harmless[] = {
    "poll",
    "ppoll",
    "select",
    "pselect",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "nanosleep",
    "clock_nanosleep",
    "usleep",
    "sleep",
    "pause",
    "sched_yield",
    "syscall",
    "sigsuspend",
    "sigwait",
    "sigwaitinfo",
    "sigtimedwait",
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
    "recv",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "send",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "sendfile64",
    "accept",
    "accept4",
    "connect",
    "wait4",
    "waitpid",
    "waitid",
    "wait",
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
    "__libc_start_main",
    "qsort",
    "qsort_r",
    "bsearch",
    "gettimeofday",
    "clock_gettime",
    "time",
};

static const char *const allocators[] = {"jemalloc", "tcmalloc", "mimalloc", "libmtrace",
                                         "hoard",    "snmalloc", "rpmalloc"};

static int no_debug_info(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word crc, char **ret_name)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc,
        (void)ret_name;
    return -1;
}

/* What the walk needs is read now, while nobody waits for us. */
static int read_ahead(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start,
                      void *context)
{
    Dwarf_Addr bias;

    (void)data, (void)name, (void)start, (void)context;
    (void)dwfl_module_eh_cfi(module, &bias);
    return DWARF_CB_OK;
}

struct safe_place *safe_place_new(const struct target *target)
{
    struct safe_place *place = calloc(1, sizeof(*place));

    if (!place)
        return NULL;
    place->target = target;
    place->callbacks =
        (Dwfl_Callbacks){.find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = no_debug_info};
    place->dwfl = dwfl_begin(&place->callbacks);
    if (!place->dwfl || dwfl_linux_proc_report(place->dwfl, target->pid) != 0
        || dwfl_report_end(place->dwfl, NULL, NULL) != 0
        || dwfl_linux_proc_attach(place->dwfl, target->pid, true) != 0) {
        safe_place_free(place);
        return NULL;
    }
    (void)dwfl_getmodules(place->dwfl, read_ahead, NULL, 0);
    return place;
}

void safe_place_free(struct safe_place *place)
{
    if (place && place->dwfl)
        dwfl_end(place->dwfl);
    free(place);
}

/* Frames from the innermost on. */
struct walk {
    const struct safe_place *place;
    const char *why; /* not safe */
    const char *
        entered; /* of frames in libc one behind another, the name of the last one; "": not known */
    unsigned n_frames;
    bool is_in_libc;
    bool has_own; /* a frame that is not of libc */
};

/* libc has most of them by several names. */
static const char *plain(const char *name)
{
    if (strncmp(name, "__libc_", 7) == 0 && strncmp(name, "__libc_start", 12) != 0)
        return name + 7;
    return name + (strncmp(name, "__libc_", 7) == 0 ? 0 : strspn(name, "_"));
}

static bool is_harmless(const char *any_name)
{
    const char *name = plain(any_name);

    for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
        if (strcmp(name, harmless[i]) == 0)
            return true;
    return false;
}

static bool is_allocator(const char *file)
{
    for (size_t i = 0; file && i < sizeof(allocators) / sizeof(*allocators); i++)
        if (strstr(file, allocators[i]))
            return true;
    return false;
}

static void leave_libc(struct walk *walk)
{
    if (walk->is_in_libc && !is_harmless(walk->entered))
        walk->why = *walk->entered ? walk->entered : "libc";
    walk->is_in_libc = false;
}

static const char *file_of(const struct walk *walk, Dwarf_Addr pc)
{
    Dwfl_Module *module = dwfl_addrmodule(walk->place->dwfl, pc);

    return module ? dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL) : NULL;
}

static int see_frame(Dwfl_Frame *frame, void *context)
{
    struct walk *walk = context;
    const struct target *target = walk->place->target;
    Dwarf_Addr pc;
    bool is_activation;

    if (!dwfl_frame_pc(frame, &pc, &is_activation) || walk->n_frames++ == MOST_FRAMES) {
        walk->why = "a stack that is too deep";
        return DWARF_CB_ABORT;
    }
    if (!is_activation)
        pc--;
    if (pc >= target->libc_base && pc < target->libc_end) {
        const char *name = target_libc_function(target, pc);
        walk->is_in_libc = true;
        walk->entered = name ? name : "";
        return DWARF_CB_OK;
    }
    leave_libc(walk);
    walk->has_own = true;
    if (pc >= target->loader_base && pc < target->loader_end)
        walk->why = "ld.so";
    else if (is_allocator(file_of(walk, pc)))
        walk->why = "the allocator";
    return walk->why ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* The outermost frames of a thread are libc's, and not exported: where it began. */
bool safe_place_is(struct safe_place *place, pid_t tid, const char **ret_why)
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
    const struct safe_place *place;
    const char *file;
    unsigned n_frames;
    bool is_inside;
};

static int pass_frame(Dwfl_Frame *frame, void *context)
{
    struct passage *passage = context;
    const char *file = NULL;
    Dwfl_Module *module;
    Dwarf_Addr pc;

    if (!dwfl_frame_pc(frame, &pc, NULL) || passage->n_frames++ == MOST_FRAMES)
        return DWARF_CB_ABORT;
    module = dwfl_addrmodule(passage->place->dwfl, pc);
    if (module)
        file = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    passage->is_inside = passage->is_inside || (file && strcmp(file, passage->file) == 0);
    return passage->is_inside ? DWARF_CB_ABORT : DWARF_CB_OK;
}

bool safe_place_is_outside(struct safe_place *place, pid_t tid, const char *file)
{
    struct passage passage = {.place = place, .file = file};

    return dwfl_getthread_frames(place->dwfl, tid, pass_frame, &passage) == 0 && !passage.is_inside;
}
