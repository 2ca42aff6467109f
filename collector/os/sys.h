/* SPDX-License-Identifier: MIT */
/*
 * sys: all system calls of the collector, and what it asks the kernel by them. Async-signal-safe.
 * Functions that return long return a negative errno value on failure, as the kernel does.
 *
 *   SY-1 errno is not changed.
 *   SY-2 After sys_forbid no system call is made and all functions return -EPERM: a seccomp filter
 *        may end the process for a call that the program itself does not make.
 */
#ifndef MTRACE_COLLECTOR_SYS_H
#define MTRACE_COLLECTOR_SYS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

struct sys_file_id {
    uint64_t device;
    uint64_t inode;
    int64_t size_bytes;
    int64_t change_seconds; /* st_ctime */
};

/* 64-bit also in 32-bit programs. */
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
/* True if the real user and group may execute the file; also true of a folder that they may
 * search. */
bool sys_may_execute(const char *path);

long sys_close(int fd);
long sys_read(int fd, void *buffer, size_t size_bytes);
long sys_write(int fd, const void *buffer, size_t size_bytes);

/* Writes everything; 0 or an errno value. Does not raise SIGPIPE or SIGXFSZ. */
int sys_write_all(int fd, const void *buffer, size_t size_bytes);
long sys_pread(int fd, void *buffer, size_t size_bytes, uint64_t offset);
long sys_pwrite(int fd, const void *buffer, size_t size_bytes, uint64_t offset);
long sys_fallocate(int fd, uint64_t offset, uint64_t size_bytes);
long sys_file_id(int fd, struct sys_file_id *ret_id);
/* The file system copies on write, so reserved blocks may be missing at a write
 * (file_systems.h). */
bool sys_copies_on_write(int fd);
long sys_link(const char *target, const char *path); /* symbolic */
long sys_change_mode(int fd, unsigned mode);
long sys_unlink(const char *path);
long sys_readlink(const char *path, char *buffer, size_t size_bytes);
long sys_getcwd(char *buffer, size_t size_bytes);

/* Private zeroed memory, or a shared mapping of a file; negative errno or the address. */
long sys_map_private(size_t size_bytes);
long sys_map_file(int fd, uint64_t offset, size_t size_bytes);

/* Replaces a mapping by private zeroed memory. */
long sys_map_over(void *start, size_t size_bytes);
/* Private memory for code at that address, not writable; -EEXIST: something is there. A kernel
 * without MAP_FIXED_NOREPLACE may return another address. */
long sys_map_code(uintptr_t address, size_t size_bytes);
long sys_unmap(void *start, size_t size_bytes);
long sys_protect(uintptr_t start, size_t size_bytes, int protection);
long sys_advise(void *start, size_t size_bytes, int advice);
/* Page size of this kernel: a multiple of ARCH_PAGE_BYTES. */
size_t sys_page_bytes(void);
/* mincore: bit 0 of the byte of each page says that it is resident. */
long sys_residency(uintptr_t start, size_t size_bytes, unsigned char *ret_pages);

long sys_getpid(void);
long sys_gettid(void);
/* 0: the process exists, also if it is another user's. */
long sys_process_exists(long pid);
/* 0: this process has such a thread; -ESRCH: it has not. */
long sys_thread_exists(long tid);
long sys_thread_name(char ret_name[16]);
/* PR_GET_TSC: this thread may read the time stamp counter. */
bool sys_may_read_tsc(void);
/* The soft limit of RLIMIT_*; UINT64_MAX for none or unknown. */
uint64_t sys_limit(int resource);
/* Nanoseconds of a CLOCK_*, 0 when the kernel refuses. */
uint64_t sys_clock_ns(int clock);
/* membarrier: all other threads pass a full memory barrier. Negative: unknown. */
long sys_barrier_all(void);
/* Sleeps, or until a signal. Does not use restart_syscall: --attach may have interrupted a sleep of
 * the thread, which is restarted later. */
void sys_nap(uint64_t ns);
/* A non-blocking SOCK_SEQPACKET connection to an abstract name. -EAGAIN: too many others wait.
 * Never descriptor 0, 1 or 2: the program may have closed these, and writes to them. */
long sys_connect(const char *name);
long sys_peer_pid(int fd); /* 0: of another PID namespace */
/* Sends both parts as one message. */
long sys_send(int fd, const void *head, size_t n_head, const void *body, size_t n_body);
/* Receives a message, and a descriptor if there is one (*ret_fd, else -1). -EAGAIN: none yet. */
long sys_receive(int fd, void *buffer, size_t n_bytes, int *ret_fd);
/* 1: readable, or closed by the peer; 0: the time is over; -EINTR. Does not use restart_syscall. */
long sys_wait_readable(int fd, uint64_t ns);
long sys_random(void *buffer, size_t size_bytes);

/* The 8 bytes at an address can be read now. */
bool sys_is_readable(uintptr_t address);
/* The aligned word at an address can be written now. Does not change it, and loses no concurrent
 * write. */
bool sys_is_writable(uintptr_t address);
/* Copies memory of this process without a fault: bytes copied, or negative errno. */
long sys_copy_own(void *ret_bytes, uintptr_t address, size_t size_bytes);
/* The thread runs on its alternate signal stack; false after sys_forbid. */
bool sys_is_on_signal_stack(void);
/* The alternate signal stack of the thread overlaps this range; true after sys_forbid. */
bool sys_has_signal_stack_in(uintptr_t low, uintptr_t high);
/* Blocks all signals of the thread and returns the old mask for sys_unblock_signals. */
long sys_block_signals(struct sys_signals *ret_mask);
long sys_unblock_signals(struct sys_signals mask);

/* ---- another thread ---- */

/* The stack pointer of a thread that waits in the kernel. 0: the thread runs or has exited, or the
 * kernel does not tell (no /proc, a seccomp filter, another user). The thread may have moved when
 * this returns. */
uintptr_t sys_stack_pointer_of(long tid);

/* ---- memory that the program passes to an exec ---- */

/*
 * The kernel answers EFAULT for unreadable memory, so the collector must not read it first. False
 * also after sys_forbid. Also in a vfork child. Another thread may still unmap what was readable.
 */

/* The string, up to its NUL. */
bool sys_string_is_readable(const char *text);

/* The array, up to its NULL, and each string in it. */
bool sys_strings_are_readable(char *const *array);

/* ---- the auxiliary vector ---- */

/* By libc's reserved name, as a program may define its own `getauxval`. No header declares it.
 * NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
unsigned long __getauxval(unsigned long type);

/* 0: there is no such value. */
static inline unsigned long sys_auxiliary_value(unsigned long type)
{
    return __getauxval(type);
}

#endif
