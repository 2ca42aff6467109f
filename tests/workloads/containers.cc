/* SPDX-License-Identifier: MIT */
/*
 * containers: objects made of standard containers, in one object walk: every block of theirs is
 * claimed once, and no other block; and an allocator that reports to a pool.
 */
#include "tests/workloads/workload.h"

#include <include/mtrace_objects.hpp> /* as programs do: it is installed */
#include <cstdio>

namespace {

const std::string long_text(100, 'x');

struct part {
    int number = 0;
    std::string text = long_text;

    void visit_members(mtrace::place place) const
    {
        place.field("number", number);
        place.field("text", text);
    }
};

struct everything {
    std::string shortly = "sso";
    std::string text = long_text;
    std::vector<part> parts;
    std::vector<bool> bits = std::vector<bool>(1000);
    std::deque<int> numbers;
    std::deque<part> queue;
    std::list<part> list;
    std::forward_list<int> forward;
    std::map<std::string, part> map;
    std::set<int> set;
    std::unordered_map<std::string, part> table;
    std::unordered_set<int> hashes;
    std::unique_ptr<part> unique = std::make_unique<part>();
    std::shared_ptr<part> together = std::make_shared<part>();
    std::shared_ptr<part> apart = std::shared_ptr<part>(new part);
    std::shared_ptr<part> again = together;
    std::optional<part> optional = part();
    std::variant<int, part> variant = part();
    std::array<part, 2> array;
    std::pair<int, part> pair;
    std::tuple<int, std::string> tuple = {1, long_text};
    part *raw = new part;

    everything()
    {
        parts.reserve(10);
        for (int i = 0; i < 7; i++) {
            parts.emplace_back();
            list.emplace_back();
            forward.push_front(i);
            map[std::to_string(i) + long_text];
            set.insert(i);
            table[std::to_string(i) + long_text];
            hashes.insert(i);
        }
        for (int i = 0; i < 1000; i++)
            numbers.push_back(i);
        for (int i = 0; i < 30; i++)
            queue.emplace_back();
        queue.pop_front(); /* the first chunk does not begin with an element */
    }

    void visit_members(mtrace::place place) const
    {
        place.field("shortly", shortly);
        place.field("text", text);
        place.field("parts", parts);
        place.field("bits", bits);
        place.field("numbers", numbers);
        place.field("queue", queue);
        place.field("list", list);
        place.field("forward", forward);
        place.field("map", map);
        place.field("set", set);
        place.field("table", table);
        place.field("hashes", hashes);
        place.field("unique", unique);
        place.field("together", together);
        place.field("apart", apart);
        place.field("again", again);
        place.field("optional", optional);
        place.field("variant", variant);
        place.field("array", array);
        place.field("pair", pair);
        place.field("tuple", tuple);
        place.unique("raw", raw);
    }
};

}  // namespace

int main()
{
    const mtrace::group mine = mtrace::group::make("mine");
    mtrace::scope scope(mine);
    auto *all = new everything;
    using allocator = mtrace::pool_allocator<std::allocator<int>>;
    std::vector<int, allocator> in_pool{allocator(mtrace_pool_create("vectors"))};

    in_pool.resize(1000);
    scope.exit();
    mtrace::walk walk;
    walk.object("everything", *all);
    walk.object("in_pool", in_pool);
    walk.record("everything");
    if (mtrace_present()) {
        const char *const *texts = nullptr;
        std::size_t n = mtrace_walk_warnings(walk.get(), &texts);
        for (std::size_t i = 0; i < n && i < 64; i++)
            std::fprintf(stderr, "%s\n", texts[i]);
        expect("wrong_answers", n);
    } else {
        expect("wrong_answers", 0);
    }
    expect("object_warnings", 0);
    expect("nodes_of_parts", 1);
#if defined(__GLIBCXX__) /* with other libraries some are leaves */
    expect("unclaimed_mine", 0);
#endif
    expect("claimed_not_mine", 0);
    expect("claimed_twice", 0);
    expect("pool_bytes.vectors", 4000);
    expect("pool_freed.vectors", 1);
    expect("claims_in_pools", 1);
    return 0;
}
