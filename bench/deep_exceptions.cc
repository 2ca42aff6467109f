// SPDX-License-Identifier: MIT
/*
 * deep_exceptions ROUNDS: a recursive descent that builds strings and maps on the way down and throws
 * through all of it every fourth round.
 */
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct node {
    std::string name;
    std::vector<node> children;
};

__attribute__((noinline)) node build(int depth, int width, unsigned &seed)
{
    seed = seed * 1103515245u + 12345u;
    node made{"node number " + std::to_string(seed), {}};
    if (depth > 0)
        for (int i = 0; i < width; i++)
            made.children.push_back(build(depth - 1, i == 0 ? width : 1, seed));
    return made;
}

__attribute__((noinline)) long weigh(const node &at, int limit, std::map<std::string, long> &seen)
{
    if (limit == 0)
        throw std::runtime_error("too deep at " + at.name);
    long sum = seen[at.name]++ + static_cast<long>(at.name.size());
    for (const node &child : at.children)
        sum += weigh(child, limit - 1, seen);
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
    unsigned seed = 1;
    long sum = 0;
    int thrown = 0;

    for (int i = 0; i < rounds; i++) {
        node root = build(60, 2, seed);
        std::map<std::string, long> seen;
        try {
            sum += weigh(root, i % 4 ? 100 : 55, seen);
        } catch (const std::runtime_error &) {
            thrown++;
        }
    }
    std::printf("%ld %d\n", sum, thrown);
    return 0;
}
