/* SPDX-License-Identifier: MIT */
#include "collector/process/exec_target.h"

#include "collector/arch/arch.h"
#include "collector/os/config.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/thread/state.h"
#include "lib/abi/elf_loader.h"
#include "lib/abi/log_format.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
    START_BYTES = 256,   /* of a file: its ELF header, or the line that names an interpreter */
    MAX_INTERPRETERS = 4 /* as many as the kernel follows */
};

/* The program of an exec, or the interpreter that a script names. */
struct program {
    int fd; /* negative: it cannot be opened */
    long n_bytes;

    union {
        union elf_loader_file elf;
        char text[START_BYTES];
    } start;
};

static const char g_preloaded_name[] = "/libmtrace.so";
static const char g_preloaded_name_new[] = "/libmtrace-new.so";

static char g_preloaded[CONFIG_PATH_BYTES], g_other[CONFIG_PATH_BYTES];
static char g_handed_on[CONFIG_PATH_BYTES];

/* One of the buffers above. Other threads may be reading it, but every writer stores the same
 * bytes, one by one, and nothing else in between. */
struct path {
    char *text;
    size_t n;
};

static void put(struct path *path, const char *bytes, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes && path->n < CONFIG_PATH_BYTES - 1; i++)
        __atomic_store_n(&path->text[path->n++], bytes[i], __ATOMIC_RELAXED);
}

static const char *put_last(struct path *path, const char *text)
{
    put(path, text, fmt_length(text));
    __atomic_store_n(&path->text[path->n], '\0', __ATOMIC_RELAXED);
    return path->text;
}

/* Length of the path's folder; 0: it has none. */
static size_t folder_length(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length > 0 ? length - 1 : 0;
}

/* The library of an attached program starts nothing by itself, so its execs get the preloaded
 * library beside it. It has the operators if this program's allocator has some: the executed
 * program probably has the same allocator, and others are not affected. */
static const char *preloaded_library(void)
{
    const char *own = real_own_path();
    struct path path = {g_preloaded, 0};

    if (!state_config()->is_attached)
        return own;
    put(&path, own, folder_length(own, fmt_length(own)));
    return put_last(&path, real_has_operators() ? g_preloaded_name_new : g_preloaded_name);
}

/* FOLDER/mtrace/NAME is FOLDER/TRIPLET/mtrace/NAME for the other width, and the other way round. */
static const char *other_library(void)
{
    static const char own_folder[] = "/" ARCH_TRIPLET;
    static const char other_folder[] = "/" ARCH_OTHER_TRIPLET;
    struct path path = {g_other, 0};
    const char *own = preloaded_library();
    size_t own_length = sizeof(own_folder) - 1;
    size_t mtrace = folder_length(own, fmt_length(own));
    size_t folder = folder_length(own, mtrace);
    int fd;

    if (folder >= own_length && bytes_equal(own + folder - own_length, own_folder, own_length)) {
        put(&path, own, folder - own_length);
    } else {
        put(&path, own, folder);
        put(&path, other_folder, sizeof(other_folder) - 1);
    }
    fd = (int)sys_open(put_last(&path, own + folder), O_PATH, 0);
    if (fd < 0)
        return NULL;
    sys_close(fd);
    return g_other;
}

/* The library for programs that a program without a loader starts. */
static const char *handed_on(const char *library)
{
    struct path path = {g_handed_on, 0};

    put(&path, ELF_LOADER_ROOT, sizeof(ELF_LOADER_ROOT) - 1);
    return put_last(&path, library);
}

static void close_program(const struct program *program)
{
    if (program->fd >= 0)
        sys_close(program->fd);
}

/* The kernel fails to open a name that cannot be read. */
static void open_program(const char *path, struct program *ret_program)
{
    long n;

    ret_program->fd = (int)sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (ret_program->fd < 0)
        return;
    n = sys_read(ret_program->fd, ret_program->start.text, START_BYTES - 1);
    ret_program->n_bytes = n > 0 ? n : 0;
    if (n == -EISDIR) {
        close_program(ret_program);
        ret_program->fd = -1;
    }
    ret_program->start.text[ret_program->n_bytes] = '\0';
}

/* The interpreter that a script names; it stays in `start`. NULL: not a script. */
static const char *interpreter_of(char *start)
{
    char *name = start + 2;
    size_t length = 0;

    if (start[0] != '#' || start[1] != '!')
        return NULL;
    while (*name == ' ' || *name == '\t')
        name++;
    while (name[length] && name[length] != ' ' && name[length] != '\t' && name[length] != '\n')
        length++;
    name[length] = '\0';
    return length > 0 ? name : NULL;
}

static void follow_scripts(struct program *program)
{
    const char *interpreter;

    for (int i = 0; i < MAX_INTERPRETERS && program->fd >= 0
                    && (interpreter = interpreter_of(program->start.text));
         i++) {
        struct program next;
        open_program(interpreter, &next);
        close_program(program);
        *program = next;
    }
}

/* The library for the program's architecture; NULL: there is none. */
static const char *library_of_kind(const union elf_loader_file *file)
{
    const bool is_own_width = elf_loader_is_narrow(file) == (sizeof(uintptr_t) == 4);
    const unsigned machine = file->narrow.e_machine; /* in both widths at one place */

    if (is_own_width)
        return machine == log_own_arch() ? preloaded_library() : NULL;
    return ARCH_OTHER_MACHINE != EM_NONE && machine == ARCH_OTHER_MACHINE ? other_library() : NULL;
}

/* ---- the loader ------------------------------------------------------------------------------ */

static bool has_mark(const char *bytes, size_t n)
{
    const size_t length = sizeof(ELF_LOADER_MARK) - 1;

    for (size_t i = 0; i + length <= n; i++)
        if (bytes[i] == ELF_LOADER_MARK[0] && bytes_equal(bytes + i, ELF_LOADER_MARK, length))
            return true;
    return false;
}

/* Reads in parts; each begins with the end of the one before. */
static bool is_marked(int fd, char room[MEMORY_BORROWED_BYTES])
{
    const size_t overlap = sizeof(ELF_LOADER_MARK) - 2;

    for (uint64_t at = 0; at < ELF_LOADER_MAX_BYTES; at += MEMORY_BORROWED_BYTES - overlap) {
        long n = sys_pread(fd, room, MEMORY_BORROWED_BYTES, at);
        if (n <= 0)
            return false;
        if (has_mark(room, (size_t)n))
            return true;
    }
    return false;
}

/* A loader that cannot be opened starts no program. */
static bool is_glibc(const char *loader, char room[MEMORY_BORROWED_BYTES])
{
    bool is_found;
    int fd;

    if (elf_loader_is_glibc(loader))
        return true;
    if (elf_loader_is_musl(loader))
        return false;
    fd = (int)sys_open(loader, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return true;
    is_found = is_marked(fd, room);
    sys_close(fd);
    return is_found;
}

/* Copies the name of the loader into `room`. False: the program has none, as a static one. */
static bool find_loader(const struct program *program, char room[MEMORY_BORROWED_BYTES])
{
    const union elf_loader_file *file = &program->start.elf;
    uint64_t at;

    for (unsigned i = 0; (at = elf_loader_segment_at(file, i)) != 0; i++) {
        union elf_loader_segment segment = {.wide = {.p_type = PT_NULL}};
        uint64_t n_bytes;
        if (sys_pread(program->fd, &segment, sizeof(segment), at) <= 0)
            return false;
        if (elf_loader_is_name(file, &segment, &at, &n_bytes)) {
            long n = sys_pread(program->fd, room, MEMORY_BORROWED_BYTES - 1, at);
            room[n <= 0 ? 0 : (uint64_t)n < n_bytes ? (uint64_t)n : n_bytes] = '\0';
            return n > 0;
        }
    }
    return false;
}

/* The library as LD_PRELOAD of the program must name it. NULL: the program does not start with
 * it. */
static const char *loadable(const char *library, const struct program *program)
{
    char *room = memory_borrow();

    if (!room)
        return library;
    if (!find_loader(program, room))
        library = handed_on(library);
    else if (!is_glibc(room, room))
        library = NULL;
    memory_return(room);
    return library;
}

static const char *library_for(struct program *program)
{
    const char *library;

    follow_scripts(program);
    if (program->fd < 0 || !elf_loader_is_elf(&program->start.elf, (size_t)program->n_bytes))
        return preloaded_library();
    library = library_of_kind(&program->start.elf);
    return library ? loadable(library, program) : NULL;
}

/* ---- by name --------------------------------------------------------------------------------- */

static const char *value_of_path(void)
{
    char *const *variables = *real_environ();
    bool is_known = variables && sys_strings_are_readable(variables);

    for (char *const *at = variables; is_known && *at; at++) {
        const char *value = fmt_after_prefix(*at, "PATH=");
        if (value)
            return value;
    }
    return "/bin:/usr/bin";
}

/* The first file of that name that the kernel would execute. Like execvp it passes over folders and
 * files that may not be executed. */
static void open_found(const char *name, struct program *ret_program)
{
    char *path = memory_borrow();

    ret_program->fd = -1;
    for (const char *folders = value_of_path(); path && ret_program->fd < 0; folders++) {
        struct fmt out = {path, MEMORY_BORROWED_BYTES, 0, false};
        while (*folders && *folders != ':')
            fmt_char(&out, *folders++);
        fmt_string(&out, out.size_bytes > 0 ? "/" : "./");
        fmt_string(&out, name);
        if (sys_may_execute(path))
            open_program(path, ret_program);
        if (!*folders)
            break;
    }
    if (path)
        memory_return(path);
}

static bool has_slash(const char *name)
{
    while (*name && *name != '/')
        name++;
    return *name == '/';
}

const char *exec_target_library(const char *path, bool is_searched)
{
    struct program program;
    const char *library;

    if (!path || (is_searched && !sys_string_is_readable(path)))
        return preloaded_library();
    if (is_searched && !has_slash(path))
        open_found(path, &program);
    else
        open_program(path, &program);
    library = library_for(&program);
    close_program(&program);
    return library;
}

const char *exec_target_library_at(int directory, const char *path)
{
    const char *library;
    char *room;
    struct fmt out;

    if (!path || !sys_string_is_readable(path))
        return preloaded_library();
    room = directory == AT_FDCWD || *path == '/' ? NULL : memory_borrow();
    if (!room)
        return exec_target_library(path, false);
    out = (struct fmt){room, MEMORY_BORROWED_BYTES, 0, false};
    fmt_string(&out, "/proc/self/fd/");
    fmt_decimal(&out, (uint64_t)(unsigned)directory);
    fmt_string(&out, *path ? "/" : "");
    fmt_string(&out, path);
    library = exec_target_library(room, false);
    memory_return(room);
    return library;
}
