/* SPDX-License-Identifier: MIT */
/* A C++ plugin of a C program: each object is one block by operator new of the C++ library, or with
 * OWN_OPERATORS of the plugin. */
#include "tests/workloads/workload.h"

#include <cstddef>

#ifdef OWN_OPERATORS
void *operator new(std::size_t size)
{
    return malloc(size);
}

void operator delete(void *block) noexcept
{
    free(block);
}

void operator delete(void *block, std::size_t) noexcept
{
    free(block);
}
#endif

namespace {
struct object {
    char bytes[OWN_BYTES(1)];
};
} /* namespace */

extern "C" int plugin_make(int n)
{
    int n_made = 0;
    for (int i = 0; i < n; i++) {
        object *one = new object;
        n_made += keep(one) == one;
        delete one;
    }
    return n_made;
}
