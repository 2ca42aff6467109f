/* SPDX-License-Identifier: MIT */
#include "server/http/exchange.h"

#include "lib/base/error.h"
#include "lib/base/json_text.h"

#include <stdlib.h>
#include <string.h>

const char *exchange_parameter(const struct exchange *exchange, const char *name)
{
    for (size_t i = exchange->n_parameters; i > 0; i--)
        if (strcmp(exchange->parameters[i - 1].name, name) == 0)
            return exchange->parameters[i - 1].value;
    return NULL;
}

int exchange_check_method(struct exchange *exchange, const char *method, const char *use,
                          struct error *err)
{
    bool is_get = strcmp(method, "GET") == 0;

    if (strcmp(exchange->method, method) == 0 || (is_get && strcmp(exchange->method, "HEAD") == 0))
        return 0;
    exchange->allow = is_get ? "GET, HEAD" : method;
    return error_set(err, ERROR_USAGE, "%s", use);
}

bool exchange_is_known(struct exchange *exchange, const char *etag)
{
    (void)snprintf(exchange->etag, sizeof(exchange->etag), "\"%s\"", etag);
    if (!exchange->if_none_match || !strstr(exchange->if_none_match, exchange->etag))
        return false;
    exchange->status = 304;
    return true;
}

/* "gzip;q=0" and "*;q=0" refuse it. A name counts more than "*". */
bool exchange_accepts_gzip(const char *accepted)
{
    bool is_any = false;

    for (const char *at = accepted; at && *at; at += *at == ',') {
        at += strspn(at, " \t,");
        size_t length = strcspn(at, " \t,;");
        const char *name = at;
        at += strcspn(at, ",");
        const char *quality = memmem(name, (size_t)(at - name), "q=", 2);
        bool is_wanted = !quality || strtod(quality + 2, NULL) > 0;

        if (length == 4 && strncasecmp(name, "gzip", length) == 0)
            return is_wanted;
        if (length == 1 && *name == '*')
            is_any = is_wanted;
    }
    return is_any;
}

int exchange_status_of(int code)
{
    switch (code) {
    case ERROR_NONE:
        return 200;
    case ERROR_USAGE:
        return 400;
    case ERROR_NOT_FOUND:
    case ERROR_LEFT_OUT:
    case ERROR_LEFT_OUT_ROWS:
        return 404;
    case ERROR_INTERRUPTED:
        return 503;
    default:
        return 500;
    }
}

static const char *code_name(int code)
{
    switch (code) {
    case ERROR_USAGE:
        return "usage";
    case ERROR_NOT_FOUND:
    case ERROR_LEFT_OUT:
    case ERROR_LEFT_OUT_ROWS:
        return "not_found";
    case ERROR_INTERRUPTED:
        return "time_limit";
    case ERROR_NOMEM:
        return "no_memory";
    case ERROR_FORMAT:
    case ERROR_VERSION:
    case ERROR_DATABASE:
        return "database";
    default:
        return "failed";
    }
}

void exchange_print_error(FILE *out, const struct error *err)
{
    (void)fprintf(out, "{\"error\":{\"code\":\"%s\",\"message\":", code_name(err->code));
    json_text_put(out, err->text);
    (void)fputs("}}\n", out);
}
