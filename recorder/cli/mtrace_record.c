/* SPDX-License-Identifier: MIT */
/* mtrace-record: runs a program with the collector and packs its log while it grows. */
#include "lib/base/utf8.h"
#include "recorder/cli/control_client.h"
#include "recorder/cli/pack_command.h"
#include "recorder/cli/record_arguments.h"
#include "recorder/session/attachment.h"
#include "recorder/session/process_name.h"
#include "recorder/session/program.h"
#include "recorder/session/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    EXIT_OWN_FAILURE = 125,
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NO_PROGRAM = 127,
};

static int status_of_failure(int code, bool is_recording)
{
    if (!is_recording || code == ERROR_USAGE)
        return error_exit_status(code);
    if (code == ERROR_EXEC)
        return EXIT_NOT_EXECUTABLE;
    return code == ERROR_NOT_FOUND ? EXIT_NO_PROGRAM : EXIT_OWN_FAILURE;
}

/* Opens missing standard descriptors: else a file of ours would get the number, and messages would
 * go into it. For the program they stay closed. */
static void hold_standard_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* If no recorder has the process, its GOT may still lead to the collector. */
static int detach(const struct control_request *request, int *ret_status, struct error *err)
{
    int code = control_client_run(request, ret_status, err);
    struct attachment_left left;

    if (code != ERROR_NOT_FOUND)
        return code;
    code = attachment_detach(request->pid, &left, err);
    if (left.log)
        utf8_clean(left.log);
    if (code == 0 && left.is_recorded)
        (void)printf("detached; its recorder does not answer, and ends by itself\n");
    else if (code == 0 && left.log)
        (void)printf("detached; its recorder has ended, and left the log as '%s'%s: "
                     "'mtrace-record --pack %s' saves it\n",
                     left.log, left.is_elsewhere ? " of its mount namespace" : "", left.log);
    else if (code == 0)
        (void)printf("detached; %s\n", left.is_removed
                                           ? "its recorder has ended, and the log was removed"
                                           : "it had no recorder");
    free(left.log);
    return code;
}

static int record(struct options *options, int *ret_status, struct error *err)
{
    int code = options->attached_name
                   ? process_name_find(options->attached_name, &options->attached, err)
                   : 0;

    return code ? code : session_run(options, ret_status, err);
}

int main(int argc, char **argv)
{
    struct options options;
    struct error err;
    int status = 0;
    int code;

    hold_standard_descriptors();
    record_arguments_parse(argc, argv, &options);
    if (options.control.pid && options.control.verb == CONTROL_DETACH)
        code = detach(&options.control, &status, &err);
    else if (options.control.pid)
        code = control_client_run(&options.control, &status, &err);
    else if (options.input)
        code = pack_command_run(&options, &err);
    else if (options.sent)
        code = sender_process_become(program_find_sibling(PROGRAM_SENDER), &options.sending,
                                     options.sent, &err);
    else
        code = record(&options, &status, &err);
    if (code == 0)
        return status;
    (void)fprintf(stderr, "mtrace-record: %s\n", err.text);
    return status_of_failure(code, !options.input && !options.sent && !options.control.pid);
}
