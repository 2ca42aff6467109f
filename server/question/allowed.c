/* SPDX-License-Identifier: MIT */
#include "server/question/allowed.h"

#include <stddef.h>
#include <string.h>

bool allowed_parameter(const char *name)
{
    static const char *const refused[] = {"output",     "force", "suppressions", "fail_if", "wide",
                                          "time_limit", "help",  "usage",        "version", NULL};

    for (const char *const *at = refused; *at; at++)
        if (strcmp(*at, name) == 0)
            return false;
    return true;
}
