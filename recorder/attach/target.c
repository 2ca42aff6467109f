/* SPDX-License-Identifier: MIT */
#include "recorder/attach/target.h"

#include "lib/process/proc_files.h"
#include "recorder/patch/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* True also if unknown. */
static bool may_trace(void)
{
    FILE *file = fopen("/proc/thread-self/status", "re");
    uint64_t effective = UINT64_MAX;
    char line[256];

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "CapEff: %" SCNx64, &effective) == 1)
            break;
    if (file)
        fclose(file);
    return effective >> CAP_SYS_PTRACE & 1;
}

int target_report_denial(pid_t pid, const char *what, struct error *err)
{
    if (geteuid() != 0)
        return error_set(err, ERROR_IO,
                         "process %d may not be %s: attach as root, or as the user it runs as (see "
                         "/proc/sys/kernel/yama/ptrace_scope)",
                         (int)pid, what);
    return error_set(
        err, ERROR_IO,
        may_trace() ? "process %d may not be %s, not even by root: it is in another user namespace "
                      "(a container: run mtrace-record inside), or a security module forbids it"
                    : "process %d may not be %s: mtrace-record runs as root, but without the "
                      "capability CAP_SYS_PTRACE, as in a container (docker run --cap-add "
                      "SYS_PTRACE)",
        (int)pid, what);
}

static FILE *open_proc(pid_t pid, const char *name)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

/* ---- permission ------------------------------------------------------------------------------ */

static int check_status(pid_t pid, struct error *err)
{
    struct thread_status status;

    if (!thread_status_read(pid, pid, &status))
        return error_set(err, ERROR_NOT_FOUND, "there is no process %d", (int)pid);
    if (pid == getpid())
        return error_set(err, ERROR_USAGE, "%d is mtrace-record itself", (int)pid);
    if (status.uid != geteuid() && geteuid() != 0)
        return error_set(err, ERROR_IO,
                         "process %d belongs to another user: attach as that user, or as root",
                         (int)pid);
    if (status.state == 'Z' || status.state == 'X')
        return error_set(err, ERROR_NOT_FOUND, "process %d has ended", (int)pid);
    if (status.tracer)
        return error_set(err, ERROR_IO,
                         "process %d is traced by process %d (a debugger, strace): end that first",
                         (int)pid, status.tracer);
    if (status.state == 'T' || status.state == 't')
        return error_set(err, ERROR_IO, "process %d is stopped: continue it by 'kill -CONT %d'",
                         (int)pid, (int)pid);
    if (thread_status_is_filtered(&status))
        return error_set(
            err, ERROR_IO,
            "process %d has a seccomp filter, which may kill it for a system call of mtrace: "
            "start it under mtrace-record",
            (int)pid);
    if (status.has_shadow_stack)
        return error_set(err, ERROR_IO,
                         "process %d has shadow stacks, which prevent a call in its threads: "
                         "start it under mtrace-record",
                         (int)pid);
    return 0;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static bool read_image(pid_t pid, struct target_image *ret_image)
{
    FILE *file = open_proc(pid, "auxv");
    uint64_t pair[2];

    memset(ret_image, 0, sizeof(*ret_image));
    if (!file)
        return false;
    while (fread(pair, sizeof(pair), 1, file) == 1) {
        ret_image->is_made |= pair[0] != AT_NULL;
        ret_image->loader_base = pair[0] == AT_BASE ? pair[1] : ret_image->loader_base;
        ret_image->entry = pair[0] == AT_ENTRY ? pair[1] : ret_image->entry;
        ret_image->random = pair[0] == AT_RANDOM ? pair[1] : ret_image->random;
    }
    fclose(file);
    return true;
}

static bool is_libc(const char *path)
{
    const char *name = basename(path);

    return strcmp(name, "libc.so.6") == 0 || strncmp(name, "libc-2.", 7) == 0;
}

/* musl's ld.so is its libc and has that name. */
static bool is_musl(const char *name)
{
    return strncmp(name, "ld-musl", 7) == 0 || strcmp(name, "libc.so") == 0;
}

struct seen {
    struct target *target;
    char loader[PATH_MAX], libc[PATH_MAX];
    bool has_musl;
};

static bool see_mapping(const struct process_mapping *mapping, void *context)
{
    struct seen *seen = context;
    struct target *target = seen->target;

    if (*mapping->path != '/')
        return true;
    seen->has_musl = seen->has_musl || is_musl(basename(mapping->path));
    if (mapping->start == target->loader_base)
        (void)snprintf(seen->loader, sizeof(seen->loader), "%s", mapping->path);
    if (*seen->loader && strcmp(seen->loader, mapping->path) == 0)
        target->loader_end = mapping->end;
    if (!*seen->libc && is_libc(mapping->path)) {
        (void)snprintf(seen->libc, sizeof(seen->libc), "%s", mapping->path);
        target->libc_base = mapping->start;
    }
    if (*seen->libc && strcmp(seen->libc, mapping->path) == 0)
        target->libc_end = mapping->end;
    return true;
}

struct gathering {
    struct target *target;
    size_t n_room;
    bool is_full;
};

static void note(const char *name, const char *wanted, uint64_t address, uint64_t *ret)
{
    if (strcmp(name, wanted) == 0)
        *ret = address;
}

static bool gather(const struct elf_file_symbol *symbol, void *context)
{
    struct gathering *gathering = context;
    struct target *target = gathering->target;
    uint64_t start = target->libc_base + symbol->symbol.st_value;
    struct target_symbol *out;

    if (!symbol->is_dynamic || !elf_file_is_function(&symbol->symbol))
        return true;
    if (target->n_symbols == gathering->n_room) {
        size_t n_room = gathering->n_room ? gathering->n_room * 2 : 4096;
        struct target_symbol *more = realloc(target->symbols, n_room * sizeof(*more));
        if (!more)
            return false;
        target->symbols = more;
        gathering->n_room = n_room;
    }
    out = &target->symbols[target->n_symbols++];
    out->start = start;
    out->end = start + symbol->symbol.st_size;
    (void)snprintf(out->name, sizeof(out->name), "%s", symbol->name);
    note(symbol->name, "dlopen", start, &target->dlopen);
    note(symbol->name, "dlsym", start, &target->dlsym);
    note(symbol->name, "dlerror", start, &target->dlerror);
    note(symbol->name, "__errno_location", start, &target->errno_location);
    return true;
}

static const char *gather_all(const struct elf_file *file, void *context)
{
    elf_file_visit_symbols(file, gather, context);
    return NULL;
}

static int find_functions(struct target *target, const struct seen *seen, struct error *err)
{
    struct gathering gathering = {.target = target};
    char path[PATH_MAX + 32];

    (void)snprintf(path, sizeof(path), "/proc/%d/root%s", (int)target->pid, seen->libc);
    (void)elf_file_read(path, gather_all, &gathering);
    if (target->dlopen && target->dlsym && target->dlerror && target->errno_location)
        return 0;
    return error_set(err, ERROR_IO,
                     "process %d has a libc ('%s') that was deleted, or is older than glibc 2.34: "
                     "its functions cannot be found",
                     (int)target->pid, seen->libc);
}

/* Reads the file, because memory may have our code already. */
static int find_scratch_code(struct target *target, const struct seen *seen, struct error *err)
{
    char path[PATH_MAX + 32];

    (void)snprintf(path, sizeof(path), "/proc/%d/root%s", (int)target->pid, seen->loader);
    if (!scratch_code_find(path, &target->scratch_code))
        return error_set(err, ERROR_IO,
                         "process %d has an ld.so ('%s') that was deleted, or has no code that is "
                         "safe to overwrite: start it under mtrace-record",
                         (int)target->pid, seen->loader);
    target->scratch_address = target->loader_base + target->scratch_code.address;
    return 0;
}

static int check_kind(struct target *target, const struct seen *seen, struct error *err)
{
    int pid = (int)target->pid;

    if (target->loader_base == 0)
        return error_set(err, ERROR_IO,
                         "process %d is statically linked, so it cannot load a library", pid);
    if (seen->has_musl)
        return error_set(err, ERROR_IO, "process %d has musl as its libc: only glibc is supported",
                         pid);
    target->lacks_libc = !*seen->libc;
    if (target->lacks_libc)
        return error_set(err, ERROR_IO,
                         "process %d has not loaded a glibc, which is needed to load a library",
                         pid);
    return 0;
}

static int check_class(pid_t pid, struct error *err)
{
    char path[64];
    unsigned char ident[EI_NIDENT] = "";
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    file = fopen(path, "re");
    if (!file && errno == EACCES)
        return target_report_denial(pid, "looked at", err);
    if (!file)
        return error_set(err, ERROR_IO,
                         "process %d has no program: it is the kernel's, or has ended", (int)pid);
    (void)!fread(ident, sizeof(ident), 1, file);
    fclose(file);
    if (ident[EI_CLASS] != ELFCLASS64)
        return error_set(err, ERROR_IO,
                         "process %d is a 32-bit program, and the collector a 64-bit library",
                         (int)pid);
    return 0;
}

/* The process must see the same file under this name. */
static int check_reach(pid_t pid, const char *library, struct error *err)
{
    char path[PATH_MAX + 32];
    struct stat ours;
    struct stat theirs;

    (void)snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, library);
    if (stat(library, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_size == theirs.st_size)
        return 0;
    return error_set(err, ERROR_IO,
                     "process %d does not see '%s' (another mount namespace or root directory): "
                     "install mtrace there, or run mtrace-record inside",
                     (int)pid, library);
}

static int compare(const void *a, const void *b)
{
    const struct target_symbol *one = a;
    const struct target_symbol *other = b;

    return one->start < other->start ? -1 : one->start > other->start;
}

void target_begin(pid_t pid, struct target *ret_target)
{
    *ret_target = (struct target){.pid = pid};
    (void)read_image(pid, &ret_target->image);
    ret_target->loader_base = ret_target->image.loader_base;
}

int target_look(struct target *target, const char *library, struct error *err)
{
    const pid_t pid = target->pid;
    struct seen seen = {.target = target};
    int code = check_status(pid, err);

    if (code == 0)
        code = check_class(pid, err);
    if (code == 0 && !process_maps_visit(pid, see_mapping, &seen))
        code = target_report_denial(pid, "looked at", err);
    if (code == 0)
        code = check_kind(target, &seen, err);
    if (code == 0)
        code = check_reach(pid, library, err);
    if (code == 0)
        code = find_functions(target, &seen, err);
    if (code == 0)
        code = find_scratch_code(target, &seen, err);
    if (code) {
        target_done(target);
        return code;
    }
    qsort(target->symbols, target->n_symbols, sizeof(*target->symbols), compare);
    return 0;
}

bool target_is_replaced(const struct target *looked)
{
    struct target_image now;

    return !read_image(looked->pid, &now) || !now.is_made
           || now.loader_base != looked->image.loader_base || now.entry != looked->image.entry
           || now.random != looked->image.random;
}

const char *target_libc_function(const struct target *target, uint64_t address)
{
    size_t low = 0;
    size_t high = target->n_symbols;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (target->symbols[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i > 0 && i + 8 > low; i--) /* other names of the same function */
        if (address < target->symbols[i - 1].end)
            return target->symbols[i - 1].name;
    return NULL;
}

void target_done(struct target *target)
{
    free(target->symbols);
    target->symbols = NULL;
    target->n_symbols = 0;
}
