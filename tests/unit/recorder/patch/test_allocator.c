/* SPDX-License-Identifier: MIT */
/* An allocator inside an executable is recognized by the functions that the executable defines. */
#include "recorder/patch/allocator.h"
#include "tests/lib/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The least file that has a table of symbols: one of them. */
struct file {
    Elf64_Ehdr header;
    Elf64_Shdr sections[2];
    Elf64_Sym symbol;
    char names[96];
};

static char path[] = "/tmp/mtrace-test-allocator-XXXXXX";

static struct file make_file(const char *name, unsigned type, uint16_t section, uint32_t table)
{
    struct file file = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                   .e_shoff = offsetof(struct file, sections),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 2},
        .sections = {{.sh_type = table,
                      .sh_offset = offsetof(struct file, symbol),
                      .sh_size = sizeof(Elf64_Sym),
                      .sh_link = 1},
                     {.sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(struct file, names),
                      .sh_size = sizeof(file.names)}},
        .symbol = {.st_name = 1, .st_info = ELF64_ST_INFO(STB_LOCAL, type), .st_shndx = section}};

    (void)snprintf(file.names + 1, sizeof(file.names) - 1, "%s", name);
    return file;
}

static const char *inside(const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
    return allocator_inside(path);
}

static const char *with_function(const char *name)
{
    struct file file = make_file(name, STT_FUNC, 1, SHT_SYMTAB);

    return inside(&file, sizeof(file));
}

static int make_path(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 || close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

TESTS_WITH(make_path, remove_path);

TEST(is_known_by_name_with_and_without_prefix)
{
    assert_string_equal(with_function("_rjem_malloc"), "jemalloc");
    assert_string_equal(with_function("_rjem_mallocx"), "jemalloc");
    assert_string_equal(with_function("je_malloc"), "jemalloc");
    assert_string_equal(with_function("mallocx"), "jemalloc");
    assert_string_equal(with_function("anybodys_mallocx"), "jemalloc");
    assert_string_equal(with_function("mi_malloc"), "mimalloc");
    assert_string_equal(with_function("tc_malloc"), "tcmalloc");
    assert_string_equal(with_function("mi_malloc_aligned"), "mimalloc");
    assert_string_equal(with_function("TCMallocInternalMalloc"), "tcmalloc");
    assert_string_equal(with_function("rpmalloc"), "rpmalloc");
    assert_string_equal(with_function("sn_malloc"), "snmalloc");
    assert_string_equal(with_function("sn_rust_alloc"), "snmalloc");
    assert_string_equal(with_function("scudo_malloc"), "Scudo");
    assert_string_equal(with_function("dlmalloc"), "dlmalloc");
}

TEST(others_are_not)
{
    static const char *const names[] = {
        "",
        "malloc",
        "main",
        "xmallocx",
        "je_malloc_stats",
        "je_free",
        "mi_new",
        "mi_mallocs",
        "my_mi_malloc",
        "mallocx2",
        "a_name_that_is_longer_than_all_of_those_and_ends_as_one_of_them_mallocx"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_null(with_function(names[i]));
    assert_null(allocator_inside("/bin/sh"));
}

TEST(only_what_the_executable_defines_counts)
{
    struct file dynamic = make_file("mi_malloc", STT_FUNC, 1, SHT_DYNSYM);
    struct file called = make_file("mi_malloc", STT_FUNC, SHN_UNDEF, SHT_DYNSYM);
    struct file data = make_file("mi_malloc", STT_OBJECT, 1, SHT_SYMTAB);
    struct file stripped = make_file("mi_malloc", STT_FUNC, 1, SHT_PROGBITS);

    assert_string_equal(inside(&dynamic, sizeof(dynamic)), "mimalloc");
    assert_null(inside(&called, sizeof(called)));
    assert_null(inside(&data, sizeof(data)));
    assert_null(inside(&stripped, sizeof(stripped)));
}

/* A stripped file with the text in a section of these flags. */
static const char *with_text(const char *text, uint64_t flags)
{
    struct file file = make_file(text, STT_FUNC, 1, SHT_PROGBITS);

    file.sections[1].sh_type = SHT_PROGBITS;
    file.sections[1].sh_flags = flags;
    return inside(&file, sizeof(file));
}

TEST(a_stripped_file_is_known_by_messages_that_only_the_allocator_has)
{
    assert_string_equal(with_text("<jemalloc>: Malformed conf string\n", SHF_ALLOC), "jemalloc");
    assert_string_equal(
        with_text("environment option mimalloc_%s has an invalid value.\n", SHF_ALLOC), "mimalloc");
    assert_string_equal(
        with_text("MALLOC:   %12lu (%7.1f MiB) Bytes in use by application\n", SHF_ALLOC),
        "tcmalloc");
    assert_string_equal(with_text("Failed to initialise snmalloc.", SHF_ALLOC), "snmalloc");
    assert_string_equal(with_text("corrupted chunk header at address %p\n", SHF_ALLOC), "Scudo");
    assert_string_equal(allocator_plan_inside(path, false)->why,
                        "it is stripped: keep the symbols, with 'strip --strip-debug'");
    assert_string_equal(allocator_plan_inside(path, false)->allocator, "Scudo");
}

TEST(a_text_about_an_allocator_does_not_count)
{
    assert_null(with_text("<jemalloc> and mimalloc: error: are allocators", SHF_ALLOC));
    assert_null(with_text("Bytes in use by application", SHF_ALLOC));
    assert_null(with_text("PYTHONMALLOC environment option mimalloc_%s has an invalid value.\n",
                          SHF_ALLOC));
    assert_null(with_text("<jemalloc>: Malformed conf string\n", 0)); /* not loaded */
    assert_null(with_text("<jemalloc>: Malformed conf string\n", SHF_ALLOC | SHF_WRITE));
}

TEST(a_file_is_read_once_until_it_changes)
{
    const char *executable = "/bin/sh"; /* older than any time of a file system is coarse */
    const struct patch_plan *any = allocator_plan_inside(executable, true);
    const struct patch_plan *proven = allocator_plan_inside(executable, false);

    assert_ptr_not_equal(any, proven);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(allocator_plan_inside(executable, true), any);
        assert_ptr_equal(allocator_plan_inside(executable, false), proven);
    }
    assert_non_null(with_function("mi_malloc"));
    assert_null(with_function("mi_nothing")); /* of the same size, within one tick */
    assert_null(allocator_plan_inside("/nonexistent", true)->allocator);
}

/* Comes last: it leaves a pipe. */
TEST(a_file_may_be_anything)
{
    struct file whole = make_file("mi_malloc", STT_FUNC, 1, SHT_SYMTAB);

    for (size_t n = 0; n < sizeof(whole); n++)
        assert_null(inside(&whole, n));
    for (size_t at = 0; at < offsetof(struct file, names); at++) {
        struct file changed = whole;
        ((uint8_t *)&changed)[at] = 0xff;
        (void)inside(&changed, sizeof(changed));
    }
    assert_null(allocator_inside("/"));
    assert_null(allocator_inside("/nonexistent"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(allocator_inside(path)); /* does not wait for a writer */
}
