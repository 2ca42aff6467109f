/* SPDX-License-Identifier: MIT */
#include "server/http/pages.h"

#include "lib/base/error.h"
#include "server/http/exchange.h"

#include <stdbool.h>
#include <string.h>

static const char without_pages[] =
    "<!doctype html><meta charset=\"utf-8\"><title>mtrace</title>"
    "<p>This mtrace-serve was built without its pages: npm was missing. The interface answers all the "
    "same: <a href=\"/api/v1\">/api/v1</a>.\n";

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
    exchange->content_encoding = "gzip"; /* every browser that runs the page takes it */
    (void)fwrite(file->bytes, 1, file->n_bytes, exchange->out);
    return 0;
}
