/* SPDX-License-Identifier: MIT */
#include "queries/render/svg.h"

#include "lib/base/error.h"
#include "lib/base/utf8.h"
#include "queries/render/render.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

int svg_check_output(const struct render_style *style, struct error *err)
{
    if (style->format != RENDER_TABLE)
        return error_set(err, ERROR_USAGE, "pictures have the format SVG only");
    if (style->is_terminal)
        return error_set(err, ERROR_USAGE,
                         "a picture cannot be shown in a terminal; write it to a file with -o "
                         "picture.svg");
    return 0;
}

void svg_begin(FILE *out, int width, int height, const char *title)
{
    (void)fprintf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\""
        " height=\"%d\" viewBox=\"0 0 %d %d\" style=\"max-width:100%%;height:auto\">\n<title>",
        width, height, width, height);
    svg_put_text(out, title);
    (void)fputs("</title>\n", out);
}

void svg_end(FILE *out)
{
    (void)fputs("</svg>\n", out);
}

/* XML forbids U+FFFE and U+FFFF of each plane, too. */
static bool is_xml(const char *character, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)character;

    return utf8_is_plain(character, length)
           && !(length >= 3 && bytes[length - 1] >= 0xbe && bytes[length - 2] == 0xbf
                && (bytes[length - 3] & 0x0f) == 0x0f);
}

void svg_put_text(FILE *out, const char *text)
{
    for (size_t length; *text; text += length) {
        length = utf8_length(text);
        if (length == 0 || !is_xml(text, length)) {
            (void)putc('?', out);
            length = length ? length : 1;
        } else if (*text == '<') {
            (void)fputs("&lt;", out);
        } else if (*text == '>') {
            (void)fputs("&gt;", out);
        } else if (*text == '&') {
            (void)fputs("&amp;", out);
        } else if (*text == '"') {
            (void)fputs("&quot;", out);
        } else {
            (void)fwrite(text, 1, length, out);
        }
    }
}

void svg_put_script(FILE *out, const char *name)
{
    for (const struct embedded_sql *file = embedded_pictures; file->name; file++) {
        if (strcmp(file->name, name) == 0)
            (void)fprintf(out, "<script type=\"text/javascript\"><![CDATA[\n%s]]></script>\n",
                          file->text);
    }
}

static int channel(double hue, double low, double high)
{
    double value;

    hue -= hue >= 1 ? 1 : hue < 0 ? -1 : 0;
    if (hue < 1.0 / 6)
        value = low + (high - low) * 6 * hue;
    else if (hue < 1.0 / 2)
        value = high;
    else if (hue < 2.0 / 3)
        value = low + (high - low) * (4 - 6 * hue);
    else
        value = low;
    return (int)(value * 255 + 0.5);
}

void svg_put_colour(FILE *out, double hue, double saturation, double lightness)
{
    double high = lightness < 0.5 ? lightness * (1 + saturation)
                                  : lightness + saturation - lightness * saturation;
    double low = 2 * lightness - high;

    (void)fprintf(out, "#%02x%02x%02x", channel(hue + 1.0 / 3, low, high), channel(hue, low, high),
                  channel(hue - 1.0 / 3, low, high));
}
