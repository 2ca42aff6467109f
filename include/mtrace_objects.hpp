/* SPDX-License-Identifier: MIT */
/*
 * mtrace_objects.hpp: visitors of mtrace_objects.h for C++17: the standard containers, and the
 * program's own types.
 *
 * A type of the program has a member `void visit_members(mtrace::place place) const` that calls
 * place.field(key, member) for each member. Containers, smart pointers and pairs of such types are
 * known. A type without a visitor is a leaf; std::any and std::function are leaves, too.
 *
 * Lists, maps, sets, hash tables, deques, shared_ptr and weak_ptr are read as libstdc++ lays them
 * out, with any allocator of plain pointers. With another library (libc++) they are leaves: what
 * they own stays unclaimed. A block of void or of an incomplete type counts as one byte.
 *
 * Threads, signals and failure are those of mtrace_objects.h; nothing throws.
 */
#ifndef MTRACE_OBJECTS_HPP
#define MTRACE_OBJECTS_HPP

#include "mtrace.hpp"
#include "mtrace_objects.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <stack>
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

/* Of types without a size one byte: the block they are in is the recording's. */
template <class T, class = void> struct bytes_of {
    static constexpr std::size_t value = 1;
};

template <class T> struct bytes_of<T, std::void_t<decltype(sizeof(T))>> {
    static constexpr std::size_t value = sizeof(T);
};

template <> struct bytes_of<void> { /* GNU C++ has a size for it */
    static constexpr std::size_t value = 1;
};

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
    if constexpr (object_traits<std::remove_cv_t<T>>::is_leaf)
        return nullptr;
    else
        return &visit_object<std::remove_cv_t<T>>;
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

    template <class Any> static void visit(place, const Any &)
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
        const void *target = nullptr;

        if constexpr (std::is_pointer_v<typename std::unique_ptr<T, D>::pointer>)
            target = pointer.get();
        else if (pointer)
            target = std::addressof(*pointer);
        mtrace_visit_unique(at.get(), "to", sizeof(pointer), type_name<T>(), target,
                            bytes_of<T>::value, visit_of<T>());
    }
};

/* The number of elements stands before the first one, if their type has a destructor. */
template <class T> struct array_block {
    static constexpr std::size_t before = alignof(T) > sizeof(std::size_t) ? alignof(T)
                                                                           : sizeof(std::size_t);

    static const char *start(const T *first) noexcept
    {
        return reinterpret_cast<const char *>(first) - before;
    }

    static std::size_t count(const void *start) noexcept
    {
        std::size_t n = 0;

        std::memcpy(&n, static_cast<const char *>(start) + before - sizeof(n), sizeof(n));
        return n;
    }

    static void visit(mtrace_visitor *visitor, const void *start)
    {
        mtrace_visit_array(visitor, "elements", static_cast<const char *>(start) + before,
                           count(start), sizeof(T), visit_of<T>());
    }
};

/* Without that one element is declared of how many there may be: such own nothing. */
template <class T, class D> struct object_traits<std::unique_ptr<T[], D>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const std::unique_ptr<T[], D> &pointer)
    {
        using block = array_block<T>;
        constexpr bool is_counted =
            std::is_same_v<D, std::default_delete<T[]>> && !std::is_trivially_destructible_v<T>;

        if (!pointer)
            return;
        if constexpr (is_counted)
            mtrace_visit_unique(
                at.get(), "to", sizeof(pointer), type_name<T[]>(), block::start(pointer.get()),
                block::before + block::count(block::start(pointer.get())) * sizeof(T),
                &block::visit);
        else
            mtrace_visit_unique(at.get(), "to", sizeof(pointer), type_name<T[]>(),
                                std::addressof(pointer[0]), sizeof(T), nullptr);
    }
};

/* ---- made of a container ---- */

template <class Adaptor> struct adaptor_traits {
    using container = typename Adaptor::container_type;
    static constexpr bool is_leaf = object_traits<container>::is_leaf;

    static void visit(place at, const Adaptor &adaptor)
    {
        struct opened : Adaptor { /* whose container is protected */

            static const container &of(const Adaptor &adaptor)
            {
                return adaptor.*(&opened::c);
            }
        };

        at.field("container", opened::of(adaptor));
    }
};

template <class T, class C>
struct object_traits<std::stack<T, C>> : adaptor_traits<std::stack<T, C>> {
};

template <class T, class C>
struct object_traits<std::queue<T, C>> : adaptor_traits<std::queue<T, C>> {
};

template <class T, class C, class L>
struct object_traits<std::priority_queue<T, C, L>> : adaptor_traits<std::priority_queue<T, C, L>> {
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

/* Finds these words in the object, the last such words, and what lies before them. Functions and
 * allocators with a state come first in the object. */
template <class Object, std::size_t n_words, std::size_t n_known>
bool find_words(const Object &object, const std::uintptr_t (&known)[n_known], std::size_t before,
                std::uintptr_t (&ret)[n_words]) noexcept
{
    const char *bytes = reinterpret_cast<const char *>(&object);
    constexpr std::size_t word = sizeof(std::uintptr_t);

    for (std::size_t at = sizeof(object) / word; at-- > 0;) {
        if (at < before || (at + n_known) * word > sizeof(object)
            || std::memcmp(bytes + at * word, known, sizeof(known)) != 0)
            continue;
        std::memcpy(ret, bytes + (at - before) * word, sizeof(ret));
        return true;
    }
    return false;
}

/* In it: buckets (a single one lies within it), how many, the first node, how many. */
template <class Table, class K, class H> struct table_traits {
    static constexpr bool is_leaf = false;

    static void visit(place at, const Table &table)
    {
        using value = typename Table::value_type;
        constexpr std::size_t hash_words = std::__cache_default<K, H>::value ? 1 : 0;
        constexpr std::size_t offset = round_up(sizeof(void *), alignof(value));
        const std::uintptr_t first =
            table.empty() ? 0 : reinterpret_cast<std::uintptr_t>(&*table.begin()) - offset;
        const std::uintptr_t known[3] = {table.bucket_count(), first, table.size()};
        std::uintptr_t buckets[1] = {0};

        if (!find_words(table, known, 1, buckets))
            at.opaque("buckets", 0, "the table is laid out in another way");
        else if (buckets[0] < reinterpret_cast<std::uintptr_t>(&table)
                 || buckets[0] >= reinterpret_cast<std::uintptr_t>(&table + 1))
            mtrace_visit_vector(at.get(), "buckets", sizeof(table), "bucket",
                                reinterpret_cast<const void *>(buckets[0]), table.bucket_count(),
                                table.bucket_count(), sizeof(void *), nullptr);
        for (const value &each : table)
            node<value, 1, hash_words>(at, "nodes", "hash node", each);
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

/* In it: the array of chunks, and its length, then both iterators; iterators know their chunks. */
template <class T, class A> struct object_traits<std::deque<T, A>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const std::deque<T, A> &deque)
    {
        const auto first = deque.begin();
        const auto last = deque.end();

        if constexpr (sizeof(first) == 4 * sizeof(void *)) {
            std::uintptr_t known[8]; /* both: they are equal where it is empty */
            std::uintptr_t chunks[2] = {0, 0};
            std::memcpy(known, &first, sizeof(first));
            std::memcpy(known + 4, &last, sizeof(last));
            if (find_words(deque, known, 2, chunks))
                mtrace_visit_vector(at.get(), "chunks", sizeof(deque), "chunk",
                                    reinterpret_cast<const void *>(chunks[0]),
                                    static_cast<std::size_t>(last._M_node - first._M_node) + 1,
                                    chunks[1], sizeof(void *), nullptr);
            else
                at.opaque("chunks", 0, "the deque is laid out in another way");
            visit_chunks(at, first, last);
        } else {
            at.opaque("chunks", 0, "its allocator has pointers of its own");
        }
    }

  private:
    template <class Iterator>
    static void visit_chunks(place at, const Iterator &first, const Iterator &last)
    {
        const std::size_t per_chunk = Iterator::_S_buffer_size();

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

/* Two words: the object and the control block. The control block contains the object, or has its
 * address behind the counts; else the object is part of another one (aliasing), or the control
 * block has a deleter or an allocator with a state. */
template <class T> class shared_words {
  public:
    template <class Pointer> explicit shared_words(const Pointer &pointer) noexcept
    {
        static_assert(sizeof(pointer) == 2 * sizeof(void *), "as libstdc++ has it");
        std::memcpy(words_, &pointer, sizeof(words_));
    }

    bool is_empty() const noexcept
    {
        return !words_[1];
    }

    bool is_together() const noexcept
    {
        return words_[0] == words_[1] + in_front;
    }

    bool is_apart() const noexcept
    {
        const char *owned = nullptr;

        std::memcpy(&owned, words_[1] + counts, sizeof(owned));
        return owned == words_[0];
    }

    /* visits: the object lives. */
    void claim_together(place at, std::size_t pointer_bytes, bool visits) const
    {
        mtrace_visit *visit = nullptr;

        if constexpr (!std::is_void_v<T> && !std::is_array_v<T>)
            visit = visits && visit_of<T>() ? &visit_node<T, in_front> : nullptr;
        mtrace_visit_shared(at.get(), "to", pointer_bytes, type_name<T>(), words_[1],
                            in_front + bytes_of<T>::value, visit);
    }

    void claim_apart(place at, std::size_t pointer_bytes) const
    {
        if constexpr (std::is_array_v<T>)
            claim_array(at, pointer_bytes);
        else
            mtrace_visit_shared(at.get(), "to", pointer_bytes, type_name<T>(), words_[0],
                                bytes_of<T>::value, visit_of<T>());
    }

    void claim_counts(place at, std::size_t pointer_bytes) const
    {
        mtrace_visit_shared(at.get(), "counts", pointer_bytes, "shared_ptr counts", words_[1],
                            counts + sizeof(void *), nullptr);
    }

  private:
    template <class U, class = void> struct alignment_of {
        static constexpr std::size_t value = alignof(void *);
    };

    template <class U> struct alignment_of<U, std::enable_if_t<std::is_object_v<U>>> {
        static constexpr std::size_t value = alignof(U);
    };

    static constexpr std::size_t counts = 2 * sizeof(void *);
    static constexpr std::size_t in_front = round_up(counts, alignment_of<T>::value);

    void claim_array(place at, std::size_t pointer_bytes) const
    {
        using element = std::remove_cv_t<std::remove_all_extents_t<T>>;
        using block = array_block<element>;

        if constexpr (std::is_trivially_destructible_v<element>) {
            mtrace_visit_shared(at.get(), "to", pointer_bytes, type_name<T>(), words_[0],
                                sizeof(element), nullptr);
        } else {
            const char *start = words_[0] - block::before;
            mtrace_visit_shared(at.get(), "to", pointer_bytes, type_name<T>(), start,
                                block::before + block::count(start) * sizeof(element),
                                &block::visit);
        }
    }

    const char *words_[2];
};

template <class T> struct object_traits<std::shared_ptr<T>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const std::shared_ptr<T> &pointer)
    {
        const shared_words<T> words(pointer);

        if (words.is_empty())
            return;
        if (words.is_together()) {
            words.claim_together(at, sizeof(pointer), true);
        } else if (words.is_apart()) {
            words.claim_apart(at, sizeof(pointer));
            words.claim_counts(at, 0);
        } else {
            at.opaque("to", sizeof(pointer), "it shares another object, or a stateful deleter's");
        }
    }
};

/* The counts, and what was made together with them, stay as long as it does. */
template <class T> struct object_traits<std::weak_ptr<T>> {
    static constexpr bool is_leaf = false;

    static void visit(place at, const std::weak_ptr<T> &pointer)
    {
        const shared_words<T> words(pointer);

        if (words.is_empty())
            return;
        if (words.is_together())
            words.claim_together(at, sizeof(pointer), !pointer.expired());
        else if (words.is_apart())
            words.claim_counts(at, sizeof(pointer));
        else
            at.opaque("to", sizeof(pointer), "it shares another object, or a stateful deleter's");
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

/* Reports to a pool what another allocator returns: for allocators over arenas of the program. */
template <class Inner> class pool_allocator {
    using traits = std::allocator_traits<Inner>;

  public:
    using value_type = typename traits::value_type;
    using pointer = typename traits::pointer;
    using const_pointer = typename traits::const_pointer;
    using size_type = typename traits::size_type;
    using difference_type = typename traits::difference_type;
    using propagate_on_container_copy_assignment =
        typename traits::propagate_on_container_copy_assignment;
    using propagate_on_container_move_assignment =
        typename traits::propagate_on_container_move_assignment;
    using propagate_on_container_swap = typename traits::propagate_on_container_swap;
    using is_always_equal = std::false_type; /* of another pool is another one */

    template <class U> struct rebind {
        using other = pool_allocator<typename traits::template rebind_alloc<U>>;
    };

    explicit pool_allocator(uint32_t pool, const Inner &inner = Inner())
        : inner_(inner), pool_(pool)
    {
    }

    template <class Other>
    pool_allocator(const pool_allocator<Other> &other) noexcept
        : inner_(other.inner()), pool_(other.pool())
    {
    }

    pool_allocator select_on_container_copy_construction() const
    {
        return pool_allocator(pool_, traits::select_on_container_copy_construction(inner_));
    }

    pointer allocate(size_type n)
    {
        pointer block = traits::allocate(inner_, n);
        mtrace_pool_alloc(pool_, address(block), n * sizeof(value_type));
        return block;
    }

    void deallocate(pointer block, size_type n)
    {
        mtrace_pool_free(pool_, address(block));
        traits::deallocate(inner_, block, n);
    }

    template <class U, class... Arguments> void construct(U *object, Arguments &&...arguments)
    {
        traits::construct(inner_, object, std::forward<Arguments>(arguments)...);
    }

    template <class U> void destroy(U *object)
    {
        traits::destroy(inner_, object);
    }

    size_type max_size() const noexcept
    {
        return traits::max_size(inner_);
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
    static const void *address(const pointer &block) noexcept
    {
        return block ? std::addressof(*block) : nullptr;
    }

    Inner inner_;
    uint32_t pool_;
};

}  // namespace mtrace

#endif
