/* SPDX-License-Identifier: MIT */
/* A patch plan consists of numbers that are compared and copied: all in the right place, or
 * none. */
#include "collector/events/embedded_patch.h"
#include "lib/abi/log_format.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MOST = 4
};

static struct embedded_allocator_entry entries[MOST];
static struct code_patch patches[MOST];

/* In memory of its own size, so that a byte too many is seen. */
static size_t read_plan(const char *text)
{
    size_t n_bytes = strlen(text);
    char *copy = malloc(n_bytes + 1);
    struct embedded_patch plan = {copy, copy + n_bytes, false};
    size_t n;

    assert_non_null(copy);
    memcpy(copy, text, n_bytes);
    n = embedded_patch_read(&plan, 0x10000, entries, patches, MOST);
    free(copy);
    return n;
}

TEST(each_number_is_where_it_belongs)
{
    assert_int_equal(read_plan(";u,0,500;u,0,600;+nsa,5,100,4155415641,4155415641e900000000,6.a.105"
                               ";u,0,0;=-psf,a,200,aabbccddee,11,0.0.0"),
                     0); /* a fix of less than 4 bytes */
    assert_int_equal(read_plan(";u,0,500;u,0,600;+nsa,5,100,4155415641,4155415641e900000000,6.a.105"
                               ";u,0,0;=-psf,a,200,aabbccddee,11"),
                     2);
    assert_int_equal((uintptr_t)entries[0].usable, 0x10500); /* the first one of an allocator */
    assert_int_equal(entries[0].kind, '+');
    assert_int_equal(entries[0].times, 0);
    assert_int_equal(entries[0].size, 1);
    assert_int_equal(entries[0].alignment, 2);
    assert_int_equal(entries[0].flags, EMBEDDED_ALLOCATOR_NO_ARGUMENT);
    assert_int_equal(entries[0].call, LOG_CALL_ALIGNED_ALLOC);
    assert_int_equal(patches[0].address, 0x10100);
    assert_int_equal(patches[0].argument, (uintptr_t)&entries[0]);
    assert_int_equal(patches[0].n_expected, 5);
    assert_memory_equal(patches[0].expected, "\x41\x55\x41\x56\x41", 5);
    assert_int_equal(patches[0].n_moved, 10);
    assert_int_equal(patches[0].n_fixes, 1);
    assert_int_equal(patches[0].fixes[0].at, 6);
    assert_int_equal(patches[0].fixes[0].end, 10);
    assert_int_equal(patches[0].fixes[0].target, 0x10105);
    assert_null(entries[1].usable);
    assert_int_equal(entries[1].block, 1);
    assert_int_equal(entries[1].size, 2);
    assert_int_equal(entries[1].flags, 3);
}

TEST(invalid_patch_plans_are_ignored)
{
    static const char *const texts[] = {
        "",
        "x",
        ";",
        ";+s",
        ";+s,0,",
        ";+s,0,100,aabbccdd,aabbccdd",                          /* shorter than a jump */
        ";+s,0,100,aabbccddee,aabbccddee,2.6.0",                /* a fix behind the end */
        ";+s,0,100,aabbccddee,aabbccddee,fffffffffffffffe.2.0", /* and one that wraps */
        ";+s,0,100,aabbccddee,aabbccdde",                       /* half a byte */
        ";+s,0,100,aabbccddeg,aabbccddee",
        ";+ssssss,0,100,aabbccddee,aabbccddee", /* six arguments */
        ";+q,0,100,aabbccddee,aabbccddee",      /* an unknown one */
        ";+s,0,100,aabbccddee,aabbccddee rest",
        ";-p,0,1,aabbccddee,;-p,0,1,aabbccddee,;-p,0,1,aabbccddee,;-p,0,1,aabbccddee,;-p,0,1,aabbccddee,",
        ";+s,0,100,000000000000000000000000000000000000000000,aa", /* more than fits */
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_int_equal(read_plan(texts[i]), 0);
}

TEST(only_the_file_that_was_looked_at_is_meant)
{
    struct stat own;
    char text[128];

    assert_int_equal(stat("/proc/self/exe", &own), 0);
    for (int wrong = 0; wrong < 4; wrong++) {
        struct embedded_patch plan = {text, text, false};
        int n = snprintf(text, sizeof(text), "%llx,%llx,%llx,1",
                         (unsigned long long)own.st_dev + (wrong == 1),
                         (unsigned long long)own.st_ino + (wrong == 2),
                         (unsigned long long)own.st_size + (wrong == 3));
        plan.end += n;
        assert_int_equal(embedded_patch_is_about_us(&plan), wrong == 0);
        assert_true(embedded_patch_is_partial(&plan));
    }
}
