// SPDX-License-Identifier: MIT
// Brings rules for leaks of its own, as LeakSanitizer asks for them; leaks under them and elsewhere, from several
// threads, and below more frames than heaptrack keeps.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

extern "C" __attribute__((visibility("default"), used)) const char *__lsan_default_suppressions()
{
    return "leak:kept_for_ever\nleak:^ends_here$\nleak:never_matches\n";
}

static void *volatile sink;

extern "C" __attribute__((noinline)) void kept_for_ever_on_purpose(size_t n)
{
    sink = malloc(n);
}

extern "C" __attribute__((noinline)) void ends_here(size_t n)
{
    sink = malloc(n);
}

extern "C" __attribute__((noinline)) void plain_leak(size_t n)
{
    sink = malloc(n);
}

extern "C" __attribute__((noinline)) int deep(int n)
{
    int below = n > 0 ? deep(n - 1) : 0;

    if (n == 0)
        sink = malloc(100777);
    return below + (sink != nullptr);
}

static void work(int number)
{
    std::vector<std::string> kept;

    for (int i = 0; i < 2000; i++) {
        std::string text(static_cast<size_t>(100 + i % 50), 'x');
        if (i % 10 == 0)
            kept.push_back(text + std::to_string(number));
    }
}

int main()
{
    std::vector<std::thread> threads;

    for (int i = 0; i < 5; i++)
        kept_for_ever_on_purpose(1777);
    for (int i = 0; i < 3; i++)
        ends_here(2777);
    plain_leak(3777);
    deep(100);
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work, i);
    for (std::thread &thread : threads)
        thread.join();
    std::puts("done");
}
