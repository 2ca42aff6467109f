/* SPDX-License-Identifier: MIT */
/* Leaks at known lines of C++: a template, a constructor inlined into it, a container, a lambda. */
#include "tests/workloads/workload.h"

#include <vector>

namespace shop
{
template <typename T, int Count>
struct shelf {
    static int line;
    T *items;

    __attribute__((noinline)) shelf()
    {
        items = static_cast<T *>(keep(new T[Count]));
        line = __LINE__ - 1;
    }
};

template <typename T, int Count>
int shelf<T, Count>::line;

struct crate {
    char bytes[OWN_BYTES(3)];
};

__attribute__((noinline)) int fill_vector()
{
    auto *crates = new (keep(malloc(sizeof(std::vector<char>)))) std::vector<char>();
    crates->reserve(OWN_BYTES(4));
    return __LINE__ - 1;
}
} /* namespace shop */

int main()
{
    using first = shop::shelf<char, OWN_BYTES(1)>;
    using second = shop::shelf<shop::crate, 1>;
    keep(new first());
    expect_leak(sizeof(first), 1, "main", "leak_cxx.cc", __LINE__ - 1);
    expect_leak(OWN_BYTES(1), 1, "shop::shelf<char,1777>::shelf()", "leak_cxx.cc",
                first::line);
    keep(new second());
    expect_leak(sizeof(second), 1, "main", "leak_cxx.cc", __LINE__ - 1);
    expect_leak(OWN_BYTES(3), 1, "shop::shelf<shop::crate,1>::shelf()", "leak_cxx.cc",
                second::line);
    int line = shop::fill_vector();
    expect_leak(OWN_BYTES(4), 1, "shop::fill_vector()", "leak_cxx.cc", line);
    expect_leak(sizeof(std::vector<char>), 1, "shop::fill_vector()", "leak_cxx.cc", line - 1);
    auto lose = [](unsigned n) __attribute__((noinline))
    {
        keep(::operator new(OWN_BYTES(n)));
        return __LINE__ - 1;
    };
    line = lose(5);
    expect_leak(OWN_BYTES(5), 1, "main::{lambda(unsignedint)#1}::operator()(unsignedint)const",
                "leak_cxx.cc", line);
    return 0;
}
