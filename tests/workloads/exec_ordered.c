/* SPDX-License-Identifier: MIT */
/*
 * exec_ordered: waits for a line without one event of the heap, executes itself again, makes five blocks, waits for another line.
 *
 * Says "ready" before each wait. Nothing that it does after "ready" allocates or frees, so what it is ordered meanwhile it can do at the exec only.
 */
#include <stdlib.h>
#include <unistd.h>

enum {
    SIZE = 20777,
    COUNT = 5
};

static void wait_for_line(void)
{
    char byte = 0;

    if (write(1, "ready\n", 6) != 6)
        _exit(2);
    while (byte != '\n')
        if (read(0, &byte, 1) != 1)
            _exit(3);
}

int main(int n, char **arguments)
{
    static void *kept[COUNT];
    char again[] = "again";
    char *const passed[] = {arguments[0], again, NULL};

    if (n == 1) {
        kept[0] = malloc(1);
        wait_for_line();
        (void)execv(arguments[0], passed);
        return 1;
    }
    for (int i = 0; i < COUNT; i++)
        kept[i] = malloc(SIZE);
    wait_for_line();
    return kept[0] == NULL;
}
