/* SPDX-License-Identifier: MIT */
/* RLIMIT_FSIZE is nearly nothing: a log that grew past it would bring SIGXFSZ. */
#include "tests/workloads/workload.h"

#include <sys/resource.h>

int main(void)
{
    struct rlimit limit = {4096, 4096};
    own_malloc(1);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    for (int i = 0; i < 200000; i++) {
        void *block = own_malloc((unsigned)i % 3);
        if (i % 100 != 0)
            own_free(block, (unsigned)i % 3);
    }
    expect_own();
    return 0;
}
