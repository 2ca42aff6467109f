/* SPDX-License-Identifier: MIT */
#include "server/cli/routes.h"

#include "lib/base/error.h"
#include "server/api/api.h"
#include "server/bytehound/bytehound.h"
#include "server/http/exchange.h"
#include "server/http/pages.h"

#include <string.h>

static int answer(const struct request_place *place, struct exchange *exchange, struct error *err)
{
    int rc;

    if (bytehound_is_asked(exchange))
        return bytehound_answer(place, exchange, err);
    if (api_is_asked(exchange))
        return api_answer(place, exchange, err);
    rc = exchange_check_method(exchange, "GET", "pages need the method GET", err);
    return rc == 0 ? pages_answer(exchange, err) : rc;
}

/* A message repeats parts of the request, which may contain any bytes: keep it one line (E-1). */
static void make_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            *text = ' ';
}

int routes_answer(const struct request_place *place, struct exchange *exchange, struct error *err)
{
    int rc = answer(place, exchange, err);

    if (rc != 0)
        make_one_line(err->text);
    return rc;
}
