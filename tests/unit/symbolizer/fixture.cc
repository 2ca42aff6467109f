// SPDX-License-Identifier: MIT
// What makes symbols hard: inlining through templates, lambdas, local classes, nested namespaces,
// functions split into hot and cold parts, destructors on exceptional paths, several units.
#include "tests/unit/symbolizer/fixture.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace {
struct hidden {
    int x;
    template <class F> int call(F f) const { return f(x); }
};
}

namespace shapes {
inline namespace v1 {
template <int N> struct node {
    std::unique_ptr<node<N - 1>> next = std::make_unique<node<N - 1>>();
    std::map<std::string, std::vector<int>> children;
    node() { children["a"].push_back(N); }
    int sum() const
    {
        int sum = next->sum();
        for (auto &pair : children)
            for (int i : pair.second)
                sum += i;
        return sum;
    }
};
template <> struct node<0> {
    int sum() const { return 0; }
};
}
struct base {
    virtual ~base() = default;
    virtual std::string name() const = 0;
};
struct derived : base {
    std::string name() const override { return "derived" + std::to_string(1); }
};
}

static int throwing(int i)
{
    std::string on_the_stack(static_cast<size_t>(i) + 20, 'x');
    if (i > 1000)
        throw std::runtime_error(on_the_stack);
    return static_cast<int>(on_the_stack.size());
}

static int local_class(int i)
{
    struct local {
        static int twice(int k)
        {
            std::vector<int> v(static_cast<size_t>(k));
            return static_cast<int>(v.size()) * 2;
        }
    };
    return local::twice(i) + local::twice(i + 1);
}

int main(int argc, char **argv)
{
    std::regex pattern("a(b|c)*d+");
    std::cmatch match;
    bool is_matched = std::regex_match(argv[0], match, pattern);
    shapes::node<5> node;
    hidden h{argc};
    std::function<int(int)> f = [&](int i) { return h.call([&](int y) { return y + i; }); };
    std::unordered_map<int, std::string> words;
    std::vector<std::shared_ptr<shapes::base>> all;

    for (int i = 0; i < argc + 3; i++) {
        words[i] = std::string(static_cast<size_t>(i), 'x');
        all.push_back(std::make_shared<shapes::derived>());
    }
    std::sort(all.begin(), all.end(), [](auto &x, auto &y) { return x->name() < y->name(); });
    try {
        std::cout << throwing(argc);
    } catch (const std::exception &e) {
        std::cout << e.what();
    }
    std::cout << is_matched << node.sum() << f(3) << local_class(argc) << words.size()
              << all[0]->name() << fixture_other_unit(argc) << '\n';
}
