/* SPDX-License-Identifier: MIT */
/* mtrace-gather: receives logs from mtrace-record while programs run. */
#include "lib/base/error.h"
#include "lib/base/option_value.h"
#include "lib/base/units.h"
#include "remote/receiver/receiver.h"
#include "remote/receiver/store.h"
#include "remote/wire/address.h"
#include "remote/wire/discovery.h"
#include "remote/wire/security.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

const char *argp_program_version = "mtrace-gather " MTRACE_VERSION;

static const char default_address[] = "127.0.0.1:7878";

enum option_key {
    KEY_LISTEN = 256,
    KEY_PSK,
    KEY_CERTIFICATE,
    KEY_KEY,
    KEY_CA,
    KEY_INSECURE,
    KEY_MAX_BYTES,
    KEY_MAX_SENDER_BYTES,
    KEY_MAX_CONNECTIONS,
    KEY_ANNOUNCE,
    KEY_DISCOVER,
};

static const struct argp_option option_table[] = {
    {"listen", KEY_LISTEN, "ADDRESS:PORT", 0, "Listen there; port 0: any [127.0.0.1:7878]", 0},
    {NULL, 0, NULL, 0, "Who may send, by TLS 1.3:", 1},
    {"psk-file", KEY_PSK, "FILE", 0,
     "Who has one of these keys: lines 'name:key', as psktool makes", 0},
    {"certificate", KEY_CERTIFICATE, "FILE", 0, "Who has a certificate by --ca; this is ours", 0},
    {"key", KEY_KEY, "FILE", 0, "Our private key", 0},
    {"ca", KEY_CA, "FILE", 0, "Certificates that sign those of senders", 0},
    {"insecure", KEY_INSECURE, NULL, 0, "Anybody on this machine, without TLS", 0},
    {NULL, 0, NULL, 0, "Discovery in the local network, for senders with a key of --psk-file:", 3},
    {"announce", KEY_ANNOUNCE, NULL, 0,
     "Answer 'mtrace-record --to discover' and --discover, by UDP on the same port", 0},
    {"discover", KEY_DISCOVER, "PORT", OPTION_ARG_OPTIONAL,
     "Receive nothing: print the receivers that announce themselves at PORT [7878]", 0},
    {NULL, 0, NULL, 0, "Limits:", 2},
    {"max-bytes", KEY_MAX_BYTES, "SIZE", 0, "Of all logs in DIR together [none]", 0},
    {"max-sender-bytes", KEY_MAX_SENDER_BYTES, "SIZE", 0,
     "That one key or certificate may send while we run [none]", 0},
    {"max-connections", KEY_MAX_CONNECTIONS, "N", 0, "At a time [64]", 0},
    {0},
};

struct arguments {
    const char *folder;
    const char *listen;
    struct security_options security;
    uint64_t max_bytes, max_sender_bytes, max_connections;
    uint64_t discover_port; /* 0: not requested */
    bool is_announcing;
};

static uint64_t parse_connections(struct argp_state *state, const char *text)
{
    uint64_t n = 0;

    if (units_parse_count(text, &n, NULL) != 0 || n < 1 || n > RECEIVER_MAX_CONNECTIONS)
        argp_error(state, "--max-connections is '%s', but must be a number from 1 to %d", text,
                   RECEIVER_MAX_CONNECTIONS);
    return n;
}

static uint64_t parse_port(struct argp_state *state, const char *text)
{
    uint64_t port = 0;

    if (units_parse_count(text, &port, NULL) != 0 || port < 1 || port > UINT16_MAX)
        argp_error(state, "--discover is '%s', but must be a port from 1 to %d", text, UINT16_MAX);
    return port;
}

#define PLACE(member) offsetof(struct arguments, member)

static const struct option_place places[] = {
    {KEY_LISTEN, OPTION_PLACE_TEXT, PLACE(listen), NULL, 0},
    {KEY_PSK, OPTION_PLACE_TEXT, PLACE(security.psk_file), NULL, 0},
    {KEY_CERTIFICATE, OPTION_PLACE_TEXT, PLACE(security.certificate), NULL, 0},
    {KEY_KEY, OPTION_PLACE_TEXT, PLACE(security.key), NULL, 0},
    {KEY_CA, OPTION_PLACE_TEXT, PLACE(security.ca), NULL, 0},
    {KEY_INSECURE, OPTION_PLACE_FLAG, PLACE(security.is_insecure), NULL, 0},
    {KEY_MAX_BYTES, OPTION_PLACE_SIZE, PLACE(max_bytes), "--max-bytes", 0},
    {KEY_MAX_SENDER_BYTES, OPTION_PLACE_SIZE, PLACE(max_sender_bytes), "--max-sender-bytes", 0},
    {KEY_ANNOUNCE, OPTION_PLACE_FLAG, PLACE(is_announcing), NULL, 0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    if (option_place_put(places, sizeof(places) / sizeof(*places), key, value, state))
        return 0;
    switch (key) {
    case ARGP_KEY_INIT:
        option_value_quote_plainly(state);
        return 0;
    case KEY_MAX_CONNECTIONS:
        arguments->max_connections = parse_connections(state, value);
        return 0;
    case KEY_DISCOVER:
        arguments->discover_port = value ? parse_port(state, value) : DISCOVERY_PORT;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->folder)
            argp_error(state, "one DIR is enough, '%s' is another", value);
        arguments->folder = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        if (!arguments->discover_port)
            argp_error(state, "no DIR was named");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    option_table,
    parse_option,
    "DIR\n--discover",
    "Takes logs that 'mtrace-record --to' sends while programs run, and writes them into DIR.\v"
    "A log that arrives is byte for byte the one that is sent, and can be imported at any time. SIGTERM ends "
    "mtrace-gather; senders go on where they were when it runs again. See docs/gather.md.",
    NULL,
    NULL,
    NULL};

static int gather(const struct arguments *arguments, struct error *err)
{
    struct security security = {0};
    struct store store = {.folder = -1};
    struct receiver_settings settings = {.security = &security,
                                         .store = &store,
                                         .max_connections = arguments->max_connections,
                                         .max_sender_bytes = arguments->max_sender_bytes,
                                         .folder = arguments->folder,
                                         .is_announcing = arguments->is_announcing};
    int code = address_parse(arguments->listen, &settings.address, err);

    if (code == 0)
        code = security_open(&arguments->security, true, &security, err);
    if (code == 0)
        code = store_open(arguments->folder, arguments->max_bytes, &store, err);
    if (code == 0)
        code = receiver_run(&settings, err);
    store_close(&store);
    security_close(&security);
    return code;
}

static int discover(const struct arguments *arguments, struct error *err)
{
    struct discovery discovery;
    struct security security = {0};
    int code = security_open(&arguments->security, false, &security, err);

    if (code == 0)
        code = discovery_run(&security, (uint16_t)arguments->discover_port, &discovery, err);
    security_close(&security);
    if (code)
        return code;
    for (size_t i = 0; i < discovery.n_found; i++)
        (void)printf("%s:%s\n", discovery.found[i].host, discovery.found[i].port);
    if (discovery.n_ignored)
        (void)fprintf(stderr, "mtrace-gather: ignored %llu answers: forged or replayed\n",
                      (unsigned long long)discovery.n_ignored);
    return discovery.n_found
               ? 0
               : error_set(err, ERROR_IO,
                           "no 'mtrace-gather --announce' with our key answers at port %llu",
                           (unsigned long long)arguments->discover_port);
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.listen = default_address,
                                  .max_bytes = UINT64_MAX,
                                  .max_sender_bytes = UINT64_MAX,
                                  .max_connections = 64};
    struct error err = {0};
    int code;

    argp_err_exit_status = 2;
    (void)argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    code = arguments.discover_port ? discover(&arguments, &err) : gather(&arguments, &err);
    if (code == 0)
        return EXIT_SUCCESS;
    (void)fprintf(stderr, "mtrace-gather: %s\n", err.text);
    return error_exit_status(code);
}
