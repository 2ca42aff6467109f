/* SPDX-License-Identifier: MIT */
/*
 * Stacks of C++: exceptions in flight and caught, destructors during unwinding, coroutines of the
 * language, virtual calls and lambdas through std::function.
 */
#include "tests/unwind/probe.h"

#include <coroutine>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
probe_function *g_probe;
volatile unsigned g_sink;

struct on_exit {
    ~on_exit()
    {
        g_probe();
    }
};

struct shape {
    virtual ~shape() = default;
    virtual unsigned descend(unsigned depth) = 0;
};

__attribute__((noinline)) unsigned call(unsigned depth, unsigned choice);

struct thrower : shape {
    unsigned descend(unsigned depth) override
    {
        on_exit guard;
        if (depth % 3 == 0)
            throw std::runtime_error("thrown at " + std::to_string(depth));
        return call(depth, depth + 1) + 1;
    }
};

struct catcher : shape {
    unsigned descend(unsigned depth) override
    {
        on_exit guard;
        unsigned result = 0;
        try {
            result = call(depth, depth * 7);
        } catch (const std::exception &error) {
            g_probe();
            result = call(depth / 2, unsigned(error.what()[0]));
        }
        return result;
    }
};

struct rethrower : shape {
    unsigned descend(unsigned depth) override
    {
        try {
            return call(depth, depth * 5 + 1);
        } catch (...) {
            g_probe();
            throw;
        }
    }
};

struct through_function : shape {
    unsigned descend(unsigned depth) override
    {
        alignas(64) unsigned numbers[32] = {depth};
        std::function<unsigned(unsigned)> inner = [&](unsigned value) {
            g_probe();
            return call(depth, value) + numbers[value % 32];
        };
        return inner(depth * 3);
    }
};

/* A generator: its frame is on the heap, its resumption on the stack. */
struct generator {
    struct promise_type {
        unsigned value = 0;

        generator get_return_object()
        {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }

        std::suspend_always initial_suspend() noexcept
        {
            return {};
        }

        std::suspend_always final_suspend() noexcept
        {
            return {};
        }

        std::suspend_always yield_value(unsigned next)
        {
            g_probe();
            value = next;
            return {};
        }

        void return_void()
        {
        }

        void unhandled_exception()
        {
            std::terminate();
        }
    };

    std::coroutine_handle<promise_type> handle;
};

generator count(unsigned depth)
{
    on_exit guard;

    for (unsigned i = 0; i < 4; i++) {
        g_probe();
        co_yield depth + i;
    }
}

struct resumer : shape {
    unsigned descend(unsigned depth) override
    {
        generator numbers = count(depth);
        unsigned sum = 0;
        while (numbers.handle.resume(), !numbers.handle.done())
            sum += numbers.handle.promise().value;
        numbers.handle.destroy();
        return sum + call(depth, sum);
    }
};

unsigned call(unsigned depth, unsigned choice)
{
    static thrower a;
    static catcher b;
    static rethrower c;
    static through_function d;
    static resumer e;
    static shape *const shapes[] = {&a, &b, &c, &b, &d, &e, &d};

    g_probe();
    if (depth == 0)
        return 0;
    return shapes[(choice ^ depth) % 7]->descend(depth - 1);
}
}  // namespace

void shapes_run(probe_function *probe)
{
    g_probe = probe;
    for (unsigned i = 0; i < 60; i++) {
        try {
            g_sink = g_sink + call(3 + i % 20, i);
        } catch (const std::exception &) {
            g_probe();
        }
    }
}
