/* SPDX-License-Identifier: MIT */
#include "collector/life/executed.h"

#include "collector/arch/arch.h"
#include "collector/platform/bytes.h"
#include "collector/platform/config.h"
#include "collector/platform/fmt.h"
#include "collector/platform/memory.h"
#include "collector/platform/real.h"
#include "collector/platform/sys.h"
#include "collector/record/state.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

enum {
    START_BYTES = 256,    /* of a file: its ELF header, or the line that names an interpreter */
    MOST_INTERPRETERS = 4 /* as many as the kernel follows */
};

static const char g_preloaded_name[] = "/libmtrace.so";
static const char g_preloaded_name_new[] = "/libmtrace-new.so";

static char g_preloaded[CONFIG_PATH_BYTES], g_other[CONFIG_PATH_BYTES];

/* Of those two: whoever writes one writes the same, byte by byte, and nothing else in between, as another thread may be reading it. */
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

/* How long the folder is that a path lies in; 0: there is none. */
static size_t folder_length(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length > 0 ? length - 1 : 0;
}

/* What was loaded into a program that ran already begins nothing by itself: the one beside it does. With the operators where this program's
 * allocator has some: what it executes may well have the same one, and for others they change nothing. */
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

/* Bytes read of the beginning of a file; negative: it cannot be opened. */
static long read_start(const char *path, char start[START_BYTES])
{
    int fd = (int)sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    long n;

    if (fd < 0)
        return fd;
    n = sys_read(fd, start, START_BYTES - 1);
    sys_close(fd);
    start[n > 0 ? n : 0] = '\0';
    return n > 0 ? n : 0;
}

/* The interpreter that a script names, which stays in `start`; NULL: it is none. */
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

static bool is_other_width(const char *start, long n)
{
    const ElfW(Ehdr) *header =
        (const void *)start; /* what is read is at one place in both widths */
    const unsigned char own_class = sizeof(uintptr_t) == 4 ? ELFCLASS32 : ELFCLASS64;

    return n >= (long)sizeof(Elf32_Ehdr) && bytes_equal(start, ELFMAG, SELFMAG)
           && header->e_ident[EI_CLASS] != own_class && header->e_machine == ARCH_OTHER_MACHINE;
}

static const char *library_for(char start[START_BYTES], long n)
{
    const char *interpreter;

    for (int i = 0; i < MOST_INTERPRETERS && (interpreter = interpreter_of(start)); i++) {
        char next[START_BYTES];
        n = read_start(interpreter, next);
        memcpy(start, next, sizeof(next));
        if (n < 0)
            return preloaded_library();
    }
    return is_other_width(start, n) ? other_library() : preloaded_library();
}

static const char *value_of_path(void)
{
    for (char *const *at = *real_environ(); at && *at; at++) {
        const char *value = fmt_after_prefix(*at, "PATH=");
        if (value)
            return value;
    }
    return "/bin:/usr/bin";
}

/* The first file of that name in one of the folders; negative: there is none. */
static long read_found(const char *name, char *path, char start[START_BYTES])
{
    for (const char *folders = value_of_path();; folders++) {
        struct fmt out = {path, MEMORY_BORROWED_BYTES, 0, false};
        long n;
        while (*folders && *folders != ':')
            fmt_char(&out, *folders++);
        fmt_string(&out, out.size_bytes > 0 ? "/" : "./");
        fmt_string(&out, name);
        n = read_start(path, start);
        if (n >= 0 || !*folders)
            return n;
    }
}

static bool has_slash(const char *name)
{
    while (*name && *name != '/')
        name++;
    return *name == '/';
}

const char *executed_library(const char *path, bool is_searched)
{
    _Alignas(ElfW(Ehdr)) char start[START_BYTES] = "";
    char *room;
    long n;

    if (ARCH_OTHER_MACHINE == EM_NONE || !path)
        return preloaded_library();
    if (!is_searched || has_slash(path)) {
        n = read_start(path, start);
        return library_for(start, n);
    }
    room = memory_borrow();
    if (!room)
        return preloaded_library();
    n = read_found(path, room, start);
    memory_return(room);
    return library_for(start, n);
}

const char *executed_library_of(int fd)
{
    char path[32];
    struct fmt out = FMT_BUFFER(path);

    fmt_string(&out, "/proc/self/fd/");
    fmt_decimal(&out, (uint64_t)(unsigned)fd);
    return executed_library(path, false);
}
