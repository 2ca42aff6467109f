/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <unistd.h>

static void serve(int customer)
{
    char *order = malloc(1000);

    if (order && customer % 10 != 0) /* every tenth order is forgotten */
        free(order);
}

int main(void)
{
    for (int customer = 0; customer < 2000; customer++, usleep(1000))
        serve(customer);
}
