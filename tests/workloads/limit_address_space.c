/* SPDX-License-Identifier: MIT */
/* RLIMIT_AS leaves little memory: impossible calls fail as unrecorded, with errno, and old blocks
 * are unchanged. */
#include "tests/workloads/workload.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

static size_t address_space_bytes(void)
{
    unsigned long n_pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL || fscanf(statm, "%lu", &n_pages) != 1)
        _exit(1);
    fclose(statm);
    return n_pages * (size_t)sysconf(_SC_PAGESIZE);
}

int main(void)
{
    size_t limit_bytes = address_space_bytes() + (48u << 20);
    struct rlimit limit = {limit_bytes, limit_bytes};
    char *block = own_malloc(1);
    unsigned long long n_failed = 0;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 1;
    memset(block, 'x', OWN_BYTES(1));
    for (int i = 0; i < 100; i++) {
        errno = 0;
        n_failed += keep(malloc(1ul << 30)) == NULL && errno == ENOMEM;
        errno = 0;
        n_failed += keep(calloc(1ul << 20, 1ul << 10)) == NULL && errno == ENOMEM;
        errno = 0;
        n_failed += keep(realloc(block, 1ul << 30)) == NULL && errno == ENOMEM;
        own_malloc(0);
    }
    for (size_t i = 0; i < OWN_BYTES(1); i++)
        if (block[i] != 'x')
            return 1;
    own_free(block, 1);
    expect_own();
    expect("failures", n_failed);
    return n_failed == 300 ? 0 : 1;
}
