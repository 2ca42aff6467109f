/* SPDX-License-Identifier: MIT */
/* Calls of every kind for a compiler that has no library of its own: compiled by foreign.py for
 * each processor. */
typedef int step_fn(int);

volatile int fixture_sink;

__attribute__((noinline)) int fixture_leaf(int value)
{
    fixture_sink += value;
    return value * 3;
}

static inline __attribute__((always_inline)) int inner(int value)
{
    return fixture_leaf(value + 1) + fixture_leaf(value * 2);
}

static inline __attribute__((always_inline)) int middle(int value)
{
    int sum = inner(value);

    sum += fixture_leaf(sum);
    return sum;
}

static __attribute__((noinline)) int hidden(int value, step_fn *step)
{
    int first = step(value);

    return middle(first) + step(first);
}

int fixture_entry(int value)
{
    int sum = 0;

    for (int i = 0; i < value; i++)
        sum += hidden(i, fixture_leaf);
    return sum + middle(value);
}

__attribute__((noreturn)) void fixture_end(int value)
{
    for (;;)
        fixture_leaf(value);
}

/* The call is the last instruction: its return address is in another function. */
__attribute__((noinline)) void fixture_last(void)
{
    fixture_end(7);
}

int fixture_behind(int value)
{
    return fixture_leaf(value) - 1;
}

#ifdef __mips__
/* The instruction in the delay slot of a call may come from another line. */
__asm__(".text\n"
        ".set noreorder\n"
        ".type fixture_slot, @function\n"
        "fixture_slot:\n"
        ".loc 1 100\n"
        "bal fixture_leaf\n"
        ".loc 1 200\n"
        "nop\n"
        ".loc 1 300\n"
        "nop\n"
        ".size fixture_slot, . - fixture_slot\n"
        ".set reorder\n");
#endif
