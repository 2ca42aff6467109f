/* SPDX-License-Identifier: MIT */
/*
 * stack_functions: the function whose frame has a word of a stack.
 *
 * libdwfl unwinds the threads of an image by their registers and the pointers on their stacks: a
 * return address and a saved frame pointer are such pointers. It knows the registers of x86-64 and
 * AArch64.
 *
 * Threads: one. Errors: memory; a thread that cannot be unwound has no functions.
 */
#ifndef MTRACE_IMPORTER_STACK_FUNCTIONS_H
#define MTRACE_IMPORTER_STACK_FUNCTIONS_H

#include "importer/image/image_file.h"

#include <elfutils/libdwfl.h>

struct stack_functions;

/* NULL without memory. The image and its dwfl (image_dwfl.h), which has one such user, must outlive
 * it. */
struct stack_functions *stack_functions_new(const struct image_file *image, Dwfl *dwfl);

void stack_functions_free(struct stack_functions *functions);

/* Keeps the pointers of a page if it is of a stack. Pages ascend. */
int stack_functions_add_page(struct stack_functions *functions, uint64_t page, const uint64_t *mask,
                             const uint64_t *values, struct error *err);

/* By the index of the thread in the image. NULL: not known. Call it after all pages; the text is
 * valid until stack_functions_free. */
const char *stack_functions_find(struct stack_functions *functions, uint32_t thread,
                                 uint64_t address);

#endif
