/* SPDX-License-Identifier: MIT */
/*
 * twin_libraries LEFT RIGHT [ROUNDS]: opens two libraries of the same layout alternately; each
 * leaks under the name of its own function.
 */
#include "tests/workloads/workload.h"

#include <dlfcn.h>
#include <string.h>

enum {
    N_ROUNDS = 10
};

struct twin {
    char name[64];
    int line;
    unsigned long long leaked_bytes, leaked_blocks;
    void *address;
};

static int use(const char *path, unsigned n, struct twin *twin)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return -1;
    const char *(*name)(void) = (const char *(*)(void))dlsym(library, "twin_name");
    int (*line)(void) = (int (*)(void))dlsym(library, "twin_line");
    snprintf(twin->name, sizeof(twin->name), "%s", name());
    void *(*leak)(unsigned) = (void *(*)(unsigned))dlsym(library, twin->name);
    twin->line = line();
    twin->address = (void *)leak;
    for (int i = 0; i < 3; i++) {
        leak(n);
        own_count_alloc(OWN_BYTES(n));
        twin->leaked_bytes += OWN_BYTES(n);
        twin->leaked_blocks++;
    }
    return dlclose(library);
}

int main(int argc, char **argv)
{
    struct twin first = {0};
    struct twin second = {0};
    int n_same_address = 0;
    int n_rounds = argc == 4 ? atoi(argv[3]) : N_ROUNDS;
    if (argc < 3)
        return 2;
    for (int i = 0; i < n_rounds; i++) {
        if (use(argv[1], 1, &first) != 0 || use(argv[2], 2, &second) != 0)
            return 1;
        n_same_address += first.address == second.address;
    }
    if (n_same_address == 0)
        skip("the loader put the twins at different addresses");
    expect_leak(first.leaked_bytes, first.leaked_blocks, first.name, "twin_plugin.c", first.line);
    expect_leak(second.leaked_bytes, second.leaked_blocks, second.name, "twin_plugin.c",
                second.line);
    expect_own();
    return 0;
}
