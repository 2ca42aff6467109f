/* SPDX-License-Identifier: MIT */
/*
 * An executable may have any bytes. Its patch plan is bounded, names code that
 * the file has, and can be read again: every number that the collector will copy is inside its
 * limits.
 */
#include "collector/arch/arch.h"
#include "collector/os/code_patch.h"
#include "recorder/patch/patch_plan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int holds)
{
    if (!holds)
        abort();
}

/* shape,call,address,bytes,bytes[,fix]… */
static void check_entry(const char *entry, size_t n)
{
    const char *comma = entry;
    size_t n_commas = 0;

    for (size_t i = 0; i < n; i++)
        n_commas += entry[i] == ',';
    if (entry[0] == 'u') {
        expect(n_commas == 2);
        return;
    }
    expect(strchr("+-=@x", entry[0]) != NULL);
    expect(n_commas >= 4 && n_commas <= 4 + CODE_PATCH_MAX_FIXES);
    for (int i = 0; i < 3; i++)
        comma = strchr(comma, ',') + 1;
    expect(strcspn(comma, ",") >= (size_t)2 * ARCH_JUMP_BYTES);
    expect(strcspn(comma, ",") <= (size_t)2 * CODE_PATCH_MAX_EXPECTED);
    comma = strchr(comma, ',') + 1;
    expect(strcspn(comma, ",;") <= (size_t)2 * CODE_PATCH_MAX_MOVED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("program", 0);
    struct patch_plan plan;
    char path[64];

    expect(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    patch_plan_make(path, true, &plan);
    expect(!plan.text || plan.allocator);
    expect(!plan.is_partial || *plan.why);
    for (const char *at = plan.text ? strchr(plan.text, ';') : NULL; at; at = strchr(at, ';')) {
        at++;
        check_entry(at, strcspn(at, ";"));
    }
    patch_plan_done(&plan);
    close(fd);
    return 0;
}
