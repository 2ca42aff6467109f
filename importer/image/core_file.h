/* SPDX-License-Identifier: MIT */
/*
 * core_file: reads a core of the kernel (core(5)) or of gcore as a heap image.
 *
 * A core has the contents of private memory, the registers of each thread and the names of mapped
 * files. It does not have the time of the dump and which pages were resident: the image has no
 * pages, and its time is that of the file's last change.
 *
 * Formats: System V ABI (program headers, notes), struct elf_prstatus of <sys/procfs.h>, NT_FILE of
 * the kernel's fs/binfmt_elf.c. Only 64-bit cores of x86-64 and AArch64 are read.
 *
 * Threads: one. Errors: ERROR_FORMAT with the path and what is wrong.
 */
#ifndef MTRACE_IMPORTER_CORE_FILE_H
#define MTRACE_IMPORTER_CORE_FILE_H

#include "importer/image/image_file.h"

/* Close with image_file_close, also after a failure. *ret_unix_ns: time of the last change. */
int core_file_open(const char *path, struct image_file *image, uint64_t *ret_unix_ns,
                   struct error *err);

#endif
