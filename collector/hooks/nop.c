/* SPDX-License-Identifier: MIT */
/*
 * nop: libmtrace-nop.so, with the same exports as libmtrace.so.
 *
 * Each only jumps to the next definition. It is the baseline of all overhead measurements.
 */
#include "collector/os/real.h"
#include "include/mtrace.h"
#include "lib/abi/attr.h"

#include <stddef.h>
#include <string.h>

/* One family to a line. */
/* clang-format off */
#define NOP_NAMES(X)                                                                               \
    X(malloc) X(free) X(calloc) X(realloc) X(reallocarray)                                         \
    X(posix_memalign) X(aligned_alloc) X(memalign) X(valloc) X(pvalloc)                            \
    X(cfree) X(free_sized) X(free_aligned_sized)                                                   \
    X(mallocx) X(rallocx) X(dallocx) X(sdallocx)                                                   \
    X(mallopt) X(malloc_trim) X(malloc_info) X(mallinfo2)                                          \
    X(mmap) X(mmap64) X(munmap) X(mremap) X(mprotect) X(pkey_mprotect) X(brk) X(sbrk) X(dlclose)   \
    X(dlopen) X(dlmopen) X(dlsym) X(dlvsym)                                                         \
    X(pthread_create) X(thrd_create) X(pthread_setname_np) X(prctl) X(syscall) X(chroot)           \
    X(fork) X(_Fork) X(forkpty) X(daemon) X(posix_spawn) X(posix_spawnp)                           \
    X(execve) X(execv) X(execvp) X(execvpe) X(execl) X(execle) X(execlp) X(fexecve) X(execveat)    \
    X(memory_profiler_start) X(memory_profiler_stop) X(memory_profiler_sync)                       \
    X(memory_profiler_set_marker) X(memory_profiler_override_next_timestamp)                       \
    X(heaptrack_malloc) X(heaptrack_realloc) X(heaptrack_free)                                     \
    X(_exit) X(_Exit) X(quick_exit) X(abort)

/* clang-format on */

enum nop_index {
#define NOP_INDEX(name) NOP_##name,
    NOP_NAMES(NOP_INDEX)
#undef NOP_INDEX
    N_NAMES
};

static const char *const g_names[] = {
#define NOP_NAME(name) #name,
    NOP_NAMES(NOP_NAME)
#undef NOP_NAME
};

/* Used by the jumps below only. */
extern void *g_nop_targets[N_NAMES];
void *g_nop_targets[N_NAMES];
void nop_resolve(void);

static size_t answer_zero(void)
{
    return 0;
}

/* Called once, by the first jump that finds no target. */
__attribute__((used)) void nop_resolve(void)
{
    size_t (*const absent)(void) = answer_zero;

    for (size_t i = 0; i < N_NAMES; i++) {
        void *target = real_find(g_names[i]);
        if (!target)
            memcpy(&target, &absent, sizeof(target));
        g_nop_targets[i] = target;
    }
}

#define NOP_STRING(text)  #text
#define NOP_EXPAND(value) NOP_STRING(value)

/* __COUNTER__ counts as the enumeration does: each name once, in the same order. */
#define NOP_JUMP(name) NOP_JUMP_AT(name, __COUNTER__)

#if defined(__x86_64__)

/* All argument registers survive; after the return address and eight pushes the stack is aligned.
 */
__asm__(".text\n"
        ".type nop_first_call, @function\n"
        "nop_first_call:\n"
        "    push %rbp\n    push %rdi\n    push %rsi\n    push %rdx\n"
        "    push %rcx\n    push %r8\n    push %r9\n    push %rax\n"
        "    call nop_resolve\n"
        "    pop %rax\n    pop %r9\n    pop %r8\n    pop %rcx\n"
        "    pop %rdx\n    pop %rsi\n    pop %rdi\n    pop %rbp\n"
        "    ret\n");

#    define NOP_JUMP_AT(name, index)                                                    \
        __asm__(".globl " #name "\n"                                                    \
                ".type " #name ", @function\n" #name ":\n"                              \
                "    cmpq $0, g_nop_targets+8*" NOP_EXPAND(                             \
                    index) "(%rip)\n"                                                   \
                           "    jne 1f\n"                                               \
                           "    call nop_first_call\n"                                  \
                           "1:  jmp *g_nop_targets+8*" NOP_EXPAND(index) "(%rip)\n"     \
                                                                         ".size " #name \
                                                                         ", .-" #name "\n");

#elif defined(__i386__)

/* All arguments are on the stack, which is 4 bytes below a multiple of 16. */
#    define NOP_JUMP_AT(name, index)                                                        \
        __asm__(".globl " #name "\n"                                                        \
                ".type " #name ", @function\n" #name ":\n"                                  \
                "    endbr32\n"                                                             \
                "1:  call 2f\n"                                                             \
                "2:  popl %ecx\n"                                                           \
                "    movl g_nop_targets-2b+4*" NOP_EXPAND(                                  \
                    index) "(%ecx), %eax\n"                                                 \
                           "    testl %eax, %eax\n    jne 3f\n"                             \
                           "    subl $12, %esp\n    call nop_resolve\n    addl $12, %esp\n" \
                           "    jmp 1b\n"                                                   \
                           "3:  jmp *%eax\n"                                                \
                           ".size " #name ", .-" #name "\n");

#elif defined(__aarch64__)

/* All argument registers survive, the one for a large result, too. */
__asm__(".text\n"
        ".type nop_first_call, %function\n"
        "nop_first_call:\n"
        "    stp x29, x30, [sp, #-96]!\n    mov x29, sp\n"
        "    stp x0, x1, [sp, #16]\n    stp x2, x3, [sp, #32]\n    stp x4, x5, [sp, #48]\n"
        "    stp x6, x7, [sp, #64]\n    str x8, [sp, #80]\n"
        "    bl nop_resolve\n"
        "    ldp x0, x1, [sp, #16]\n    ldp x2, x3, [sp, #32]\n    ldp x4, x5, [sp, #48]\n"
        "    ldp x6, x7, [sp, #64]\n    ldr x8, [sp, #80]\n"
        "    ldp x29, x30, [sp], #96\n"
        "    ret\n");

#    define NOP_JUMP_AT(name, index)                                                \
        __asm__(".globl " #name "\n"                                                \
                ".type " #name ", %function\n" #name ":\n"                          \
                "    hint #34\n"                                                    \
                "1:  adrp x16, g_nop_targets+8*" NOP_EXPAND(                        \
                    index) "\n"                                                     \
                           "    ldr x17, [x16, #:lo12:g_nop_targets+8*" NOP_EXPAND( \
                               index) "]\n"                                         \
                                      "    cbz x17, 2f\n"                           \
                                      "    br x17\n"                                \
                                      "2:  stp x29, x30, [sp, #-16]!\n"             \
                                      "    bl nop_first_call\n"                     \
                                      "    ldp x29, x30, [sp], #16\n"               \
                                      "    b 1b\n"                                  \
                                      ".size " #name ", .-" #name "\n");

#elif defined(__arm__)

/* All argument registers survive. */
__asm__(".text\n"
        ".syntax unified\n"
        ".arm\n"
        ".type nop_first_call, %function\n"
        "nop_first_call:\n"
        "    push {r0-r3, r12, lr}\n"
        "    bl nop_resolve\n"
        "    pop {r0-r3, r12, pc}\n");

#    define NOP_JUMP_AT(name, index)                                                               \
        __asm__(".globl " #name "\n"                                                               \
                ".type " #name ", %function\n" #name ":\n"                                         \
                "1:  ldr r12, 3f\n"                                                                \
                "2:  add r12, pc, r12\n"                                                           \
                "    ldr r12, [r12, #4*(" NOP_EXPAND(index) ")]\n"                                 \
                                                            "    cmp r12, #0\n"                    \
                                                            "    bxne r12\n"                       \
                                                            "    push {r12, lr}\n"                 \
                                                            "    bl nop_first_call\n"              \
                                                            "    pop {r12, lr}\n"                  \
                                                            "    b 1b\n"                           \
                                                            "3:  .word g_nop_targets - (2b + 8)\n" \
                                                            ".size " #name ", .-" #name "\n");

#elif defined(__riscv) && __riscv_xlen == 64

/* All argument registers survive. */
__asm__(".text\n"
        ".type nop_first_call, @function\n"
        "nop_first_call:\n"
        "    addi sp, sp, -80\n    sd ra, 0(sp)\n"
        "    sd a0, 8(sp)\n    sd a1, 16(sp)\n    sd a2, 24(sp)\n    sd a3, 32(sp)\n"
        "    sd a4, 40(sp)\n    sd a5, 48(sp)\n    sd a6, 56(sp)\n    sd a7, 64(sp)\n"
        "    call nop_resolve\n"
        "    ld a0, 8(sp)\n    ld a1, 16(sp)\n    ld a2, 24(sp)\n    ld a3, 32(sp)\n"
        "    ld a4, 40(sp)\n    ld a5, 48(sp)\n    ld a6, 56(sp)\n    ld a7, 64(sp)\n"
        "    ld ra, 0(sp)\n    addi sp, sp, 80\n"
        "    ret\n");

#    define NOP_JUMP_AT(name, index)                                  \
        __asm__(".globl " #name "\n"                                  \
                ".type " #name ", @function\n" #name ":\n"            \
                "1:  lla t0, g_nop_targets+8*" NOP_EXPAND(            \
                    index) "\n"                                       \
                           "    ld t1, 0(t0)\n"                       \
                           "    beqz t1, 2f\n"                        \
                           "    jr t1\n"                              \
                           "2:  addi sp, sp, -16\n    sd ra, 0(sp)\n" \
                           "    call nop_first_call\n"                \
                           "    ld ra, 0(sp)\n    addi sp, sp, 16\n"  \
                           "    j 1b\n"                               \
                           ".size " #name ", .-" #name "\n");

#elif defined(__mips64)

/* All argument registers survive, t9 and gp. t3 ($15) is our gp. */
__asm__(".text\n"
        ".type nop_first_call, @function\n"
        ".set push\n    .set noreorder\n"
        "nop_first_call:\n"
        "    daddiu $sp, $sp, -96\n    sd $31, 0($sp)\n"
        "    sd $4, 8($sp)\n    sd $5, 16($sp)\n    sd $6, 24($sp)\n    sd $7, 32($sp)\n"
        "    sd $8, 40($sp)\n    sd $9, 48($sp)\n    sd $10, 56($sp)\n    sd $11, 64($sp)\n"
        "    sd $28, 72($sp)\n    sd $25, 80($sp)\n"
        "    move $28, $15\n"
        "    ld $25, %got_disp(nop_resolve)($28)\n"
        "    jalr $25\n    nop\n"
        "    ld $4, 8($sp)\n    ld $5, 16($sp)\n    ld $6, 24($sp)\n    ld $7, 32($sp)\n"
        "    ld $8, 40($sp)\n    ld $9, 48($sp)\n    ld $10, 56($sp)\n    ld $11, 64($sp)\n"
        "    ld $28, 72($sp)\n    ld $25, 80($sp)\n"
        "    ld $31, 0($sp)\n    jr $31\n    daddiu $sp, $sp, 96\n"
        ".set pop\n");

#    define NOP_JUMP_AT(name, index)                                                 \
        __asm__(".globl " #name "\n"                                                 \
                ".type " #name ", @function\n"                                       \
                ".set push\n    .set noreorder\n" #name ":\n"                        \
                "1:  lui $15, %hi(%neg(%gp_rel(" #name ")))\n"                       \
                "    daddu $15, $15, $25\n"                                          \
                "    daddiu $15, $15, %lo(%neg(%gp_rel(" #name ")))\n"               \
                "    ld $14, %got_disp(g_nop_targets)($15)\n"                        \
                "    ld $24, 8*" NOP_EXPAND(                                         \
                    index) "($14)\n"                                                 \
                           "    beqz $24, 2f\n    nop\n"                             \
                           "    move $25, $24\n    jr $25\n    nop\n"                \
                           "2:  daddiu $sp, $sp, -16\n    sd $31, 0($sp)\n"          \
                           "    bal nop_first_call\n    nop\n"                       \
                           "    ld $31, 0($sp)\n    b 1b\n    daddiu $sp, $sp, 16\n" \
                           ".set pop\n"                                              \
                           ".size " #name ", .-" #name "\n");

#else
#    error "write the jump of this architecture here"
#endif

NOP_NAMES(NOP_JUMP)

/* Version 0: the program takes the collector for absent. */
extern const struct mtrace_api mtrace_api_2;

MTRACE_EXPORT const struct mtrace_api mtrace_api_2 = {.version = 0};

/* What mtrace-record --detach calls: nothing is recorded. */
int mtrace_detach(const char *question);

MTRACE_EXPORT int mtrace_detach(const char *question)
{
    (void)question;
    return 1;
}
