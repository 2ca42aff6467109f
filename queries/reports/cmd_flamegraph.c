/* SPDX-License-Identifier: MIT */
#include "queries/reports/cmd_flamegraph.h"

#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/core/call_tree.h"
#include "queries/core/query.h"
#include "queries/core/stack_weights.h"
#include "queries/core/tree_title.h"
#include "queries/render/estimate.h"
#include "queries/render/shorten.h"
#include "queries/render/svg.h"
#include "queries/reports/reports.h"

#include <stdlib.h>
#include <string.h>

enum {
    PICTURE_WIDTH = 1200,
    MARGIN = 10,
    FRAMES_WIDTH = PICTURE_WIDTH - 2 * MARGIN,
    ROW_HEIGHT = 17,
    HEAD_HEIGHT = 60,
    FOOT_HEIGHT = 30,
    TEXT_BYTES = 1024,
    MODULES_MAX = 64, /* further ones have the hue of the last */
    MAX_ROWS = 2000   /* too deep for viewers */
};

static const double default_min_share = 0.0005;
static const double character_width = 7.2;

static const char style[] =
    "<style>text{font:12px monospace;fill:#222}#title{font-size:14px;font-weight:bold}"
    "#frames rect{stroke:#fff;stroke-width:0.5}#frames g{cursor:pointer}"
    "#frames g:hover rect{stroke:#000}#frames text{pointer-events:none}"
    ".button{cursor:pointer;fill:#06c}</style>\n"
    "<rect width=\"100%\" height=\"100%\" fill=\"#fcfcfc\"/>\n";

/* Modules in drawing order: the first ones get hues that are far apart. */
struct palette {
    const char *modules[MODULES_MAX];
    unsigned n_modules;
};

struct picture {
    const struct query *query;
    const struct flame_words *words;
    const struct call_tree *tree;
    bool is_by_blocks;
    double min_weight;
    double *x; /* of each node, in weight */
    uint32_t n_rows;
};

static int64_t weight_of(const struct picture *picture, uint32_t node)
{
    const struct call_node *of = &picture->tree->nodes[node];

    return picture->is_by_blocks ? of->total_blocks : of->total_bytes;
}

static bool is_shown(const struct picture *picture, uint32_t node)
{
    return weight_of(picture, node) > 0 && (double)weight_of(picture, node) >= picture->min_weight
           && picture->tree->nodes[node].depth < MAX_ROWS;
}

/* Children are placed side by side from the left edge of their parent. Nodes precede their children
 * (C-1), so one pass suffices. */
static int lay_out(struct picture *picture, struct error *err)
{
    const struct call_tree *tree = picture->tree;

    picture->x = calloc(tree->n, sizeof(*picture->x));
    if (!picture->x)
        return error_set(err, ERROR_NOMEM, "no memory for %u frames", tree->n);
    for (uint32_t i = 0; i < tree->n; i++) {
        double x = picture->x[i];

        if (is_shown(picture, i) && tree->nodes[i].depth + 1 > picture->n_rows)
            picture->n_rows = tree->nodes[i].depth + 1;
        for (uint32_t child = tree->nodes[i].first_child; child != CALL_TREE_NONE;
             child = tree->nodes[child].next_sibling) {
            picture->x[child] = x;
            x += (double)weight_of(picture, child);
        }
    }
    return 0;
}

static double hue_of(struct palette *palette, const char *module)
{
    const double first = 0.07;
    const double golden_ratio = 0.618034;
    unsigned i = 0;

    while (i < palette->n_modules && strcmp(palette->modules[i], module) != 0)
        i++;
    if (i == palette->n_modules && i < MODULES_MAX)
        palette->modules[palette->n_modules++] = module;
    return first + golden_ratio * i - (int)(first + golden_ratio * i);
}

/* 0 to 1, the same for the same text. */
static double share_of(const char *text)
{
    uint32_t hash = 2166136261u;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return (hash >> 8 & 0xffff) / 65536.0;
}

static void put_numbers(const struct picture *picture, const struct call_node *node)
{
    const struct call_node *all = &picture->tree->nodes[0];
    const bool is_estimate = picture->tree->is_estimate;
    char bytes[ESTIMATE_TEXT_BYTES];
    char blocks[ESTIMATE_TEXT_BYTES];
    char share[UNITS_TEXT_BYTES];
    double part = picture->is_by_blocks ? (double)node->total_blocks / (double)all->total_blocks
                                        : (double)node->total_bytes / (double)all->total_bytes;

    (void)fprintf(picture->query->out, "\n%s in %s, ",
                  estimate_format_bytes(node->total_bytes,
                                        estimate_margin(is_estimate, node->bytes_square), bytes),
                  estimate_format_blocks(node->total_blocks,
                                         estimate_margin(is_estimate, node->blocks_square),
                                         blocks));
    svg_put_text(picture->query->out, units_format_share(part, share)); /* may be "<0.1 %" */
    if (node->self_blocks > 0)
        (void)fprintf(picture->query->out, "\nof its own %s in %s",
                      units_format_bytes(node->self_bytes, bytes),
                      units_format_count(node->self_blocks, blocks));
}

static void put_label(const struct picture *picture, const char *name, double x, double width,
                      double y)
{
    FILE *out = picture->query->out;
    size_t room = width > 6 ? (size_t)((width - 6) / character_width) : 0;
    char label[TEXT_BYTES];

    (void)snprintf(label, sizeof(label), "%s", name);
    if (room < 3)
        label[0] = '\0';
    else if (strlen(label) > room)
        (void)snprintf(label + room - 2, 3, "..");
    (void)fprintf(out, "<text x=\"%.2f\" y=\"%.1f\">", x + 3, y + 12.5);
    svg_put_text(out, label);
    (void)fputs("</text></g>\n", out);
}

static void put_frame(const struct picture *picture, struct palette *palette, uint32_t index)
{
    const struct call_node *node = &picture->tree->nodes[index];
    FILE *out = picture->query->out;
    double scale = FRAMES_WIDTH / (double)weight_of(picture, 0);
    double x = MARGIN + picture->x[index] * scale;
    double width = (double)weight_of(picture, index) * scale;
    double y = HEAD_HEIGHT + (double)node->depth * ROW_HEIGHT;
    char name[TEXT_BYTES];

    if (node->name == node->module)
        (void)snprintf(name, sizeof(name), "%s", shorten_path(node->name));
    else
        shorten_function(node->name, name, sizeof(name));
    (void)fputs("<g data-short=\"", out);
    svg_put_text(out, name);
    (void)fputs("\"><title>", out);
    svg_put_text(out, node->name);
    put_numbers(picture, node);
    if (node->module && node->name != node->module) {
        (void)putc('\n', out);
        svg_put_text(out, node->module);
    }
    (void)fprintf(out, "</title><rect x=\"%.3f\" y=\"%.0f\" width=\"%.3f\" height=\"%d\" fill=\"",
                  x, y, width, ROW_HEIGHT - 1);
    svg_put_colour(out, index ? hue_of(palette, node->module ? node->module : "") : 0,
                   index ? 0.55 : 0,
                   0.64 + 0.16 * share_of(node->name)); /* neighbours of one module differ a bit */
    (void)fputs("\"/>", out);
    put_label(picture, name, x, width, y);
}

static void put_head(const struct picture *picture, const char *title)
{
    FILE *out = picture->query->out;

    (void)fputs(style, out);
    (void)fprintf(out, "<text id=\"title\" x=\"%d\" y=\"20\">", MARGIN);
    svg_put_text(out, title);
    (void)fprintf(
        out,
        "</text>\n<text x=\"%d\" y=\"40\">width is %s; %s</text>\n"
        "<text id=\"reset\" class=\"button\" style=\"display:none\" x=\"%d\" y=\"55\">reset zoom</text>\n"
        "<text id=\"search\" class=\"button\" x=\"%d\" y=\"40\">search (/)</text>\n"
        "<text id=\"matched\" x=\"%d\" y=\"55\"></text>\n",
        MARGIN, picture->is_by_blocks ? "blocks" : "bytes", picture->words->below, MARGIN,
        PICTURE_WIDTH - 120, PICTURE_WIDTH - 120);
}

static int draw(const struct picture *picture, const char *title)
{
    FILE *out = picture->query->out;
    struct palette palette = {.n_modules = 0};
    int height = HEAD_HEIGHT + (int)picture->n_rows * ROW_HEIGHT + FOOT_HEIGHT;

    svg_begin(out, PICTURE_WIDTH, height, title);
    put_head(picture, title);
    (void)fprintf(out, "<g id=\"frames\" data-left=\"%d\" data-width=\"%d\">\n", MARGIN,
                  FRAMES_WIDTH);
    for (uint32_t i = 0; i < picture->tree->n; i++) {
        if (is_shown(picture, i))
            put_frame(picture, &palette, i);
    }
    (void)fprintf(out, "</g>\n<text id=\"details\" x=\"%d\" y=\"%d\"></text>\n", MARGIN,
                  height - FOOT_HEIGHT / 3);
    svg_put_script(out, "flamegraph");
    svg_end(out);
    return 0;
}

int cmd_flamegraph_draw(const struct query *query, const struct call_tree *tree,
                        const struct flame_words *words, struct error *err)
{
    const struct query_options *options = query->options;
    struct picture picture = {
        .query = query, .tree = tree, .words = words, .is_by_blocks = options->is_by_blocks};
    double min_share = options->min_share < 0 ? default_min_share : options->min_share;
    int rc;

    picture.min_weight = min_share * (double)weight_of(&picture, 0);
    if (weight_of(&picture, 0) == 0)
        return error_set(err, ERROR_NOT_FOUND, "nothing to draw: %s", words->title);
    rc = lay_out(&picture, err);
    if (rc == 0)
        rc = draw(&picture, words->title);
    free(picture.x);
    return rc;
}

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
        rc = cmd_flamegraph_draw(query, &tree, &words, err);
    call_tree_done(&tree);
    stack_weights_done(&weights);
    return rc;
}
