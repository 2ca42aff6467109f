/* SPDX-License-Identifier: MIT */
/* Every form of operator new and delete: plain, array, nothrow, aligned, sized. With an argument, new always finds memory. */
#include "tests/workloads/workload.h"

#include <cstdint>
#include <new>

namespace
{
struct alignas(256) wide {
    char bytes[256 * 3];
};

unsigned long long n_misaligned;

void plain()
{
    void *one = keep(::operator new(OWN_BYTES(1)));
    own_count_alloc(OWN_BYTES(1));
    own_count_free(OWN_BYTES(1));
    ::operator delete(one);
    void *two = keep(::operator new[](OWN_BYTES(2), std::nothrow));
    own_count_alloc(OWN_BYTES(2));
    own_count_free(OWN_BYTES(2));
    ::operator delete[](two);
    void *three = keep(::operator new(OWN_BYTES(3)));
    own_count_alloc(OWN_BYTES(3));
    own_count_free(OWN_BYTES(3));
    ::operator delete(three, OWN_BYTES(3));
}

void aligned()
{
    wide *block = static_cast<wide *>(keep(new wide));
    n_misaligned += reinterpret_cast<std::uintptr_t>(block) % 256 != 0;
    delete block;
    /* The library rounds the size up to the alignment, so this block has none of the workload's
     * sizes. */
    void *raw = keep(::operator new(4000, std::align_val_t(4096)));
    n_misaligned += reinterpret_cast<std::uintptr_t>(raw) % 4096 != 0;
}

unsigned long long too_much()
{
    volatile std::size_t size_bytes = PTRDIFF_MAX;
    unsigned long long n_failed = ::operator new(size_bytes, std::nothrow) == nullptr;
    try {
        keep(::operator new(size_bytes));
    } catch (const std::bad_alloc &) {
        n_failed++;
    }
    return n_failed;
}

/* A new handler is code of the program: it allocates, and throws, as often as without mtrace. */
unsigned long long n_handled;

void throw_a_number()
{
    n_handled++;
    void *block = keep(::operator new(OWN_BYTES(4)));
    own_count_alloc(OWN_BYTES(4));
    own_count_free(OWN_BYTES(4));
    ::operator delete(block);
    throw 7;
}

unsigned long long handled()
{
    volatile std::size_t size_bytes = PTRDIFF_MAX;
    unsigned long long n_caught = 0;
    std::set_new_handler(throw_a_number);
    for (int i = 0; i < 10; i++) {
        try {
            keep(::operator new(size_bytes));
        } catch (int) {
            n_caught++;
        }
    }
    std::set_new_handler(nullptr);
    return n_caught;
}
} /* namespace */

int main(int argc, char **)
{
    for (int i = 0; i < 100; i++) {
        plain();
        aligned();
    }
    expect("failed", argc > 1 ? 0 : too_much());
    expect("caught", argc > 1 ? 0 : handled());
    expect("handled", n_handled);
    expect("misaligned", n_misaligned);
    expect("aligned_to_a_page", 100);
    expect_own();
    return 0;
}
