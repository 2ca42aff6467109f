/* SPDX-License-Identifier: MIT */
/*
 * elf_image: an open ELF file, or the vdso, its identity, and properties of its processor.
 *
 * A code address may have bits that select an instruction set (Thumb, MIPS16), which debug info and
 * symbol sizes do not have. A return address is after the call; call_bytes before it is a byte of
 * the call. On MIPS that is the instruction before the delay slot, which belongs to the call
 * whatever line it is from.
 *
 * Invariants
 *   EI-1 elf is NULL exactly when nothing is open.
 *   EI-2 build_id is lower-case hex; NULL if the file has none.
 *   EI-3 architecture is as in processes.architecture. It is "" for a file in the other byte order,
 *        whose code no log here refers to.
 */
#ifndef MTRACE_SYMBOLIZER_ELF_IMAGE_H
#define MTRACE_SYMBOLIZER_ELF_IMAGE_H

#include "lib/logfile/log_header.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image {
    Elf *elf;
    char *path;
    char *build_id;
    char architecture[LOG_HEADER_ARCH_BYTES];
    void *memory; /* content, if it is not a file; else NULL */
    int fd;       /* -1: not a file */
};

#define ELF_IMAGE_NONE ((struct elf_image){.fd = -1})

/* False: no such file, not ELF, or damaged headers; `image` is then ELF_IMAGE_NONE. */
bool elf_image_open(const char *path, struct elf_image *ret_image);

/* Opens `path` below `root` (NULL or "": /). Symbolic links lead to files below the root, too. */
bool elf_image_open_below(const char *root, const char *path, struct elf_image *ret_image);

/* Opens a file in memory, which must outlive the image; `path` is for messages. */
bool elf_image_open_memory(void *bytes, size_t n_bytes, const char *path,
                           struct elf_image *ret_image);

/* Opens the vdso of this process. */
bool elf_image_open_vdso(struct elf_image *ret_image);

/* Opens the small, xz-compressed symbol table that some distributions put in .gnu_debugdata. */
bool elf_image_open_minidebuginfo(const struct elf_image *image, struct elf_image *ret_image);

/* True if the file itself has .debug_info, or lines without it. */
bool elf_image_has_dwarf(const struct elf_image *image);

/* Decompresses sections. Returns the ch_type of one that this libelf cannot decompress; 0: none. */
enum {
    ELF_IMAGE_ZSTD = 2 /* ELFCOMPRESS_ZSTD of later headers */
};

unsigned elf_image_packed_by(const struct elf_image *image);

/* Lower-case hex, to be freed; NULL: no memory. */
char *elf_image_format_build_id(const void *bytes, size_t size);

/* True if the image has this build id. */
bool elf_image_has_build_id(const struct elf_image *image, const char *build_id);

/* For files without build ids: compares program headers and dynamic symbols. */
bool elf_image_is_same_build(const struct elf_image *a, const struct elf_image *b);

/* Checksum of the whole file, as in .gnu_debuglink; false if it cannot be read. */
bool elf_image_checksum(const struct elf_image *image, uint32_t *ret_checksum);

void elf_image_close(struct elf_image *image);

struct elf_machine {
    uint64_t mode_bits;  /* instruction set bits of code addresses */
    uint64_t call_bytes; /* distance from a return address back into its call */
};

/* `elf` may be NULL: the result then fits most processors. */
struct elf_machine elf_image_machine(Elf *elf);

#endif
