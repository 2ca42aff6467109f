/* SPDX-License-Identifier: MIT */
/* Where a module ends by its ELF headers, also if these are damaged; which paths are ours. */
#include "lib/logfile/image_modules.h"
#include "tests/lib/unit.h"

#include <elf.h>
#include <string.h>

enum {
    PAGE_BYTES = 4096,
};

static const uint64_t START = 0x7f0000000000;

/* Two segments; the second has a .bss up to 0x5100. */
static void make_module(unsigned char *page)
{
    const Elf64_Ehdr header = {.e_phoff = sizeof(Elf64_Ehdr), .e_phnum = 3};
    const Elf64_Phdr segments[] = {{.p_type = PT_LOAD, .p_vaddr = 0, .p_memsz = 0x1000},
                                   {.p_type = PT_LOAD, .p_vaddr = 0x3000, .p_memsz = 0x2100},
                                   {.p_type = PT_NOTE, .p_vaddr = 0x9000, .p_memsz = 0x1000}};

    memset(page, 0, PAGE_BYTES);
    memcpy(page, &header, sizeof(header));
    memcpy(page + sizeof(header), segments, sizeof(segments));
}

TEST(test_bss_belongs_to_the_module)
{
    unsigned char page[PAGE_BYTES];

    make_module(page);
    assert_int_equal(image_module_end(page, sizeof(page), START), START + 0x6000);
}

TEST(test_headers_beyond_the_bytes_are_not_read)
{
    unsigned char page[PAGE_BYTES];
    Elf64_Ehdr header;

    make_module(page);
    assert_int_equal(image_module_end(page, sizeof(header) + sizeof(Elf64_Phdr), START),
                     START + 0x1000);
    assert_int_equal(image_module_end(page, sizeof(header) - 1, START), 0);
    memcpy(&header, page, sizeof(header));
    header.e_phoff = UINT64_MAX - 8;
    memcpy(page, &header, sizeof(header));
    assert_int_equal(image_module_end(page, sizeof(page), START), 0);
}

TEST(test_paths)
{
    assert_true(image_module_is_own("/usr/lib/mtrace/libmtrace.so"));
    assert_true(image_module_is_own("/usr/lib/mtrace/libmtrace-new.so"));
    assert_false(image_module_is_own("/srv/libmtrace/server"));
    assert_true(image_module_is_shared_memory("/memfd:cache (deleted)"));
    assert_false(image_module_is_shared_memory("/usr/lib/libc.so.6"));
}
