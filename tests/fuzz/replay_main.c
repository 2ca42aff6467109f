/* SPDX-License-Identifier: MIT */
/*
 * replay_main FOLDER [ROUNDS [SEED]]: runs a fuzz target over every file of its corpus, and over
 * ROUNDS random changes of each: bits flipped, bytes set, cut, doubled. The same seed (1 where none
 * is given) makes the same changes.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_BYTES = 1 << 20
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void replay(const char *folder, const char *name, unsigned long n_rounds, uint64_t random)
{
    static uint8_t original[MAX_BYTES];
    static uint8_t changed[MAX_BYTES];
    char path[4096];
    size_t size;
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "rb");
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

int main(int argc, char **argv)
{
    unsigned long n_rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    unsigned long seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    const struct dirent *entry;
    unsigned n_files = 0;
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;

    if (!folder) {
        (void)fprintf(stderr, "usage: %s FOLDER [ROUNDS [SEED]]\n", argv[0]);
        return 2;
    }
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.') {
            replay(argv[1], entry->d_name, n_rounds, seed);
            n_files++;
        }
    closedir(folder);
    printf("%u inputs, %lu changes of each\n", n_files, n_rounds);
    return n_files ? 0 : 1;
}
