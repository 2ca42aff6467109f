/* SPDX-License-Identifier: MIT */
#include "server/http/pages.h"

#include "lib/base/error.h"
#include "server/http/exchange.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

static const char without_pages[] =
    "<!doctype html><meta charset=\"utf-8\"><title>mtrace</title>"
    "<p>This mtrace-serve was built without its pages: npm was missing, or could not install what they "
    "need. The interface answers all the same: <a href=\"/api/v1\">/api/v1</a>.\n";

static bool is_view(const char *path)
{
    return strcmp(path, "/") == 0 || strncmp(path, "/view/", strlen("/view/")) == 0;
}

static const struct pages_file *find(const char *path)
{
    for (const struct pages_file *file = pages_files; file->path; file++)
        if (strcmp(file->path, path) == 0)
            return file;
    return NULL;
}

/* For clients without gzip, for example curl without --compressed. */
static int put_unpacked(const struct pages_file *file, FILE *out, struct error *err)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)file->bytes, .avail_in = (uInt)file->n_bytes};
    Bytef text[16384];
    int state = inflateInit2(&stream, 16 + MAX_WBITS); /* 16: of gzip */

    if (state != Z_OK)
        return error_set(err, ERROR_NOMEM, "no memory to unpack '%s'", file->path);
    while (state == Z_OK) {
        stream.next_out = text;
        stream.avail_out = sizeof(text);
        state = inflate(&stream, Z_NO_FLUSH);
        (void)fwrite(text, 1, sizeof(text) - stream.avail_out, out);
    }
    (void)inflateEnd(&stream);
    return state == Z_STREAM_END ? 0 : error_set(err, ERROR_IO, "cannot unpack '%s'", file->path);
}

int pages_answer(struct exchange *exchange, struct error *err)
{
    const struct pages_file *file = find(is_view(exchange->path) ? "/index.html" : exchange->path);

    exchange->policy = EXCHANGE_POLICY_PAGE;
    if (!file && is_view(exchange->path)) {
        exchange->content_type = "text/html; charset=utf-8";
        (void)fputs(without_pages, exchange->out);
        return 0;
    }
    if (!file)
        return error_set(err, ERROR_NOT_FOUND, "there is no '%s'; the interface is below /api/v1",
                         exchange->path);
    exchange->content_type = file->content_type;
    exchange->is_forever = strstr(file->path, file->etag) != NULL;
    if (exchange_is_known(exchange, file->etag))
        return 0;
    if (!exchange->takes_gzip)
        return put_unpacked(file, exchange->out, err);
    exchange->content_encoding = "gzip";
    (void)fwrite(file->bytes, 1, file->n_bytes, exchange->out);
    return 0;
}
