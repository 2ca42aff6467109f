/* SPDX-License-Identifier: MIT */
#include "queries/reports/report_flames.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/json_text.h"
#include "lib/base/saturating.h"
#include "queries/core/call_tree.h"
#include "queries/core/query.h"
#include "queries/core/stack_weights.h"
#include "queries/render/shorten.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A function as it stands in the list of names; numbers are in the order of first use. */
struct known_name {
    uint64_t key; /* of the call tree */
};

struct flames {
    const struct query *query;
    struct hash_map names;
    FILE *names_out, *measures_out;
    size_t n_measures;
};

static void put_text(FILE *out, const char *text)
{
    json_text_put(out, text ? text : "");
}

/* Cut where a character begins. */
static void cut(char *text, size_t most)
{
    if (strlen(text) <= most)
        return;
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    text[most] = '\0';
}

static void put_name(const struct flames *flames, const char *name)
{
    bool is_full = ftell(flames->names_out) > REPORT_FLAMES_NAMES_BYTES;
    char text[REPORT_FLAMES_NAME_BYTES * 4];

    if (strlen(name) > REPORT_FLAMES_NAME_BYTES)
        shorten_function(name, text, sizeof(text));
    else
        (void)snprintf(text, sizeof(text), "%s", name);
    cut(text, is_full ? REPORT_FLAMES_NAME_BYTES / 4 : REPORT_FLAMES_NAME_BYTES);
    put_text(flames->names_out, text);
}

/* The number of a node's name, which is written when it is new; UINT32_MAX: no memory. */
static uint32_t name_of(struct flames *flames, const struct call_node *node)
{
    size_t n = flames->names.n;
    const struct known_name *name =
        hash_map_get(&flames->names, &node->key, sizeof(name->key), sizeof(*name));

    if (!name)
        return UINT32_MAX;
    if (flames->names.n > n) {
        (void)fputs(n ? ",[" : "[", flames->names_out);
        put_name(flames, node->name);
        (void)putc(',', flames->names_out);
        put_text(flames->names_out, node->module ? shorten_path(node->module) : NULL);
        (void)putc(']', flames->names_out);
    }
    return (uint32_t)(name - (const struct known_name *)flames->names.elements);
}

static int compare_down(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a < b) - (a > b);
}

/* The larger of bytes and blocks: with bytes unknown, blocks count. */
static int64_t weight_of(const struct call_node *node)
{
    return node->total_bytes > node->total_blocks ? node->total_bytes : node->total_blocks;
}

/* The least weight of a kept node. A caller weighs at least as much as its callees. */
static int find_least(const struct call_tree *tree, int64_t *ret_least, struct error *err)
{
    int64_t *weights = reallocarray(NULL, tree->n, sizeof(*weights));

    if (!weights)
        return error_set(err, ERROR_NOMEM, "no memory for %u frames", tree->n);
    for (uint32_t i = 0; i < tree->n; i++)
        weights[i] = weight_of(&tree->nodes[i]);
    qsort(weights, tree->n, sizeof(*weights), compare_down);
    *ret_least =
        tree->n > REPORT_FLAMES_NODES ? saturating_add(weights[REPORT_FLAMES_NODES], 1) : 1;
    free(weights);
    return 0;
}

/* Numbers the kept nodes and adds the others to their nearest kept caller. Parents come first
 * (C-1). */
static void fold(struct call_tree *tree, int64_t least, uint32_t *numbers)
{
    for (uint32_t i = tree->n; i-- > 1;) {
        struct call_node *node = &tree->nodes[i];

        if (weight_of(node) >= least)
            continue;
        saturating_grow(&tree->nodes[node->parent].self_bytes, node->self_bytes);
        saturating_grow(&tree->nodes[node->parent].self_blocks, node->self_blocks);
    }
    numbers[0] = 0;
    for (uint32_t i = 1, next = 1; i < tree->n; i++)
        numbers[i] = weight_of(&tree->nodes[i]) >= least ? next++ : CALL_TREE_NONE;
}

static int put_nodes(struct flames *flames, struct call_tree *tree, struct error *err)
{
    uint32_t *numbers = reallocarray(NULL, tree->n, sizeof(*numbers));
    int64_t least = 0;
    int rc = numbers ? find_least(tree, &least, err)
                     : error_set(err, ERROR_NOMEM, "no memory for %u frames", tree->n);

    if (rc == 0)
        fold(tree, least, numbers);
    for (uint32_t i = 0; rc == 0 && i < tree->n; i++) {
        const struct call_node *node = &tree->nodes[i];
        uint32_t name = i && numbers[i] != CALL_TREE_NONE ? name_of(flames, node) : 0;

        if (name == UINT32_MAX)
            rc = error_set(err, ERROR_NOMEM, "no memory for names");
        else if (numbers[i] != CALL_TREE_NONE)
            (void)fprintf(flames->measures_out, "%s%" PRIu32 ",%" PRIu32 ",%" PRId64 ",%" PRId64,
                          i ? "," : "", i ? numbers[node->parent] : 0, name, node->self_bytes,
                          node->self_blocks);
    }
    free(numbers);
    return rc;
}

static int put_measure(struct flames *flames, int64_t process_id, enum stack_measure measure,
                       struct error *err)
{
    struct stack_weights weights = {0};
    struct call_tree tree = {0};
    int rc = stack_weights_load(&weights, flames->query, process_id, measure, err);

    if (rc == 0 && weights.n > 0)
        rc = call_tree_build(&tree, &weights, false, err);
    if (rc == 0 && weights.n > 0) {
        (void)fputs(flames->n_measures++ ? ",{\"title\":" : "{\"title\":", flames->measures_out);
        put_text(flames->measures_out, stack_measure_title(flames->query, measure));
        (void)fputs(",\"nodes\":[", flames->measures_out);
        rc = put_nodes(flames, &tree, err);
        (void)fputs("]}", flames->measures_out);
    }
    call_tree_done(&tree);
    stack_weights_done(&weights);
    return rc;
}

int report_flames_put(const struct query *query, int64_t process_id, FILE *out, struct error *err)
{
    static const enum stack_measure measures[] = {STACK_MEASURE_PEAK, STACK_MEASURE_LEAKED,
                                                  STACK_MEASURE_ALLOCATED, STACK_MEASURE_TEMPORARY};
    struct flames flames = {.query = query};
    char *names = NULL;
    char *nodes = NULL;
    size_t size;
    int rc = 0;

    flames.names_out = open_memstream(&names, &size);
    flames.measures_out = open_memstream(&nodes, &size);
    if (!flames.names_out || !flames.measures_out)
        rc = error_set(err, ERROR_NOMEM, "no memory for a page");
    for (size_t i = 0; rc == 0 && i < sizeof(measures) / sizeof(measures[0]); i++)
        rc = put_measure(&flames, process_id, measures[i], err);
    if (flames.names_out && fclose(flames.names_out) != 0 && rc == 0)
        rc = error_set(err, ERROR_NOMEM, "no memory for a page");
    if (flames.measures_out && fclose(flames.measures_out) != 0 && rc == 0)
        rc = error_set(err, ERROR_NOMEM, "no memory for a page");
    if (rc == 0)
        (void)fprintf(out, "{\"names\":[%s],\"measures\":[%s]}", names, nodes);
    hash_map_done(&flames.names);
    free(names);
    free(nodes);
    return rc;
}
