/* SPDX-License-Identifier: MIT */
#include "lib/logfile/unreached.h"

#include "lib/base/units.h"

#include <stdio.h>
#include <string.h>

static void append(char *text, size_t size, uint64_t n, const char *noun, const char *rest)
{
    char counted[UNITS_TEXT_BYTES];
    size_t used = strlen(text);

    if (n > 0)
        (void)snprintf(text + used, size - used, "%s %s %s",
                       used ? "; by" : "some calls are not recorded: by",
                       units_format_counted((int64_t)n, noun, counted), rest);
}

void unreached_format(const struct unreached *unreached, char *ret_text, size_t size)
{
    ret_text[0] = '\0';
    append(ret_text, size, unreached->n_deepbound, "module",
           "opened with RTLD_DEEPBIND, from constructors or through pointers that these stored");
    append(ret_text, size, unreached->n_foreign, "module",
           "opened with RTLD_DEEPBIND, with another allocator than the program's");
    append(ret_text, size, unreached->n_elsewhere, "module",
           "in other linker namespaces (dlmopen), which have a C library of their own");
    append(ret_text, size, unreached->n_pointers, "pointer",
           "to the allocator that dlsym took from a library");
}
