/* SPDX-License-Identifier: MIT */
/* Leaks a block of its own, then executes the program that its arguments name, if any. */
#include <stdlib.h>
#include <unistd.h>

enum {
    OWN_BYTES = 1777
};

void *volatile g_block;

int main(int argc, char **argv)
{
    g_block = malloc(OWN_BYTES);
    if (argc > 1)
        execvp(argv[1], argv + 1);
    return argc > 1;
}
