/* SPDX-License-Identifier: MIT */
/*
 * fuzz_heaptrack: any bytes as a recording of heaptrack: opening fails with one line, or gives
 * definitions and events that keep their invariants, twice the same.
 */
#include "tests/fuzz/log_set_properties.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ignore_sample(void *context, const struct log_set_sample *sample)
{
    (void)context;
    require(sample->process == 1 && sample->kind == LOG_SAMPLE_MEMORY);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[32];
    const char *paths[] = {path};
    struct log_set_options options = {.only = true};
    struct log_set *set;
    struct error err = {0};
    int fd = memfd_create("log", MFD_CLOEXEC);

    require(fd >= 0);
    write_all(fd, data, size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (log_set_open(paths, 1, &options, &set, &err) == 0) {
        uint64_t sum;
        check_definitions(log_set_definitions(set));
        sum = read_events(set);
        require(read_events(set) == sum);
        require(log_set_read_samples(set, ignore_sample, NULL, &err) == 0);
        log_set_close(set);
    } else {
        require(err.code != ERROR_NONE && err.text[0] != '\0' && !strchr(err.text, '\n'));
    }
    close(fd);
    return 0;
}
