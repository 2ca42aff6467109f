/* SPDX-License-Identifier: MIT */
/* Names become short and stay recognizable; the result always fits. */
#include "queries/render/shorten.h"
#include "tests/lib/unit.h"

#include <string.h>

static void assert_short(const char *name, const char *expected)
{
    char text[256];

    shorten_function(name, text, sizeof(text));
    assert_string_equal(text, expected);
}

TEST(parameters_and_template_arguments_go)
{
    assert_short("main", "main");
    assert_short("Session::clone(int, char const*) const", "Session::clone");
    assert_short("std::vector<int, std::allocator<int> >::push_back(int const&)",
                 "std::vector<..>::push_back");
    assert_short("f(void (*)(int))", "f");
    assert_short("a<b<c>>::d<e>()", "a<..>::d<..>");
    assert_short("app.List!(const(int)[], 3).List.get(int) const", "app.List!(..).List.get");
}

TEST(operators_and_lambdas_stay)
{
    assert_short("operator new(unsigned long)", "operator new");
    assert_short("operator<<(std::ostream&, X)", "operator<<");
    assert_short("T::operator->() const", "T::operator->");
    assert_short("T::operator()(int)", "T::operator()");
    assert_short("run(int)::{lambda(char)#1}::operator()(char) const",
                 "run::{lambda#1}::operator()");
    assert_short("(anonymous namespace)::pool::pool()", "(anonymous namespace)::pool::pool");
    assert_short("my_operator_x", "my_operator_x");
}

TEST(return_types_go)
{
    assert_short("void f<int>(int)", "f<..>");
    assert_short("std::basic_string<char, A<char> >* leak<B<char, C> >(B<char, C>)", "leak<..>");
    assert_short("unsigned long const& N::get<int>(int) const", "N::get<..>");
    assert_short("std::ostream& std::operator<< <int>(std::ostream&)", "std::operator<< <int>");
    assert_short("f(int) [clone .cold]", "f [clone .cold]");
    assert_short("void f<int>(int) [clone .isra.0]", "f<..> [clone .isra.0]");
    assert_short("T::operator unsigned long() const", "T::operator unsigned long");
    assert_short("[stack lost]", "[stack lost]");
    assert_short("main.(*Cache).Get", "main.(*Cache).Get");
}

TEST(rust_names_keep_their_type)
{
    assert_short("<alloc::vec::Vec<T> as core::clone::Clone>::clone",
                 "<alloc::vec::Vec<..> as core::clone::Clone>::clone");
    assert_short("core::ptr::drop_in_place<alloc::string::String>", "core::ptr::drop_in_place<..>");
}

TEST(unbalanced_names_are_copied)
{
    assert_short("a<b", "a<b");
    assert_short("a(b", "a(b");
    assert_short(">)", ">)");
    assert_short("", "");
}

TEST(the_result_fits)
{
    char text[8];

    memset(text, 'x', sizeof(text));
    shorten_function("a_very_long_name", text, sizeof(text));
    assert_string_equal(text, "a_very_");
    shorten_function("f", text, 1);
    assert_string_equal(text, "");
}

TEST(paths_become_their_last_part)
{
    assert_string_equal(shorten_path("/usr/lib/libc.so.6"), "libc.so.6");
    assert_string_equal(shorten_path("main.c"), "main.c");
    assert_string_equal(shorten_path("dir/"), "dir/");
}
