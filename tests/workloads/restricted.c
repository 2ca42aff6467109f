/* SPDX-License-Identifier: MIT */
/*
 * restricted HOW [BY]: a program that takes something away from itself and continues to allocate.
 * Events that cannot be recorded then are dropped and counted; the program lives.
 */
#include "tests/workloads/workload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum {
    N_LINES = 20000
};

#define ALLOW(number)                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void allocate(int n_blocks)
{
    for (int i = 0; i < n_blocks; i++) {
        void *block = own_malloc((unsigned)i % 3);
        if (i % 100 != 0)
            own_free(block, (unsigned)i % 3);
    }
    expect_own();
}

/* Any system call but the few that an allocator and write(2) need kills the process. */
static int filter(const char *by)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_brk),
        ALLOW(SYS_rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};

    (void)by;
    own_malloc(1);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        skip("this kernel has no seccomp filters");
    allocate(20000);
    return 0;
}

/* Only read, write and exit are allowed, and reading the time stamp counter faults. The heap was
 * grown before, so malloc itself needs no system call. */
static int strict(const char *by)
{
    long failed;

    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_THRESHOLD, 1 << 28);
    free(keep(malloc(64 << 20)));
    own_malloc(1);
    if (strcmp(by, "syscall_prctl") == 0)
        failed = syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    else if (strcmp(by, "syscall_seccomp") == 0)
        failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
    else
        failed = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (failed)
        skip("this kernel has no strict seccomp");
    allocate(1000);
    syscall(SYS_exit, 5);
    return 1;
}

/* Reading the time stamp counter raises a signal. After that tracing is switched on, if it was off:
 * a thread that waits for the toggle has read no time before. */
static int no_counter(const char *by)
{
    struct sigaction action;

    if (sigaction(SIGUSR2, NULL, &action) != 0)
        return 1;
    for (int i = 0; i < 100; i++)
        free(keep(malloc(10)));
    if (strcmp(by, "syscall") == 0 ? syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0)
                                   : prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
        skip("the time stamp counter cannot be forbidden here");
    if (action.sa_handler != SIG_DFL)
        raise(SIGUSR2);
    allocate(1000);
    return 0;
}

/* A log that grew past the limit would bring SIGXFSZ. */
static int file_size(const char *by)
{
    struct rlimit limit = {4096, 4096};

    (void)by;
    own_malloc(1);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    allocate(200000);
    return 0;
}

static size_t address_space_bytes(void)
{
    unsigned long n_pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");

    if (statm == NULL || fscanf(statm, "%lu", &n_pages) != 1)
        _exit(1);
    fclose(statm);
    return n_pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Impossible calls fail as unrecorded, with errno, and old blocks are unchanged. */
static int address_space(const char *by)
{
    size_t limit_bytes = address_space_bytes() + (48u << 20);
    struct rlimit limit = {limit_bytes, limit_bytes};
    char *block = own_malloc(1);
    unsigned long long n_failed = 0;

    (void)by;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 1;
    memset(block, 'x', OWN_BYTES(1));
    for (int i = 0; i < 100; i++) {
        errno = 0;
        n_failed += keep(malloc(1ul << 30)) == NULL && errno == ENOMEM;
        errno = 0;
        n_failed += keep(calloc(1ul << 20, 1ul << 10)) == NULL && errno == ENOMEM;
        errno = 0;
        n_failed += keep(realloc(block, 1ul << 30)) == NULL && errno == ENOMEM;
        own_malloc(0);
    }
    for (size_t i = 0; i < OWN_BYTES(1); i++)
        if (block[i] != 'x')
            return 1;
    own_free(block, 1);
    expect_own();
    expect("failures", n_failed);
    return n_failed != 300;
}

/* No file may appear in the new directory, whatever the umask is. */
static int directory(const char *by)
{
    char place[] = "/tmp/mtrace-chdir.XXXXXX";
    unsigned long long n_files = 0;
    DIR *opened;

    (void)by;
    if (mkdtemp(place) == NULL || chdir(place) != 0)
        return 1;
    umask(0777);
    allocate(200000);
    opened = opendir(".");
    for (struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;)
        n_files += entry->d_name[0] != '.';
    closedir(opened);
    expect("files_there", n_files);
    return rmdir(place);
}

/* An empty root directory, in which the log's path does not exist. */
static int root(const char *by)
{
    char place[] = "/tmp/mtrace-chroot.XXXXXX";
    struct stat status;

    (void)by;
    if (mkdtemp(place) == NULL)
        return 1;
    own_malloc(1);
    if (chdir(place) != 0 || rmdir(place) != 0 || chroot(".") != 0)
        skip("chroot needs root");
    allocate(200000);
    expect("files_in_root", stat("/tmp", &status) == 0);
    return 0;
}

/* Closes every descriptor it did not open, as daemons do, and fills a file of its own. A collector
 * that kept a descriptor would write into that file. */
static int descriptors(const char *by)
{
    char path[] = "descriptors.XXXXXX";
    unsigned long long intact = 0;
    char line[5];
    int file;

    (void)by;
    closefrom(3);
    file = mkstemp(path);
    if (file != 3)
        return 1;
    for (int i = 0; i < N_LINES; i++) {
        void *block = own_malloc((unsigned)i % 4);
        if (write(file, "line\n", 5) != 5)
            return 1;
        if (i % 10 != 0)
            own_free(block, (unsigned)i % 4);
        if (i % 1000 == 0)
            closefrom(4);
    }
    off_t bytes = lseek(file, 0, SEEK_END);
    for (off_t at = 0; at < bytes && pread(file, line, 5, at) == 5; at += 5)
        intact += memcmp(line, "line\n", 5) == 0;
    unlink(path);
    expect_own();
    expect("intact_lines", intact);
    return bytes != 5 * N_LINES || intact != N_LINES;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const char *by);
    } ways[] = {{"filter", filter},
                {"strict", strict},
                {"no_counter", no_counter},
                {"file_size", file_size},
                {"address_space", address_space},
                {"directory", directory},
                {"root", root},
                {"descriptors", descriptors}};

    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(*ways); i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            return ways[i].run(argc > 2 ? argv[2] : "prctl");
    return 2;
}
