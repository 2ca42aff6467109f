/* SPDX-License-Identifier: MIT */
/*
 * jit_code [ADDRESS]: calls through code generated at run time. One function has a frame pointer,
 * the other has only unwind tables registered with libgcc (__register_frame). ADDRESS: where to put
 * it, e.g. between the segments of the program.
 */
#include "tests/workloads/workload.h"

#include <string.h>
#include <sys/mman.h>
#include <unwind.h>

enum {
    CODE_BYTES = 4096,
    N_CALLS = 100,
};

/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const unsigned char with_frame_pointer[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
/* sub $24, %rsp; call *%rdi; add $24, %rsp; ret */
static const unsigned char with_tables[] = {0x48, 0x83, 0xec, 0x18, 0xff, 0xd7,
                                            0x48, 0x83, 0xc4, 0x18, 0xc3};

/* .eh_frame of the latter: CFA = rsp + 8, after the first instruction + 32. */
static struct {
    struct {
        unsigned length, id;
        unsigned char version, augmentation, code_align, data_align, return_column, rules[7];
    } __attribute__((packed)) cie;

    struct {
        unsigned length, cie_pointer;
        const void *start;
        unsigned long size;
        unsigned char rules[8];
    } __attribute__((packed)) fde;

    unsigned end;
} __attribute__((packed, aligned(8))) tables = {
    .cie = {16, 0, 1, 0, 1, 0x78, 16, {0x0c, 7, 8, 0x90, 1, 0, 0}},
    .fde = {28, 24, NULL, 0, {0x44, 0x0e, 32, 0, 0, 0, 0, 0}},
};

extern void __register_frame(void *);

/* Lies in a gap of the program when it is linked with one. */
__attribute__((section(".far"), used)) int far_function(int x)
{
    return x + 1;
}

static __attribute__((noinline)) void leak_behind_frame_pointer(void)
{
    own_malloc(1);
}

static unsigned n_frames;

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *unused)
{
    (void)context;
    (void)unused;
    n_frames++;
    return _URC_NO_REASON;
}

static __attribute__((noinline)) void leak_behind_tables(void)
{
    n_frames = 0;
    _Unwind_Backtrace(count_frame, NULL);
    own_malloc(2);
}

static __attribute__((noinline)) void call_through(void *code, void (*leak)(void))
{
    void (*enter)(void (*)(void));
    memcpy(&enter, &code, sizeof(code));
    enter(leak);
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    void *where = argc > 1 ? (void *)strtoul(argv[1], NULL, 0) : NULL;
    unsigned char *code =
        mmap(where, CODE_BYTES, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    if (code == MAP_FAILED || far_function(1) != 2)
        return 1;
    memcpy(code, with_frame_pointer, sizeof(with_frame_pointer));
    memcpy(code + 64, with_tables, sizeof(with_tables));
    tables.fde.start = code + 64;
    tables.fde.size = sizeof(with_tables);
    __register_frame(&tables);
    if (mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC) != 0)
        return 1;
    for (int i = 0; i < N_CALLS; i++) {
        call_through(code, leak_behind_frame_pointer);
        call_through(code + 64, leak_behind_tables);
    }
    if (n_frames < 5) /* the tables are good: this one, the code, call_through, main, libc's */
        return 1;
    expect("complete_through_jit", 0);
    expect("jit_positions", 2);
    expect("called_through", N_CALLS);
    expect_own();
    return 0;
}
