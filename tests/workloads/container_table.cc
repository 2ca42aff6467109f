/* SPDX-License-Identifier: MIT */
/*
 * container_table: every standard container with every kind of allocator and pointer, in one object
 * walk: each of their blocks is claimed once, and no other block.
 */
#include "tests/workloads/workload.h"

#include <include/mtrace_objects.hpp> /* as programs do: it is installed */
#include <cstddef>
#include <cstdio>
#include <memory_resource>
#include <scoped_allocator>
#include <type_traits>

namespace {

const std::string long_text(100, 'x');

/* A stateful allocator without a default constructor, which propagates with its container. */
template <class T> struct stateful {
    using value_type = T;
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    explicit stateful(std::size_t *count) : counted(count)
    {
    }

    template <class U> stateful(const stateful<U> &other) : counted(other.counted)
    {
    }

    T *allocate(std::size_t n)
    {
        ++*counted;
        return static_cast<T *>(::operator new(n * sizeof(T)));
    }

    void deallocate(T *block, std::size_t)
    {
        ::operator delete(block);
    }

    template <class U> bool operator==(const stateful<U> &other) const
    {
        return counted == other.counted;
    }

    template <class U> bool operator!=(const stateful<U> &other) const
    {
        return counted != other.counted;
    }

    std::size_t *counted;
};

/* A hash with a state, and one byte of it. */
struct salted {
    char salt = 7;

    std::size_t operator()(const std::string &text) const
    {
        return std::hash<std::string>()(text) ^ static_cast<std::size_t>(salt);
    }

    std::size_t operator()(int number) const
    {
        return std::hash<int>()(number) ^ static_cast<std::size_t>(salt);
    }
};

template <class Allocator, class T>
using of = typename std::allocator_traits<Allocator>::template rebind_alloc<T>;

/* All of them with one allocator. */
template <class A> struct by {
    using text = std::string;
    using entry = std::pair<const text, text>;

    template <class T> using a = of<A, T>;

    std::basic_string<char, std::char_traits<char>, a<char>> string;
    std::vector<text, a<text>> vector;
    std::vector<bool, a<bool>> bits;
    std::deque<text, a<text>> deque, empty_deque;
    std::list<text, a<text>> list;
    std::forward_list<text, a<text>> forward;
    std::map<text, text, std::less<text>, a<entry>> map;
    std::multimap<text, text, std::less<text>, a<entry>> multimap;
    std::set<text, std::less<text>, a<text>> set;
    std::multiset<int, std::less<int>, a<int>> multiset;
    std::unordered_map<text, text, std::hash<text>, std::equal_to<text>, a<entry>> table;
    std::unordered_multimap<text, text, salted, std::equal_to<text>, a<entry>> multitable;
    std::unordered_set<int, std::hash<int>, std::equal_to<int>, a<int>> hashes, no_hashes;
    std::unordered_multiset<int, salted, std::equal_to<int>, a<int>> multihashes;
    std::stack<text, std::deque<text, a<text>>> stack;
    std::queue<text, std::list<text, a<text>>> queue;
    std::priority_queue<text, std::vector<text, a<text>>> priorities;

    explicit by(const A &from)
        : string(100, 'y', from), vector(from), bits(from), deque(from), empty_deque(from),
          list(from), forward(from), map(from), multimap(from), set(from), multiset(from),
          table(from), multitable(from), hashes(from), no_hashes(from), multihashes(from),
          stack(from), queue(from), priorities(from)
    {
        for (int i = 0; i < 50; i++) {
            text key = std::to_string(i) + long_text;
            vector.push_back(key);
            bits.push_back(true);
            deque.push_back(key);
            list.push_back(key);
            forward.push_front(key);
            map.emplace(key, key);
            multimap.emplace(key, key);
            set.insert(key);
            multiset.insert(i / 2);
            table.emplace(key, key);
            multitable.emplace(key, key);
            hashes.insert(i);
            multihashes.insert(i / 2);
            stack.push(key);
            queue.push(key);
            priorities.push(key);
        }
        deque.pop_front();
        queue.pop();
    }

    void visit_members(mtrace::place at) const
    {
        at.field("string", string);
        at.field("vector", vector);
        at.field("bits", bits);
        at.field("deque", deque);
        at.field("empty_deque", empty_deque);
        at.field("list", list);
        at.field("forward", forward);
        at.field("map", map);
        at.field("multimap", multimap);
        at.field("set", set);
        at.field("multiset", multiset);
        at.field("table", table);
        at.field("multitable", multitable);
        at.field("hashes", hashes);
        at.field("no_hashes", no_hashes);
        at.field("multihashes", multihashes);
        at.field("stack", stack);
        at.field("queue", queue);
        at.field("priorities", priorities);
    }
};

struct part {
    std::string text = long_text;

    void visit_members(mtrace::place at) const
    {
        at.field("text", text);
    }
};

struct unfinished; /* more is not known of it here */

struct free_it {
    void operator()(void *block) const
    {
        std::free(block);
    }

    void operator()(unfinished *block) const
    {
        std::free(block);
    }
};

struct alignas(64) wide {
    std::string text = long_text;

    void visit_members(mtrace::place at) const
    {
        at.field("text", text);
    }
};

struct pointers {
    std::unique_ptr<const part> constant = std::make_unique<const part>();
    std::unique_ptr<part[]> array = std::make_unique<part[]>(5);
    std::unique_ptr<int[]> numbers = std::make_unique<int[]>(100);
    std::unique_ptr<part[]> no_array;
    std::unique_ptr<void, free_it> nothing{std::malloc(300)};
    std::unique_ptr<unfinished, free_it> unknown{static_cast<unfinished *>(std::malloc(400))};
    std::shared_ptr<void> anything = std::make_shared<long>(5);
    std::shared_ptr<void> anything_apart{new long(6)};
    std::shared_ptr<part[]> shared_array{new part[3]};
    std::shared_ptr<int[]> shared_numbers{new int[30]};
    std::shared_ptr<wide> aligned = std::make_shared<wide>();
    std::shared_ptr<std::list<int>> itself = std::make_shared<std::list<int>>();
    std::weak_ptr<wide> seen = aligned;
    std::weak_ptr<part> expired = std::make_shared<part>();
    std::weak_ptr<part> expired_apart = std::shared_ptr<part>(new part);
    std::weak_ptr<part> never;
    std::optional<std::unique_ptr<part>> maybe = std::make_unique<part>();
    std::variant<int, std::shared_ptr<part>> either = std::make_shared<part>();

    void visit_members(mtrace::place at) const
    {
        at.field("constant", constant);
        at.field("array", array);
        at.field("numbers", numbers);
        at.field("no_array", no_array);
        at.field("nothing", nothing);
        at.field("unknown", unknown);
        at.field("anything", anything);
        at.field("anything_apart", anything_apart);
        at.field("shared_array", shared_array);
        at.field("shared_numbers", shared_numbers);
        at.field("seen", seen); /* before the one that owns it */
        at.field("aligned", aligned);
        at.field("itself", itself);
        at.field("expired", expired);
        at.field("expired_apart", expired_apart);
        at.field("never", never);
        at.field("maybe", maybe);
        at.field("either", either);
    }
};

using pooled = mtrace::pool_allocator<std::allocator<char>>;
using pooled_stateful = mtrace::pool_allocator<stateful<char>>;

static_assert(
    std::allocator_traits<pooled_stateful>::propagate_on_container_swap::value
        && std::allocator_traits<pooled_stateful>::propagate_on_container_move_assignment::value
        && std::allocator_traits<pooled_stateful>::propagate_on_container_copy_assignment::value
        && !std::allocator_traits<pooled>::propagate_on_container_swap::value
        && !std::allocator_traits<pooled_stateful>::is_always_equal::value,
    "as of the allocator inside");

/* Containers whose allocator, and its pool, propagate; those that do not copy their elements. */
bool moves_along()
{
    std::size_t count[2] = {0, 0};
    const pooled_stateful left(mtrace_pool_create("left"), stateful<char>(&count[0]));
    const pooled_stateful right(mtrace_pool_create("right"), stateful<char>(&count[1]));
    std::vector<int, of<pooled_stateful, int>> a(100, 1, left);
    std::vector<int, of<pooled_stateful, int>> b(200, 2, right);
    const int *first = a.data();

    a.swap(b);
    bool is_right = b.data() == first && b.get_allocator() == left && a.get_allocator() == right;
    a = std::move(b);
    return is_right && a.data() == first && a.get_allocator() == left;
}

#if defined(__GLIBCXX__)

/* Elements of deques with another layout than libstdc++'s own: a program may specialize them. */
struct apart {
    int value;
};

struct further_apart {
    int value;
};

struct no_words {};

struct a_word {
    void *word;
};

/* One chunk. Its iterators have the members of libstdc++'s, and some have one more, but point
 * nowhere in the deque. */
template <class T, class Words> struct other_deque {
    struct iterator : Words {
        T *_M_cur, *_M_first, *_M_last;
        T *const *_M_node;

        static std::size_t _S_buffer_size()
        {
            return 8;
        }
    };

    std::size_t count = 5;
    T *chunk = new T[8];

    iterator begin() const
    {
        return at(0);
    }

    iterator end() const
    {
        return at(count);
    }

  private:
    iterator at(std::size_t n) const
    {
        return {{}, chunk + n, chunk, chunk + 8, &chunk};
    }
};

#endif

}  // namespace

#if defined(__GLIBCXX__)

namespace std {
template <> class deque<apart, allocator<apart>> : public other_deque<apart, no_words> {
};

template <>
class deque<further_apart, allocator<further_apart>> : public other_deque<further_apart, a_word> {
};
}  // namespace std

#endif

namespace {

/* Unknown parts cause one warning, and no other sizes are invented: n bytes are claimed beside the
 * deque's own. */
template <class T> bool is_printed(const T &deque, const char *why, std::size_t n)
{
    const char *const *texts = nullptr;
    mtrace::walk walk;

    walk.object("deque", deque);
    if (mtrace_walk_warnings(walk.get(), &texts) != 1 || !std::strstr(texts[0], why))
        return false;
    return mtrace_walk_total_bytes(walk.get()) == sizeof(deque) + n;
}

bool other_layouts_are_printed()
{
#if defined(__GLIBCXX__)
    static std::deque<apart> deque;
    static std::deque<further_apart> further;

    return is_printed(deque, "the deque is laid out in another way", 8 * sizeof(apart))
           && is_printed(further, "its allocator has pointers of its own", 0);
#else
    return true;
#endif
}

}  // namespace

int main()
{
    const mtrace::group mine = mtrace::group::make("mine");
    static std::size_t count;
    mtrace::scope scope(mine);
    const auto *plain = new by<std::allocator<char>>(std::allocator<char>());
    const auto *with_state = new by<stateful<char>>(stateful<char>(&count));
    const auto *polymorphic =
        new by<std::pmr::polymorphic_allocator<char>>(std::pmr::new_delete_resource());
    const auto *in_pool = new by<pooled>(pooled(mtrace_pool_create("containers")));
    const auto *to = new pointers;

    scope.exit();
    mtrace::walk walk;
    walk.object("plain", *plain);
    walk.object("with_state", *with_state);
    walk.object("polymorphic", *polymorphic);
    walk.object("in_pool", *in_pool);
    walk.object("pointers", *to);
    walk.record("table");
    const char *const *texts = nullptr;
    std::size_t n = mtrace_walk_warnings(walk.get(), &texts);
    for (std::size_t i = 0; i < n && i < 64; i++)
        std::fprintf(stderr, "%s\n", texts[i]);
    expect("wrong_answers",
           mtrace_present() ? n + !moves_along() + !other_layouts_are_printed() : 0);
    expect("object_warnings", 0);
#if defined(__GLIBCXX__) /* with other libraries some are leaves */
    expect("unclaimed_mine", 0);
#endif
    expect("claimed_not_mine", 0);
    expect("claimed_twice", 0);
    return 0;
}
