/* SPDX-License-Identifier: MIT */
/*
 * Object walks over a heap under a sanitizer: reads stay inside, and every failing mapping is
 * handled. The output of walks is compared by tests/workloads/objects.c.
 */
#include "collector/groups/object_walk.h"
#include "collector/os/memory.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    N_KEYS = 3000, /* names that fill more than a chunk, nodes and claims more than one array */
    NAME_BYTES = 300,
    MAX_MAPPINGS = 200,
    PATH_BYTES = 64,
};

static unsigned g_n_mappings, g_fails_at; /* the one of that number; 0: none */

void *__real_memory_map_inherited(size_t size_bytes);
void *__wrap_memory_map_inherited(size_t size_bytes);

void *__wrap_memory_map_inherited(size_t size_bytes)
{
    return ++g_n_mappings == g_fails_at ? NULL : __real_memory_map_inherited(size_bytes);
}

static void visit(struct mtrace_visitor *visitor, const struct mtrace_member member)
{
    object_walk_visit(visitor, &member);
}

static void walk_one(struct mtrace_walk *walk, const void *object, size_t size_bytes,
                     mtrace_visit *visitor)
{
    object_walk_object(walk, &(struct mtrace_root){"root", object, size_bytes, visitor});
}

/* ---- many names ------------------------------------------------------------------------------ */

static void visit_names(struct mtrace_visitor *visitor, const void *object)
{
    char *const *blocks = object;
    char key[NAME_BYTES + 1];

    memset(key, 'k', NAME_BYTES);
    key[NAME_BYTES] = '\0'; /* longer than what is kept */
    for (size_t i = 0; i < N_KEYS; i++) {
        memcpy(key,
               &(char[9]){(char)('a' + i % 26), (char)('a' + i / 26 % 26), (char)('a' + i / 676)},
               3);
        visit(visitor, (struct mtrace_member){.kind = MTRACE_MEMBER_UNIQUE,
                                              .key = key,
                                              .type = "block",
                                              .size_bytes = sizeof(char *),
                                              .first = blocks[i],
                                              .count = 1,
                                              .capacity = 1,
                                              .element_bytes = 16});
    }
}

static int discard(void)
{
    FILE *file = tmpfile();
    int fd = file ? dup(fileno(file)) : -1;

    if (file)
        (void)fclose(file);
    return fd;
}

/* Each mapping fails in turn: omitted parts cause a warning, and the rest is complete. */
TEST(any_mapping_may_fail)
{
    char *blocks[N_KEYS];
    unsigned n_incomplete = 0;
    unsigned n_needed = 0;
    int fd = discard();

    for (size_t i = 0; i < N_KEYS; i++)
        assert_non_null(blocks[i] = malloc(16));
    for (unsigned at = 1; at < MAX_MAPPINGS; at++) {
        struct mtrace_walk *walk;
        g_n_mappings = 0;
        g_fails_at = at;
        walk = object_walk_new(false);
        if (walk) {
            walk_one(walk, blocks, sizeof(blocks), visit_names);
            if (g_n_mappings < at)
                n_needed = g_n_mappings;
            else
                assert_true(walk->n_warnings > 0 || walk->claims.n == N_KEYS + 1);
            n_incomplete += walk->n_warnings > 0;
            assert_true(object_walk_total_bytes(walk) <= sizeof(blocks) + N_KEYS * 16);
            (void)object_walk_print(walk, fd);
            assert_int_equal(object_walk_record(walk, "none"), ENODATA);
            object_walk_free(walk);
        }
        if (n_needed)
            break;
    }
    g_fails_at = 0;
    assert_true(n_needed > 0 && n_incomplete > 3);
    for (size_t i = 0; i < N_KEYS; i++)
        free(blocks[i]);
    close(fd);
}

/* ---- depth ----------------------------------------------------------------------------------- */

static unsigned g_depth;

/* A chain of types, each within the one before, with names as long as there are. */
static void visit_deeper(struct mtrace_visitor *visitor, const void *object)
{
    char key[NAME_BYTES];

    memset(key, 'd', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    g_depth++;
    if (g_depth < 2 * OBJECT_TREE_DEPTH)
        visit(visitor, (struct mtrace_member){.kind = MTRACE_MEMBER_FIELD,
                                              .key = key,
                                              .first = object,
                                              .size_bytes = 8,
                                              .visit = visit_deeper});
}

TEST(a_path_has_an_end)
{
    struct mtrace_walk *walk = object_walk_new(false);
    uint64_t *object = malloc(sizeof(*object));
    char path[PATH_BYTES];

    assert_non_null(walk);
    g_depth = 0;
    walk_one(walk, object, sizeof(*object), visit_deeper);
    assert_int_equal(g_depth, OBJECT_TREE_DEPTH);
    assert_true(walk->n_warnings > 0);
    assert_int_equal(object_walk_total_bytes(walk), sizeof(*object));
    for (uint32_t i = 0; i < walk->tree.nodes.n; i++)
        assert_true(object_tree_path(&walk->tree, i, path, sizeof(path)) < sizeof(path));
    object_walk_free(walk);
    free(object);
}

/* ---- impossible data of a visitor ------------------------------------------------------------ */

static const struct mtrace_member *g_member;

static void visit_member(struct mtrace_visitor *visitor, const void *object)
{
    (void)object;
    object_walk_visit(visitor, g_member);
}

static size_t warnings_of(const struct mtrace_member *member)
{
    struct mtrace_walk *walk = object_walk_new(false);
    uint64_t object = 0;
    size_t n;

    assert_non_null(walk);
    g_member = member;
    walk_one(walk, &object, sizeof(object), visit_member);
    n = walk->n_warnings;
    for (size_t i = 0; i < n; i++)
        assert_non_null(walk->warnings[i]);
    assert_true(object_walk_total_bytes(walk) < (uint64_t)1 << 62);
    object_walk_free(walk);
    return n;
}

TEST(impossible_objects_cause_warnings)
{
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const struct mtrace_member impossible[] = {
        {.kind = (enum mtrace_member_kind)77, .key = "kind"},
        {.kind = MTRACE_MEMBER_FIELD, .key = "field", .size_bytes = SIZE_MAX},
        {.kind = MTRACE_MEMBER_ARRAY, .key = "array", .count = SIZE_MAX / 2, .element_bytes = 3},
        {.kind = MTRACE_MEMBER_OPAQUE, .key = "opaque", .size_bytes = SIZE_MAX, .why = NULL},
        {.kind = MTRACE_MEMBER_UNIQUE,
         .size_bytes = 8,
         .first = page,
         .count = 1,
         .capacity = 1,
         .element_bytes = 1},
        {.kind = MTRACE_MEMBER_UNIQUE, .size_bytes = SIZE_MAX, .first = &impossible},
        {.kind = MTRACE_MEMBER_VECTOR,
         .size_bytes = 8,
         .first = &impossible,
         .count = 2,
         .capacity = SIZE_MAX,
         .element_bytes = SIZE_MAX},
        {.kind = MTRACE_MEMBER_VECTOR,
         .size_bytes = 8,
         .first = &impossible,
         .start = SIZE_MAX,
         .count = SIZE_MAX,
         .capacity = 2,
         .element_bytes = 1},
        {.kind = MTRACE_MEMBER_SHARED,
         .size_bytes = 8,
         .first = (void *)(UINTPTR_MAX - 3),
         .count = 1,
         .capacity = 1,
         .element_bytes = 8},
    };

    for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++)
        assert_true(warnings_of(&impossible[i]) > 0);
    munmap(page, 4096);
}

/* Only the first ones are kept; all are counted. */
static void visit_many_unknown(struct mtrace_visitor *visitor, const void *object)
{
    (void)object;
    for (size_t i = 0; i < 10 * OBJECT_WALK_WARNINGS; i++)
        visit(visitor, (struct mtrace_member){.kind = (enum mtrace_member_kind)99});
}

TEST(warnings_are_counted_beyond_those_kept)
{
    struct mtrace_walk *walk = object_walk_new(false);
    char object = 0;

    assert_non_null(walk);
    walk_one(walk, &object, sizeof(object), visit_many_unknown);
    assert_int_equal(walk->n_warnings, 10 * OBJECT_WALK_WARNINGS);
    object_walk_free(walk);
}
