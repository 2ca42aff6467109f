/* SPDX-License-Identifier: MIT */
/* Throws through deep frames whose objects allocate when built and again when destroyed. */
#include "tests/workloads/workload.h"

#include <exception>
#include <stdexcept>
#include <string>

namespace
{
struct holder {
    unsigned n;
    void *block;

    explicit holder(unsigned size) : n(size), block(own_malloc(size))
    {
    }

    holder(const holder &) = delete;

    ~holder()
    {
        own_free(own_malloc(n), n);
        own_free(block, n);
    }
};

unsigned descend(unsigned depth, unsigned throw_at)
{
    holder here(depth % 3);
    if (depth == throw_at)
        throw std::runtime_error(std::string(100, 'x'));
    try {
        return descend(depth + 1, throw_at) + 1;
    } catch (const std::logic_error &) {
        return 0;
    }
}

unsigned long long run()
{
    unsigned long long n_caught = 0;
    for (unsigned throw_at = 0; throw_at < 100; throw_at++) {
        try {
            descend(0, throw_at);
        } catch (const std::exception &) {
            n_caught++;
        }
    }
    return n_caught;
}

unsigned long long rethrow()
{
    std::exception_ptr kept;
    try {
        descend(0, 50);
    } catch (...) {
        kept = std::current_exception();
    }
    try {
        std::rethrow_exception(kept);
    } catch (const std::runtime_error &error) {
        return std::string(error.what()).size();
    }
    return 0;
}
} /* namespace */

int main()
{
    expect("caught", run());
    expect("rethrown", rethrow());
    expect_own();
    return 0;
}
