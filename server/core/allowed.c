/* SPDX-License-Identifier: MIT */
#include "server/core/allowed.h"

#include "queries/api/queries_parameters.h"

#include <stddef.h>
#include <string.h>

/* The canonical name: fail-if becomes fail_if. */
static const char *known_name(const char *name)
{
    struct queries_parameter parameter;
    long index = queries_find_parameter(name, strlen(name));

    return index >= 0 && queries_parameter_at((size_t)index, &parameter) ? parameter.name : name;
}

bool allowed_parameter(const char *name)
{
    /* Parameters of the command line, and limits that a client must not change. */
    static const char *const refused[] = {"output",     "force", "about", "fail_if", "wide",
                                          "time_limit", "help",  "usage", "version", NULL};
    const char *known = known_name(name);

    for (const char *const *at = refused; *at; at++)
        if (strcmp(*at, known) == 0)
            return false;
    return !queries_names_file(known);
}
