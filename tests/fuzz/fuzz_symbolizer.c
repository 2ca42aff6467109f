/* SPDX-License-Identifier: MIT */
/* Any bytes as an ELF file with debug info: names may be missing, but nothing else may fail. */
#include "symbolizer/symbolizer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    N_POSITIONS = 256, /* every byte of the text of the corpus, in both ways of asking */
    FIRST = 0x2c0
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_levels(void *context, size_t position, const struct symbolizer_level *levels,
                        size_t n_levels)
{
    uint8_t *n_calls = context;

    n_calls[position]++;
    if (n_levels == 0)
        abort();
    for (size_t i = 0; i < n_levels; i++) {
        if ((levels[i].function && !*levels[i].function)
            || !levels[i].function != !levels[i].raw_name)
            abort();
        if (levels[i].source && !*levels[i].source)
            abort();
    }
    return 0;
}

static void symbolize(const char *path)
{
    struct symbolizer_position positions[N_POSITIONS];
    uint8_t n_calls[N_POSITIONS] = {0};
    struct symbolizer_options options = {0};
    struct symbolizer *symbolizer;
    struct error err;

    for (size_t i = 0; i < N_POSITIONS; i++)
        positions[i] = (struct symbolizer_position){FIRST + i / 2, i % 2};
    if (symbolizer_open(&options, &(struct symbolizer_object){.path = path}, &symbolizer, &err))
        return;
    if (symbolizer_run(symbolizer, positions, N_POSITIONS, check_levels, n_calls, &err) == 0)
        for (size_t i = 0; i < N_POSITIONS; i++)
            if (n_calls[i] != 1)
                abort();
    symbolizer_close(symbolizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz_symbolizer", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    symbolize(path);
    close(fd);
    return 0;
}
