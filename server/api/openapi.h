/* SPDX-License-Identifier: MIT */
/*
 * openapi: the interface below /api/v1 as a document of OpenAPI 3.1, for tools that make clients.
 *
 * Model: it is printed from the tables of queries.h, so that it names just what can be asked.
 * Source: OpenAPI Specification 3.1.0, https://spec.openapis.org/oas/v3.1.0
 */
#ifndef MTRACE_SERVER_OPENAPI_H
#define MTRACE_SERVER_OPENAPI_H

#include <stdio.h>

void openapi_print(FILE *out);

#endif
