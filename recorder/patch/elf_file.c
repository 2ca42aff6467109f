/* SPDX-License-Identifier: MIT */
#include "recorder/patch/elf_file.h"

#include "lib/base/guarded_map.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const void *elf_file_at(const struct elf_file *file, uint64_t offset, uint64_t n)
{
    return offset <= file->n_bytes && n <= file->n_bytes - offset ? file->bytes + offset : NULL;
}

bool elf_file_copy(const struct elf_file *file, uint64_t offset, void *ret_part, size_t n)
{
    const void *part = elf_file_at(file, offset, n);

    if (part)
        memcpy(ret_part, part, n);
    return part != NULL;
}

bool elf_file_get_segment(const struct elf_file *file, unsigned i, Elf64_Phdr *ret_segment)
{
    Elf64_Ehdr header;

    return elf_file_copy(file, 0, &header, sizeof(header)) && i < header.e_phnum
           && header.e_phentsize == sizeof(*ret_segment) && header.e_phoff <= file->n_bytes
           && elf_file_copy(file, header.e_phoff + (uint64_t)i * sizeof(*ret_segment), ret_segment,
                            sizeof(*ret_segment));
}

bool elf_file_get_section(const struct elf_file *file, unsigned i, Elf64_Shdr *ret_section)
{
    Elf64_Ehdr header;

    return elf_file_copy(file, 0, &header, sizeof(header)) && i < header.e_shnum
           && header.e_shentsize == sizeof(*ret_section) && header.e_shoff <= file->n_bytes
           && elf_file_copy(file, header.e_shoff + (uint64_t)i * sizeof(*ret_section), ret_section,
                            sizeof(*ret_section));
}

bool elf_file_find_loaded(const struct elf_file *file, uint64_t address, uint64_t n,
                          Elf64_Phdr *ret_segment, const uint8_t **ret_bytes)
{
    for (unsigned i = 0; elf_file_get_segment(file, i, ret_segment); i++) {
        uint64_t at = address - ret_segment->p_vaddr;
        if (ret_segment->p_type != PT_LOAD || at >= ret_segment->p_filesz
            || n > ret_segment->p_filesz - at
            || !elf_file_at(file, ret_segment->p_offset, ret_segment->p_filesz))
            continue;
        *ret_bytes = file->bytes + ret_segment->p_offset + at;
        return true;
    }
    return false;
}

/* Names are at [begin, end) of the file. */
static bool get_name(const struct elf_file *file, uint64_t begin, uint64_t end,
                     struct elf_file_symbol *symbol)
{
    uint64_t at = symbol->symbol.st_name;
    uint64_t room = at < end - begin ? end - begin - at : 0;
    size_t n = room < sizeof(symbol->name) ? room : sizeof(symbol->name);

    return n > 0 && elf_file_copy(file, begin + at, symbol->name, n)
           && memchr(symbol->name, '\0', n);
}

static bool visit_table(const struct elf_file *file, const Elf64_Shdr *table, elf_file_visit *visit,
                        void *context)
{
    struct elf_file_symbol symbol = {.is_dynamic = table->sh_type == SHT_DYNSYM};
    Elf64_Shdr names;

    if (!elf_file_get_section(file, table->sh_link, &names)
        || !elf_file_at(file, names.sh_offset, names.sh_size)
        || !elf_file_at(file, table->sh_offset, table->sh_size))
        return true;
    for (uint64_t i = 0; i < table->sh_size / sizeof(symbol.symbol); i++)
        if (elf_file_copy(file, table->sh_offset + i * sizeof(symbol.symbol), &symbol.symbol,
                          sizeof(symbol.symbol))
            && symbol.symbol.st_shndx != SHN_UNDEF
            && get_name(file, names.sh_offset, names.sh_offset + names.sh_size, &symbol)
            && !visit(&symbol, context))
            return false;
    return true;
}

void elf_file_visit_symbols(const struct elf_file *file, elf_file_visit *visit, void *context)
{
    bool goes_on = true;
    Elf64_Shdr section;

    for (unsigned i = 0; goes_on && elf_file_get_section(file, i, &section); i++)
        if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
            goes_on = visit_table(file, &section, visit, context);
}

bool elf_file_is_function(const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    return type == STT_FUNC || type == STT_GNU_IFUNC;
}

const char *elf_file_read(const char *path, elf_file_reader *reader, void *context)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct guarded_map map = {.fd = -1};
    struct elf_file file = {0};
    const char *answer = NULL;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &file.status) == 0 && S_ISREG(file.status.st_mode) && file.status.st_size > 0
        && guarded_map_open(&map, fd, (size_t)file.status.st_size, MAP_PRIVATE) == 0) {
        const uint8_t *ident;
        file.bytes = map.start;
        file.n_bytes = map.n_bytes;
        ident = elf_file_at(&file, 0, sizeof(Elf64_Ehdr));
        if (ident && memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS64)
            answer = reader(&file, context);
        guarded_map_close(&map);
    }
    close(fd);
    return answer;
}
