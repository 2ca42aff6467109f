/* SPDX-License-Identifier: MIT */
#include "queries/render/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *format(int64_t value, double margin, char *ret_text,
                          const char *(*one)(int64_t value, char *ret_text))
{
    char number[UNITS_TEXT_BYTES];
    char half[UNITS_TEXT_BYTES];
    double most = (double)((int64_t)1 << 62);

    one(value, number);
    if (margin < 0 || (value == 0 && margin < 0.5))
        (void)snprintf(ret_text, ESTIMATE_TEXT_BYTES, "%s", number);
    else
        (void)snprintf(ret_text, ESTIMATE_TEXT_BYTES, "%s ± %s", number,
                       one((int64_t)(margin < most ? margin + 0.5 : most), half));
    return ret_text;
}

const char *estimate_format_bytes(int64_t bytes, double margin, char *ret_text)
{
    return format(bytes, margin, ret_text, units_format_bytes);
}

const char *estimate_format_count(int64_t count, double margin, char *ret_text)
{
    return format(count, margin, ret_text, units_format_count);
}

const char *estimate_format_blocks(int64_t count, double margin, char *ret_text)
{
    size_t used = strlen(estimate_format_count(count, margin, ret_text));

    (void)snprintf(ret_text + used, ESTIMATE_TEXT_BYTES - used, " block%s",
                   count == 1 && margin < 0 ? "" : "s");
    return ret_text;
}

double estimate_margin(bool is_estimate, double square)
{
    return !is_estimate ? -1 : square > 0 ? sqrt(square) : 0;
}
