/* SPDX-License-Identifier: MIT */
/*
 * image_format: the file LOG.imageN, a heap image: which words of a process's memory are pointers,
 * and which pages are resident, at one instant.
 *
 * The file has no other contents of memory. A header is followed by sections in the order of enum
 * image_section_kind; each is one zstd frame. Numbers are of the host's byte order, sections are
 * arrays of the structs below. Readers check all of it: the file is untrusted.
 *
 *   THREADS  struct image_thread, each followed by n_words words of its registers
 *   RANGES   struct image_range in the order of addresses
 *   PATHS    bytes; texts end with a NUL
 *   PAGES    struct image_pages in the order of addresses; what is absent is not resident
 *   WORDS    struct image_page in the order of addresses, each followed by its pointers: for each
 *            bit of `mask`, from the lowest on, the word at address + 8 × bit
 *
 * A word is a pointer if its value lies in a range, or one byte behind its end.
 */
#ifndef MTRACE_LIB_IMAGE_FORMAT_H
#define MTRACE_LIB_IMAGE_FORMAT_H

#include <stdint.h>

#define IMAGE_MAGIC UINT64_C(0x3165676d6972746d) /* "mtrimge1" */

enum {
    IMAGE_VERSION = 2,
    IMAGE_NAME_BYTES = 64,
    IMAGE_PAGE_WORDS = 512, /* of 4 KiB, whatever the size of a page is */
};

enum image_cause {
    IMAGE_CAUSE_EXIT = 1,    /* --heap-image=exit: the program ends */
    IMAGE_CAUSE_CONTROL = 2, /* mtrace-record --ctl PID heap-image */
    IMAGE_CAUSE_PROGRAM = 3, /* mtrace_heap_image() */
    IMAGE_CAUSE_RSS = 4,     /* --heap-image-at-rss */
    IMAGE_CAUSE_SIGNAL = 5,  /* --heap-image=any-exit: a fatal signal */
    IMAGE_CAUSE_CORE = 6,    /* mtrace-import --core */
};

enum image_method {
    IMAGE_METHOD_STOP = 1, /* all threads stood still while memory was copied */
    IMAGE_METHOD_FORK = 2, /* the memory is that of a forked child */
    IMAGE_METHOD_CORE = 3,
};

struct image_header {
    uint64_t magic;
    uint32_t version, header_bytes;
    uint64_t run_id;       /* of the process's log */
    uint64_t monotonic_ns; /* when all threads stood still, CLOCK_MONOTONIC */
    uint64_t rss_bytes;    /* Rss of smaps_rollup during the stop; 0: unknown */
    uint64_t pause_ns;     /* for which the threads stood still */
    uint32_t pid, cause, method;
    uint32_t n_sections;
    uint32_t is_estimated; /* residency: zero pages may count as resident */
    uint32_t page_bytes;
    char name[IMAGE_NAME_BYTES]; /* ends with a NUL; "": none */
};

enum image_section_kind {
    IMAGE_THREADS = 1,
    IMAGE_RANGES = 2,
    IMAGE_PATHS = 3,
    IMAGE_PAGES = 4,
    IMAGE_WORDS = 5,
};

/* payload_bytes bytes of a zstd frame follow. */
struct image_section {
    uint32_t kind, reserved;
    uint64_t payload_bytes, raw_bytes;
    uint64_t checksum; /* XXH64 (seed 0) of the payload */
};

struct image_thread {
    uint32_t tid, n_words; /* registers: struct user_regs_struct; of a core pr_reg */
    uint64_t sp;           /* of the program: the collector's own frames are below it */
    uint64_t thread_pointer;
    uint64_t is_in_collector; /* 1: the registers are the collector's, they hold no blocks */
};

enum image_range_flags {
    IMAGE_READ = 1 << 0,
    IMAGE_WRITE = 1 << 1,
    IMAGE_EXECUTE = 1 << 2,
    IMAGE_SHARED = 1 << 3,
    IMAGE_SCANNED = 1 << 4,    /* its words are in WORDS */
    IMAGE_OWN = 1 << 5,        /* the collector's: its library, its log */
    IMAGE_NOT_DUMPED = 1 << 6, /* MADV_DONTDUMP: the collector's, unless the program mapped it */
};

struct image_range {
    uint64_t start, end;
    uint64_t file_offset;
    uint32_t flags; /* enum image_range_flags */
    uint32_t path;  /* offset in PATHS, where "" is at 0: anonymous, no name */
};

enum image_page_kind {
    IMAGE_PAGE_PRIVATE = 1, /* resident and anonymous, or a changed copy of a file's page */
    IMAGE_PAGE_FILE = 2,    /* resident, of a file or shared */
    IMAGE_PAGE_SWAPPED = 3,
    IMAGE_PAGE_ZERO = 4, /* the kernel's zero page: not in RSS */
};

struct image_pages {
    uint64_t start;
    uint64_t n_bytes : 56, kind : 8; /* enum image_page_kind */
};

struct image_page {
    uint64_t address;
    uint64_t mask[IMAGE_PAGE_WORDS / 64];
};

#endif
