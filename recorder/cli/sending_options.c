/* SPDX-License-Identifier: MIT */
#include "recorder/cli/sending_options.h"

#include "lib/base/option_value.h"
#include "recorder/session/options.h"

static const uint64_t LEAST_LOCAL_BYTES = (uint64_t)64 << 20;

enum key {
    KEY_TO = 256,
    KEY_PSK,
    KEY_CERTIFICATE,
    KEY_KEY,
    KEY_CA,
    KEY_INSECURE,
    KEY_NO_LOCAL,
    KEY_MAX_LOCAL,
    KEY_SEND_TIMEOUT,
    KEY_SEND,
};

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "Sending it to another machine, where mtrace-gather takes it:", 2},
    {"to", KEY_TO, "HOST:PORT", 0,
     "Also send the log there, while it grows; 'discover': to the mtrace-gather --announce of this network that has our key",
     0},
    {"psk-file", KEY_PSK, "FILE", 0,
     "Prove who we are by a key that both sides have: 'name:key', as psktool makes", 0},
    {"certificate", KEY_CERTIFICATE, "FILE", 0, "Or by this certificate", 0},
    {"key", KEY_KEY, "FILE", 0, "Its private key", 0},
    {"ca", KEY_CA, "FILE", 0, "What signs the certificate of the other side, which must name HOST",
     0},
    {"insecure", KEY_INSECURE, NULL, 0, "Or not at all, within this machine", 0},
    {"no-local", KEY_NO_LOCAL, NULL, 0,
     "Give back the space of what the other side has on its disk, and remove the log here when that is all of it",
     0},
    {"max-local", KEY_MAX_LOCAL, "SIZE", 0,
     "With --no-local: how much of a log may be here; then events are dropped, and counted [any]",
     0},
    {"send-timeout", KEY_SEND_TIMEOUT, "TIME", 0,
     "How long to go on sending when the program has ended [30s]", 0},
    {"send", KEY_SEND, "LOG", 0, "Run nothing: send LOG, or the rest of it", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* Half of the limit may be packed; a quarter is for the live log, and a quarter for its packed form
 * at the end. */
static void set_max_local(struct argp_state *state, const char *text)
{
    struct options *options = state->input;

    options->max_local_bytes = option_value_size(state, "--max-local", text);
    if (options->max_local_bytes < LEAST_LOCAL_BYTES)
        argp_error(state, "--max-local is '%s', but must be 64MiB or more", text);
}

/* A reader of the log on this machine needs the whole file. */
void sending_options_check(struct argp_state *state)
{
    struct options *options = state->input;

    if (options->max_local_bytes && !options->gives_back)
        argp_error(state, "--max-local needs --no-local");
    if (options->gives_back
        && (options->has_report || options->report_every_ns || options->report_signal))
        argp_error(state, "--no-local leaves no log to make reports of here");
    if (options->max_local_bytes && options->max_live_bytes > options->max_local_bytes / 4)
        options->max_live_bytes = options->max_local_bytes / 4;
}

struct sending_option {
    int key;
    const char *word;
};

/* Options that mtrace-send gets unchanged. */
static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    static const struct sending_option words[] = {{KEY_TO, "--to"},
                                                  {KEY_PSK, "--psk-file"},
                                                  {KEY_CERTIFICATE, "--certificate"},
                                                  {KEY_KEY, "--key"},
                                                  {KEY_CA, "--ca"},
                                                  {KEY_INSECURE, "--insecure"},
                                                  {KEY_NO_LOCAL, "--no-local"}};
    struct options *options = state->input;
    struct sending *sending = &options->sending;

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (words[i].key != key)
            continue;
        if (sending->n_words + 2 > SENDER_PROCESS_WORDS)
            argp_error(state, "%s is given too often", words[i].word);
        sending->words[sending->n_words++] = words[i].word;
        if (arg)
            sending->words[sending->n_words++] = arg;
        options->has_receiver = options->has_receiver || key == KEY_TO;
        options->gives_back = options->gives_back || key == KEY_NO_LOCAL;
        return 0;
    }
    if (key == KEY_SEND_TIMEOUT)
        sending->timeout_ns = option_value_duration(state, "--send-timeout", arg);
    else if (key == KEY_MAX_LOCAL)
        set_max_local(state, arg);
    else if (key == KEY_SEND)
        options->sent = arg;
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

const struct argp sending_options = {option_table, parse_option, NULL, NULL, NULL, NULL, NULL};
