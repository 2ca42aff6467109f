/* SPDX-License-Identifier: MIT */
/* many_modules PLUGIN N: N copies of a library are open together; a function of each leaks. */
#include "tests/workloads/workload.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

static char *image;
static size_t image_bytes;

static int read_image(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY);

    if (fd < 0 || fstat(fd, &status) != 0)
        return -1;
    image_bytes = (size_t)status.st_size;
    image = malloc(image_bytes);
    if (image == NULL || read(fd, image, image_bytes) != (ssize_t)image_bytes)
        return -1;
    return close(fd);
}

/* Each has its own name and file; otherwise the loader would reuse the loaded one. */
static void *open_copy(unsigned number)
{
    char path[32];
    void *library = NULL;
    int fd;

    snprintf(path, sizeof(path), "./copy-%u.so", number);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 && write(fd, image, image_bytes) == (ssize_t)image_bytes)
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    close(fd);
    unlink(path);
    return library;
}

int main(int argc, char **argv)
{
    if (argc != 3 || read_image(argv[1]) != 0)
        return 2;
    for (unsigned i = 0; i < (unsigned)atoi(argv[2]); i++) {
        void *library = open_copy(i);
        if (library == NULL)
            return 1;
        const char *(*name)(void) = (const char *(*)(void))dlsym(library, "twin_name");
        void *(*leak)(unsigned) = (void *(*)(unsigned))dlsym(library, name());
        leak(1);
        own_count_alloc(OWN_BYTES(1));
    }
    free(image);
    expect_own();
    return 0;
}
