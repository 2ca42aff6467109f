/* SPDX-License-Identifier: MIT */
/*
 * print_positions OBJECT [--debug-dir DIR] [--sysroot DIR] [--build-id HEX] [--debuginfod]
 * [--quiet] < addresses
 *
 * One position per line of input: hex offset, with a "-" in front when it is a return address.
 * Prints per position, in the order of input, "0xOFFSET", then two lines per level as addr2line
 * does: function, source:line:column. For tests that compare with other tools.
 */
#include "symbolizer/symbolizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct positions {
    struct symbolizer_position *items;
    size_t n_items;
    size_t n_allocated;
};

struct printout {
    const struct positions *positions;
    char **texts; /* per position */
    struct symbolizer_object object;
    bool is_quiet;
};

static int compare(const void *a, const void *b)
{
    const struct symbolizer_position *x = a;
    const struct symbolizer_position *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->is_exact > y->is_exact) - (x->is_exact < y->is_exact);
}

static void read_positions(struct positions *positions)
{
    char line[64];

    while (fgets(line, sizeof(line), stdin)) {
        bool is_exact = line[0] != '-';
        if (positions->n_items == positions->n_allocated) {
            positions->n_allocated = positions->n_allocated * 2 + 1024;
            positions->items =
                realloc(positions->items, positions->n_allocated * sizeof(*positions->items));
            if (!positions->items)
                abort();
        }
        positions->items[positions->n_items++] = (struct symbolizer_position){
            .offset = strtoull(line + !is_exact, NULL, 16), .is_exact = is_exact};
    }
    qsort(positions->items, positions->n_items, sizeof(*positions->items), compare);
}

static int keep(void *context, size_t position, const struct symbolizer_level *levels,
                size_t n_levels)
{
    struct printout *printout = context;
    size_t size;
    FILE *text;

    if (printout->is_quiet)
        return 0;
    text = open_memstream(&printout->texts[position], &size);
    if (!text)
        abort();
    fprintf(text, "0x%" PRIx64 "\n", printout->positions->items[position].offset);
    for (size_t i = 0; i < n_levels; i++)
        fprintf(text, "%s\n%s:%u:%u\n", levels[i].function ? levels[i].function : "??",
                levels[i].source ? levels[i].source : "??", levels[i].line, levels[i].column);
    return fclose(text);
}

static int parse(int argc, char **argv, struct symbolizer_options *options, const char **dirs,
                 struct printout *printout)
{
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--quiet"))
            printout->is_quiet = true;
        else if (!strcmp(argv[i], "--debuginfod"))
            options->use_debuginfod = true;
        else if (!strcmp(argv[i], "--debug-dir") && i + 1 < argc)
            dirs[0] = argv[++i];
        else if (!strcmp(argv[i], "--sysroot") && i + 1 < argc)
            options->sysroot = argv[++i];
        else if (!strcmp(argv[i], "--build-id") && i + 1 < argc)
            printout->object.build_id = argv[++i];
        else if (!strcmp(argv[i], "--architecture") && i + 1 < argc)
            printout->object.architecture = argv[++i];
        else
            return -1;
    }
    options->debug_dirs = dirs;
    return argc < 2 ? -1 : 0;
}

int main(int argc, char **argv)
{
    const char *dirs[2] = {NULL, NULL};
    struct symbolizer_options options = {0};
    struct positions positions = {0};
    struct printout printout = {.positions = &positions};
    struct symbolizer *symbolizer;
    struct error err;

    if (parse(argc, argv, &options, dirs, &printout)) {
        fprintf(stderr,
                "usage: print_positions OBJECT [--debug-dir DIR] [--sysroot DIR] "
                "[--build-id HEX] [--architecture NAME] [--debuginfod] [--quiet] < addresses\n");
        return 2;
    }
    read_positions(&positions);
    printout.texts = calloc(positions.n_items + 1, sizeof(*printout.texts));
    printout.object.path = argv[1];
    if (!printout.texts || symbolizer_open(&options, &printout.object, &symbolizer, &err)
        || symbolizer_run(symbolizer, positions.items, positions.n_items, keep, &printout, &err)) {
        fprintf(stderr, "print_positions: failed\n");
        return 1;
    }
    fprintf(stderr, "debug: %s\nnote: %s\n",
            symbolizer_debug_path(symbolizer) ? symbolizer_debug_path(symbolizer) : "none",
            symbolizer_note(symbolizer) ? symbolizer_note(symbolizer) : "none");
    for (size_t i = 0; i < positions.n_items; i++) {
        if (printout.texts[i])
            fputs(printout.texts[i], stdout);
        free(printout.texts[i]);
    }
    symbolizer_close(symbolizer);
    free(printout.texts);
    free(positions.items);
    return 0;
}
