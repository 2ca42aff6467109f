/* SPDX-License-Identifier: MIT */
/*
 * mtrace_objects.hpp: mtrace_objects.h for C++17: visitors of the standard containers, and of types made of them.
 *
 * Model:   a type of the program's own has a member `void visit_members(mtrace::place place) const` that calls
 *          place.field(key, member) for each; containers, pointers and pairs of such types are known. What has no
 *          visitor is a leaf. Lists, maps, sets, hash tables, deques and shared_ptr are read as libstdc++ lays them out; with
 *          another library (libc++) these are leaves, too: what they own is claimed by nobody, and nothing else instead.
 * Threads, signals and failure are those of mtrace_objects.h; nothing throws.
 */
#ifndef MTRACE_OBJECTS_HPP
#define MTRACE_OBJECTS_HPP

#include "mtrace.hpp"
#include "mtrace_objects.h"

#include <array>
#include <cstring>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace mtrace {

template <class T, class = void> struct object_traits;

/* The name of a type as the compiler writes it, cut to 119 characters. */
template <class T> const char *type_name() noexcept
{
    struct text {
        char bytes[120];

        /* Of type_name itself: clang calls a member of this by its own name alone. */
        explicit text(const char *all) noexcept
        {
            const char *from = std::strstr(all, "T = ");
            std::size_t n = 0;
            int depth = 0;
            from = from ? from + 4 : all;
            for (; from[n] && n < sizeof(bytes) - 1; n++) {
                if (depth == 0 && (from[n] == ';' || from[n] == ']'))
                    break;
                depth += (from[n] == '<' || from[n] == '[') - (from[n] == '>' || from[n] == ']');
                bytes[n] = from[n];
            }
            bytes[n] = '\0';
        }
    };

    static const text name(__PRETTY_FUNCTION__);
    return name.bytes;
}

/* Where an object's members are named. */
class place {
  public:
    explicit place(mtrace_visitor *visitor) noexcept : visitor_(visitor)
    {
    }

    mtrace_visitor *get() const noexcept
    {
        return visitor_;
    }

    template <class T> void field(const char *key, const T &member) const;

    /* A raw pointer that owns one object made by new. */
    template <class T> void unique(const char *key, const T *target) const;

    void opaque(const char *key, std::size_t size_bytes, const char *why) const
    {
        mtrace_visit_opaque(visitor_, key, size_bytes, why);
    }

  private:
    mtrace_visitor *visitor_;
};

template <class T> void visit_object(mtrace_visitor *visitor, const void *object)
{
    object_traits<T>::visit(place(visitor), *static_cast<const T *>(object));
}

/* NULL of leaves. */
template <class T> constexpr mtrace_visit *visit_of() noexcept
{
    if constexpr (object_traits<T>::is_leaf)
        return nullptr;
    else
        return &visit_object<T>;
}

template <class T> void place::field(const char *key, const T &member) const
{
    mtrace_visit_field(visitor_, key, &member, sizeof(T), visit_of<T>());
}

template <class T> void place::unique(const char *key, const T *target) const
{
    mtrace_visit_unique(visitor_, key, sizeof(target), type_name<T>(), target, sizeof(T),
                        visit_of<T>());
}

/* ---- leaves, and types of the program's own ---- */

template <class T, class> struct object_traits {
    static constexpr bool is_leaf = true;

    static void visit(place, const T &)
    {
    }
};

template <class T>
struct object_traits<
    T, std::void_t<decltype(std::declval<const T &>().visit_members(std::declval<place>()))>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const T &object)
    {
        object.visit_members(at);
    }
};

/* ---- by value ---- */

template <class A, class B> struct object_traits<std::pair<A, B>> {
    static constexpr bool is_leaf =
        object_traits<std::remove_cv_t<A>>::is_leaf && object_traits<std::remove_cv_t<B>>::is_leaf;

    static void visit(place at, const std::pair<A, B> &pair)
    {
        at.field("first", const_cast<const std::remove_cv_t<A> &>(pair.first));
        at.field("second", const_cast<const std::remove_cv_t<B> &>(pair.second));
    }
};

template <class... T> struct object_traits<std::tuple<T...>> {
    static constexpr bool is_leaf = (object_traits<T>::is_leaf && ...);

    static void visit(place at, const std::tuple<T...> &tuple)
    {
        std::apply([at](const T &...member) { (at.field(type_name<T>(), member), ...); }, tuple);
    }
};

template <class T, std::size_t n> struct object_traits<std::array<T, n>> {
    static constexpr bool is_leaf = object_traits<T>::is_leaf;

    static void visit(place at, const std::array<T, n> &array)
    {
        mtrace_visit_array(at.get(), "elements", array.data(), n, sizeof(T), visit_of<T>());
    }
};

template <class T> struct object_traits<std::optional<T>> {
    static constexpr bool is_leaf = object_traits<T>::is_leaf;

    static void visit(place at, const std::optional<T> &optional)
    {
        if (optional)
            at.field("value", *optional);
    }
};

template <class... T> struct object_traits<std::variant<T...>> {
    static constexpr bool is_leaf = (object_traits<T>::is_leaf && ...);

    static void visit(place at, const std::variant<T...> &variant)
    {
        if (!variant.valueless_by_exception())
            std::visit(
                [at](const auto &value) {
                    at.field(type_name<std::decay_t<decltype(value)>>(), value);
                },
                variant);
    }
};

/* ---- one block ---- */

template <class C, class Traits, class A> struct object_traits<std::basic_string<C, Traits, A>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const std::basic_string<C, Traits, A> &string)
    {
        const void *data = string.data();
        const void *begin = &string;
        const void *end = &string + 1;

        if (data < begin || data >= end) /* else it lies in the object */
            mtrace_visit_vector(at.get(), "data", sizeof(string), type_name<C>(), data,
                                string.size() + 1, string.capacity() + 1, sizeof(C), nullptr);
    }
};

template <class T, class A> struct object_traits<std::vector<T, A>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const std::vector<T, A> &vector)
    {
        mtrace_visit_vector(at.get(), "data", sizeof(vector), type_name<T>(), vector.data(),
                            vector.size(), vector.capacity(), sizeof(T), visit_of<T>());
    }
};

template <class A> struct object_traits<std::vector<bool, A>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const std::vector<bool, A> &vector)
    {
        const void *data = nullptr; /* the first word of what begins it */
        const auto first = vector.begin();

        std::memcpy(&data, &first, sizeof(data));
        mtrace_visit_vector(at.get(), "data", sizeof(vector), "bool", data,
                            (vector.size() + 63) / 64, (vector.capacity() + 63) / 64, 8, nullptr);
    }
};

template <class T, class D> struct object_traits<std::unique_ptr<T, D>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const std::unique_ptr<T, D> &pointer)
    {
        mtrace_visit_unique(at.get(), "to", sizeof(pointer), type_name<T>(), pointer.get(),
                            sizeof(T), visit_of<T>());
    }
};

/* ---- blocks with something before the value ---- */

template <class T, std::size_t offset> void visit_node(mtrace_visitor *visitor, const void *node)
{
    mtrace_visit_field(visitor, "value", static_cast<const char *>(node) + offset, sizeof(T),
                       visit_of<T>());
}

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) noexcept
{
    return (bytes + to - 1) / to * to;
}

/* The node that has n words before its value and some behind it. */
template <class T, std::size_t words, std::size_t words_behind = 0>
void node(place at, const char *key, const char *type, const T &value)
{
    constexpr std::size_t align = alignof(T) > alignof(void *) ? alignof(T) : alignof(void *);
    constexpr std::size_t offset = round_up(words * sizeof(void *), alignof(T));
    constexpr std::size_t size =
        round_up(round_up(offset + sizeof(T), words_behind ? sizeof(void *) : 1)
                     + words_behind * sizeof(void *),
                 align);

    mtrace_visit_unique(at.get(), key, 0, type, reinterpret_cast<const char *>(&value) - offset,
                        size, &visit_node<T, offset>);
}

#if defined(__GLIBCXX__)

template <class T, class A> struct object_traits<std::list<T, A>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const std::list<T, A> &list)
    {
        for (const T &value : list)
            node<T, 2>(at, "nodes", "list node", value);
    }
};

template <class T, class A> struct object_traits<std::forward_list<T, A>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const std::forward_list<T, A> &list)
    {
        for (const T &value : list)
            node<T, 1>(at, "nodes", "list node", value);
    }
};

template <class Tree> struct tree_traits {
    static constexpr bool is_leaf = false;

    static void visit(place at, const Tree &tree)
    {
        for (const auto &value : tree)
            node<typename Tree::value_type, 4>(at, "nodes", "tree node", value);
    }
};

template <class K, class V, class C, class A>
struct object_traits<std::map<K, V, C, A>> : tree_traits<std::map<K, V, C, A>> {
};

template <class K, class V, class C, class A>
struct object_traits<std::multimap<K, V, C, A>> : tree_traits<std::multimap<K, V, C, A>> {
};

template <class K, class C, class A>
struct object_traits<std::set<K, C, A>> : tree_traits<std::set<K, C, A>> {
};

template <class K, class C, class A>
struct object_traits<std::multiset<K, C, A>> : tree_traits<std::multiset<K, C, A>> {
};

/* The buckets are the first word of the table; a single one lies within it. */
template <class Table, class K, class H> struct table_traits {
    static constexpr bool is_leaf = false;

    static void visit(place at, const Table &table)
    {
        constexpr std::size_t hash_words = std::__cache_default<K, H>::value ? 1 : 0;
        const char *buckets = nullptr;

        std::memcpy(&buckets, &table, sizeof(buckets));
        if (buckets < reinterpret_cast<const char *>(&table)
            || buckets >= reinterpret_cast<const char *>(&table + 1))
            mtrace_visit_vector(at.get(), "buckets", sizeof(table), "bucket", buckets,
                                table.bucket_count(), table.bucket_count(), sizeof(void *),
                                nullptr);
        for (const auto &value : table)
            node<typename Table::value_type, 1, hash_words>(at, "nodes", "hash node", value);
    }
};

template <class K, class V, class H, class E, class A>
struct object_traits<std::unordered_map<K, V, H, E, A>>
    : table_traits<std::unordered_map<K, V, H, E, A>, K, H> {
};

template <class K, class V, class H, class E, class A>
struct object_traits<std::unordered_multimap<K, V, H, E, A>>
    : table_traits<std::unordered_multimap<K, V, H, E, A>, K, H> {
};

template <class K, class H, class E, class A>
struct object_traits<std::unordered_set<K, H, E, A>>
    : table_traits<std::unordered_set<K, H, E, A>, K, H> {
};

template <class K, class H, class E, class A>
struct object_traits<std::unordered_multiset<K, H, E, A>>
    : table_traits<std::unordered_multiset<K, H, E, A>, K, H> {
};

/* First word and second: the array of chunks, and its length; iterators know their chunks. */
template <class T, class A> struct object_traits<std::deque<T, A>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const std::deque<T, A> &deque)
    {
        constexpr std::size_t per_chunk = sizeof(T) < 512 ? 512 / sizeof(T) : 1;
        const auto first = deque.begin();
        const auto last = deque.end();
        std::size_t words[2] = {0, 0};

        std::memcpy(words, &deque, sizeof(words));
        mtrace_visit_vector(at.get(), "chunks", sizeof(deque), "chunk",
                            reinterpret_cast<const void *>(words[0]),
                            static_cast<std::size_t>(last._M_node - first._M_node) + 1, words[1],
                            sizeof(void *), nullptr);
        for (auto chunk = first._M_node; chunk <= last._M_node; chunk++) {
            const T *from = chunk == first._M_node ? first._M_cur : *chunk;
            const T *to = chunk == last._M_node ? last._M_cur : *chunk + per_chunk;
            mtrace_visit_window(at.get(), "elements", 0, type_name<T>(), *chunk,
                                static_cast<std::size_t>(from - *chunk),
                                static_cast<std::size_t>(to - from), per_chunk, sizeof(T),
                                visit_of<T>());
        }
    }
};

/* Two words: the object, and who counts; made together they are one block. */
template <class T> struct object_traits<std::shared_ptr<T>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const std::shared_ptr<T> &pointer)
    {
        constexpr std::size_t counts = round_up(2 * sizeof(void *), alignof(T));
        const char *words[2] = {nullptr, nullptr};

        static_assert(sizeof(pointer) == sizeof(words), "as libstdc++ has it");
        std::memcpy(words, &pointer, sizeof(words));
        if (!words[1]) {
            return;
        } else if (words[0] == words[1] + counts) {
            mtrace_visit_shared(at.get(), "to", sizeof(pointer), type_name<T>(), words[1],
                                counts + sizeof(T), &visit_node<T, counts>);
        } else {
            mtrace_visit_shared(at.get(), "to", sizeof(pointer), type_name<T>(), words[0],
                                sizeof(T), visit_of<T>());
            mtrace_visit_shared(at.get(), "counts", 0, "shared_ptr counts", words[1],
                                3 * sizeof(void *), nullptr);
        }
    }
};

#endif

/* ---- walks ---- */

/* A walk; copied never, freed at its end. */
class walk {
  public:
    walk() noexcept : walk_(mtrace_walk_new())
    {
    }

    walk(const walk &) = delete;
    walk &operator=(const walk &) = delete;

    ~walk()
    {
        mtrace_walk_free(walk_);
    }

    void roots() const noexcept
    {
        mtrace_walk_roots(walk_);
    }

    template <class T> void object(const char *name, const T &root) const noexcept
    {
        mtrace_walk_object(walk_, name, &root, sizeof(T), visit_of<T>());
    }

    mtrace_walk *get() const noexcept
    {
        return walk_;
    }

    int print(int fd) const noexcept
    {
        return mtrace_walk_print(walk_, fd);
    }

    int record(const char *name) const noexcept
    {
        return mtrace_walk_record(walk_, name);
    }

  private:
    mtrace_walk *walk_;
};

template <class T> uint64_t size_of_unique(const T &object) noexcept
{
    return mtrace_size_of_unique(&object, sizeof(T), visit_of<T>());
}

/* ---- pools ---- */

/* Reports to a pool what another allocator gives out: for allocators over arenas of the program's own. */
template <class Inner> class pool_allocator {
  public:
    using value_type = typename std::allocator_traits<Inner>::value_type;

    template <class U> struct rebind {
        using other =
            pool_allocator<typename std::allocator_traits<Inner>::template rebind_alloc<U>>;
    };

    explicit pool_allocator(uint32_t pool, const Inner &inner = Inner())
        : inner_(inner), pool_(pool)
    {
    }

    template <class Other>
    pool_allocator(const pool_allocator<Other> &other) : inner_(other.inner()), pool_(other.pool())
    {
    }

    value_type *allocate(std::size_t n)
    {
        value_type *block = std::allocator_traits<Inner>::allocate(inner_, n);
        mtrace_pool_alloc(pool_, block, n * sizeof(value_type));
        return block;
    }

    void deallocate(value_type *block, std::size_t n)
    {
        mtrace_pool_free(pool_, block);
        std::allocator_traits<Inner>::deallocate(inner_, block, n);
    }

    const Inner &inner() const noexcept
    {
        return inner_;
    }

    uint32_t pool() const noexcept
    {
        return pool_;
    }

    template <class Other> bool operator==(const pool_allocator<Other> &other) const noexcept
    {
        return pool_ == other.pool() && inner_ == Inner(other.inner());
    }

    template <class Other> bool operator!=(const pool_allocator<Other> &other) const noexcept
    {
        return !(*this == other);
    }

  private:
    Inner inner_;
    uint32_t pool_;
};

}  // namespace mtrace

#endif
