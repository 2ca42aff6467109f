/* SPDX-License-Identifier: MIT */
/*
 * privileged_exec COPY: makes a set-user-ID copy of itself that belongs to another user and runs
 * it. The loader ignores LD_PRELOAD there; the program must still run.
 */
#include "tests/workloads/workload.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static void make_copy(const char *path)
{
    int from = open("/proc/self/exe", O_RDONLY);
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL, 0700);
    struct stat status;
    if (from < 0 || to < 0 || fstat(from, &status) != 0)
        _exit(1);
    while (sendfile(to, from, NULL, (size_t)status.st_size) > 0)
        continue;
    if (fchown(to, 65534, 65534) != 0 || fchmod(to, 04755) != 0)
        skip("changing a file's owner needs root");
    close(to);
    close(from);
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        if (getauxval(AT_SECURE) == 0)
            skip("this file system honours no set-user-ID bit");
        free(keep(malloc(OWN_BYTES(1))));
        expect("secure", getauxval(AT_SECURE));
        return 0;
    }
    for (int i = 0; i < 10; i++)
        own_malloc(1);
    expect_own();
    make_copy(argv[1]);
    execl(argv[1], argv[1], (char *)NULL);
    return 1;
}
