/* SPDX-License-Identifier: MIT */
#include "lib/base/option_value.h"

#include "lib/base/error.h"
#include "lib/base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static ssize_t write_plainly(void *cookie, const char *data, size_t size)
{
    (void)cookie;
    for (size_t i = 0; i < size; i++)
        (void)putc(data[i] == '`' ? '\'' : data[i], stderr);
    return (ssize_t)size;
}

void option_value_quote_plainly(struct argp_state *state)
{
    static const cookie_io_functions_t functions = {.write = write_plainly};
    FILE *stream = fopencookie(NULL, "w", functions);

    if (stream)
        state->err_stream = stream;
}

uint64_t option_value_size(const struct argp_state *state, const char *option, const char *text)
{
    struct error err = {0};
    uint64_t size_bytes = 0;

    if (units_parse_bytes(text, &size_bytes, &err) != 0)
        argp_error(state, "%s: %s", option, err.text);
    return size_bytes;
}

uint64_t option_value_number(const struct argp_state *state, const char *option, const char *text,
                             uint64_t most)
{
    unsigned long long value;
    char *end;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || *text < '0' || *text > '9' || *end || value > most) {
        argp_error(state, "%s: '%s' is not a number from 0 to %llu", option, text,
                   (unsigned long long)most);
        return 0;
    }
    return value;
}

uint64_t option_value_duration(const struct argp_state *state, const char *option, const char *text)
{
    struct error err = {0};
    uint64_t ns = 0;

    if (units_parse_duration(text, &ns, &err) != 0)
        argp_error(state, "%s: %s", option, err.text);
    else if (ns == 0)
        argp_error(state, "%s: '%s' is not a time", option, text);
    return ns;
}

static uint64_t number_of(const struct option_place *place, const char *value,
                          const struct argp_state *state)
{
    if (place->kind == OPTION_PLACE_SIZE)
        return option_value_size(state, place->option, value);
    if (place->kind == OPTION_PLACE_DURATION)
        return option_value_duration(state, place->option, value);
    return option_value_number(state, place->option, value, place->most);
}

bool option_place_put(const struct option_place *table, size_t n, int key, char *value,
                      const struct argp_state *state)
{
    const bool yes = true;

    for (size_t i = 0; i < n; i++) {
        char *target = (char *)state->input + table[i].offset;
        if (table[i].key != key)
            continue;
        if (table[i].kind == OPTION_PLACE_FLAG) {
            memcpy(target, &yes, sizeof(yes));
        } else if (table[i].kind == OPTION_PLACE_TEXT) {
            memcpy(target, &value, sizeof(value));
        } else {
            uint64_t number = number_of(&table[i], value, state);
            memcpy(target, &number, sizeof(number));
        }
        return true;
    }
    return false;
}
