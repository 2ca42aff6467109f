/* SPDX-License-Identifier: MIT */
/*
 * tree: allocations as a call tree. An only child is printed at the level of its parent, so that
 * long call chains fit the screen. Nodes below --min-share are folded into one line. As json and
 * csv: every node that is not folded, with its parent.
 */
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/base/shell_quote.h"
#include "lib/base/units.h"
#include "lib/base/utf8.h"
#include "queries/core/call_tree.h"
#include "queries/core/computed_rows.h"
#include "queries/core/query.h"
#include "queries/core/stack_weights.h"
#include "queries/core/tree_title.h"
#include "queries/render/shorten.h"
#include "queries/reports/reports.h"

#include <string.h>

enum {
    NAME_BYTES = 1024,
    INDENT_BYTES = 512,
    BRANCH_WIDTH = 3,
    NUMBER_WIDTH = 11
};

static const double default_min_share = 0.01;

struct printer {
    struct query *query;
    const struct call_tree *tree;
    bool is_by_blocks;
    double min_weight;
    char indent[INDENT_BYTES];
};

static int64_t weight_of(const struct printer *printer, const struct call_node *node)
{
    return printer->is_by_blocks ? node->total_blocks : node->total_bytes;
}

static bool is_shown(const struct printer *printer, const struct call_node *node)
{
    return (double)weight_of(printer, node) >= printer->min_weight && weight_of(printer, node) > 0;
}

/* ---- people ---- */

static void print_numbers(const struct printer *printer, int64_t bytes, int64_t blocks)
{
    const struct call_node *all = &printer->tree->nodes[0];
    int64_t weight = printer->is_by_blocks ? blocks : bytes;
    int64_t total = weight_of(printer, all);
    char number[UNITS_TEXT_BYTES];
    char share[UNITS_TEXT_BYTES];

    (void)fprintf(printer->query->out, "%*s %7s  ", NUMBER_WIDTH,
                  printer->is_by_blocks ? units_format_count(blocks, number)
                                        : units_format_bytes(bytes, number),
                  units_format_share(total ? (double)weight / (double)total : 0, share));
}

static void print_node(const struct printer *printer, const struct call_node *node,
                       const char *branch)
{
    FILE *out = printer->query->out;
    char name[NAME_BYTES];
    int width = printer->query->style.width;
    int room = width - NUMBER_WIDTH - 10 - (int)strlen(printer->indent) - (int)strlen(branch);

    if (node->name == node->module)
        (void)snprintf(name, sizeof(name), "%s", shorten_path(node->name));
    else if (printer->query->style.is_wide)
        (void)snprintf(name, sizeof(name), "%s", node->name);
    else
        shorten_function(node->name, name, sizeof(name));
    print_numbers(printer, node->total_bytes, node->total_blocks);
    (void)fprintf(out, "%s%s", printer->indent, branch);
    utf8_clean(name);
    if (width > 0 && room > 8 && (int)strlen(name) > room)
        (void)fprintf(out, "%.*s..\n", room - 2, name);
    else
        (void)fprintf(out, "%s\n", name);
}

/* Sums of the nodes below a node that are not shown. */
struct folded {
    int64_t bytes, blocks;
    uint32_t n;
};

static uint32_t first_shown(const struct printer *printer, uint32_t child)
{
    while (child != CALL_TREE_NONE && !is_shown(printer, &printer->tree->nodes[child]))
        child = printer->tree->nodes[child].next_sibling;
    return child;
}

static struct folded find_folded(const struct printer *printer, uint32_t parent)
{
    struct folded folded = {0};

    for (uint32_t child = printer->tree->nodes[parent].first_child; child != CALL_TREE_NONE;
         child = printer->tree->nodes[child].next_sibling) {
        const struct call_node *node = &printer->tree->nodes[child];
        if (is_shown(printer, node))
            continue;
        folded.n++;
        saturating_grow(&folded.bytes, node->total_bytes);
        saturating_grow(&folded.blocks, node->total_blocks);
    }
    return folded;
}

static void print_folded(const struct printer *printer, const struct folded *folded)
{
    char count[UNITS_TEXT_BYTES];

    if (folded->n == 0 || (printer->is_by_blocks ? folded->blocks : folded->bytes) == 0)
        return;
    print_numbers(printer, folded->bytes, folded->blocks);
    (void)fprintf(printer->query->out, "%s`- (%s smaller)\n", printer->indent,
                  units_format_count(folded->n, count));
}

static void indent(struct printer *printer, const char *by)
{
    size_t used = strlen(printer->indent);

    (void)snprintf(printer->indent + used, sizeof(printer->indent) - used, "%s", by);
}

/* Descends while there is only one child, so that long call chains stay on one level. */
static uint32_t print_chain(const struct printer *printer, uint32_t parent)
{
    const struct call_node *nodes = printer->tree->nodes;

    while (parent != 0 && nodes[parent].self_blocks == 0) {
        uint32_t child = nodes[parent].first_child;
        if (child == CALL_TREE_NONE || nodes[child].next_sibling != CALL_TREE_NONE)
            break;
        print_node(printer, &nodes[child], "");
        parent = child;
    }
    return parent;
}

/* Recurses once per branch, at most as deep as the indent is long. */
static void print_children(struct printer *printer, uint32_t parent)
{
    const struct call_node *nodes = printer->tree->nodes;
    size_t length = strlen(printer->indent);
    struct folded folded;
    uint32_t child;

    parent = print_chain(printer, parent);
    folded = find_folded(printer, parent);
    child = first_shown(printer, nodes[parent].first_child);
    if (length + (size_t)2 * BRANCH_WIDTH >= INDENT_BYTES && child != CALL_TREE_NONE) {
        (void)fprintf(printer->query->out, "%s`- (deeper calls)\n", printer->indent);
        return;
    }
    for (uint32_t next; child != CALL_TREE_NONE; child = next) {
        next = first_shown(printer, nodes[child].next_sibling);
        bool is_last = next == CALL_TREE_NONE && folded.n == 0;

        print_node(printer, &nodes[child], is_last ? "`- " : "|- ");
        indent(printer, is_last ? "   " : "|  ");
        print_children(printer, child);
        printer->indent[length] = '\0';
    }
    print_folded(printer, &folded);
}

/* ---- programs ---- */

static int show_rows(const struct printer *printer, struct error *err)
{
    struct computed_rows rows;
    int rc;

    computed_rows_init(&rows, "node_id,parent_node_id,depth,bytes,blocks,self_bytes,self_blocks,"
                              "function,module");
    for (uint32_t i = 0; i < printer->tree->n; i++) {
        const struct call_node *node = &printer->tree->nodes[i];
        if (!is_shown(printer, node))
            continue;
        computed_rows_begin(&rows);
        computed_rows_add_int64(&rows, i);
        if (node->parent == CALL_TREE_NONE)
            computed_rows_add_null(&rows);
        else
            computed_rows_add_int64(&rows, node->parent);
        computed_rows_add_int64(&rows, node->depth);
        computed_rows_add_int64(&rows, node->total_bytes);
        computed_rows_add_int64(&rows, node->total_blocks);
        computed_rows_add_int64(&rows, node->self_bytes);
        computed_rows_add_int64(&rows, node->self_blocks);
        computed_rows_add_text(&rows, node->name == node->module ? NULL : node->name);
        computed_rows_add_text(&rows, node->module);
        computed_rows_end(&rows);
    }
    rc = computed_rows_show(&rows, printer->query, err);
    computed_rows_done(&rows);
    return rc;
}

/* The function where the heaviest path branches first. */
static const struct call_node *find_branch(const struct printer *printer)
{
    const struct call_node *nodes = printer->tree->nodes;
    const struct call_node *found = NULL;
    uint32_t at = first_shown(printer, nodes[0].first_child);

    while (at != CALL_TREE_NONE) {
        uint32_t child = first_shown(printer, nodes[at].first_child);

        if (child != CALL_TREE_NONE && nodes[at].name != nodes[at].module)
            found = &nodes[at];
        if (child == CALL_TREE_NONE
            || (found == &nodes[at]
                && first_shown(printer, nodes[child].next_sibling) != CALL_TREE_NONE))
            break;
        at = child;
    }
    return found;
}

static void print_next(const struct printer *printer)
{
    const struct query *query = printer->query;
    const struct call_node *node = find_branch(printer);
    char name[NAME_BYTES] = "";

    if (!node)
        return;
    shell_quote(node->name, name, sizeof(name));
    query_advise(query, "%s %s %s", query->options->is_inverted ? "callers" : "callees",
                 query->shell_path, name);
}

static int print(struct printer *printer, const struct stack_weights *weights, struct error *err)
{
    const struct query_options *options = printer->query->options;
    double usual_share = options->fail_if ? 0 : default_min_share; /* --fail-if tests every node */
    double min_share = options->min_share < 0 ? usual_share : options->min_share;
    char title[NAME_BYTES];
    int rc;

    printer->min_weight = min_share * (double)weight_of(printer, &printer->tree->nodes[0]);
    if (printer->query->style.format != RENDER_TABLE || options->fail_if)
        return show_rows(printer, err);
    rc = tree_title_format(printer->query, weights, title, sizeof(title), err);
    if (rc != 0)
        return rc;
    (void)fprintf(printer->query->out, "%s\n", title);
    print_children(printer, 0);
    print_next(printer);
    return 0;
}

int cmd_tree_run(struct query *query, struct error *err)
{
    const struct query_options *options = query->options;
    struct stack_weights weights = {0};
    struct call_tree tree = {0};
    struct printer printer = {.query = query, .tree = &tree, .is_by_blocks = options->is_by_blocks};
    int rc = call_tree_load(&tree, &weights, query, err);

    if (rc == 0)
        rc = print(&printer, &weights, err);
    call_tree_done(&tree);
    stack_weights_done(&weights);
    return rc;
}
