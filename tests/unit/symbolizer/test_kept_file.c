/* SPDX-License-Identifier: MIT */
/* Parts of a file become an ELF file whose other sections have no bytes; a hostile log makes
 * none. */
#include "symbolizer/kept_file.h"
#include "tests/lib/unit.h"

#include <elf.h>
#include <string.h>

enum {
    N_SECTIONS = 3,
    SECTIONS_AT = 4096,
};

static Elf64_Ehdr header_of(uint64_t sections_at)
{
    Elf64_Ehdr header = {.e_ident = ELFMAG,
                         .e_shoff = sections_at,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = N_SECTIONS,
                         .e_shstrndx = 1};

    header.e_ident[EI_CLASS] = ELFCLASS64;
    return header;
}

static Elf64_Shdr section_of(const struct kept_file *file, size_t i)
{
    Elf64_Shdr section;

    memcpy(&section, file->bytes + SECTIONS_AT + i * sizeof(section), sizeof(section));
    return section;
}

TEST(test_sections_without_bytes)
{
    Elf64_Ehdr header = header_of(SECTIONS_AT);
    Elf64_Shdr sections[N_SECTIONS] = {
        [1] = {.sh_type = SHT_STRTAB, .sh_offset = sizeof(header), .sh_size = 8},
        [2] = {.sh_type = SHT_PROGBITS, .sh_offset = sizeof(header), .sh_size = 9}};
    struct kept_file file = {0};

    assert_true(kept_file_add(&file, 0, &header, sizeof(header)));
    assert_true(kept_file_add(&file, sizeof(header), "strings", 8));
    assert_true(kept_file_add(&file, SECTIONS_AT, sections, sizeof(sections)));
    assert_true(kept_file_add(&file, UINT64_MAX - 1, "hostile", 8));
    kept_file_end(&file);
    assert_int_equal(file.n_bytes, SECTIONS_AT + sizeof(sections));
    assert_int_equal(section_of(&file, 1).sh_type, SHT_STRTAB);
    assert_int_equal(section_of(&file, 2).sh_type, SHT_NOBITS);
    assert_memory_equal(file.bytes + sizeof(header), "strings", 8);
    kept_file_done(&file);
}

TEST(test_no_section_headers)
{
    const uint64_t places[] = {SECTIONS_AT, 8, UINT64_MAX};
    Elf64_Ehdr kept;

    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        Elf64_Ehdr header = header_of(places[i]);
        struct kept_file file = {0};
        assert_true(kept_file_add(&file, 0, &header, sizeof(header)));
        kept_file_end(&file);
        assert_non_null(file.bytes);
        memcpy(&kept, file.bytes, sizeof(kept));
        assert_int_equal(kept.e_shoff, 0);
        assert_int_equal(kept.e_shnum, 0);
        kept_file_done(&file);
    }
}

TEST(test_too_little)
{
    Elf64_Ehdr header = header_of(0);
    struct kept_file file = {0};

    kept_file_end(&file);
    assert_null(file.bytes);
    assert_true(kept_file_add(&file, 0, &header, sizeof(header) - 1));
    kept_file_end(&file);
    assert_null(file.bytes);
    assert_true(kept_file_add(&file, 8, &header, sizeof(header)));
    kept_file_end(&file);
    assert_null(file.bytes);
}
