/* SPDX-License-Identifier: MIT */
/*
 * replay_main FOLDER|FILE [ROUNDS [SEED]]: runs a fuzz target over every file of its corpus, and
 * over ROUNDS random changes of each: bits flipped, bytes set, cut, doubled. The same seed (1 where
 * none is given) makes the same changes. An input that fails is kept in a file, which is named.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_BYTES = 1 << 20
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of the sanitizers, where there is one. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* UBSan ends a program through nothing but this. */
const char *__ubsan_default_options(void);

const char *__ubsan_default_options(void)
{
    return "abort_on_error=1:halt_on_error=1:print_stacktrace=1";
}

static const uint8_t *input;
static size_t input_bytes;
static char input_path[4096];

static void keep_input(void)
{
    int fd = open(input_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (input && fd >= 0 && write(fd, input, input_bytes) == (ssize_t)input_bytes) {
        (void)!write(STDERR_FILENO, "the input is in ", 16);
        (void)!write(STDERR_FILENO, input_path, strlen(input_path));
        (void)!write(STDERR_FILENO, "\n", 1);
    }
}

static void die(int signal)
{
    (void)signal;
    keep_input(); /* what is raised again ends the program */
}

static void keep_failing_input(void)
{
    const struct sigaction action = {.sa_handler = die, .sa_flags = (int)SA_RESETHAND};
    const char *folder = getenv("TMPDIR");

    (void)snprintf(input_path, sizeof(input_path), "%s/failing-input-%ld", folder ? folder : "/tmp",
                   (long)getpid());
    (void)sigaction(SIGABRT, &action, NULL);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(keep_input);
    else
        (void)sigaction(SIGSEGV, &action, NULL);
}

static uint64_t draw(uint64_t *random, uint64_t n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (*random >> 33) % n;
}

static size_t change(uint8_t *bytes, size_t size, uint64_t *random)
{
    uint64_t n = 1 + draw(random, 8);

    while (n-- > 0 && size > 0) {
        size_t at = draw(random, size);
        switch (draw(random, 4)) {
        case 0:
            bytes[at] ^= (uint8_t)(1 << draw(random, 8));
            break;
        case 1:
            bytes[at] = (uint8_t)draw(random, 256);
            break;
        case 2:
            size = draw(random, 20) ? size : at;
            break;
        default:
            memmove(bytes + at, bytes + draw(random, at + 1), size - at);
        }
    }
    return size;
}

/* An input of exactly its length on the heap, so that a sanitizer sees every byte too far. */
static void run(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size + !size);

    if (!exact)
        abort();
    memcpy(exact, bytes, size);
    input = exact;
    input_bytes = size;
    LLVMFuzzerTestOneInput(exact, size);
    input = NULL;
    free(exact);
}

static void replay(const char *path, unsigned long n_rounds, uint64_t random)
{
    static uint8_t original[MAX_BYTES];
    static uint8_t changed[MAX_BYTES];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (!file)
        return;
    size = fread(original, 1, sizeof(original), file);
    fclose(file);
    run(original, size);
    for (unsigned long i = 0; i < n_rounds; i++) {
        memcpy(changed, original, size);
        run(changed, change(changed, size, &random));
    }
}

static unsigned replay_folder(DIR *folder, const char *name, unsigned long n_rounds,
                              uint64_t random)
{
    const struct dirent *entry;
    unsigned n_files = 0;
    char path[4096];

    while ((entry = readdir(folder))) {
        (void)snprintf(path, sizeof(path), "%s/%s", name, entry->d_name);
        if (entry->d_name[0] != '.') {
            replay(path, n_rounds, random);
            n_files++;
        }
    }
    return n_files;
}

int main(int argc, char **argv)
{
    unsigned long n_rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    unsigned long seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
    unsigned n_files = 1;

    if (!folder && (argc < 2 || access(argv[1], R_OK) != 0)) {
        (void)fprintf(stderr, "usage: %s FOLDER|FILE [ROUNDS [SEED]]\n", argv[0]);
        return 2;
    }
    keep_failing_input();
    if (folder) {
        n_files = replay_folder(folder, argv[1], n_rounds, seed);
        closedir(folder);
    } else {
        replay(argv[1], n_rounds, seed);
    }
    printf("%u inputs, %lu changes of each\n", n_files, n_rounds);
    return n_files ? 0 : 1;
}
