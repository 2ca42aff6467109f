/* SPDX-License-Identifier: MIT */
#include "lib/base/option_place.h"

#include "lib/base/option_value.h"

#include <string.h>

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
