/* SPDX-License-Identifier: MIT */
/*
 * Closes every descriptor it did not open, as daemons do, and fills a file of its own. A collector
 * that kept a descriptor would write into that file.
 */
#include "tests/workloads/workload.h"

#include <fcntl.h>
#include <string.h>

enum {
    N_LINES = 20000
};

int main(void)
{
    char path[] = "descriptors.XXXXXX";
    closefrom(3);
    int file = mkstemp(path);
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
    unsigned long long intact = 0;
    char line[5];
    for (off_t at = 0; at < bytes && pread(file, line, 5, at) == 5; at += 5)
        intact += memcmp(line, "line\n", 5) == 0;
    unlink(path);
    expect_own();
    expect("intact_lines", intact);
    return bytes == 5 * N_LINES && intact == N_LINES ? 0 : 1;
}
