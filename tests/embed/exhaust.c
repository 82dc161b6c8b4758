/*
 * exhaust.c - a program that embeds the host and has little memory, for tests/e2e/embed_memory.sh.
 *
 *     exhaust none | returns | exits DOCUMENT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <tenon/embed.h>
#include <unistd.h>

#define INPUT_BYTES (8u << 20)
#define SPARE_BYTES (16u << 20) /* address space that is left: too little for the values of the input */

static void write_line(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) _exit(9);
}

static void on_memory(void *user, uint64_t size) {
    char line[80];
    snprintf(line, sizeof line, "handler: %s: %s\n", (const char *)user, size > 0 ? "some bytes" : "an unknown number");
    write_line(line);
    if (strcmp(user, "exits") == 0) _exit(42);
}

static uint64_t address_space(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%llu", &pages) != 1) abort();
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

int main(int count, char **arguments) {
    char *why = NULL;
    const char *how = count == 3 ? arguments[1] : "";
    if (strcmp(how, "none") != 0) tenon_set_memory_handler(on_memory, arguments[1]);
    tenon *host = tenon_open(NULL, &why);
    tenon_runnable *graph = host ? tenon_graph_file(host, arguments[2]) : NULL;
    if (!graph) {
        fprintf(stderr, "%s\n", host ? tenon_error(host) : why);
        return 1;
    }
    char *input = malloc(INPUT_BYTES + 1);
    if (!input) return 1;
    size_t length = (size_t)sprintf(input, "{\"name\":[[]");
    while (length + 6 < INPUT_BYTES) length += (size_t)sprintf(input + length, ",[[1]]");
    strcpy(input + length, "]}");
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = address_space() + SPARE_BYTES;
    setrlimit(RLIMIT_AS, &limit);
    limit = (struct rlimit){0, 0};
    setrlimit(RLIMIT_CORE, &limit);
    char *result = tenon_invoke_json(graph, input);
    fprintf(stderr, "there was enough memory: %s\n", result ? "a result" : tenon_error(host));
    return 1;
}
