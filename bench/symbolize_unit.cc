// SPDX-License-Identifier: MIT
// One of many units of a large C++ program: every template is instantiated over types of UNIT, so that no unit shares
// its code with another.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace UNIT {

struct key {
    int value;
    std::string text;
    bool operator<(const key &other) const { return std::tie(value, text) < std::tie(other.value, other.text); }
    bool operator==(const key &other) const { return value == other.value && text == other.text; }
};

struct hash {
    std::size_t operator()(const key &k) const { return std::hash<std::string>()(k.text) ^ static_cast<unsigned>(k.value); }
};

template <int N> struct node {
    std::unique_ptr<node<N - 1>> next = std::make_unique<node<N - 1>>();
    std::map<key, std::vector<key>> children;
    node() { children[key{N, "node"}].push_back(key{N, "child"}); }
    int sum() const
    {
        int sum = next->sum();
        for (auto &[name, values] : children)
            for (auto &value : values)
                sum += value.value + static_cast<int>(name.text.size());
        return sum;
    }
};
template <> struct node<0> {
    int sum() const { return 0; }
};

using value = std::variant<int, std::string, key, std::vector<key>, std::shared_ptr<node<3>>>;

static std::string show(const value &v)
{
    std::ostringstream out;
    std::visit(
        [&](auto &held) {
            using type = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<type, int> || std::is_same_v<type, std::string>)
                out << held;
            else if constexpr (std::is_same_v<type, key>)
                out << held.text << held.value;
            else if constexpr (std::is_same_v<type, std::vector<key>>)
                for (auto &k : held)
                    out << k.text;
            else
                out << held->sum();
        },
        v);
    return out.str();
}

int run(int n)
{
    std::unordered_map<key, value, hash> words;
    std::vector<key> keys;
    node<12> tree;
    std::function<bool(const key &, const key &)> less = [n](auto &a, auto &b) { return (a.value ^ n) < (b.value ^ n); };

    for (int i = 0; i < n; i++) {
        keys.push_back({i, std::to_string(i)});
        words[keys.back()] = keys;
    }
    std::sort(keys.begin(), keys.end(), less);
    std::stable_sort(keys.begin(), keys.end());
    std::partial_sort(keys.begin(), keys.begin() + n / 2, keys.end(), [](auto &a, auto &b) { return b < a; });
    auto found = std::find_if(keys.begin(), keys.end(), [](auto &k) { return std::regex_match(k.text, std::regex("[0-9]+")); });
    std::optional<key> first = found == keys.end() ? std::nullopt : std::optional<key>(*found);
    return tree.sum() + static_cast<int>(show(words[first.value_or(key{1, "x"})]).size());
}

}
