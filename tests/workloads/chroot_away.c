/* SPDX-License-Identifier: MIT */
/* Moves into an empty root directory and continues to allocate: the log's path no longer exists. */
#include "tests/workloads/workload.h"

#include <sys/stat.h>

int main(void)
{
    char root[] = "/tmp/mtrace-chroot.XXXXXX";
    if (mkdtemp(root) == NULL)
        return 1;
    own_malloc(1);
    if (chdir(root) != 0 || rmdir(root) != 0 || chroot(".") != 0)
        skip("chroot needs root");
    for (int i = 0; i < 200000; i++) {
        void *block = own_malloc((unsigned)i % 3);
        if (i % 100 != 0)
            own_free(block, (unsigned)i % 3);
    }
    struct stat status;
    expect_own();
    expect("files_in_root", stat("/tmp", &status) == 0);
    return 0;
}
