/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as .eh_frame_hdr and .eh_frame: looking up addresses and evaluating the expressions of
 * what is found reads nothing outside the bytes, ends, and finds the same through copies.
 *
 * Input: the sections as a linker lays them out, the header first.
 */
#include "collector/unwind/cfi.h"
#include "collector/unwind/cfi_expression.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    TABLE_OFFSET = 12, /* of the usual header */
    MAX_ENTRIES = 24,
};

static uintptr_t g_low, g_high;

static bool copy_checked(void *ret_bytes, uintptr_t address, size_t n_bytes)
{
    if (address < g_low || address > g_high || n_bytes > g_high - address)
        abort();
    memcpy(ret_bytes, (const void *)address, n_bytes);
    return true;
}

/* A stack whose words differ from each other; some of it cannot be read. */
static bool load(void *loader, uintptr_t address, uintptr_t *ret_word)
{
    (void)loader;
    *ret_word = address * 0x9e3779b97f4a7c15u;
    return address % 7 != 0;
}

static void evaluate(const struct cfi_rule *rule, const uintptr_t *initial)
{
    struct arch_registers registers = {.known = 0x1ffff};
    struct cfi_context context = {&registers, load, NULL};
    uintptr_t value;

    if (rule->kind == CFI_AT_EXPRESSION || rule->kind == CFI_IS_EXPRESSION)
        cfi_expression_evaluate(&context, rule->expression, rule->n, initial, &value);
}

static void look_up(const struct cfi_section *section, uintptr_t address)
{
    static struct cfi_scratch scratch;
    static struct cfi_row row;
    static struct cfi_row copied_row;
    struct cfi_section copied = *section;
    const uintptr_t cfa = 4096;
    enum cfi_result result = cfi_find_row(section, address, &scratch, &row);
    enum cfi_result copied_result;

    copied.copy = copy_checked;
    copied_result = cfi_find_row(&copied, address, &scratch, &copied_row);
    /* only an entry too large to be copied may differ */
    if (copied_result != result && copied_result != CFI_MALFORMED)
        abort();
    if (result != CFI_FOUND)
        return;
    if (row.return_column >= ARCH_N_REGISTERS)
        abort();
    evaluate(&row.cfa, NULL);
    for (unsigned i = 0; i < ARCH_N_REGISTERS; i++)
        evaluate(&row.registers[i], &cfa);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfi_section section = {
        .hdr = (uintptr_t)data, .low = (uintptr_t)data, .high = (uintptr_t)data + size};

    g_low = section.low;
    g_high = section.high;
    look_up(&section, section.hdr);
    for (size_t i = 0; i < MAX_ENTRIES && TABLE_OFFSET + (i + 1) * 8 <= size; i++) {
        int32_t start;
        memcpy(&start, data + TABLE_OFFSET + i * 8, sizeof(start));
        for (unsigned inside = 0; inside < 64; inside += 9)
            look_up(&section, section.hdr + (uintptr_t)(intptr_t)start + inside);
    }
    return 0;
}
