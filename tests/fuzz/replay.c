/*
 * replay.c - runs files, or all files of folders, through a fuzz target once: for builds without libFuzzer.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "cannot open %s\n", path);
        return 1;
    }
    static uint8_t data[1 << 20];
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    /* A copy of the exact size, so that reading past the end is seen. */
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact) return 1;
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

int main(int argc, char **argv) {
    int failed = 0, count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            failed |= replay_file(argv[i]);
            count++;
            continue;
        }
        for (struct dirent *entry; (entry = readdir(folder));) {
            char path[4096];
            if (entry->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            failed |= replay_file(path);
            count++;
        }
        closedir(folder);
    }
    printf("%d inputs\n", count);
    return failed || count == 0;
}
