/* SPDX-License-Identifier: MIT */
/*
 * mtrace.hpp: mtrace.h for C++11 and later: groups as values, scopes that end with their block.
 *
 * Model:   thin: each object is what the C function gave. An exception ends the scopes that it
 *          passes. Scopes belong to the thread that made them, and are not copied; one that was
 *          moved from ends nothing.
 * Threads, signals and failure are those of mtrace.h; nothing throws, but for memory of tags.
 */
#ifndef MTRACE_HPP
#define MTRACE_HPP

#include "mtrace.h"

#include <initializer_list>
#include <utility>

namespace mtrace {

/* Whom memory is charged to. */
class group {
  public:
    constexpr group() noexcept : id_(MTRACE_GROUP_ROOT)
    {
    }

    explicit constexpr group(uint32_t id) noexcept : id_(id)
    {
    }

    /* A new one each time. */
    static group make(const char *name, std::initializer_list<mtrace_tag> tags = {}) noexcept
    {
        return group(mtrace_group_register(name, tags.begin(), tags.size()));
    }

    /* The same one for the same name and tags. */
    static group intern(const char *name, std::initializer_list<mtrace_tag> tags = {}) noexcept
    {
        return group(mtrace_group_intern(name, tags.begin(), tags.size()));
    }

    static constexpr group untracked() noexcept
    {
        return group(MTRACE_GROUP_UNTRACKED);
    }

    static group current() noexcept
    {
        return group(mtrace_current_group());
    }

    constexpr uint32_t id() const noexcept
    {
        return id_;
    }

    /* From now on the block is charged to this group. */
    bool take(void *block) const noexcept
    {
        return mtrace_move(block, id_);
    }

    friend constexpr bool operator==(group a, group b) noexcept
    {
        return a.id_ == b.id_;
    }

    friend constexpr bool operator!=(group a, group b) noexcept
    {
        return a.id_ != b.id_;
    }

  private:
    uint32_t id_;
};

/* What was entered where it was captured, to be entered elsewhere. */
class context {
  public:
    context() noexcept : context_(mtrace_context_capture())
    {
    }

    const mtrace_context &get() const noexcept
    {
        return context_;
    }

  private:
    mtrace_context context_;
};

/* What is allocated until its end is charged to a group. */
class scope {
  public:
    explicit scope(group of) noexcept : scope_(mtrace_enter(of.id())), is_open_(true)
    {
    }

    explicit scope(const context &of) noexcept
        : scope_(mtrace_context_adopt(of.get())), is_open_(true)
    {
    }

    scope(scope &&other) noexcept : scope_(other.scope_), is_open_(other.is_open_)
    {
        other.is_open_ = false;
    }

    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
    scope &operator=(scope &&) = delete;

    ~scope()
    {
        exit();
    }

    void exit() noexcept
    {
        if (is_open_)
            mtrace_exit(scope_);
        is_open_ = false;
    }

  private:
    mtrace_scope scope_;
    bool is_open_;
};

/* A named time of the process. */
class phase {
  public:
    explicit phase(const char *name) noexcept : phase_(mtrace_phase_begin(name)), is_open_(true)
    {
    }

    phase(phase &&other) noexcept : phase_(other.phase_), is_open_(other.is_open_)
    {
        other.is_open_ = false;
    }

    phase(const phase &) = delete;
    phase &operator=(const phase &) = delete;
    phase &operator=(phase &&) = delete;

    ~phase()
    {
        end();
    }

    void end() noexcept
    {
        if (is_open_)
            mtrace_phase_end(phase_);
        is_open_ = false;
    }

  private:
    mtrace_scope phase_;
    bool is_open_;
};

/* The function, with what it allocates charged to the group; returns what it returns. */
template <class Function> auto charge(group to, Function &&function) -> decltype(function())
{
    scope here(to);
    return std::forward<Function>(function)();
}

/* Charged to nobody. */
template <class Function> auto untracked(Function &&function) -> decltype(function())
{
    return charge(group::untracked(), std::forward<Function>(function));
}

}  // namespace mtrace

#endif
