/* SPDX-License-Identifier: MIT */
#include "collector/os/sys.h"

#include "collector/arch/arch.h"
#include "collector/os/fmt.h"
#include "lib/abi/file_systems.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static _Atomic bool g_is_forbidden; /* set once, in any phase */

void sys_forbid(void)
{
    atomic_store_explicit(&g_is_forbidden, true, memory_order_relaxed);
}

void sys_allow(void)
{
    atomic_store_explicit(&g_is_forbidden, false, memory_order_relaxed);
}

bool sys_is_forbidden(void)
{
    return atomic_load_explicit(&g_is_forbidden, memory_order_relaxed);
}

/* libc's syscall() would set errno, and the program may define a function of that name. */
static long call(long number, long a, long b, long c, long d, long e, long f)
{
    if (sys_is_forbidden())
        return -EPERM;
    return arch_system_call(number, a, b, c, d, e, f);
}

static long word(const void *pointer)
{
    return (long)(uintptr_t)pointer;
}

long sys_open(const char *path, int flags, unsigned mode)
{
    return call(SYS_openat, AT_FDCWD, word(path), flags | O_CLOEXEC, (long)mode, 0, 0);
}

bool sys_may_execute(const char *path)
{
    return call(SYS_faccessat, AT_FDCWD, word(path), X_OK, 0, 0, 0) == 0;
}

long sys_close(int fd)
{
    return call(SYS_close, fd, 0, 0, 0, 0, 0);
}

long sys_read(int fd, void *buffer, size_t size_bytes)
{
    return call(SYS_read, fd, word(buffer), (long)size_bytes, 0, 0, 0);
}

long sys_write(int fd, const void *buffer, size_t size_bytes)
{
    return call(SYS_write, fd, word(buffer), (long)size_bytes, 0, 0, 0);
}

enum {
    SIGNAL_OF_PIPE = 1u << (SIGPIPE - 1),
    SIGNAL_OF_SIZE = 1u << (SIGXFSZ - 1),
};

/* The kernel sends the signal to the writing thread, before the call returns. */
static uint32_t signal_of_failure(long code)
{
    return code == -EPIPE ? SIGNAL_OF_PIPE : code == -EFBIG ? SIGNAL_OF_SIZE : 0;
}

/* A signal that was already pending is the program's and stays: the kernel does not queue a second
 * one. */
static void take_signal(uint32_t signal, const struct sys_signals *pending_before)
{
    const struct sys_signals set = {{signal & ~pending_before->words[0]}};
    const uint64_t no_time[2] = {0, 0};

    if (set.words[0])
        call(SYS_rt_sigtimedwait, word(&set), 0, word(no_time), sizeof(set), 0, 0);
}

/* Blocks only those two signals, so handlers of others may run during it. */
static long write_quietly(int fd, const void *buffer, size_t size_bytes)
{
    const struct sys_signals quiet = {{SIGNAL_OF_PIPE | SIGNAL_OF_SIZE}};
    struct sys_signals mask = {{0}};
    struct sys_signals pending = {{0}};
    long n = call(SYS_rt_sigprocmask, SIG_BLOCK, word(&quiet), word(&mask), sizeof(mask), 0, 0);

    if (n < 0)
        return n;
    n = call(SYS_rt_sigpending, word(&pending), sizeof(pending), 0, 0, 0, 0);
    if (n == 0) {
        n = sys_write(fd, buffer, size_bytes);
        take_signal(signal_of_failure(n), &pending);
    }
    sys_unblock_signals(mask);
    return n;
}

int sys_write_all(int fd, const void *buffer, size_t size_bytes)
{
    const char *bytes = buffer;

    while (size_bytes > 0) {
        long n = write_quietly(fd, bytes, size_bytes);
        if (n == -EINTR)
            continue;
        if (n <= 0)
            return n ? (int)-n : EIO;
        bytes += n;
        size_bytes -= (size_t)n;
    }
    return 0;
}

/*
 * On processors where a 64-bit number is two arguments, low word first, calls that take or return
 * such a number have other names. All of these are as old as the kernels we support, except
 * clock_gettime64.
 */
#if !ARCH_HAS_FILE_STATUS
/* libc's is the kernel's. NOLINTNEXTLINE(readability-identifier-naming) */
#    define arch_file_status stat64
#endif

#if __SIZEOF_LONG__ == 8
static long transfer(long number, int fd, const void *buffer, size_t size_bytes, uint64_t offset)
{
    return call(number, fd, word(buffer), (long)size_bytes, (long)offset, 0, 0);
}

static long map(void *start, size_t size_bytes, int protection, int flags, int fd, uint64_t offset)
{
    return call(SYS_mmap, word(start), (long)size_bytes, protection, flags, fd, (long)offset);
}

long sys_fallocate(int fd, uint64_t offset, uint64_t size_bytes)
{
    return call(SYS_fallocate, fd, 0, (long)offset, (long)size_bytes, 0, 0);
}

static long describe_file(int fd, struct arch_file_status *ret_status)
{
    return call(SYS_fstat, fd, word(ret_status), 0, 0, 0, 0);
}

static long describe_file_system(int fd, struct statfs64 *ret_status)
{
    return call(SYS_fstatfs, fd, word(ret_status), 0, 0, 0, 0);
}

static long read_clock(int clock, struct sys_time *ret_time)
{
    return call(SYS_clock_gettime, clock, word(ret_time), 0, 0, 0, 0);
}
#else
enum {
    MAP_UNIT_BYTES = 4096 /* of the offset, whatever the page size is */
};

static long map(void *start, size_t size_bytes, int protection, int flags, int fd, uint64_t offset)
{
    return call(SYS_mmap2, word(start), (long)size_bytes, protection, flags, fd,
                (long)(offset / MAP_UNIT_BYTES));
}

static long transfer(long number, int fd, const void *buffer, size_t size_bytes, uint64_t offset)
{
#    if defined(__arm__) /* a number of 64 bits begins with an even argument */
    return call(number, fd, word(buffer), (long)size_bytes, 0, (long)offset, (long)(offset >> 32));
#    else
    return call(number, fd, word(buffer), (long)size_bytes, (long)offset, (long)(offset >> 32), 0);
#    endif
}

long sys_fallocate(int fd, uint64_t offset, uint64_t size_bytes)
{
    return call(SYS_fallocate, fd, 0, (long)offset, (long)(offset >> 32), (long)size_bytes,
                (long)(size_bytes >> 32));
}

static long describe_file(int fd, struct arch_file_status *ret_status)
{
    return call(SYS_fstat64, fd, word(ret_status), 0, 0, 0, 0);
}

static long describe_file_system(int fd, struct statfs64 *ret_status)
{
    return call(SYS_fstatfs64, fd, sizeof(*ret_status), word(ret_status), 0, 0, 0);
}

static long read_clock(int clock, struct sys_time *ret_time)
{
    struct timespec time = {0};
    long result = call(SYS_clock_gettime64, clock, word(ret_time), 0, 0, 0, 0);

    if (result != -ENOSYS) /* Linux before 5.1 */
        return result;
    result = call(SYS_clock_gettime, clock, word(&time), 0, 0, 0, 0);
    *ret_time = (struct sys_time){time.tv_sec, time.tv_nsec};
    return result;
}
#endif

static int64_t change_seconds(const struct arch_file_status *status)
{
#if ARCH_HAS_FILE_STATUS
    return status->st_ctime_seconds;
#else
    return status->st_ctim.tv_sec;
#endif
}

long sys_pread(int fd, void *buffer, size_t size_bytes, uint64_t offset)
{
    return transfer(SYS_pread64, fd, buffer, size_bytes, offset);
}

long sys_pwrite(int fd, const void *buffer, size_t size_bytes, uint64_t offset)
{
    return transfer(SYS_pwrite64, fd, buffer, size_bytes, offset);
}

long sys_file_id(int fd, struct sys_file_id *ret_id)
{
    struct arch_file_status status = {0};
    long result = describe_file(fd, &status);

    if (result < 0)
        return result;
    *ret_id =
        (struct sys_file_id){status.st_dev, status.st_ino, status.st_size, change_seconds(&status)};
    return 0;
}

bool sys_copies_on_write(int fd)
{
    struct statfs64 status = {0};

    return describe_file_system(fd, &status) == 0
           && file_systems_copies_on_write((uint64_t)status.f_type);
}

long sys_link(const char *target, const char *path)
{
    return call(SYS_symlinkat, word(target), AT_FDCWD, word(path), 0, 0, 0);
}

long sys_change_mode(int fd, unsigned mode)
{
    return call(SYS_fchmod, fd, (long)mode, 0, 0, 0, 0);
}

long sys_unlink(const char *path)
{
    return call(SYS_unlinkat, AT_FDCWD, word(path), 0, 0, 0, 0);
}

long sys_readlink(const char *path, char *buffer, size_t size_bytes)
{
    return call(SYS_readlinkat, AT_FDCWD, word(path), word(buffer), (long)size_bytes, 0, 0);
}

long sys_getcwd(char *buffer, size_t size_bytes)
{
    return call(SYS_getcwd, word(buffer), (long)size_bytes, 0, 0, 0, 0);
}

/*
 * A place for a mapping of ours, below all others. A program may unmap memory and map it again with
 * MAP_FIXED: in between it must not become ours. The kernel ignores NULL, and a place that is in
 * use. It also chooses the places of larger mappings, because it aligns them for huge pages.
 */
static void *own_place(size_t size_bytes)
{
    static const uint64_t distance_bytes = (uint64_t)64 << 30;
    static const size_t max_bytes = (size_t)2 << 20;
    static _Atomic uintptr_t lowest;
    const uintptr_t page_mask = (uintptr_t)sys_page_bytes() - 1;
    const uintptr_t own = (uintptr_t)&lowest & ~page_mask;
    const size_t n_bytes = (size_bytes + page_mask) & ~page_mask;
    uintptr_t unset = 0;

    if (own <= distance_bytes || n_bytes >= max_bytes)
        return NULL;
    atomic_compare_exchange_strong(&lowest, &unset, own - (uintptr_t)distance_bytes);
    return (void *)(atomic_fetch_sub_explicit(&lowest, n_bytes, memory_order_relaxed) - n_bytes);
}

long sys_map_private(size_t size_bytes)
{
    return map(own_place(size_bytes), size_bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

long sys_map_over(void *start, size_t size_bytes)
{
    return map(start, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
               -1, 0);
}

long sys_map_file(int fd, uint64_t offset, size_t size_bytes)
{
    return map(own_place(size_bytes), size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

long sys_map_code(uintptr_t address, size_t size_bytes)
{
    return map((void *)address, size_bytes, PROT_READ | PROT_EXEC,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

long sys_unmap(void *start, size_t size_bytes)
{
    return call(SYS_munmap, word(start), (long)size_bytes, 0, 0, 0, 0);
}

long sys_protect(uintptr_t start, size_t size_bytes, int protection)
{
    return call(SYS_mprotect, (long)start, (long)size_bytes, protection, 0, 0, 0);
}

long sys_advise(void *start, size_t size_bytes, int advice)
{
    return call(SYS_madvise, word(start), (long)size_bytes, advice, 0, 0, 0);
}

size_t sys_page_bytes(void)
{
    size_t page_bytes = sys_auxiliary_value(AT_PAGESZ);

    return page_bytes ? page_bytes : ARCH_PAGE_BYTES;
}

long sys_residency(uintptr_t start, size_t size_bytes, unsigned char *ret_pages)
{
    return call(SYS_mincore, (long)start, (long)size_bytes, word(ret_pages), 0, 0, 0);
}

long sys_getpid(void)
{
    return call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

long sys_gettid(void)
{
    return call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

long sys_process_exists(long pid)
{
    long result = call(SYS_kill, pid, 0, 0, 0, 0, 0);

    return result == -EPERM ? 0 : result;
}

long sys_thread_exists(long tid)
{
    return call(SYS_tgkill, sys_getpid(), tid, 0, 0, 0, 0);
}

long sys_thread_name(char ret_name[16])
{
    return call(SYS_prctl, PR_GET_NAME, word(ret_name), 0, 0, 0, 0);
}

bool sys_may_read_tsc(void)
{
    int mode = PR_TSC_SIGSEGV;
    long result = call(SYS_prctl, PR_GET_TSC, word(&mode), 0, 0, 0, 0);

    return result == -EINVAL
           || (result == 0 && mode == PR_TSC_ENABLE); /* or it cannot be forbidden */
}

uint64_t sys_limit(int resource)
{
    struct rlimit64 limit = {0};

    if (call(SYS_prlimit64, 0, resource, 0, word(&limit), 0, 0) < 0
        || limit.rlim_cur == RLIM64_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

uint64_t sys_clock_ns(int clock)
{
    struct sys_time time = {0, 0};

    if (read_clock(clock, &time) < 0)
        return 0;
    return (uint64_t)time.seconds * 1000000000u + (uint64_t)time.ns;
}

/* An unregistered process is registered here; this costs only a barrier when the kernel switches
 * threads. */
long sys_barrier_all(void)
{
    long result = call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);

    if (result != -EPERM || sys_is_forbidden())
        return result;
    result = call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
    return result < 0 ? result
                      : call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
}

void sys_nap(uint64_t ns)
{
    struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

    call(SYS_ppoll, 0, 0, word(&time), 0, sizeof(uint64_t), 0);
}

long sys_wait_readable(int fd, uint64_t ns)
{
    struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    struct pollfd poll = {.fd = fd, .events = POLLIN};

    return call(SYS_ppoll, word(&poll), 1, word(&time), 0, sizeof(uint64_t), 0);
}

/* ---- sockets --------------------------------------------------------------------------------- */

static long connect_to(long fd, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = fmt_length(name);

    if (n >= sizeof(address.sun_path))
        return -EINVAL;
    memcpy(address.sun_path + 1, name, n);
    return call(SYS_connect, fd, word(&address),
                (long)(offsetof(struct sockaddr_un, sun_path) + 1 + n), 0, 0, 0);
}

long sys_connect(const char *name)
{
    long fd = call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0, 0, 0);
    long code = 0;

    if (fd >= 0 && fd < 3) {
        long low = fd;
        fd = call(SYS_fcntl, low, F_DUPFD_CLOEXEC, 3, 0, 0, 0);
        sys_close((int)low);
    }
    if (fd >= 0)
        code = connect_to(fd, name);
    if (code == 0)
        return fd;
    sys_close((int)fd);
    return code;
}

long sys_peer_pid(int fd)
{
    struct ucred peer = {.pid = -1};
    socklen_t n = sizeof(peer);

    return call(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, word(&peer), word(&n), 0) == 0
               ? peer.pid
               : -1;
}

long sys_send(int fd, const void *head, size_t n_head, const void *body, size_t n_body)
{
    struct iovec parts[] = {{(void *)(uintptr_t)head, n_head}, {(void *)(uintptr_t)body, n_body}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    return call(SYS_sendmsg, fd, word(&message), MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0, 0);
}

long sys_receive(int fd, void *buffer, size_t n_bytes, int *ret_fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {buffer, n_bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    long n = call(SYS_recvmsg, fd, word(&message), MSG_DONTWAIT | MSG_CMSG_CLOEXEC, 0, 0, 0);

    *ret_fd = -1;
    if (n >= 0 && message.msg_controllen >= CMSG_LEN(sizeof(int))
        && control.header.cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(*ret_fd));
    return n;
}

long sys_random(void *buffer, size_t size_bytes)
{
    return call(SYS_getrandom, word(buffer), (long)size_bytes, 1 /* GRND_NONBLOCK */, 0, 0, 0);
}

/* The kernel reads the new mask before it looks at the (invalid) `how`: EFAULT or EINVAL. */
static bool is_mask_readable(uintptr_t address)
{
    return call(SYS_rt_sigprocmask, ~0L, (long)address, 0, sizeof(struct sys_signals), 0, 0)
           == -EINVAL;
}

/* A mask of more than 8 bytes may end on another page: whole masks are probed, at multiples of
 * their size. */
bool sys_is_readable(uintptr_t address)
{
    const uintptr_t low_bits = sizeof(struct sys_signals) - 1;

    if (sizeof(struct sys_signals) == sizeof(uint64_t))
        return is_mask_readable(address);
    return is_mask_readable(address & ~low_bits)
           && (((address ^ (address + 7)) & ~low_bits) == 0
               || is_mask_readable((address + 7) & ~low_bits));
}

/* The kernel adds zero to it atomically and returns an error instead of a fault. No thread sleeps
 * on either word. */
bool sys_is_writable(uintptr_t address)
{
    static uint32_t no_recorder;

    return call(SYS_futex, word(&no_recorder), FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0,
                (long)address, FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0))
           >= 0;
}

long sys_copy_own(void *ret_bytes, uintptr_t address, size_t size_bytes)
{
    struct iovec to = {ret_bytes, size_bytes};
    struct iovec from = {(void *)address, size_bytes};

    return call(SYS_process_vm_readv, sys_getpid(), word(&to), 1, word(&from), 1, 0);
}

bool sys_is_on_signal_stack(void)
{
    stack_t now = {.ss_flags = 0};

    return call(SYS_sigaltstack, 0, word(&now), 0, 0, 0, 0) == 0 && now.ss_flags & SS_ONSTACK;
}

bool sys_has_signal_stack_in(uintptr_t low, uintptr_t high)
{
    stack_t now = {.ss_flags = 0};

    if (call(SYS_sigaltstack, 0, word(&now), 0, 0, 0, 0) != 0)
        return true;
    return !(now.ss_flags & SS_DISABLE) && (uintptr_t)now.ss_sp < high
           && (uintptr_t)now.ss_sp + now.ss_size > low;
}

long sys_block_signals(struct sys_signals *ret_mask)
{
    struct sys_signals all;

    for (size_t i = 0; i < sizeof(all.words) / sizeof(all.words[0]); i++)
        all.words[i] = UINT64_MAX;
    return call(SYS_rt_sigprocmask, SIG_BLOCK, word(&all), word(ret_mask), sizeof(all), 0, 0);
}

long sys_unblock_signals(struct sys_signals mask)
{
    return call(SYS_rt_sigprocmask, SIG_SETMASK, word(&mask), 0, sizeof(mask), 0, 0);
}

/* ---- another thread ---- */

enum {
    PATH_BYTES = 64,
    LINE_BYTES = 256,
};

/* The last hexadecimal number (0x…) before `end`; *ret_start: where it begins. 0: there is none. */
static uint64_t last_number(const char *line, const char *end, const char **ret_start)
{
    uint64_t value = 0;
    unsigned shift = 0;

    for (; end > line && end[-1] != ' '; end--, shift += 4) {
        char c = end[-1];
        if (c == 'x')
            continue;
        if (shift >= 64 || !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return 0;
        value |= (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10) << shift;
    }
    *ret_start = end;
    return value;
}

/* "running", or "NUMBER ARGUMENTS… 0xSP 0xPC" */
static uintptr_t parse(const char *line, size_t size_bytes)
{
    const char *end = line + size_bytes;
    const char *start = line;

    while (end > line && (end[-1] == '\n' || end[-1] == '\0'))
        end--;
    if (last_number(line, end, &start) == 0 || start <= line)
        return 0;
    return (uintptr_t)last_number(line, start - 1, &start);
}

uintptr_t sys_stack_pointer_of(long tid)
{
    char text[PATH_BYTES];
    char line[LINE_BYTES];
    struct fmt path = FMT_BUFFER(text);
    long size_bytes;
    long fd;

    fmt_string(&path, "/proc/self/task/");
    fmt_decimal(&path, (uint64_t)tid);
    fmt_string(&path, "/syscall");
    fd = sys_open(text, O_RDONLY, 0);
    if (fd < 0)
        return 0;
    size_bytes = sys_read((int)fd, line, sizeof(line));
    sys_close((int)fd);
    return size_bytes > 0 ? parse(line, (size_t)size_bytes) : 0;
}

/* ---- memory that the program passes to an exec ---- */

static uintptr_t page_of(uintptr_t at)
{
    return at & ~(uintptr_t)(ARCH_PAGE_BYTES - 1);
}

enum {
    NO_PAGE = 1
};

/* *page was found readable before. Neighbours are mostly on one page. */
static bool is_readable(uintptr_t at, uintptr_t *page)
{
    if (page_of(at) == *page)
        return true;
    if (!sys_is_readable(page_of(at)))
        return false;
    *page = page_of(at);
    return true;
}

static bool is_string(const char *text, uintptr_t *page)
{
    for (;; text++) {
        if (!is_readable((uintptr_t)text, page))
            return false;
        if (!*text)
            return true;
    }
}

bool sys_string_is_readable(const char *text)
{
    uintptr_t page = NO_PAGE;

    return is_string(text, &page);
}

bool sys_strings_are_readable(char *const *array)
{
    uintptr_t page_of_array = NO_PAGE;
    uintptr_t page_of_strings = NO_PAGE;

    for (;; array++) {
        const uintptr_t first = (uintptr_t)array;
        if (!is_readable(first, &page_of_array)
            || !is_readable(first + sizeof(*array) - 1, &page_of_array))
            return false;
        if (!*array)
            return true;
        if (!is_string(*array, &page_of_strings))
            return false;
    }
}
