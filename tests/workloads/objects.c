/* SPDX-License-Identifier: MIT */
/*
 * objects: object walks, parts of the check list, by the name in argv[1]. The output of a walk is
 * compared here, its recorded events with the database.
 */
#include "include/mtrace_objects.h"
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum {
    TEXT_BYTES = 4096,
    MAX_ROOTS = 4096, /* as mtrace_objects.h says */
    LONG_LIST = 200000,
    N_THREADS = 8,
};

static unsigned n_wrong;

static void check(bool is_right)
{
    n_wrong += mtrace_present() && !is_right;
}

/* The output of a walk, and the number of its warnings. */
static void check_walk(const struct mtrace_walk *walk, const char *expected, size_t n_warnings)
{
    char text[TEXT_BYTES] = "";
    int fd = memfd_create("folded", 0);

    check(mtrace_walk_print(walk, fd) == 0);
    check(pread(fd, text, sizeof(text) - 1, 0) == (ssize_t)strlen(expected));
    check(strcmp(text, expected) == 0);
    check(mtrace_walk_warnings(walk, NULL) == n_warnings);
    if (mtrace_present() && strcmp(text, expected) != 0)
        fprintf(stderr, "%s", text);
    close(fd);
}

static bool has_warning(const struct mtrace_walk *walk, const char *part)
{
    const char *const *texts = NULL;
    size_t n = mtrace_walk_warnings(walk, &texts);

    for (size_t i = 0; i < n && i < 64; i++)
        if (strstr(texts[i], part))
            return true;
    return !mtrace_present();
}

/* ---- a service and its parts ---- */

struct name {
    char *text;
    unsigned short length;
};

struct slot {
    uint64_t key; /* 0: free */
    struct name name;
};

struct service {
    int a;
    struct name name;
    struct service *parent; /* not owned: left out */
    int small[4];
    struct name *names;
    size_t n_names, max_names;
    struct slot *slots;
    size_t n_slots;
    char *shared;
    char hidden[24];
};

static void visit_name(struct mtrace_visitor *visitor, const void *object)
{
    const struct name *name = object;

    mtrace_visit_unique(visitor, "text", sizeof(name->text), "char", name->text, name->length,
                        NULL);
    mtrace_visit_field(visitor, "length", &name->length, sizeof(name->length), NULL);
}

static void visit_slot(struct mtrace_visitor *visitor, const void *object)
{
    const struct slot *slot = object;

    mtrace_visit_field(visitor, "key", &slot->key, sizeof(slot->key), NULL);
    mtrace_visit_field(visitor, "value", &slot->name, sizeof(slot->name), visit_name);
}

static bool is_used(const void *slot)
{
    return ((const struct slot *)slot)->key != 0;
}

static void visit_service(struct mtrace_visitor *visitor, const void *object)
{
    const struct service *service = object;

    mtrace_visit_field(visitor, "a", &service->a, sizeof(service->a), NULL);
    mtrace_visit_field(visitor, "name", &service->name, sizeof(service->name), visit_name);
    mtrace_visit_array(visitor, "small", service->small, 4, sizeof(int), NULL);
    mtrace_visit_vector(visitor, "names", 24, "name", service->names, service->n_names,
                        service->max_names, sizeof(struct name), visit_name);
    mtrace_visit_table(visitor, "slots", 16, "slot", service->slots, service->n_slots,
                       sizeof(struct slot), is_used, visit_slot);
    mtrace_visit_shared(visitor, "shared", sizeof(char *), "config", service->shared, 40, NULL);
    mtrace_visit_opaque(visitor, "hidden", sizeof(service->hidden), "its type is unknown");
}

static struct name make_name(unsigned n)
{
    return (struct name){own_malloc(n), (unsigned short)OWN_BYTES(n)};
}

/* Blocks of malloc: the names' text 8, names 1, slots 1, shared 1. */
static struct service make_service(char *shared)
{
    struct service service = {.name = make_name(0), .shared = shared};

    service.names = calloc(10, sizeof(struct name));
    service.max_names = 10;
    for (service.n_names = 0; service.n_names < 3; service.n_names++)
        service.names[service.n_names] = make_name(1);
    service.slots = calloc(8, sizeof(struct slot));
    service.n_slots = 8;
    for (size_t i = 1; i < 8; i += 3)
        service.slots[i] = (struct slot){i, make_name(2)};
    return service;
}

/* ---- the check list ---- */

/* V1, V3, V7, V8: every call, in order of names; V14: the tree contains all claimed blocks. */
static void every_call(void)
{
    char *shared = malloc(50);
    struct service service = make_service(shared);
    struct mtrace_walk *walk = mtrace_walk_new();

    mtrace_walk_object(walk, "service", &service, sizeof(service), visit_service);
    check_walk(walk,
               "config 40\n"
               "service;a 4\n"
               "service;hidden 24\n"
               "service;name;length 2\n"
               "service;name;padding 6\n"
               "service;name;text 8\n"
               "service;name;text;char 777\n"
               "service;names 24\n"
               "service;names;name;length 6\n"
               "service;names;name;padding 18\n"
               "service;names;name;text 24\n"
               "service;names;name;text;char 5331\n"
               "service;names;name;unused_capacity 112\n"
               "service;padding 12\n"
               "service;shared 8\n"
               "service;slots 16\n"
               "service;slots;slot;key 24\n"
               "service;slots;slot;unused_capacity 120\n"
               "service;slots;slot;value;length 6\n"
               "service;slots;slot;value;padding 18\n"
               "service;slots;slot;value;text 24\n"
               "service;slots;slot;value;text;char 8331\n"
               "service;small 16\n",
               1);
    check(has_warning(walk, "service;hidden: its type is unknown"));
    check(mtrace_walk_total_bytes(walk)
          == sizeof(service) + 40 + 10 * 16 + 8 * 24 + 777 + 3 * 1777 + 3 * 2777);
    check(mtrace_walk_record(walk, "every call") == 0);
    mtrace_walk_free(walk);
    expect("walks", 1);
    expect("claims", 11);
    expect("claimed_blocks", 10);
    expect("claimed_bytes", 50 + 777 + 3 * 1777 + 3 * 2777 + 10 * 16 + 8 * 24);
    expect("object_kind.slack", 10);
    expect("object_kind.unused_capacity", 232);
    expect("tree_is_claims", 0);
    expect("unclaimed_own", 0);
}

struct holder {
    char *p;
};

static void visit_holder(struct mtrace_visitor *visitor, const void *object)
{
    mtrace_visit_shared(visitor, "p", 6, "Shared", ((const struct holder *)object)->p, 13, NULL);
}

/* V2: allocative's own example, of structures of six bytes. */
static void shared(void)
{
    struct holder holders[2] = {{keep(malloc(13))}, {NULL}};
    struct mtrace_walk *walk = mtrace_walk_new();

    holders[1] = holders[0];
    mtrace_walk_object(walk, "Struct", &holders[0], 6, visit_holder);
    mtrace_walk_object(walk, "Struct", &holders[1], 6, visit_holder);
    check_walk(walk, "Shared 13\nStruct;p 12\n", 0);
    check(mtrace_walk_record(walk, "shared") == 0);
    mtrace_walk_free(walk);
    expect("claims", 3);
    expect("claimed_bytes", 13);
    expect("claimed_twice", 0);
}

static void visit_wrong(struct mtrace_visitor *visitor, const void *object)
{
    const struct holder *holder = object;
    struct mtrace_member unknown = {.key = "u", .kind = (enum mtrace_member_kind)99};

    mtrace_visit_unique(visitor, "p", 8, "owned", holder->p, 100, NULL);
    mtrace_visit_field(visitor, "too_large", object, 100, NULL);
    mtrace_visit_array(visitor, "impossible", object, SIZE_MAX / 2, 16, NULL);
    mtrace_visit_vector(visitor, "overfull", 0, "element", holder->p + 100, 7, 3, 4, NULL);
    if (mtrace_objects_())
        mtrace_objects_()->visit(visitor, &unknown, sizeof(unknown));
}

/* An object with three references to itself: each level would have three times as many. */
static void visit_endless(struct mtrace_visitor *visitor, const void *object)
{
    mtrace_visit_array(visitor, "self", object, 3, sizeof(struct holder), visit_endless);
    mtrace_visit_array(visitor, "nothing", object, SIZE_MAX / 2, 0, visit_endless);
    mtrace_visit_opaque(visitor, "unlikely", SIZE_MAX, "its type is unknown");
}

/* V4: impossible sizes, here and beside the real blocks; pointers that are no blocks. */
static void bad_sizes(void)
{
    char *block = own_malloc(0);
    struct holder holder = {block + 8};
    struct holder small = {keep(malloc(50))};
    struct holder endless = {NULL};
    struct mtrace_walk *walk = mtrace_walk_new();

    mtrace_walk_object(walk, "wrong", &holder, sizeof(holder), visit_wrong);
    check(has_warning(walk, "wrong: its members take more than it has"));
    check(has_warning(walk, "wrong;impossible: its size is impossible"));
    check(has_warning(walk, "wrong;overfull: more elements than it has room for"));
    check(has_warning(walk, "wrong;u: a member of an unknown kind"));
    mtrace_walk_object(walk, "endless", &endless, sizeof(endless), visit_endless);
    check(has_warning(walk, "endless;self: not visited: larger than what it is a part of"));
    check(has_warning(walk, "endless;unlikely: its size is impossible"));
    mtrace_walk_object(walk, "small", &small, sizeof(small), visit_wrong);
    check(mtrace_walk_record(walk, "bad") == 0);
    mtrace_walk_free(walk);
    expect("no_block_warnings", 3);
    expect("too_large_warnings", 1);
    expect("claimed_own", 0);
    expect("unclaimed_own", 777);
}

static struct holder g_root = {NULL};

static void visit_root(struct mtrace_visitor *visitor, const void *object)
{
    const struct holder *holder = object;

    mtrace_visit_unique(visitor, "p", sizeof(holder->p), "owned", holder->p, 1777, NULL);
}

MTRACE_ROOT(g_root, visit_root);

/* V5 */
static void roots(void)
{
    static struct holder registered, gone;
    struct mtrace_walk *walk = mtrace_walk_new();

    g_root.p = own_malloc(1);
    registered.p = own_malloc(1);
    gone.p = own_malloc(1);
    check(mtrace_root_register("registered", &registered, sizeof(registered), visit_root));
    check(mtrace_root_register("gone", &gone, sizeof(gone), visit_root));
    check(!mtrace_root_register("nothing", NULL, 8, visit_root));
    mtrace_root_unregister(&gone);
    mtrace_root_unregister(&walk); /* never was */
    mtrace_walk_roots(walk);
    check_walk(walk,
               "g_root;p 8\ng_root;p;owned 1777\n"
               "registered;p 8\nregistered;p;owned 1777\n",
               0);
    check(mtrace_walk_record(walk, "roots") == 0);
    mtrace_walk_free(walk);
    expect("claimed_own", 2 * OWN_BYTES(1));
    expect("unclaimed_own", OWN_BYTES(1));
    expect("claimed_blocks", 2);
}

/* The maximum of roots, and more; a removed root makes room for another. */
static void many_roots(void)
{
    static struct holder all[MAX_ROOTS];
    struct mtrace_walk *walk = mtrace_walk_new();
    unsigned n = 0;

    mtrace_root_unregister(&g_root);
    while (n < MAX_ROOTS && mtrace_root_register("many", &all[n], sizeof(all[n]), visit_root))
        all[n++].p = own_malloc(1);
    check(n == (mtrace_present() ? MAX_ROOTS : 0));
    check(!mtrace_root_register("more", &g_root, sizeof(g_root), visit_root));
    check(mtrace_root_register("again", &all[0], sizeof(all[0]), visit_root) == mtrace_present());
    mtrace_root_unregister(&all[1]);
    check(mtrace_root_register("place", &g_root, sizeof(g_root), visit_root) == mtrace_present());
    g_root.p = own_malloc(1);
    mtrace_walk_roots(walk);
    check(mtrace_walk_total_bytes(walk)
          == (mtrace_present() ? MAX_ROOTS * (sizeof(all[0]) + OWN_BYTES(1)) : 0));
    check(mtrace_walk_record(walk, "many") == 0);
    mtrace_walk_free(walk);
    expect("claimed_blocks", MAX_ROOTS);
    expect("unclaimed_own", OWN_BYTES(1));
}

/* V6, V10: one object and the blocks that only it owns. */
static void size_of_unique(void)
{
    struct service service = make_service(malloc(50));
    uint64_t owned = 777 + 3 * 1777 + 3 * 2777 + 10 * 16 + 8 * 24;

    check(mtrace_size_of_unique_allocated_data(&service, sizeof(service), visit_service) == owned);
    check(mtrace_size_of_unique(&service, sizeof(service), visit_service)
          == owned + sizeof(service));
    if (!mtrace_present())
        n_wrong +=
            mtrace_size_of_unique(&service, sizeof(service), visit_service) != sizeof(service);
    expect("walks", 0);
}

struct slab_user {
    char *slab;
    void *first, *second;
};

static void visit_slab_user(struct mtrace_visitor *visitor, const void *object)
{
    const struct slab_user *user = object;

    mtrace_visit_unique(visitor, "first", 8, "part", user->first, 100, NULL);
    mtrace_visit_unique(visitor, "second", 8, "part", user->second, 200, NULL);
}

/* V9: memory that malloc does not know. */
static void arena(void)
{
    uint32_t pool = mtrace_pool_create("arena");
    struct slab_user user = {.slab = own_malloc(9)};
    struct mtrace_walk *walk = mtrace_walk_new();

    user.first = user.slab;
    user.second = user.slab + 400;
    mtrace_pool_alloc(pool, user.first, 128);
    mtrace_pool_alloc(pool, user.second, 200);
    mtrace_walk_object(walk, "user", &user, sizeof(user), visit_slab_user);
    check(mtrace_walk_record(walk, "arena") == 0);
    mtrace_walk_free(walk);
    expect("claims_in_pools", 2);
    expect("object_kind.slack", 28);
    expect("claimed_own", 0);
    expect("no_block_warnings", 0);
}

struct guarded {
    pthread_mutex_t mutex;
    char *text;
};

static void visit_guarded(struct mtrace_visitor *visitor, const void *object)
{
    struct guarded *guarded = (struct guarded *)(uintptr_t)object;

    if (pthread_mutex_trylock(&guarded->mutex) != 0) {
        mtrace_visit_opaque(visitor, "text", sizeof(guarded->text), "its lock is busy");
        return;
    }
    mtrace_visit_unique(visitor, "text", sizeof(guarded->text), "char", guarded->text, 777, NULL);
    pthread_mutex_unlock(&guarded->mutex);
}

/* V11 */
static void busy(void)
{
    struct guarded guarded = {PTHREAD_MUTEX_INITIALIZER, own_malloc(0)};
    struct holder unreadable = {mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
    struct holder wild = {(char *)0x7fff00000123};
    struct mtrace_walk *walk = mtrace_walk_new();

    pthread_mutex_lock(&guarded.mutex);
    mtrace_walk_object(walk, "busy", &guarded, sizeof(guarded), visit_guarded);
    pthread_mutex_unlock(&guarded.mutex);
    check(has_warning(walk, "busy;text: its lock is busy"));
    mtrace_walk_object(walk, "unreadable", &unreadable, sizeof(unreadable), visit_root);
    mtrace_walk_object(walk, "wild", &wild, sizeof(wild), visit_root);
    mtrace_walk_object(walk, "none", NULL, 8, visit_root);
    check(has_warning(walk, "unreadable;p: nothing can be read at 0x"));
    check(has_warning(walk, "wild;p: nothing can be read at 0x"));
    check(mtrace_walk_warnings(walk, NULL) == 4 || !mtrace_present());
    check(mtrace_walk_record(walk, "busy") == 0);
    mtrace_walk_free(walk);
    expect("object_warnings", 4);
    expect("claimed_own", 0);
    expect("unclaimed_own", 777);
}

/* V12 */
static void not_called(void)
{
    struct service service = make_service(malloc(50));

    keep(service.names);
    expect("walks", 0);
    expect("bad_object_records", 0);
}

struct link {
    struct link *next, *before;
    struct link *left, *right;
};

static void visit_link(struct mtrace_visitor *visitor, const void *object)
{
    const struct link *link = object;

    mtrace_visit_unique(visitor, "left", 8, "link", link->left, sizeof(*link), visit_link);
    mtrace_visit_unique(visitor, "next", 8, "link", link->next, sizeof(*link), visit_link);
    mtrace_visit_unique(visitor, "right", 8, "link", link->right, sizeof(*link), visit_link);
}

static struct link *make_tree(unsigned depth)
{
    struct link *link = calloc(1, sizeof(*link));

    if (depth > 1) {
        link->left = make_tree(depth - 1);
        link->right = make_tree(depth - 1);
    }
    return link;
}

/* Rings, lists longer than any stack, and trees: long lists get no more nodes. Two owners are
 * reported. */
static void cycles(void)
{
    struct link *first = calloc(1, sizeof(*first));
    struct link *last = first;
    struct link *tree = make_tree(10);
    struct mtrace_walk *walk = mtrace_walk_new();

    for (unsigned i = 1; i < LONG_LIST; i++) {
        last->next = calloc(1, sizeof(*last));
        last = last->next;
    }
    last->next = first;
    mtrace_walk_object(walk, "ring", first, sizeof(*first), visit_link);
    mtrace_walk_object(walk, "tree", tree, sizeof(*tree), visit_link);
    check(mtrace_walk_warnings(walk, NULL) == 1);
    check(has_warning(walk, "there is another owner of"));
    check(mtrace_walk_total_bytes(walk) == (LONG_LIST + 1023) * sizeof(*first));
    check(mtrace_walk_record(walk, "cycles") == 0);
    mtrace_walk_free(walk);
    expect("claims", LONG_LIST + 1023 + 1);
    expect("claimed_twice", 1);
    expect("claimed_bytes", (LONG_LIST + 1023) * sizeof(*first));
    expect("tree_is_claims", 0);
    expect("few_nodes", 1);
}

/* V15 */
static void twice(void)
{
    struct holder holders[2] = {{own_malloc(1)}, {NULL}};
    struct mtrace_walk *walk = mtrace_walk_new();

    own_malloc(5); /* has no owner */
    holders[1] = holders[0];
    mtrace_walk_object(walk, "one", &holders[0], 8, visit_root);
    mtrace_walk_object(walk, "other", &holders[1], 8, visit_root);
    check(mtrace_walk_record(walk, "twice") == 0);
    own_malloc(7); /* allocated after the walk */
    mtrace_walk_free(walk);
    expect("claimed_twice", 1);
    expect("claimed_own", OWN_BYTES(1));
    expect("unclaimed_own", OWN_BYTES(5));
    expect("pair_of_owners", 1);
}

/* Growth between two walks. */
static void growth(void)
{
    struct service service = make_service(NULL);
    struct mtrace_walk *walk = mtrace_walk_new();

    mtrace_walk_object(walk, "service", &service, sizeof(service), visit_service);
    check(mtrace_walk_record(walk, "before") == 0);
    mtrace_walk_free(walk);
    for (; service.n_names < 8; service.n_names++)
        service.names[service.n_names] = make_name(1);
    walk = mtrace_walk_new();
    mtrace_walk_object(walk, "service", &service, sizeof(service), visit_service);
    check(mtrace_walk_record(walk, "after") == 0);
    mtrace_walk_free(walk);
    expect("walks", 2);
    expect("growth_of_names", 5 * 1777);
    expect("spare_of_names", 32);
}

static void *walk_own(void *argument)
{
    struct service service = make_service(argument);

    for (unsigned i = 0; i < 20; i++) {
        struct mtrace_walk *walk = mtrace_walk_new();
        mtrace_root_register("thread", &service, sizeof(service), visit_service);
        mtrace_walk_object(walk, "service", &service, sizeof(service), visit_service);
        check(mtrace_walk_record(walk, "thread") == 0);
        mtrace_root_unregister(&service);
        mtrace_walk_free(walk);
    }
    return NULL;
}

/* Many walks in parallel, and a child that continues with its parent's objects. */
static void crowd(void)
{
    pthread_t threads[N_THREADS];
    struct service service = make_service(NULL);
    struct mtrace_walk *walk = mtrace_walk_new();
    pid_t child;

    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, walk_own, NULL);
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    mtrace_walk_object(walk, "service", &service, sizeof(service), visit_service);
    child = fork();
    if (child == 0) {
        mtrace_walk_object(walk, "again", &service.name, sizeof(service.name), visit_name);
        (void)mtrace_walk_record(walk, "child");
        mtrace_walk_free(walk);
        walk = mtrace_walk_new();
        mtrace_walk_free(walk);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    mtrace_walk_free(walk);
    expect("walks", N_THREADS * 20);
    expect("bad_object_records", 0);
    expect("walks_without_names", 0);
}

int main(int argc, char **argv)
{
    static const struct workload_part parts[] = {{"every_call", every_call},
                                                 {"shared", shared},
                                                 {"bad_sizes", bad_sizes},
                                                 {"roots", roots},
                                                 {"many_roots", many_roots},
                                                 {"unique", size_of_unique},
                                                 {"arena", arena},
                                                 {"busy", busy},
                                                 {"not_called", not_called},
                                                 {"cycles", cycles},
                                                 {"twice", twice},
                                                 {"growth", growth},
                                                 {"crowd", crowd}};
    int status = RUN_PART(parts, argc > 1 ? argv[1] : NULL);

    expect("wrong_answers", n_wrong);
    return status;
}
