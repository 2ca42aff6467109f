/* SPDX-License-Identifier: MIT */
/*
 * foreign_log: the log of a program of another processor, with one allocation for each code
 * position.
 *
 * usage: foreign_log OUT ARCH WORD_BYTES OBJECT BUILD_ID LOAD_ADDRESS < POSITIONS
 * POSITIONS: a line each, hexadecimal, "=" before one that is exact. Allocation i has i bytes.
 */
#include "tests/lib/log_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_BLOCK = 0x100000,
    BLOCK_BYTES = 0x1000,
};

static size_t parse_build_id(const char *text, char bytes[64])
{
    size_t n = 0;

    for (; n < 64 && text[2 * n] && text[2 * n + 1]; n++)
        bytes[n] = (char)strtoul((char[]){text[2 * n], text[2 * n + 1], 0}, NULL, 16);
    return n;
}

int main(int argc, char **argv)
{
    struct log_builder_options options = {.is_packed = true};
    char build_id[64];
    char line[64];

    if (argc != 7) {
        fprintf(
            stderr,
            "usage: foreign_log OUT ARCH WORD_BYTES OBJECT BUILD_ID LOAD_ADDRESS < POSITIONS\n");
        return 2;
    }
    struct log_builder *builder = log_builder_open(argv[1], &options);
    struct log_header *header = log_builder_header(builder);
    uint64_t load_address = strtoull(argv[6], NULL, 16);
    uint64_t ticks = header->start_ticks;
    uint32_t thread = log_builder_thread(builder, 1000, "main", ticks);
    header->arch = (uint16_t)atoi(argv[2]);
    header->word_bytes = (uint8_t)atoi(argv[3]);
    log_builder_process(builder, argv[4], (const char *const[]){argv[4], NULL});
    uint32_t module = log_builder_module(builder, argv[4], build_id,
                                         parse_build_id(argv[5], build_id), load_address, ticks);
    for (uint64_t i = 1; fgets(line, sizeof(line), stdin); i++) {
        bool is_exact = line[0] == '=';
        uint64_t address = load_address + strtoull(line + is_exact, NULL, 16);
        uint32_t node = log_builder_node(builder, LOG_NODE_COMPLETE, module,
                                         address | (is_exact ? LOG_NODE_EXACT : 0));
        log_builder_malloc(builder, thread, ticks += 100, FIRST_BLOCK + i * BLOCK_BYTES, i, node);
    }
    log_builder_close(builder);
    return 0;
}
