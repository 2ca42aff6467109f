/* SPDX-License-Identifier: MIT */
#include "lib/base/error.h"

#include "lib/abi/file_systems.h"
#include "lib/base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef error_set
#undef error_set_errno
#undef error_set_offset

MTRACE_PRINTF(3, 0)

static int fill(struct error *err, enum error_code code, const char *format, va_list args)
{
    if (err) {
        err->code = (int)code;
        err->os_errno = 0;
        err->offset = ERROR_NO_OFFSET;
        (void)vsnprintf(err->text, sizeof(err->text), format, args);
        utf8_clean(err->text); /* names of files may contain any bytes */
    }
    return (int)code;
}

int error_set(struct error *err, enum error_code code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(err, code, format, args);
    va_end(args);
    return (int)code;
}

int error_set_errno(struct error *err, int os_errno, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(err, ERROR_IO, format, args);
    va_end(args);
    if (err) {
        size_t used = strlen(err->text);
        err->os_errno = os_errno;
        (void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(os_errno));
    }
    return ERROR_IO;
}

int error_set_offset(struct error *err, enum error_code code, int64_t offset, const char *format,
                     ...)
{
    va_list args;

    va_start(args, format);
    fill(err, code, format, args);
    va_end(args);
    if (err) {
        size_t used = strlen(err->text);
        err->offset = offset;
        (void)snprintf(err->text + used, sizeof(err->text) - used, " at byte %" PRId64, offset);
    }
    return (int)code;
}

bool error_means_disk_full(int os_errno)
{
    return file_systems_is_lack_of_room(os_errno);
}

bool error_is_disk_full(const struct error *err)
{
    return error_means_disk_full(err->os_errno);
}

int error_exit_status(int code)
{
    switch (code) {
    case ERROR_NONE:
        return 0;
    case ERROR_USAGE:
        return 2;
    case ERROR_INTERRUPTED:
        return 130;
    default:
        return 1;
    }
}
