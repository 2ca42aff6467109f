/* SPDX-License-Identifier: MIT */
#include "queries/render/suggestion.h"

#include <string.h>

enum {
    MAX_LETTERS = 32
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Row by row over the letters of a; swapped letters need the row before the previous one. */
static size_t count_errors(const char *a, const char *b)
{
    size_t rows[3][MAX_LETTERS + 1];
    size_t n_a = strlen(a);
    size_t n_b = strlen(b);

    for (size_t j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        const size_t *above = rows[(i - 1) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            row[j] =
                smaller(above[j - 1] + (a[i - 1] != b[j - 1]), smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[n_a % 3][n_b];
}

void suggestion_consider(struct suggestion *suggestion, const char *name)
{
    size_t n_letters = strlen(suggestion->word);
    size_t distance;

    if (n_letters > MAX_LETTERS || strlen(name) > MAX_LETTERS)
        return;
    distance = count_errors(suggestion->word, name);
    if (3 * distance <= n_letters && (!suggestion->best || distance < suggestion->distance)) {
        suggestion->best = name;
        suggestion->distance = distance;
    }
}

const char *suggestion_best(const struct suggestion *suggestion)
{
    return suggestion->best;
}
