/* SPDX-License-Identifier: MIT */
/* This system's ld.so has such code; one with another beginning, or that calls an incomplete
 * function, has none. */
#include "recorder/attach/scratch_code.h"
#include "tests/lib/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char loader[] = "/lib64/ld-linux-x86-64.so.2";

enum {
    MAX_BYTES = 1 << 20
};

static uint8_t bytes[MAX_BYTES];

static size_t load(void)
{
    int fd = open(loader, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        skip();
    return (size_t)n;
}

/* The offset of its entry point in the file. */
static size_t entry_offset(void)
{
    const Elf64_Ehdr *header = (const void *)bytes;
    const Elf64_Phdr *segments = (const void *)(bytes + header->e_phoff);

    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && header->e_entry >= segments[i].p_vaddr
            && header->e_entry < segments[i].p_vaddr + segments[i].p_filesz)
            return header->e_entry - segments[i].p_vaddr + segments[i].p_offset;
    fail();
    return 0;
}

static bool find_in_copy(size_t n, struct scratch_code *ret_code)
{
    char path[] = "/tmp/once_code.XXXXXX";
    int fd = mkstemp(path);
    bool is_found;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    is_found = scratch_code_find(path, ret_code);
    close(fd);
    unlink(path);
    return is_found;
}

TEST(test_here)
{
    struct scratch_code code;
    struct scratch_code copied;
    size_t n = load();
    char *path = realpath(loader, NULL); /* as the kernel names it */

    assert_non_null(path);
    assert_true(scratch_code_find(path, &code));
    free(path);
    assert_true(find_in_copy(n, &copied));
    assert_int_equal(code.address, copied.address);
    assert_memory_equal(code.bytes, copied.bytes, SCRATCH_CODE_BYTES);
    assert_non_null(memmem(bytes, n, code.bytes, SCRATCH_CODE_BYTES));
}

TEST(test_another_entry)
{
    struct scratch_code code;
    size_t n = load();

    bytes[entry_offset()] ^= 1;
    assert_false(find_in_copy(n, &code));
}

/* The call leads behind the beginning of the function. */
TEST(test_no_function)
{
    struct scratch_code code;
    size_t n = load();

    bytes[entry_offset() + 4] += 4;
    assert_false(find_in_copy(n, &code));
}

/* A process may have any file at the path of its ld.so: it must neither block the recorder nor keep
 * it busy. */
TEST(test_hostile)
{
    const Elf64_Ehdr *header = (const void *)bytes;
    char path[] = "/tmp/once_code.XXXXXX";
    const uint32_t n_functions = UINT32_MAX;
    struct scratch_code code;
    size_t n = load();

    (void)alarm(20);
    bytes[entry_offset() + 4] += 4;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = (const Elf64_Phdr *)(const void *)(bytes + header->e_phoff) + i;
        if (segment->p_type == PT_GNU_EH_FRAME)
            memcpy(bytes + segment->p_offset + 8, &n_functions, sizeof(n_functions));
    }
    assert_false(find_in_copy(n, &code));
    assert_non_null(mkdtemp(path));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(scratch_code_find(path, &code));
    unlink(path);
    (void)alarm(0);
}

TEST(test_no_loader)
{
    struct scratch_code code;

    assert_false(scratch_code_find("/proc/self/exe", &code));
    assert_false(scratch_code_find("/dev/null", &code));
    assert_false(scratch_code_find("/nowhere", &code));
    load();
    assert_false(find_in_copy(100, &code));
}
