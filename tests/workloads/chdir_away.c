/* SPDX-License-Identifier: MIT */
/* Changes its directory and umask; no file may appear in the new directory. */
#include "tests/workloads/workload.h"

#include <dirent.h>
#include <sys/stat.h>

int main(void)
{
    char place[] = "/tmp/mtrace-chdir.XXXXXX";
    unsigned long long n_files = 0;
    if (mkdtemp(place) == NULL || chdir(place) != 0)
        return 1;
    umask(0777);
    for (int i = 0; i < 200000; i++) {
        void *block = own_malloc((unsigned)i % 3);
        if (i % 100 != 0)
            own_free(block, (unsigned)i % 3);
    }
    DIR *directory = opendir(".");
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        n_files += entry->d_name[0] != '.';
    closedir(directory);
    expect_own();
    expect("files_there", n_files);
    return rmdir(place);
}
