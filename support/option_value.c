/* SPDX-License-Identifier: MIT */
#include "support/option_value.h"

#include "support/error.h"
#include "support/units.h"

uint64_t option_value_size(const struct argp_state *state, const char *option, const char *text)
{
    struct error err = {0};
    uint64_t size_bytes = 0;

    if (units_parse_bytes(text, &size_bytes, &err) != 0)
        argp_error(state, "%s: %s", option, err.text);
    return size_bytes;
}
