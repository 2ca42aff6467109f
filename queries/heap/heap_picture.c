/* SPDX-License-Identifier: MIT */
#include "queries/heap/heap_picture.h"

#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/render/svg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 20,
    LEFT = 142, /* where cells begin, right of the addresses */
    CELLS_WIDTH = 1152,
    PICTURE_WIDTH = LEFT + CELLS_WIDTH + MARGIN,
    HEAD_HEIGHT = 112,
    HEAP_HEAD_HEIGHT = 58,
    HEAP_GAP = 26,
    BAR_HEIGHT = 8,
    TOP_HEIGHT = 18, /* of the strip that stands for what is above the topmost block */
    N_SHADES = 11
};

/* viridis, dark for full: even steps to the eye, also without colour vision. */
static const char *const shades[N_SHADES] = {"#fde725", "#c2df23", "#86d549", "#52c569",
                                             "#2ab07f", "#1e9b8a", "#25858e", "#2d708e",
                                             "#38588c", "#433e85", "#46327e"};

static const struct part {
    const char *name, *colour;
    size_t offset;
} parts[] = {
    {"live", "#46327e", offsetof(struct heap_parts, live_bytes)},
    {"slack", "#8a6fae", offsetof(struct heap_parts, slack_bytes)},
    {"overhead", "#9aa0a6", offsetof(struct heap_parts, overhead_bytes)},
    {"holes in pages in use", "#f6b73c", offsetof(struct heap_parts, hole_bytes)},
    {"free pages", "#ffffff", offsetof(struct heap_parts, free_page_bytes)},
    {"top", "url(#hatch)", offsetof(struct heap_parts, top_bytes)},
};

enum {
    N_PARTS = sizeof(parts) / sizeof(parts[0])
};

static const char style[] =
    "<style>text{font:12px sans-serif;fill:#333}#title{font-size:18px;font-weight:bold;fill:#111}"
    ".name{font-size:14px;font-weight:bold;fill:#111}.address{font:10px monospace;fill:#888}"
    ".free{fill:#fff;stroke:#dcdcdc}.top{fill:url(#hatch);stroke:#dcdcdc}.bar{stroke:#bbb;stroke-width:0.5}"
    ".strip{paint-order:stroke;stroke:#fcfcfc;stroke-width:4px}"
    ".cells rect:hover{stroke:#000;stroke-width:1.5}";

static const char hatch[] =
    "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\""
    " patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#f4f4f4\"/>"
    "<rect width=\"2\" height=\"6\" fill=\"#d8d8d8\"/></pattern></defs>\n";

/* ---- cells ---- */

/* Cells end at the topmost block: the memory above it is uniform. */
static uint64_t celled_bytes(const struct heap_picture_heap *heap)
{
    return heap->parts.extent_bytes - heap->parts.top_bytes;
}

size_t heap_picture_cells(const struct heap_picture *picture, const struct heap_picture_heap *heap)
{
    return (size_t)((celled_bytes(heap) + picture->cell_bytes - 1) / picture->cell_bytes);
}

static size_t count_cells(const struct heap_picture *picture)
{
    size_t n = 0;

    for (size_t i = 0; i < picture->n_heaps; i++)
        n += heap_picture_cells(picture, &picture->heaps[i]);
    return n;
}

int heap_picture_divide(struct heap_picture *picture, struct error *err)
{
    picture->cell_bytes = picture->page_bytes;
    while (count_cells(picture) > HEAP_PICTURE_MAX_CELLS && picture->cell_bytes < UINT64_MAX / 4)
        picture->cell_bytes *= 2;
    for (size_t i = 0; i < picture->n_heaps; i++) {
        struct heap_picture_heap *heap = &picture->heaps[i];
        heap->cells = calloc(heap_picture_cells(picture, heap) + 1, sizeof(*heap->cells));
        if (!heap->cells)
            return error_set(err, ERROR_NOMEM, "no memory for the cells of a picture");
    }
    return 0;
}

void heap_picture_done(struct heap_picture *picture)
{
    for (size_t i = 0; i < picture->n_heaps; i++) {
        struct heap_picture_heap *heap = &picture->heaps[i];
        for (size_t c = 0; heap->cells && c < heap_picture_cells(picture, heap); c++)
            free(heap->cells[c].owner);
        free(heap->cells);
    }
    free(picture->heaps);
    picture->heaps = NULL;
    picture->n_heaps = 0;
}

/* ---- layout ---- */

static int columns_of(const struct heap_picture *picture)
{
    size_t n = count_cells(picture);

    return n <= 512 ? 32 : n <= 2048 ? 64 : 128;
}

static size_t rows_of(const struct heap_picture *picture, const struct heap_picture_heap *heap)
{
    size_t columns = (size_t)columns_of(picture);

    return (heap_picture_cells(picture, heap) + columns - 1) / columns;
}

/* Rows of few large cells are lower than they are wide. */
static double row_height(const struct heap_picture *picture)
{
    double width = (double)CELLS_WIDTH / columns_of(picture);

    return width > 20 ? 20 : width;
}

static double heap_height(const struct heap_picture *picture, const struct heap_picture_heap *heap)
{
    return HEAP_HEAD_HEIGHT + (double)rows_of(picture, heap) * row_height(picture)
           + (heap->parts.top_bytes ? TOP_HEIGHT : 0) + HEAP_GAP;
}

/* ---- head ---- */

static void put_label(FILE *out, double x, double y, const char *text)
{
    (void)fprintf(out, "<text x=\"%.0f\" y=\"%.0f\">", x, y);
    svg_put_text(out, text);
    (void)fputs("</text>\n", out);
}

static void put_shades(FILE *out, double y)
{
    const double width = 22;

    put_label(out, MARGIN, y + 11, "how full pages in use are");
    put_label(out, LEFT + 40, y + 11, "0 %");
    for (int i = 0; i < N_SHADES; i++)
        (void)fprintf(out,
                      "<rect class=\"f%d\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"14\"/>\n",
                      i, LEFT + 66 + i * width, y, width);
    put_label(out, LEFT + 72 + N_SHADES * width, y + 11, "100 %");
    (void)fprintf(
        out,
        "<rect class=\"free\" x=\"%d\" y=\"%.0f\" width=\"22\" height=\"14\"/>\n"
        "<text x=\"%d\" y=\"%.0f\">free page</text>\n"
        "<rect class=\"top\" x=\"%d\" y=\"%.0f\" width=\"22\" height=\"14\"/>\n"
        "<text x=\"%d\" y=\"%.0f\">top: above the topmost live block, can be trimmed</text>\n",
        LEFT + 390, y, LEFT + 418, y + 11, LEFT + 510, y, LEFT + 538, y + 11);
}

static void put_parts(FILE *out, double y)
{
    double x = LEFT + 66;

    put_label(out, MARGIN, y + 9, "bars: parts of a heap");
    for (int i = 0; i < N_PARTS; i++) {
        (void)fprintf(out,
                      "<rect class=\"bar\" x=\"%.0f\" y=\"%.0f\" width=\"22\" height=\"%d\""
                      " fill=\"%s\"/>\n",
                      x, y, BAR_HEIGHT + 2, parts[i].colour);
        put_label(out, x + 28, y + 9, parts[i].name);
        x += 50 + 7.0 * (double)strlen(parts[i].name);
    }
}

static void put_head(const struct heap_picture *picture, FILE *out)
{
    uint64_t n_pages = picture->cell_bytes / picture->page_bytes;
    char cell[UNITS_TEXT_BYTES];
    char pages[UNITS_TEXT_BYTES];
    char text[HEAP_PICTURE_TEXT_BYTES];

    (void)fputs(style, out);
    for (int i = 0; i < N_SHADES; i++)
        (void)fprintf(out, ".f%d{fill:%s}", i, shades[i]);
    (void)fprintf(out, "</style>\n%s<rect width=\"100%%\" height=\"100%%\" fill=\"#fcfcfc\"/>\n",
                  hatch);
    (void)fprintf(out, "<text id=\"title\" x=\"%d\" y=\"30\">", MARGIN);
    svg_put_text(out, picture->title);
    (void)fputs("</text>\n", out);
    (void)units_format_bytes((int64_t)picture->cell_bytes, cell);
    (void)units_format_counted((int64_t)n_pages, "page", pages);
    if (n_pages == 1)
        (void)snprintf(text, sizeof(text),
                       "a cell is one page of %s, addresses grow to the right and down", cell);
    else
        (void)snprintf(text, sizeof(text),
                       "a cell is %s, %s; its colour is how full those in use are, its coloured"
                       " height how many are in use; addresses grow to the right and down",
                       pages, cell);
    put_label(out, MARGIN, 52, text);
    put_shades(out, 66);
    put_parts(out, 90);
}

/* ---- one heap ---- */

static uint64_t part_bytes(const struct heap_picture_heap *heap, int part)
{
    uint64_t bytes;

    memcpy(&bytes, (const char *)&heap->parts + parts[part].offset, sizeof(bytes));
    return bytes;
}

static void put_bar(const struct heap_picture_heap *heap, double y, FILE *out)
{
    double scale = (double)CELLS_WIDTH / (double)heap->parts.extent_bytes;
    double x = LEFT;

    for (int i = 0; i < N_PARTS; i++) {
        uint64_t n = part_bytes(heap, i);
        double width = (double)n * scale;
        char bytes[UNITS_TEXT_BYTES];
        char share[UNITS_TEXT_BYTES];

        if (width < 0.05)
            continue;
        (void)fprintf(out,
                      "<rect class=\"bar\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\""
                      " fill=\"%s\"><title>%s: %s, ",
                      x, y, width, BAR_HEIGHT, parts[i].colour, parts[i].name,
                      units_format_bytes((int64_t)n, bytes));
        svg_put_text(out, units_format_share((double)n / (double)heap->parts.extent_bytes, share));
        (void)fputs("</title></rect>\n", out);
        x += width;
    }
}

static void put_heap_head(const struct heap_picture_heap *heap, double y, FILE *out)
{
    char extent[UNITS_TEXT_BYTES];
    char live[UNITS_TEXT_BYTES];
    double share = (double)heap->parts.live_bytes / (double)heap->parts.extent_bytes;

    (void)fprintf(
        out, "<text x=\"%d\" y=\"%.0f\"><tspan class=\"name\">%s</tspan><tspan dx=\"24\">%s, ",
        MARGIN, y + 14, heap->name, units_format_bytes((int64_t)heap->parts.extent_bytes, extent));
    svg_put_text(out, units_format_share(share, live));
    (void)fprintf(out, " live, 0x%" PRIx64 " to 0x%" PRIx64 "</tspan></text>\n", heap->start,
                  heap->start + heap->parts.extent_bytes);
    put_label(out, MARGIN, y + 31,
              heap->has_unseen ? "white pages may hold blocks that were not recorded"
              : *heap->topmost ? heap->topmost
                               : "no live block");
    put_bar(heap, y + 40, out);
}

static void put_range(const struct heap_picture *picture, const struct heap_picture_heap *heap,
                      size_t first, size_t n, FILE *out)
{
    uint64_t start = heap->start + first * picture->cell_bytes;
    uint64_t end = start + n * picture->cell_bytes;
    uint64_t heap_end = heap->start + celled_bytes(heap);

    (void)fprintf(out, "0x%" PRIx64 " to 0x%" PRIx64 "\n", start, end < heap_end ? end : heap_end);
}

static void put_numbers(const struct heap_picture *picture, const struct heap_picture_cell *cell,
                        double fill, FILE *out)
{
    char text[UNITS_TEXT_BYTES];

    svg_put_text(out, units_format_bytes((int64_t)cell->live_bytes, text));
    (void)fprintf(out, " usable in %s, ",
                  units_format_counted((int64_t)cell->live_blocks, "live block", text));
    svg_put_text(out, units_format_share(fill, text));
    if (picture->cell_bytes > picture->page_bytes)
        (void)fprintf(out, " of %s in use",
                      units_format_counted((int64_t)cell->n_used, "page", text));
    if (cell->owner) {
        (void)fputs("\npinned by ", out);
        svg_put_text(out, cell->owner);
    }
}

static double used_share(const struct heap_picture *picture, const struct heap_picture_cell *cell)
{
    double share = (double)(cell->n_used * picture->page_bytes) / (double)picture->cell_bytes;

    return share > 1 ? 1 : share < 0.15 ? 0.15 : share; /* less is invisible */
}

static void put_used(const struct heap_picture *picture, const struct heap_picture_heap *heap,
                     size_t index, double y, FILE *out)
{
    const struct heap_picture_cell *cell = &heap->cells[index];
    size_t columns = (size_t)columns_of(picture);
    double width = (double)CELLS_WIDTH / (double)columns;
    double fill = (double)cell->live_bytes / (double)(cell->n_used * picture->page_bytes);
    double height = (row_height(picture) - 1) * used_share(picture, cell);
    int shade = (int)((fill > 1 ? 1 : fill) * (N_SHADES - 1) + 0.5);

    (void)fprintf(
        out, "<rect class=\"f%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>",
        shade, LEFT + (double)(index % columns) * width, y + row_height(picture) - 1 - height,
        width - 1, height);
    put_range(picture, heap, index, 1, out);
    put_numbers(picture, cell, fill, out);
    (void)fputs("</title></rect>\n", out);
}

/* Cells without a page in use, up to the end of their row. */
static size_t put_unused(const struct heap_picture *picture, const struct heap_picture_heap *heap,
                         size_t first, double y, FILE *out)
{
    size_t columns = (size_t)columns_of(picture);
    size_t limit = (first / columns + 1) * columns;
    double width = (double)CELLS_WIDTH / (double)columns;
    size_t n = 1;

    if (limit > heap_picture_cells(picture, heap))
        limit = heap_picture_cells(picture, heap);
    while (first + n < limit && heap->cells[first + n].n_used == 0)
        n++;
    (void)fprintf(
        out, "<rect class=\"free\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>",
        LEFT + (double)(first % columns) * width + 0.5, y + 0.5, (double)n * width - 2,
        row_height(picture) - 2);
    put_range(picture, heap, first, n, out);
    (void)fprintf(out, "%s</title></rect>\n",
                  heap->has_unseen ? "no recorded block" : "free pages");
    return n;
}

static void put_cells(const struct heap_picture *picture, const struct heap_picture_heap *heap,
                      double y, FILE *out)
{
    size_t columns = (size_t)columns_of(picture);
    size_t n = heap_picture_cells(picture, heap);

    (void)fputs("<g class=\"cells\">\n", out);
    for (size_t i = 0; i < n;) {
        size_t row = i / columns;
        double row_y = y + (double)row * row_height(picture);

        if (i % columns == 0 && (i / columns) % (row_height(picture) < 12 ? 2 : 1) == 0)
            (void)fprintf(
                out,
                "<text class=\"address\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">0x%" PRIx64
                "</text>\n",
                LEFT - 8, row_y + row_height(picture) / 2 + 3,
                heap->start + i * picture->cell_bytes);
        if (heap->cells[i].n_used) {
            put_used(picture, heap, i, row_y, out);
            i++;
        } else {
            i += put_unused(picture, heap, i, row_y, out);
        }
    }
    (void)fputs("</g>\n", out);
}

/* As wide as its pages would be, at most a row. */
static void put_top(const struct heap_picture *picture, const struct heap_picture_heap *heap,
                    double y, FILE *out)
{
    double width = (double)heap->parts.top_bytes / (double)picture->cell_bytes * CELLS_WIDTH
                   / columns_of(picture);
    char bytes[UNITS_TEXT_BYTES];

    if (heap->parts.top_bytes == 0)
        return;
    if (width > CELLS_WIDTH)
        width = CELLS_WIDTH;
    if (width < 4)
        width = 4;
    (void)fprintf(out,
                  "<rect class=\"top\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n"
                  "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">top</text>\n"
                  "<text class=\"strip\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                  LEFT + 0.5, y + 1.5, width - 2, TOP_HEIGHT - 3, LEFT - 8, y + 13,
                  LEFT + (width > 0.5 * CELLS_WIDTH ? 8 : width + 6), y + 13,
                  units_format_bytes((int64_t)heap->parts.top_bytes, bytes));
}

/* ---- all ---- */

void heap_picture_draw(const struct heap_picture *picture, FILE *out)
{
    double y = HEAD_HEIGHT + HEAP_GAP;
    double height = y + (*picture->note ? 30 : 0);

    for (size_t i = 0; i < picture->n_heaps; i++)
        height += heap_height(picture, &picture->heaps[i]);
    svg_begin(out, PICTURE_WIDTH, (int)height, picture->title);
    put_head(picture, out);
    for (size_t i = 0; i < picture->n_heaps; i++) {
        const struct heap_picture_heap *heap = &picture->heaps[i];
        put_heap_head(heap, y, out);
        put_cells(picture, heap, y + HEAP_HEAD_HEIGHT, out);
        y += heap_height(picture, heap);
        put_top(picture, heap, y - HEAP_GAP - TOP_HEIGHT, out);
    }
    if (*picture->note)
        put_label(out, MARGIN, y + 14, picture->note);
    svg_end(out);
}
