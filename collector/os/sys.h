/* SPDX-License-Identifier: MIT */
/*
 * sys: every system call the collector makes, straight to the kernel.
 *
 * Invariants
 *   SY-1 errno is never touched.
 *   SY-2 After sys_forbid no system call is made; all functions answer -EPERM. (A seccomp filter
 *        may end the process for a call that the program itself never makes.)
 * Threads: any. Signals: safe.
 * Failure: a negative errno value, as the kernel returns it.
 */
#ifndef MTRACE_COLLECTOR_SYS_H
#define MTRACE_COLLECTOR_SYS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sys_file_id {
    uint64_t device;
    uint64_t inode;
    int64_t size_bytes;
    int64_t change_seconds; /* when its inode last changed, by the clock of day */
};

/* As the kernel tells time whatever the program's words are. */
struct sys_time {
    int64_t seconds, ns;
};

/* A set of signals, as the kernel has them: 64, and on MIPS 128. */
struct sys_signals {
    uint64_t words[_NSIG / 64];
};

void sys_forbid(void);
void sys_allow(void); /* the filter was refused */
bool sys_is_forbidden(void);

long sys_open(const char *path, int flags, unsigned mode);
long sys_close(int fd);
long sys_read(int fd, void *buffer, size_t size_bytes);
long sys_write(int fd, const void *buffer, size_t size_bytes);

/* Until all is written; 0 or an errno value. The program gets no SIGPIPE or SIGXFSZ of it. */
int sys_write_all(int fd, const void *buffer, size_t size_bytes);
long sys_pread(int fd, void *buffer, size_t size_bytes, uint64_t offset);
long sys_pwrite(int fd, const void *buffer, size_t size_bytes, uint64_t offset);
long sys_fallocate(int fd, uint64_t offset, uint64_t size_bytes);
long sys_file_id(int fd, struct sys_file_id *ret_id);
/* Blocks that the file's system reserved may be missing when they are written (file_systems.h). */
bool sys_copies_on_write(int fd);
long sys_link(const char *target, const char *path); /* symbolic */
long sys_change_mode(int fd, unsigned mode);
long sys_unlink(const char *path);
long sys_readlink(const char *path, char *buffer, size_t size_bytes);
long sys_getcwd(char *buffer, size_t size_bytes);

/* Private zeroed memory, or a shared mapping of a file; negative errno or the address. */
long sys_map_private(size_t size_bytes);
long sys_map_file(int fd, uint64_t offset, size_t size_bytes);
/* To be read only; of what is behind the end of the file there is a signal. */
long sys_map_readable(int fd, size_t size_bytes);
/* Private zeroed memory in place of what is mapped there. */
long sys_map_over(void *start, size_t size_bytes);
/* Private memory for code at that address, never writable; -EEXIST: something is there. (A kernel that
 * does not know the flag may answer with another address.) */
long sys_map_code(uintptr_t address, size_t size_bytes);
long sys_unmap(void *start, size_t size_bytes);
long sys_protect(uintptr_t start, size_t size_bytes, int protection);
long sys_advise(void *start, size_t size_bytes, int advice);
/* Of this kernel: a multiple of ARCH_PAGE_BYTES. */
size_t sys_page_bytes(void);
/* A byte for each page, whose lowest bit says that it is in memory. */
long sys_residency(uintptr_t start, size_t size_bytes, unsigned char *ret_pages);

long sys_getpid(void);
long sys_gettid(void);
/* 0 when the process exists (also when it is not ours). */
long sys_process_exists(long pid);
/* 0 when there is such a thread in this process; -ESRCH: there is none. */
long sys_thread_exists(long tid);
long sys_thread_name(char ret_name[16]);
/* Reading the time stamp counter is no signal for this thread. */
bool sys_may_read_tsc(void);
/* The soft limit of RLIMIT_*; UINT64_MAX for none or unknown. */
uint64_t sys_limit(int resource);
/* Nanoseconds of a CLOCK_*, 0 when the kernel refuses. */
uint64_t sys_clock_ns(int clock);
/* Every other thread of the process passes a full memory barrier before it returns; negative: who knows. */
long sys_barrier_all(void);
/* Sleeps so long, or until a signal. By a call that leaves alone what restart_syscall would go on with: a thread
 * that --attach leads may have been called out of a sleep. */
void sys_nap(uint64_t ns);
/* Until who shares the word's file wakes those who wait for it with one of these bits, so long at most: 0 (also for nothing);
 * -EAGAIN: it is not `seen`; -ETIMEDOUT; -EINTR: a signal. Not where --attach may lead a thread: unlike a nap it is gone on with by restart_syscall. */
long sys_wait_shared(const _Atomic uint32_t *word, uint32_t seen, uint32_t bits, uint64_t ns);
/* Those who wait for it with one of these bits. */
void sys_wake_shared(const _Atomic uint32_t *word, uint32_t bits);
long sys_random(void *buffer, size_t size_bytes);

/* The 8 bytes at an address can be read now. */
bool sys_is_readable(uintptr_t address);
/* The aligned word at an address can be written now; it stays what it is, and what others write there meanwhile is not lost. */
bool sys_is_writable(uintptr_t address);
/* Copies our own memory without a fault: bytes copied, or negative errno. */
long sys_copy_own(void *ret_bytes, uintptr_t address, size_t size_bytes);
/* The thread runs on its alternate signal stack; also false when the kernel cannot be asked. */
bool sys_is_on_signal_stack(void);
/* The alternate signal stack of the thread, or a part of it, lies there; also true when the kernel cannot be asked. */
bool sys_has_signal_stack_in(uintptr_t low, uintptr_t high);
/* Blocks all signals of the thread; sys_unblock_signals with what it returned undoes it. */
long sys_block_signals(struct sys_signals *ret_mask);
long sys_unblock_signals(struct sys_signals mask);

#endif
