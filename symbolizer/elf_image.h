/* SPDX-License-Identifier: MIT */
/*
 * elf_image: one ELF file or the vdso, opened for reading, and who it is.
 *
 * Invariants: EI-1 elf is NULL exactly when nothing is open. EI-2 build_id is lower-case hex, NULL
 *             when the file has none. EI-3 architecture is as processes.architecture has it, "" of
 *             a file in the other byte order, whose code no log here is about.
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
    void *memory; /* what elf reads when it is not a file, else NULL */
    int fd;       /* -1: not a file */
};

#define ELF_IMAGE_NONE ((struct elf_image){.fd = -1})

/* False: there is no such file, it is not ELF, or its headers are damaged; then `image` is
 * ELF_IMAGE_NONE. */
bool elf_image_open(const char *path, struct elf_image *ret_image);

/* The same of `path` below `root` (NULL or "": of the machine's own), whose symbolic links lead to
 * files below it, too. */
bool elf_image_open_below(const char *root, const char *path, struct elf_image *ret_image);

/* A file in memory, which outlives the image; `path` is what messages call it. */
bool elf_image_open_memory(void *bytes, size_t n_bytes, const char *path,
                           struct elf_image *ret_image);

/* The vdso that the kernel mapped into this process. */
bool elf_image_open_vdso(struct elf_image *ret_image);

/* The small symbol table that some distributions keep, xz-packed, in .gnu_debugdata. */
bool elf_image_open_minidebuginfo(const struct elf_image *image, struct elf_image *ret_image);

/* .debug_info, or lines without it, are in the file itself. */
bool elf_image_has_dwarf(const struct elf_image *image);

/* The ch_type of a compressed section that this libelf cannot unpack; 0: there is none. Unpacks what it can. */
enum {
    ELF_IMAGE_ZSTD = 2 /* ELFCOMPRESS_ZSTD of later headers */
};

unsigned elf_image_packed_by(const struct elf_image *image);

/* Lower-case hex, to be freed; NULL: no memory. */
char *elf_image_format_build_id(const void *bytes, size_t size);

/* Both have a build-id, and the same. */
bool elf_image_has_build_id(const struct elf_image *image, const char *build_id);

/* Without build ids: the same program headers and dynamic symbols. */
bool elf_image_is_same_build(const struct elf_image *a, const struct elf_image *b);

/* Checksum of the whole file as .gnu_debuglink states it; false when it cannot be read. */
bool elf_image_checksum(const struct elf_image *image, uint32_t *ret_checksum);

void elf_image_close(struct elf_image *image);

#endif
