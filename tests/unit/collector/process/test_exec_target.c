/* SPDX-License-Identifier: MIT */
/* The library that an executed program gets: by its word size and its loader, through scripts, and
 * by PATH. */
#include "collector/arch/arch.h"
#include "collector/os/real.h"
#include "collector/process/exec_target.h"
#include "lib/abi/elf_loader.h"
#include "lib/abi/log_format.h"
#include "tests/lib/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 512
};

static char g_folder[] = "/tmp/mtrace-executed-XXXXXX";
static char g_own[PATH_BYTES];

const char *__wrap_real_own_path(void);

const char *__wrap_real_own_path(void)
{
    return g_own;
}

static const char *in_folder(char path[PATH_BYTES], const char *name)
{
    assert_true(snprintf(path, PATH_BYTES, "%s/%s", g_folder, name) < PATH_BYTES);
    return path;
}

static void make(const char *name, const void *content, size_t size_bytes)
{
    char path[PATH_BYTES];
    FILE *file;

    in_folder(path, name);
    for (char *slash = path + sizeof(g_folder); (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, size_bytes, file), size_bytes);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static const char g_loader[] = "/lib64/ld-linux-x86-64.so.2";

/* A program of so many bits whose second segment names its loader; NULL: without one. */
#define MAKE_PROGRAM(bits, name, machine, loader_name)                                          \
    do {                                                                                        \
        struct {                                                                                \
            Elf##bits##_Ehdr header;                                                            \
            Elf##bits##_Phdr segments[2];                                                       \
            char loader[PATH_BYTES];                                                            \
        } file = {.header = {.e_ident = ELFMAG, .e_machine = (machine), .e_phnum = 2}};         \
        file.header.e_ident[EI_CLASS] = ELFCLASS##bits;                                         \
        file.header.e_phoff = offsetof(__typeof__(file), segments);                             \
        file.segments[0].p_type = PT_LOAD;                                                      \
        file.segments[1].p_type = (loader_name) ? PT_INTERP : PT_NULL;                          \
        file.segments[1].p_offset = offsetof(__typeof__(file), loader);                         \
        file.segments[1].p_filesz = sizeof(file.loader);                                        \
        assert_true(snprintf(file.loader, PATH_BYTES, "%s", (loader_name) ? (loader_name) : "") \
                    < PATH_BYTES);                                                              \
        make(name, &file, sizeof(file));                                                        \
    } while (0)

static void make_loaded(const char *name, bool is_other, const char *loader)
{
    if ((sizeof(uintptr_t) == 4) != is_other)
        MAKE_PROGRAM(32, name, is_other ? ARCH_OTHER_MACHINE : log_own_arch(), loader);
    else
        MAKE_PROGRAM(64, name, is_other ? ARCH_OTHER_MACHINE : log_own_arch(), loader);
}

static void make_program(const char *name, bool is_other)
{
    make_loaded(name, is_other, g_loader);
}

static void expect(const char *name, bool is_searched, const char *library)
{
    char path[PATH_BYTES];
    char wanted[PATH_BYTES];
    const char *found =
        exec_target_library(is_searched ? name : in_folder(path, name), is_searched);

    if (!library) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_string_equal(found, in_folder(wanted, library));
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(g_folder));
    in_folder(g_own, "lib/mtrace/libmtrace.so");
    make("lib/mtrace/libmtrace.so", "", 0);
    make_program("here", false);
    make_program("there", true);
    return 0;
}

static int tear_down(void **state)
{
    char command[PATH_BYTES];

    (void)state;
    assert_true(snprintf(command, sizeof(command), "rm -r '%s'", g_folder) < PATH_BYTES);
    return system(command);
}

/* None, as long as it is not installed; and in both directions, wherever either one is
 * installed. */
TEST(the_other_width_has_its_own)
{
    if (ARCH_OTHER_MACHINE == EM_NONE)
        skip();
    expect("there", false, NULL);
    make("lib/" ARCH_OTHER_TRIPLET "/mtrace/libmtrace.so", "", 0);
    expect("there", false, "lib/" ARCH_OTHER_TRIPLET "/mtrace/libmtrace.so");
    in_folder(g_own, "lib/" ARCH_TRIPLET "/mtrace/libmtrace.so");
    expect("there", false, "lib/mtrace/libmtrace.so");
    in_folder(g_own, "lib/mtrace/libmtrace.so");
}

TEST(another_machine_has_none)
{
    const char *loader = g_loader;

    MAKE_PROGRAM(64, "elsewhere", EM_S390, loader);
    expect("elsewhere", false, NULL);
}

TEST(only_the_glibc_loader_gets_the_collector)
{
    static char text[100000];
    char path[PATH_BYTES];
    char line[PATH_BYTES];

    make_loaded("usual", false, g_loader);
    expect("usual", false, "lib/mtrace/libmtrace.so");
    make_loaded("musl", false, "/lib/ld-musl-x86_64.so.1");
    expect("musl", false, NULL);
    assert_true(snprintf(line, sizeof(line), "#!%s\n", in_folder(path, "musl")) < PATH_BYTES);
    make("script", line, strlen(line));
    expect("script", false, NULL);
    make_loaded("renamed", false, in_folder(path, "loader"));
    expect("renamed", false, "lib/mtrace/libmtrace.so"); /* nothing runs it */
    make("loader", text, sizeof(text));
    expect("renamed", false, NULL);
    for (size_t at = 8170; at < 8200; at++) { /* on the border of what is read at a time */
        memset(text, 'G', sizeof(text));
        memcpy(text + at, ELF_LOADER_MARK, sizeof(ELF_LOADER_MARK));
        make("loader", text, sizeof(text));
        expect("renamed", false, "lib/mtrace/libmtrace.so");
    }
}

TEST(a_path_may_begin_at_a_descriptor)
{
    char path[PATH_BYTES];
    int folder = open(g_folder, O_PATH);
    int file;

    make_loaded("musl", false, "/lib/ld-musl-x86_64.so.1");
    file = open(in_folder(path, "musl"), O_RDONLY);
    assert_null(exec_target_library_at(folder, "musl"));
    assert_null(exec_target_library_at(file, ""));
    assert_null(exec_target_library_at(AT_FDCWD, path));
    assert_non_null(exec_target_library_at(folder, "missing"));
    assert_non_null(exec_target_library_at(folder, NULL));
    assert_non_null(exec_target_library_at(folder, (const char *)8));
    close(file);
    close(folder);
}

TEST(a_name_is_looked_for)
{
    char folders[2 * PATH_BYTES];
    char path[PATH_BYTES];

    if (ARCH_OTHER_MACHINE == EM_NONE)
        skip();
    make_program("first/both", false);
    make_program("second/both", true);
    make_program("first/forbidden", false);
    in_folder(path, "first/forbidden");
    assert_int_equal(chmod(path, 0600), 0);
    make_program("second/forbidden", true);
    make_program("first/folder/inside", false);
    make_program("second/folder", true);
    make_program("second/lone", true);
    assert_true(snprintf(folders, sizeof(folders), "%s/none:%s/first:%s/second", g_folder, g_folder,
                         g_folder)
                < (int)sizeof(folders));
    assert_int_equal(setenv("PATH", folders, 1), 0);
    expect("both", true, "lib/mtrace/libmtrace.so");
    expect("lone", true, "lib/" ARCH_OTHER_TRIPLET "/mtrace/libmtrace.so");
    expect("forbidden", true, "lib/" ARCH_OTHER_TRIPLET "/mtrace/libmtrace.so");
    expect("folder", true, "lib/" ARCH_OTHER_TRIPLET "/mtrace/libmtrace.so");
    assert_int_equal(setenv("PATH", "/usr/bin:/bin", 1), 0);
}

static _Atomic bool g_has_ended;

/* An error in a library's path, as the executed program reads it. */
static void *read_on(void *path)
{
    const char *text = path;
    const size_t n = strlen(g_own) + sizeof("/" ARCH_OTHER_TRIPLET) - 1;
    uintptr_t n_cut = 0;

    do
        for (size_t i = 0; i < n; i++)
            n_cut += __atomic_load_n(&text[i], __ATOMIC_RELAXED) == '\0';
    while (!g_has_ended);
    return (void *)n_cut;
}

/* Threads exec at the same time, and share one buffer for the library's path. */
TEST(a_path_is_whole_while_it_is_found_again)
{
    char path[PATH_BYTES];
    pthread_t reader;
    void *n_cut;

    if (ARCH_OTHER_MACHINE == EM_NONE)
        skip();
    make("lib/" ARCH_OTHER_TRIPLET "/mtrace/libmtrace.so", "", 0);
    in_folder(path, "there");
    assert_int_equal(
        pthread_create(&reader, NULL, read_on, (void *)(uintptr_t)exec_target_library(path, false)),
        0);
    for (unsigned i = 0; i < 20000; i++)
        (void)exec_target_library(path, false);
    g_has_ended = true;
    assert_int_equal(pthread_join(reader, &n_cut), 0);
    assert_int_equal((uintptr_t)n_cut, 0);
}

TESTS_WITH(set_up, tear_down);
