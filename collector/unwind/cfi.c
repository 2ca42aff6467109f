/* SPDX-License-Identifier: MIT */
#include "collector/unwind/cfi.h"

#include "collector/unwind/cfi_cursor.h"

#include <string.h>

/* Pointer encodings of .eh_frame: a format in the low nibble, the base in the high one. */
enum {
    ENCODING_OMIT = 0xff,
    ENCODING_FORMAT = 0x0f,
    ENCODING_RELATIVE = 0x70,
    ENCODING_ABSOLUTE = 0x00,
    ENCODING_PC = 0x10,
    ENCODING_DATA = 0x30,
    ENCODING_INDIRECT = 0x80,
};

enum {
    HDR_FIXED_BYTES = 4,
    HDR_ENTRY_SDATA4 = 0x3b, /* datarel sdata4: the sorted table every linker writes */
    HDR_ENTRY_BYTES = 8,
};

static bool is_inside(const struct cfi_section *section, uintptr_t address, size_t n_bytes)
{
    return address >= section->low && address <= section->high
           && n_bytes <= section->high - address;
}

static bool copy_bytes(const struct cfi_section *section, uintptr_t address, void *ret_bytes,
                       size_t n_bytes)
{
    bool is_copied = section->copy(ret_bytes, address, n_bytes);

    if (!is_copied && section->ret_is_unmapped != NULL)
        *section->ret_is_unmapped = true;
    return is_copied;
}

static bool read_bytes(const struct cfi_section *section, uintptr_t address, void *ret_bytes,
                       size_t n_bytes)
{
    if (!is_inside(section, address, n_bytes))
        return false;
    if (section->copy != NULL)
        return copy_bytes(section, address, ret_bytes, n_bytes);
    memcpy(ret_bytes, (const void *)address, n_bytes);
    return true;
}

/* A cursor over [address, address + n_bytes): over `buffer` when bytes must be copied. */
static bool open_cursor(const struct cfi_section *section, uintptr_t address, size_t n_bytes,
                        uint8_t *buffer, struct cfi_cursor *ret_cursor)
{
    const uint8_t *bytes = (const uint8_t *)address;

    if (!is_inside(section, address, n_bytes))
        return false;
    if (section->copy != NULL) {
        if (n_bytes > CFI_COPY_BYTES || !copy_bytes(section, address, buffer, n_bytes))
            return false;
        bytes = buffer;
    }
    *ret_cursor = (struct cfi_cursor){bytes, bytes + n_bytes, address, false};
    return true;
}

static uint64_t read_format(struct cfi_cursor *cursor, uint8_t encoding)
{
    switch (encoding & ENCODING_FORMAT) {
    case 0x0: /* absptr */
        return cfi_cursor_unsigned(cursor, sizeof(uintptr_t));
    case 0x4: /* udata8 */
    case 0xc: /* sdata8 */
        return cfi_cursor_unsigned(cursor, 8);
    case 0x1:
        return cfi_cursor_uleb(cursor);
    case 0x2:
        return cfi_cursor_unsigned(cursor, 2);
    case 0x3:
        return cfi_cursor_unsigned(cursor, 4);
    case 0x9:
        return (uint64_t)cfi_cursor_sleb(cursor);
    case 0xa:
        return (uint64_t)cfi_cursor_signed(cursor, 2);
    case 0xb:
        return (uint64_t)cfi_cursor_signed(cursor, 4);
    default:
        cursor->is_bad = true;
        return 0;
    }
}

static uintptr_t read_pointer(struct cfi_cursor *cursor, uint8_t encoding, uintptr_t data_base)
{
    uintptr_t base = cursor->address;
    uintptr_t value = (uintptr_t)read_format(cursor, encoding);

    switch (encoding & (ENCODING_RELATIVE | ENCODING_INDIRECT)) {
    case ENCODING_ABSOLUTE:
        return value;
    case ENCODING_PC:
        return base + value;
    case ENCODING_DATA:
        return data_base + value;
    default:
        cursor->is_bad = true;
        return 0;
    }
}

/* A cursor over the body of the CIE or FDE at address; *ret_n_bytes includes its length field. A
 * terminator has an empty body. */
static bool open_entry(const struct cfi_section *section, uintptr_t address, uint8_t *buffer,
                       struct cfi_cursor *ret_body, uint64_t *ret_n_bytes)
{
    uint32_t length32;
    uint64_t length;
    size_t header = sizeof(length32);

    if (!read_bytes(section, address, &length32, sizeof(length32)))
        return false;
    length = length32;
    if (length32 == UINT32_MAX) {
        if (!read_bytes(section, address + header, &length, sizeof(length)))
            return false;
        header += sizeof(length);
    }
    *ret_n_bytes = header + length;
    return length <= section->high - section->low
           && open_cursor(section, address + header, (size_t)length, buffer, ret_body);
}

/* Reads the augmentation data; false if it has a part of unknown size. */
static bool read_augmentation(struct cfi_cursor *cursor, const uint8_t *letter, struct cfi_cie *cie)
{
    uint64_t n_bytes = cfi_cursor_uleb(cursor);
    struct cfi_cursor data = *cursor;

    cfi_cursor_skip(cursor, n_bytes);
    data.end = cursor->at;
    for (; *letter != '\0' && !cursor->is_bad && !data.is_bad; letter++) {
        if (*letter == 'R') {
            cie->pointer_encoding = (uint8_t)cfi_cursor_unsigned(&data, 1);
        } else if (*letter == 'P') {
            uint8_t encoding = (uint8_t)cfi_cursor_unsigned(&data, 1);
            if (encoding != ENCODING_OMIT)
                read_format(&data, encoding);
        } else if (*letter == 'L') {
            cfi_cursor_skip(&data, 1);
        } else if (*letter == 'S') {
            cie->is_signal_frame = true;
        } else if (*letter != 'B' && *letter != 'G') { /* AArch64: which key signs, tagged stack */
            return false;
        }
    }
    return !cursor->is_bad && !data.is_bad;
}

static bool read_cie(const struct cfi_section *section, uintptr_t address, uint8_t *buffer,
                     struct cfi_cie *ret_cie)
{
    struct cfi_cursor cursor;
    uint64_t n_bytes;
    const uint8_t *letters;
    uint8_t version;

    if (!open_entry(section, address, buffer, &cursor, &n_bytes))
        return false;
    *ret_cie = (struct cfi_cie){0};
    if (cfi_cursor_unsigned(&cursor, 4) != 0) /* the id of a CIE; an FDE has another one */
        return false;
    version = (uint8_t)cfi_cursor_unsigned(&cursor, 1);
    if (version != 1 && version != 3)
        return false;
    letters = cursor.at;
    while (cfi_cursor_unsigned(&cursor, 1) != 0)
        continue;
    ret_cie->code_alignment = cfi_cursor_uleb(&cursor);
    ret_cie->data_alignment = cfi_cursor_sleb(&cursor);
    ret_cie->return_column =
        (uint32_t)(version == 1 ? cfi_cursor_unsigned(&cursor, 1) : cfi_cursor_uleb(&cursor));
    if (cursor.is_bad || ret_cie->return_column >= ARCH_N_REGISTERS)
        return false;
    if (letters[0] == 'z') {
        ret_cie->has_augmentation = true;
        if (!read_augmentation(&cursor, letters + 1, ret_cie))
            return false;
    } else if (letters[0] != '\0') {
        return false;
    }
    ret_cie->program = cursor;
    return true;
}

/* Reads the FDE at address and its CIE. */
static bool read_fde(const struct cfi_section *section, uintptr_t address,
                     struct cfi_scratch *scratch, struct cfi_cie *ret_cie, struct cfi_fde *ret_fde)
{
    struct cfi_cursor cursor;
    uint64_t n_bytes;
    uintptr_t id_address;
    uint64_t cie_distance;

    if (!open_entry(section, address, scratch->fde_copy, &cursor, &n_bytes))
        return false;
    id_address = cursor.address;
    cie_distance = cfi_cursor_unsigned(&cursor, 4);
    if (cursor.is_bad || cie_distance == 0
        || !read_cie(section, id_address - (uintptr_t)cie_distance, scratch->cie_copy, ret_cie))
        return false;
    ret_fde->start = read_pointer(&cursor, ret_cie->pointer_encoding, section->hdr);
    ret_fde->n_bytes = read_format(&cursor, ret_cie->pointer_encoding);
    if (ret_cie->has_augmentation)
        cfi_cursor_skip(&cursor, cfi_cursor_uleb(&cursor));
    ret_fde->program = cursor;
    return !cursor.is_bad;
}

/* The last entry of the sorted table that starts at or before address; 0: none. */
static bool search_table(const struct cfi_section *section, uintptr_t table, uint64_t n_entries,
                         uintptr_t address, uintptr_t *ret_fde)
{
    uint64_t first = 0;
    uint64_t n = n_entries;
    int32_t entry[2];

    *ret_fde = 0;
    while (n > 0) {
        uint64_t half = n / 2;
        if (!read_bytes(section, table + (uintptr_t)(first + half) * HDR_ENTRY_BYTES, entry,
                        sizeof(entry)))
            return false;
        if (section->hdr + (uintptr_t)(intptr_t)entry[0] <= address) {
            *ret_fde = section->hdr + (uintptr_t)(intptr_t)entry[1];
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return true;
}

/* Some linkers omit the table. Then every entry is checked; 0: none contains address. */
static bool search_entries(const struct cfi_section *section, uintptr_t eh_frame, uintptr_t address,
                           struct cfi_scratch *scratch, uintptr_t *ret_fde)
{
    struct cfi_cie cie;
    struct cfi_fde fde;
    struct cfi_cursor body;
    uint64_t n_bytes;

    *ret_fde = 0;
    for (uintptr_t at = eh_frame; is_inside(section, at, 4); at += (uintptr_t)n_bytes) {
        if (!open_entry(section, at, scratch->fde_copy, &body, &n_bytes))
            return false;
        if (cfi_cursor_left(&body) < 4)
            return true; /* the terminator */
        if (cfi_cursor_unsigned(&body, 4) != 0 && read_fde(section, at, scratch, &cie, &fde)
            && address - fde.start < fde.n_bytes) {
            *ret_fde = at;
            return true;
        }
    }
    return true;
}

static bool find_fde(const struct cfi_section *section, uintptr_t address,
                     struct cfi_scratch *scratch, uintptr_t *ret_fde)
{
    uint8_t hdr[HDR_FIXED_BYTES + 2 * 8];
    size_t n_bytes = is_inside(section, section->hdr, sizeof(hdr))
                         ? sizeof(hdr)
                         : (size_t)HDR_FIXED_BYTES + 4; /* an empty table at the very end */
    struct cfi_cursor cursor;
    uintptr_t eh_frame;
    uint64_t n_entries;

    if (!read_bytes(section, section->hdr, hdr, n_bytes) || hdr[0] != 1)
        return false;
    cursor = (struct cfi_cursor){hdr + HDR_FIXED_BYTES, hdr + n_bytes,
                                 section->hdr + HDR_FIXED_BYTES, false};
    eh_frame = hdr[1] == ENCODING_OMIT ? 0 : read_pointer(&cursor, hdr[1], section->hdr);
    if (cursor.is_bad)
        return false;
    if (hdr[2] == ENCODING_OMIT || hdr[3] != HDR_ENTRY_SDATA4)
        return eh_frame != 0 && search_entries(section, eh_frame, address, scratch, ret_fde);
    n_entries = read_format(&cursor, hdr[2]);
    if (cursor.is_bad || n_entries > (section->high - section->low) / HDR_ENTRY_BYTES)
        return false;
    return search_table(section, cursor.address, n_entries, address, ret_fde);
}

enum cfi_result cfi_find_row(const struct cfi_section *section, uintptr_t address,
                             struct cfi_scratch *scratch, struct cfi_row *ret_row)
{
    struct cfi_cie cie;
    struct cfi_fde fde;
    uintptr_t fde_address;

    if (!find_fde(section, address, scratch, &fde_address))
        return CFI_MALFORMED;
    if (fde_address == 0)
        return CFI_NO_ENTRY;
    if (!read_fde(section, fde_address, scratch, &cie, &fde))
        return CFI_MALFORMED;
    if (address - fde.start >= fde.n_bytes)
        return CFI_NO_ENTRY;
    if (!cfi_program_run(&cie, &fde, address, &scratch->program, ret_row))
        return CFI_MALFORMED;
    return CFI_FOUND;
}
