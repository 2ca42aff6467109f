/* SPDX-License-Identifier: MIT */
#include "server/http/response_pipe.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <string.h>

enum {
    LINES = 200000, /* several times the ring */
    LINE_BYTES = 8,
};

struct writer {
    struct response_pipe *stream;
    int n_lines;
    bool has_failed;
};

static void *write_lines(void *context)
{
    struct writer *writer = context;
    FILE *out = response_pipe_file(writer->stream);

    for (int i = 0; i < writer->n_lines && !writer->has_failed; i++)
        writer->has_failed = fprintf(out, "%07d\n", i) < 0;
    response_pipe_end(writer->stream, true);
    writer->has_failed = writer->has_failed || ferror(out);
    return NULL;
}

TEST(short_answers_are_whole)
{
    struct writer writer = {.stream = response_pipe_new(), .n_lines = 3};
    char text[64] = "";

    assert_non_null(writer.stream);
    write_lines(&writer);
    assert_int_equal(response_pipe_wait(writer.stream, 0), RESPONSE_PIPE_WHOLE);
    assert_int_equal(response_pipe_take(writer.stream, text, sizeof(text)), 3 * LINE_BYTES);
    assert_string_equal(text, "0000000\n0000001\n0000002\n");
    assert_int_equal(response_pipe_take(writer.stream, text, sizeof(text)), 0);
    response_pipe_free(writer.stream);
}

/* BS-3: the bracket that a failing writer still printed does not come. */
TEST(failed_answers_lack_their_end)
{
    struct response_pipe *stream = response_pipe_new();
    char *all = malloc(2 * RESPONSE_PIPE_BYTES);
    size_t n = 0;
    size_t piece;

    assert_non_null(stream);
    assert_non_null(all);
    for (size_t i = 0; i < RESPONSE_PIPE_BYTES - 2; i++)
        (void)fputc('x', response_pipe_file(stream));
    (void)fputs("]\n", response_pipe_file(stream));
    (void)fflush(response_pipe_file(stream));
    n = response_pipe_take(stream, all, 2 * (size_t)RESPONSE_PIPE_BYTES);
    assert_int_equal(n, RESPONSE_PIPE_BYTES - RESPONSE_PIPE_HELD_BYTES);
    response_pipe_end(stream, false);
    piece = response_pipe_take(stream, all + n, RESPONSE_PIPE_BYTES);
    assert_int_equal(piece, 0);
    assert_null(memchr(all, ']', n));
    response_pipe_free(stream);
    free(all);
}

/* BS-1: pieces of a size that fits neither the ring nor a line. */
TEST(long_answers_pass_through_in_order)
{
    struct writer writer = {.stream = response_pipe_new(), .n_lines = LINES};
    char *all = calloc(LINES * LINE_BYTES, 1);
    pthread_t thread;
    size_t done = 0;
    size_t n;

    assert_non_null(all);
    assert_int_equal(pthread_create(&thread, NULL, write_lines, &writer), 0);
    while (response_pipe_wait(writer.stream, 10) == RESPONSE_PIPE_WORKING)
        ;
    assert_int_equal(response_pipe_wait(writer.stream, 0), RESPONSE_PIPE_LONG);
    while ((n = response_pipe_take(writer.stream, all + done,
                                   done + 1237 < LINES * LINE_BYTES ? 1237
                                                                    : LINES * LINE_BYTES - done))
           > 0)
        done += n;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(done, LINES * LINE_BYTES);
    for (int i = 0; i < LINES; i++) {
        char line[LINE_BYTES + 1] = "";
        memcpy(line, all + i * LINE_BYTES, LINE_BYTES);
        assert_int_equal(strtol(line, NULL, 10), i);
    }
    assert_false(writer.has_failed);
    response_pipe_free(writer.stream);
    free(all);
}

/* BS-2 */
TEST(an_abandoned_writer_ends)
{
    struct writer writer = {.stream = response_pipe_new(), .n_lines = LINES};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, write_lines, &writer), 0);
    while (response_pipe_wait(writer.stream, 10) == RESPONSE_PIPE_WORKING)
        ;
    assert_false(response_pipe_is_abandoned(writer.stream));
    response_pipe_abandon(writer.stream);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(writer.has_failed);
    response_pipe_free(writer.stream);
}

TEST(waiting_ends_without_an_answer)
{
    struct response_pipe *stream = response_pipe_new();

    assert_int_equal(response_pipe_wait(stream, 1), RESPONSE_PIPE_WORKING);
    response_pipe_free(stream);
}
