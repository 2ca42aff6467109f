/* SPDX-License-Identifier: MIT */
/*
 * openapi: the interface below /api/v1 as an OpenAPI 3.1 document, for client generators. It is
 * printed from the tables of queries.h, so it lists exactly what the server accepts.
 *
 * Source: OpenAPI Specification 3.1.0, https://spec.openapis.org/oas/v3.1.0
 */
#ifndef MTRACE_SERVER_OPENAPI_H
#define MTRACE_SERVER_OPENAPI_H

#include <stdio.h>

void openapi_print(FILE *out);

#endif
