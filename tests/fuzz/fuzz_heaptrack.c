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

static int ignore_sample(void *context, const struct sample *sample)
{
    (void)context;
    require(sample->process == 1 && sample->kind == LOG_SAMPLE_MEMORY);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("log", MFD_CLOEXEC);

    require(fd >= 0);
    write_all(fd, data, size);
    check_log(fd, ignore_sample);
    close(fd);
    return 0;
}
