/* SPDX-License-Identifier: MIT */
#include "importer/image/stack_functions.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_BYTES = IMAGE_PAGE_WORDS * 8,
    MAX_STACK_BYTES = 64 << 20, /* that are kept of one stack */
    MAX_FRAMES = 4096,
};

/* Where the registers of image_thread are, in the order of DWARF's numbers. */
static const struct machine {
    uint8_t n_words, pc, n_registers, sp; /* sp: DWARF's number */
    uint8_t words[32];
} machines[] = {
    {27, 16, 16, 7, {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0}}, /* x86-64 */
    {34, 32, 32, 31, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                      17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}}, /* AArch64 */
};

struct stack_word {
    uint64_t address, value;
};

/* Addresses whose words are kept. */
struct stack {
    uint64_t start, end;
};

struct stack_frame {
    uint64_t sp;
    const char *function; /* NULL: not known */
};

struct thread_frames {
    struct stack_frame *frames; /* from the innermost one on */
    size_t n_frames, capacity;
    bool is_unwound;
};

struct stack_functions {
    const struct image_file *image;
    const struct machine *machine; /* NULL: none of these */
    struct stack_word *words;      /* in the order of addresses */
    size_t n_words, capacity;
    struct stack *stacks; /* in the order of addresses; they do not overlap */
    size_t n_stacks, at;  /* at: the first one that ends behind the last page */
    struct thread_frames *threads;
    Dwfl *dwfl;
    bool is_attached; /* dwfl calls the functions below */
    uint32_t thread;  /* that is being unwound */
};

/* ---- words ---- */

static const struct machine *machine_of(const struct image_registers *registers)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (registers->thread.n_words == machines[i].n_words)
            return &machines[i];
    return NULL;
}

/* Pages ascend, so stacks before the page are done. */
static bool is_of_stack(struct stack_functions *functions, uint64_t page)
{
    while (functions->at < functions->n_stacks && functions->stacks[functions->at].end <= page)
        functions->at++;
    return functions->at < functions->n_stacks
           && functions->stacks[functions->at].start < page + PAGE_BYTES;
}

int stack_functions_add_page(struct stack_functions *functions, uint64_t page, const uint64_t *mask,
                             const uint64_t *values, struct error *err)
{
    struct stack_word *words;

    if (!is_of_stack(functions, page))
        return 0;
    words = dynamic_array_reserve(functions->words, &functions->capacity,
                                  functions->n_words + IMAGE_PAGE_WORDS, sizeof *words);
    if (!words)
        return error_set(err, ERROR_NOMEM, "no memory for the stacks of a heap image");
    functions->words = words;
    for (size_t i = 0; i < IMAGE_PAGE_WORDS; i++)
        if (mask[i / 64] >> i % 64 & 1)
            words[functions->n_words++] = (struct stack_word){page + i * 8, *values++};
    return 0;
}

/* A word that is no pointer reads as 0. */
static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *context)
{
    const struct stack_functions *functions = context;
    size_t i;

    (void)dwfl;
    LOWER_BOUND(i, functions->n_words, functions->words[i].address < address);
    *ret = i < functions->n_words && functions->words[i].address == address
               ? functions->words[i].value
               : 0;
    return true;
}

/* ---- threads ---- */

static pid_t next_thread(Dwfl *dwfl, void *context, void **ret_context)
{
    struct stack_functions *functions = context;
    const bool is_first = *ret_context == NULL;

    (void)dwfl;
    *ret_context = functions;
    return is_first ? (pid_t)functions->image->threads[functions->thread].thread.tid : 0;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
    const struct stack_functions *functions = context;
    const struct machine *machine = functions->machine;
    const uint64_t *words = functions->image->threads[functions->thread].words;
    Dwarf_Word registers[sizeof machine->words];

    for (size_t i = 0; i < machine->n_registers; i++)
        registers[i] = words[machine->words[i]];
    dwfl_thread_state_register_pc(thread, words[machine->pc]);
    return dwfl_thread_state_registers(thread, 0, machine->n_registers, registers);
}

static const Dwfl_Thread_Callbacks g_thread_callbacks = {
    .next_thread = next_thread, .memory_read = read_word, .set_initial_registers = set_registers};

static const char *function_at(Dwfl *dwfl, uint64_t pc)
{
    Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);

    return module ? dwfl_module_addrname(module, pc) : NULL;
}

static int add_frame(Dwfl_Frame *frame, void *context)
{
    struct stack_functions *functions = context;
    struct thread_frames *thread = &functions->threads[functions->thread];
    struct stack_frame *frames = dynamic_array_reserve(thread->frames, &thread->capacity,
                                                       thread->n_frames + 1, sizeof *frames);
    Dwarf_Addr pc;
    Dwarf_Word sp;
    bool is_interrupted;

    if (frames)
        thread->frames = frames;
    if (!frames || thread->n_frames == MAX_FRAMES || !dwfl_frame_pc(frame, &pc, &is_interrupted)
        || dwfl_frame_reg(frame, functions->machine->sp, &sp) != 0)
        return DWARF_CB_ABORT;
    frames[thread->n_frames++] =
        (struct stack_frame){sp, function_at(functions->dwfl, is_interrupted ? pc : pc - 1)};
    return DWARF_CB_OK;
}

static void unwind(struct stack_functions *functions, uint32_t thread)
{
    const struct image_registers *registers = &functions->image->threads[thread];

    functions->machine = machine_of(registers);
    functions->threads[thread].is_unwound = true;
    functions->thread = thread;
    if (functions->machine && functions->is_attached)
        (void)dwfl_getthread_frames(functions->dwfl, (pid_t)registers->thread.tid, add_frame,
                                    functions);
}

/* ---- */

static int by_start(const void *a, const void *b)
{
    const struct stack *left = a, *right = b;

    return left->start < right->start ? -1 : left->start > right->start;
}

/* From the stack pointer to the end of its range; stacks of one range are one. */
static void find_stacks(struct stack_functions *functions)
{
    const struct image_file *image = functions->image;
    struct stack *stacks = functions->stacks;
    size_t n = 0;

    for (size_t i = 0; i < image->n_threads; i++) {
        const struct machine *machine = machine_of(&image->threads[i]);
        if (!machine)
            continue;
        const uint64_t sp = image->threads[i].words[machine->words[machine->sp]];
        const struct image_range *range = image_file_range(image, sp);
        if (range)
            stacks[n++] = (struct stack){
                sp, range->end - sp > MAX_STACK_BYTES ? sp + MAX_STACK_BYTES : range->end};
    }
    if (n)
        qsort(stacks, n, sizeof *stacks, by_start);
    for (size_t i = 0; i < n; i++) {
        struct stack *last = functions->n_stacks ? &stacks[functions->n_stacks - 1] : NULL;

        if (last && stacks[i].start < last->end)
            last->end = stacks[i].end > last->end ? stacks[i].end : last->end;
        else
            stacks[functions->n_stacks++] = stacks[i];
    }
}

struct stack_functions *stack_functions_new(const struct image_file *image, Dwfl *dwfl)
{
    struct stack_functions *functions = calloc(1, sizeof *functions);

    if (!functions)
        return NULL;
    functions->image = image;
    functions->threads = calloc(image->n_threads + 1, sizeof *functions->threads);
    functions->stacks = calloc(image->n_threads + 1, sizeof *functions->stacks);
    if (!functions->threads || !functions->stacks) {
        stack_functions_free(functions);
        return NULL;
    }
    find_stacks(functions);
    functions->dwfl = dwfl;
    functions->is_attached =
        dwfl_attach_state(dwfl, NULL, (pid_t)image->header.pid, &g_thread_callbacks, functions);
    return functions;
}

void stack_functions_free(struct stack_functions *functions)
{
    if (!functions)
        return;
    for (size_t i = 0; functions->threads && i < functions->image->n_threads; i++)
        free(functions->threads[i].frames);
    free(functions->threads);
    free(functions->stacks);
    free(functions->words);
    free(functions);
}

const char *stack_functions_find(struct stack_functions *functions, uint32_t thread,
                                 uint64_t address)
{
    struct thread_frames *found = &functions->threads[thread];
    const char *function = NULL;

    if (!found->is_unwound)
        unwind(functions, thread);
    for (size_t i = 0; i < found->n_frames && found->frames[i].sp <= address; i++)
        function = found->frames[i].function;
    return function;
}
