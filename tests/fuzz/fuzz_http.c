/* SPDX-License-Identifier: MIT */
/*
 * Requests as bytes on a connection, to a server that reports what it received. An input is read as
 * choices: of methods, of a path and parameters with any of their bytes encoded, given again or
 * without a value, of headers that may change an answer (Range, Accept, Accept-Encoding,
 * If-None-Match, Expect) and of a body in one piece or in chunks. What arrives must be what was
 * meant, the status the one that belongs to it, an error JSON. One request in eight has some of its
 * bytes changed: it may be refused or cut off, and the server goes on.
 */
#include "lib/base/error.h"
#include "server/http/exchange.h"
#include "server/http/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_REQUESTS = 16, /* of an input */
    MAX_PARAMETERS = 6,
    TOO_MANY = EXCHANGE_MAX_PARAMETERS + 1,
    TEXT_BYTES = 24,
    BODY_BYTES = 2048,
    REQUEST_BYTES = 16384,
    ANSWER_BYTES = 65536,
    SECONDS = 100 /* for an answer */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ETAG "etag-of-everything"

struct input {
    const uint8_t *at, *end;
};

/* A request, and its expected result. */
static struct request {
    const char *method;
    char path[TEXT_BYTES + 2];
    char names[MAX_PARAMETERS][TEXT_BYTES];
    char values[MAX_PARAMETERS][TEXT_BYTES];
    size_t n_parameters; /* TOO_MANY: of no names */
    const char *if_none_match;
    const char *host;
    char body[BODY_BYTES];
    size_t body_bytes;
    bool has_body, is_spoiled;
    char text[REQUEST_BYTES];
    size_t n_bytes;
} request;

static struct http_server *server;
static unsigned long n_requests, n_answered, n_spoiled;

static unsigned draw(struct input *input, unsigned n)
{
    unsigned byte = input->at < input->end ? *input->at++ : 0;

    return byte % n;
}

#define DRAW(input, list) (list)[draw(input, sizeof(list) / sizeof((list)[0]))]

static void require(bool is_good, const char *what)
{
    if (is_good)
        return;
    (void)fprintf(stderr, "%s, after:\n%.*s\n", what, (int)request.n_bytes, request.text);
    abort();
}

/* ---- the server's side ---- */

static void check_parameters(const struct exchange *exchange)
{
    require(exchange->n_parameters == request.n_parameters, "other parameters arrived");
    for (size_t i = 0; i < request.n_parameters; i++) {
        require(strcmp(exchange->parameters[i].name, request.names[i]) == 0, "another name");
        require(strcmp(exchange->parameters[i].value, request.values[i]) == 0, "another value");
    }
}

static int answer(void *context, struct exchange *exchange, struct error *err)
{
    (void)context;
    if (!request.is_spoiled) {
        require(strcmp(exchange->method, request.method) == 0, "another method arrived");
        require(strcmp(exchange->path, request.path) == 0, "another path arrived");
        check_parameters(exchange);
        require(exchange->body_bytes == request.body_bytes
                    && (request.body_bytes == 0
                        || memcmp(exchange->body, request.body, request.body_bytes) == 0),
                "another body arrived");
    }
    if (exchange->n_parameters > 0 && strcmp(exchange->parameters[0].name, "fail") == 0)
        return error_set(err, ERROR_USAGE, "'%s' is refused", exchange->parameters[0].value);
    if (exchange_is_known(exchange, ETAG))
        return 0;
    (void)fprintf(exchange->out, "{\"n_parameters\":%zu}\n", exchange->n_parameters);
    return 0;
}

static void finish(void)
{
    http_server_stop(server);
    (void)fprintf(stderr, "%lu requests, %lu of them answered, %lu of them spoiled\n", n_requests,
                  n_answered, n_spoiled);
}

static void do_nothing(int number)
{
    (void)number;
}

/* As libFuzzer's alarm does, which comes once a second: calls of the client's thread are
 * interrupted. */
static void interrupt_often(void)
{
    const struct sigaction action = {.sa_handler = do_nothing};
    const struct itimerspec period = {.it_value.tv_nsec = 500000, .it_interval.tv_nsec = 500000};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};
    timer_t timer;

    event._sigev_un._tid = gettid(); /* glibc has no other name for it */
    require(sigaction(SIGUSR2, &action, NULL) == 0
                && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0
                && timer_settime(timer, 0, &period, NULL) == 0,
            "no timer");
}

static void start(void)
{
    const struct http_server_options options = {.answer = answer};
    struct error err = {0};

    (void)signal(SIGPIPE, SIG_IGN);
    interrupt_often();
    if (http_server_start(&options, &server, &err) != 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    (void)atexit(finish);
}

/* ---- a request ---- */

static void put(const char *text)
{
    request.n_bytes += (size_t)snprintf(request.text + request.n_bytes,
                                        REQUEST_BYTES - request.n_bytes, "%s", text);
}

/* Any bytes but 0, which an address must not have. */
static void choose_text(struct input *input, char *ret_text)
{
    static const char *const words[] = {"a",     "from", "50%",      "a b",
                                        "x=y&z", "1+1",  "\xc3\xa4", "%41"};
    size_t n = draw(input, TEXT_BYTES);

    if (draw(input, 2)) {
        (void)snprintf(ret_text, TEXT_BYTES, "%s", DRAW(input, words));
        return;
    }
    for (size_t i = 0; i < n; i++)
        ret_text[i] = (char)(1 + draw(input, 255));
    ret_text[n] = '\0';
}

/* Each character as itself, where it may stand there, or encoded. */
static void put_encoded(struct input *input, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./~";
    static const char *const digits[] = {"0123456789abcdef", "0123456789ABCDEF"};

    for (; *text; text++) {
        const char *digit = DRAW(input, digits);
        unsigned char byte = (unsigned char)*text;
        char code[4] = {'%', digit[byte >> 4], digit[byte & 15], '\0'};

        if (strchr(plain, *text) && draw(input, 4))
            (void)snprintf(code, sizeof(code), "%c", *text);
        put(code);
    }
}

static void choose_parameters(struct input *input)
{
    request.n_parameters = draw(input, 64) ? draw(input, MAX_PARAMETERS + 1) : TOO_MANY;
    for (size_t i = 0; i < request.n_parameters; i++) {
        put(i == 0 ? "?" : "&");
        if (request.n_parameters == TOO_MANY) {
            put("a=1");
            continue;
        }
        choose_text(input, request.names[i]);
        choose_text(input, request.values[i]);
        if (i > 0 && draw(input, 4) == 0)
            memcpy(request.names[i], request.names[i - 1], TEXT_BYTES);
        else if (draw(input, 16) == 0)
            (void)snprintf(request.names[i], TEXT_BYTES, "fail");
        if (draw(input, 8) == 0)
            request.values[i][0] = '\0';
        put_encoded(input, request.names[i]);
        if (!*request.names[i] || *request.values[i] || draw(input, 2)) {
            put("=");
            put_encoded(input, request.values[i]);
        }
    }
}

static void choose_line(struct input *input)
{
    static const char *const methods[] = {"GET",  "GET",  "GET",    "GET",     "HEAD",
                                          "POST", "POST", "DELETE", "OPTIONS", "BREW"};

    request.method = DRAW(input, methods);
    put(request.method);
    put(" /");
    choose_text(input, request.path + 1);
    request.path[0] = '/';
    put_encoded(input, request.path + 1);
    choose_parameters(input);
    put(" HTTP/1.1\r\n");
}

/* None of them changes an answer but If-None-Match and Host. */
static void choose_headers(struct input *input)
{
    static const char *const hosts[] = {"localhost", "localhost", "127.0.0.1:8080", "[::1]",
                                        "localhost", "localhost", "localhost",      "evil.example"};
    static const char *const etags[] = {"\"" ETAG "\"", "W/\"" ETAG "\"", "*", "\"other\"",
                                        "\"a\", \"" ETAG "\""};
    static const char *const others[] = {
        "Range: bytes=0-1\r\n",
        "Range: bytes=-18446744073709551615, 5-2\r\n",
        "Accept: text/html;q=0.1, */*;q=9\r\n",
        "Accept: ;;,\r\n",
        "Accept-Encoding: identity;q=0, gzip\r\n",
        "Accept-Encoding: br\r\n",
        "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n",
        "If-Range: \"x\"\r\n",
        "If-Match: *\r\n",
        "Content-Type: multipart/form-data; boundary=x\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        "Cookie: a=b; mtrace_token=; ;;=\r\n",
        "Authorization: Basic Og==\r\n",
        "Expect: 100-continue\r\n",
        "X-Forwarded-Host: evil.example\r\n",
        "X: \xff\xfe\t\r\n",
    };

    request.host = DRAW(input, hosts);
    put("Host: ");
    put(request.host);
    put("\r\n");
    request.if_none_match = draw(input, 4) ? NULL : DRAW(input, etags);
    if (request.if_none_match) {
        put("If-None-Match: ");
        put(request.if_none_match);
        put("\r\n");
    }
    for (unsigned n = draw(input, 4); n > 0; n--)
        put(DRAW(input, others));
}

static void put_bytes(const char *bytes, size_t size)
{
    memcpy(request.text + request.n_bytes, bytes, size);
    request.n_bytes += size;
}

static void put_chunks(struct input *input)
{
    char size[16];

    put("Transfer-Encoding: chunked\r\n\r\n");
    for (size_t at = 0, n; at < request.body_bytes; at += n) {
        n = 1 + draw(input, 255);
        n = n < request.body_bytes - at ? n : request.body_bytes - at;
        (void)snprintf(size, sizeof(size), "%zx\r\n", n);
        put(size);
        put_bytes(request.body + at, n);
        put("\r\n");
    }
    put("0\r\n\r\n");
}

static void choose_body(struct input *input)
{
    bool may_have_nul;
    char length[48];

    request.has_body = strcmp(request.method, "POST") == 0;
    if (!request.has_body) {
        put("\r\n");
        return;
    }
    request.body_bytes = draw(input, 2) ? draw(input, 64) : draw(input, 256) * 8U;
    may_have_nul = draw(input, 8) == 1;
    for (size_t i = 0; i < request.body_bytes; i++) {
        request.body[i] = (char)draw(input, 256);
        if (!request.body[i] && !may_have_nul)
            request.body[i] = ' ';
    }
    if (draw(input, 2)) {
        put_chunks(input);
        return;
    }
    (void)snprintf(length, sizeof(length), "Content-Length: %zu\r\n\r\n", request.body_bytes);
    put(length);
    put_bytes(request.body, request.body_bytes);
}

static void choose(struct input *input)
{
    request = (struct request){.n_bytes = 0};
    choose_line(input);
    choose_headers(input);
    choose_body(input);
    request.is_spoiled = draw(input, 8) == 7;
    for (unsigned n = request.is_spoiled ? 1 + draw(input, 4) : 0; n > 0; n--)
        request.text[draw(input, 256) * 64U % request.n_bytes + draw(input, 64) % 8U] =
            (char)draw(input, 256);
}

/* ---- the client's side ---- */

/* An interrupted call of connect continues by itself. */
static bool is_connected(int fd, const struct sockaddr_in *address)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    socklen_t n_bytes = sizeof(int);
    int code = 0;
    int n;

    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
        return true;
    if (errno != EINTR)
        return false;
    do
        n = poll(&wait, 1, SECONDS * 1000);
    while (n < 0 && errno == EINTR);
    return n == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &n_bytes) == 0 && code == 0;
}

static int connect_to_server(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(http_server_port(server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval limit = {.tv_sec = SECONDS};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    require(fd >= 0 && is_connected(fd, &address), "no connection");
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

static char received[ANSWER_BYTES];
static size_t n_received;

/* Returns false if nothing more comes. */
static bool receive_more(int fd)
{
    ssize_t n;

    do
        n = read(fd, received + n_received, sizeof(received) - 1 - n_received);
    while (n < 0 && errno == EINTR);
    n_received += n > 0 ? (size_t)n : 0;
    received[n_received] = '\0';
    return n > 0;
}

/* The status of an answer, all of which has come; 0: the connection has ended. */
static int receive(int fd)
{
    const char *end;
    const char *length;
    size_t n_bytes = 0;
    int status;

    n_received = 0;
    received[0] = '\0';
    do {
        while (!(end = strstr(received, "\r\n\r\n")))
            if (!receive_more(fd))
                return 0;
        status = strncmp(received, "HTTP/1.1 ", 9) == 0 ? atoi(received + 9) : 0;
        if (status == 100) { /* goes before the answer */
            n_received -= (size_t)(end + 4 - received);
            memmove(received, end + 4, n_received + 1);
        }
    } while (status == 100);
    length = strcasestr(received, "\r\nContent-Length:");
    if (length && length < end && strcmp(request.method, "HEAD") != 0 && status != 304)
        n_bytes = strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
    while (n_received < (size_t)(end + 4 - received) + n_bytes)
        if (!receive_more(fd))
            return 0;
    require(n_received == (size_t)(end + 4 - received) + n_bytes, "more than an answer came");
    return status;
}

/* The expected result of an unchanged request. */
static int expected_status(void)
{
    if (request.body_bytes > 0 && memchr(request.body, '\0', request.body_bytes))
        return 400;
    if (strcmp(request.host, "evil.example") == 0)
        return 421;
    if (request.n_parameters == TOO_MANY)
        return 400;
    if (strcmp(request.method, "BREW") == 0)
        return 501;
    if (strcmp(request.method, "DELETE") == 0 || strcmp(request.method, "OPTIONS") == 0)
        return 405;
    if (request.n_parameters > 0 && strcmp(request.names[0], "fail") == 0)
        return 400;
    return request.if_none_match && strstr(request.if_none_match, "\"" ETAG "\"") ? 304 : 200;
}

static bool send_request(int fd)
{
    ssize_t n;

    do
        n = write(fd, request.text, request.n_bytes);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)request.n_bytes;
}

/* Returns false if the connection is of no more use. */
static bool ask(int fd)
{
    int status;

    n_requests++;
    n_spoiled += request.is_spoiled;
    if (!send_request(fd))
        return require(request.is_spoiled, "it cannot be sent"), false;
    if (request.is_spoiled) {
        (void)shutdown(fd, SHUT_WR);
        n_received = 0;
        while (n_received < sizeof(received) - 1 && receive_more(fd))
            ;
        return false;
    }
    status = receive(fd);
    if (status != expected_status())
        (void)fprintf(stderr, "status %d in place of %d\n", status, expected_status());
    require(status == expected_status(), received);
    if (status >= 400 && strcmp(request.method, "HEAD") != 0)
        require(strstr(received, "\r\n\r\n{\"error\":{"), "an error without its object");
    n_answered++;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, data + size};
    int fd = -1;

    if (!server)
        start();
    for (int i = 0; i < MAX_REQUESTS && input.at < input.end; i++) {
        choose(&input);
        if (fd < 0)
            fd = connect_to_server();
        if (!ask(fd)) {
            close(fd);
            fd = -1;
        }
    }
    if (fd >= 0)
        close(fd);
    return 0;
}
