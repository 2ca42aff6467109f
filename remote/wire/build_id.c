/* SPDX-License-Identifier: MIT */
#include "remote/wire/build_id.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool read_at(int fd, void *bytes, size_t n_bytes, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, bytes, n_bytes, (off_t)offset) == (ssize_t)n_bytes;
}

static size_t aligned(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

static bool find_in_notes(const uint8_t *notes, size_t n_bytes, struct build_id *ret_id)
{
    Elf64_Nhdr head;

    for (size_t at = 0; n_bytes - at >= sizeof(head);) {
        memcpy(&head, notes + at, sizeof(head));
        at += sizeof(head);
        if (head.n_namesz > n_bytes || head.n_descsz > n_bytes
            || aligned(head.n_namesz) + aligned(head.n_descsz) > n_bytes - at)
            return false;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4
            && memcmp(notes + at, ELF_NOTE_GNU, 4) == 0 && head.n_descsz >= BUILD_ID_LEAST_BYTES
            && head.n_descsz <= BUILD_ID_BYTES) {
            *ret_id = (struct build_id){.n = head.n_descsz};
            memcpy(ret_id->bytes, notes + at + 4, head.n_descsz);
            return true;
        }
        at += aligned(head.n_namesz) + aligned(head.n_descsz);
    }
    return false;
}

/* Uses sections, because debug files have them too; their segments differ. */
bool build_id_read(int fd, struct build_id *ret_id)
{
    uint8_t notes[BUILD_ID_NOTE_BYTES];
    Elf64_Shdr section;
    Elf64_Ehdr head;

    if (!read_at(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0
        || head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(section)
        || head.e_shnum > BUILD_ID_MAX_SECTIONS || head.e_shoff > INT64_MAX)
        return false;
    for (size_t i = 0; i < head.e_shnum; i++) {
        if (!read_at(fd, &section, sizeof(section), head.e_shoff + i * sizeof(section)))
            return false;
        size_t n = section.sh_size < sizeof(notes) ? (size_t)section.sh_size : sizeof(notes);
        if (section.sh_type == SHT_NOTE && read_at(fd, notes, n, section.sh_offset)
            && find_in_notes(notes, n, ret_id))
            return true;
    }
    return false;
}

bool build_id_is_same(const struct build_id *a, const struct build_id *b)
{
    return a->n == b->n && a->n > 0 && memcmp(a->bytes, b->bytes, a->n) == 0;
}

void build_id_format(const struct build_id *id, char ret_first[3], char *ret_rest)
{
    (void)snprintf(ret_first, 3, "%02x", id->bytes[0]);
    ret_rest[0] = '\0';
    for (size_t i = 1; i < id->n; i++)
        (void)snprintf(ret_rest + 2 * (i - 1), 3, "%02x", id->bytes[i]);
}
