/* SPDX-License-Identifier: MIT */
/*
 * other_versions: calls of programs compiled with an earlier and with a later mtrace.h than the
 * collector: their structures have fewer or more members. The collector must not write or read
 * beyond them.
 */
#include "include/mtrace_objects.h"
#include "tests/workloads/workload.h"

#include <stddef.h>
#include <string.h>

enum {
    FILL = 0x5a,
    MORE_BYTES = 24, /* of later members */
};

static unsigned n_wrong;

static void check(bool is_right, const char *what)
{
    if (is_right)
        return;
    fprintf(stderr, "wrong: %s\n", what);
    n_wrong++;
}

static bool is_filled(const unsigned char *bytes, size_t n, unsigned char value)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

/* n bytes of it are known to the program. */
static void count(size_t n)
{
    unsigned char bytes[sizeof(struct mtrace_counts) + 2 * MORE_BYTES];
    const struct mtrace_counts now = mtrace_counters();
    const size_t both = n < sizeof(now) ? n : sizeof(now);

    memset(bytes, FILL, sizeof(bytes));
    mtrace_found_->counters((struct mtrace_counts *)(void *)bytes, n);
    check(memcmp(bytes, &now, both) == 0, "counts");
    check(is_filled(bytes + both, n - both, 0), "counts that are not known");
    check(is_filled(bytes + n, sizeof(bytes) - n, FILL), "behind the counts");
}

/* ---- objects ---- */

static struct {
    long words[4];
} g_object;

static char *g_block;

/* As it was before `start` was added, followed by other data. */
static void visit_early(struct mtrace_visitor *visitor, const void *object)
{
    struct mtrace_member member = {.kind = MTRACE_MEMBER_VECTOR,
                                   .key = "early",
                                   .type = "char",
                                   .size_bytes = 8,
                                   .first = g_block,
                                   .count = 100,
                                   .capacity = 777,
                                   .element_bytes = 1};

    (void)object;
    member.start = SIZE_MAX / 2; /* not the program's */
    mtrace_objects_()->visit(visitor, &member, offsetof(struct mtrace_member, start));
}

/* Roots as a later version has them, one after another. */
static struct {
    struct mtrace_root root;
    unsigned char more[MORE_BYTES];
} g_roots[2] = {{{"first", &g_object, sizeof(g_object), NULL}, {1}},
                {{"second", &g_object.words[1], sizeof(long), NULL}, {1}}};

static void walk_all(void)
{
    struct mtrace_walk *walk = mtrace_walk_new();
    const struct mtrace_root root = {"object", &g_object, sizeof(g_object), visit_early};

    mtrace_objects_()->walk_object(walk, &root, sizeof(root));
    check(mtrace_walk_total_bytes(walk) == sizeof(g_object) + 777, "a walk");
    check(mtrace_walk_warnings(walk, NULL) == 0, "warnings");
    mtrace_walk_free(walk);
    check(mtrace_objects_()->size_of_unique(&root, sizeof(root)) == 777, "size of what is unique");
    check(mtrace_objects_()->roots_add(&g_roots[0].root, 2, sizeof(g_roots[0])), "roots");
    walk = mtrace_walk_new();
    mtrace_walk_roots(walk);
    check(mtrace_walk_warnings(walk, NULL) == 0, "warnings about roots");
    check(mtrace_walk_total_bytes(walk) == sizeof(g_object) + sizeof(long), "roots walked");
    mtrace_walk_free(walk);
}

int main(void)
{
    g_block = own_malloc(0);
    if (mtrace_present()) {
        for (size_t n = 0; n <= sizeof(struct mtrace_counts) + MORE_BYTES; n += 8)
            count(n);
        walk_all();
    }
    own_free(g_block, 0);
    expect_own();
    return n_wrong != 0;
}
