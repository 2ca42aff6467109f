/* SPDX-License-Identifier: MIT */
#include "collector/os/other_thread.h"

#include "collector/os/fmt.h"
#include "collector/os/sys.h"

#include <fcntl.h>

enum {
    PATH_BYTES = 64,
    LINE_BYTES = 256,
};

/* The last hexadecimal number (0x…) before `end`; *ret_start: where it begins. 0: there is none. */
static uint64_t last_number(const char *line, const char *end, const char **ret_start)
{
    uint64_t value = 0;
    unsigned shift = 0;

    for (; end > line && end[-1] != ' '; end--, shift += 4) {
        char c = end[-1];
        if (c == 'x')
            continue;
        if (shift >= 64 || !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return 0;
        value |= (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10) << shift;
    }
    *ret_start = end;
    return value;
}

/* "running", or "NUMBER ARGUMENTS… 0xSP 0xPC" */
static uintptr_t parse(const char *line, size_t size_bytes)
{
    const char *end = line + size_bytes;
    const char *start = line;

    while (end > line && (end[-1] == '\n' || end[-1] == '\0'))
        end--;
    if (last_number(line, end, &start) == 0 || start <= line)
        return 0;
    return (uintptr_t)last_number(line, start - 1, &start);
}

uintptr_t other_thread_stack_pointer(long tid)
{
    char text[PATH_BYTES];
    char line[LINE_BYTES];
    struct fmt path = FMT_BUFFER(text);
    long size_bytes;
    long fd;

    fmt_string(&path, "/proc/self/task/");
    fmt_decimal(&path, (uint64_t)tid);
    fmt_string(&path, "/syscall");
    fd = sys_open(text, O_RDONLY, 0);
    if (fd < 0)
        return 0;
    size_bytes = sys_read((int)fd, line, sizeof(line));
    sys_close((int)fd);
    return size_bytes > 0 ? parse(line, (size_t)size_bytes) : 0;
}
