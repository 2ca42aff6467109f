/* SPDX-License-Identifier: MIT */
/* flamegraph: the call tree as a picture, callees below callers, or callers below with --invert. */
#include "queries/core/call_tree.h"
#include "queries/core/query.h"
#include "queries/core/stack_weights.h"
#include "queries/core/tree_title.h"
#include "queries/render/svg.h"
#include "queries/reports/flame_picture.h"
#include "queries/reports/reports.h"

enum {
    TITLE_BYTES = 1024
};

int cmd_flamegraph_run(struct query *query, struct error *err)
{
    struct stack_weights weights = {0};
    struct call_tree tree = {0};
    char title[TITLE_BYTES];
    const struct flame_words words = {
        title, query->options->is_inverted
                   ? "callers hang below the functions they call; colour is the module"
                   : "functions hang below their callers; colour is the module"};
    int rc = svg_check_output(&query->style, err);

    if (rc == 0)
        rc = call_tree_load(&tree, &weights, query, err);
    if (rc == 0)
        rc = tree_title_format(query, &weights, title, sizeof(title), err);
    if (rc == 0)
        rc = flame_picture_draw(query, &tree, &words, err);
    call_tree_done(&tree);
    stack_weights_done(&weights);
    return rc;
}
