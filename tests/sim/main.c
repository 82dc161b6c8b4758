/*
 * main.c - the program `sim`: runs seeds, and prints a short trace of the first one that fails.
 *
 *     sim --seeds 100000            seeds 1 to 100000
 *     sim --seed 42                 one seed, with its trace
 *     sim --break fence             with a defect that must be found; --list names them
 */
#include "tests/sim/sim.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BREAK_EVENTS_MAX 15 /* of the trace of a defect that was built in */

struct sim_command {
    struct sim_options options;
    uint64_t first, seeds;
    bool one;
};

static int usage(void) {
    fputs("usage: sim [--seeds N] [--from SEED] [--seed SEED] [--events N] [--break NAME] [--list]\n", stderr);
    return 2;
}

static bool read_number(const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    *out = text ? strtoull(text, &end, 10) : 0;
    return text && *text && !*end && !errno;
}

static bool read_break(const char *text, enum sim_break *out) {
    for (int i = 0; text && i < SIM_BREAKS; i++) {
        *out = (enum sim_break)i;
        if (strcmp(sim_break_name(*out), text) == 0) return true;
    }
    return false;
}

static void list_breaks(void) {
    for (int i = 1; i < SIM_BREAKS; i++) puts(sim_break_name((enum sim_break)i));
}

/* False if the option is unknown, or its value is not right. */
static bool read_option(const char *name, const char *value, struct sim_command *command) {
    uint64_t number;
    if (strcmp(name, "--break") == 0) return read_break(value, &command->options.broken);
    if (!read_number(value, &number)) return false;
    if (strcmp(name, "--seeds") == 0) {
        command->seeds = number;
    } else if (strcmp(name, "--from") == 0) {
        command->first = number;
    } else if (strcmp(name, "--seed") == 0) {
        command->first = number;
        command->one = true;
    } else {
        command->options.events = (uint32_t)number;
        return strcmp(name, "--events") == 0 && number > 2 && number <= SIM_EVENTS_MAX;
    }
    return true;
}

/* Shortens the events, and prints their trace. Returns the number of events. */
static uint32_t report(const struct sim_options *options, uint64_t seed, struct sim_event *events) {
    struct sim_result result;
    struct buffer trace;
    uint32_t count = sim_shrink(options, seed, events, options->events);
    buffer_init(&trace, 1 << 20);
    sim_run(options, seed, events, count, &trace, &result);
    printf("seed %llu fails: %s: %s\n%u of %u events are enough:\n\n%s", (unsigned long long)seed, result.invariant,
           result.failure, count, options->events, buffer_cstr(&trace));
    buffer_finish(&trace);
    return count;
}

static int show_one(const struct sim_command *command) {
    struct sim_event events[SIM_EVENTS_MAX];
    struct sim_result result;
    struct buffer trace;
    sim_make_events(command->first, events, command->options.events);
    buffer_init(&trace, 1 << 22);
    sim_run(&command->options, command->first, events, command->options.events, &trace, &result);
    fputs(buffer_cstr(&trace), stdout);
    buffer_finish(&trace);
    if (!result.failed) return 0;
    puts("");
    (void)report(&command->options, command->first, events);
    return 1;
}

static int run_seeds(const struct sim_command *command) {
    struct sim_event events[SIM_EVENTS_MAX];
    struct sim_result result, all = {0};
    for (uint64_t i = 0; i < command->seeds; i++) {
        uint64_t seed = command->first + i;
        sim_make_events(seed, events, command->options.events);
        sim_run(&command->options, seed, events, command->options.events, NULL, &result);
        if (result.failed) {
            uint32_t count = report(&command->options, seed, events);
            if (command->options.broken == SIM_BREAK_NONE) return 1;
            return count < BREAK_EVENTS_MAX ? 0 : 1;
        }
        all.tasks += result.tasks;
        all.claims += result.claims;
        all.faults += result.faults;
        all.ended += result.ended;
        all.fenced += result.fenced;
        all.lost += result.lost;
        all.repeated += result.repeated;
    }
    printf("%llu seeds: %u Tasks, %u claims, %u faults of the store, %u commits fenced, %u claims lost, %u ends "
           "repeated; no invariant was violated\n",
           (unsigned long long)command->seeds, all.tasks, all.claims, all.faults, all.fenced, all.lost, all.repeated);
    if (command->options.broken != SIM_BREAK_NONE) {
        printf("the defect `%s` was not found\n", sim_break_name(command->options.broken));
        return 1;
    }
    /* Runs in which nothing goes wrong would prove nothing. */
    bool happened = all.faults && all.fenced && all.lost && all.repeated && all.tasks == all.ended;
    if (command->seeds >= 100 && !happened) puts("but not everything has happened that should");
    return command->seeds >= 100 && !happened;
}

int main(int argc, char **argv) {
    struct sim_command command = {.options = {.events = SIM_EVENTS}, .first = 1, .seeds = 1000};
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list_breaks();
        return 0;
    }
    for (int i = 1; i < argc; i += 2)
        if (!read_option(argv[i], i + 1 < argc ? argv[i + 1] : NULL, &command)) return usage();
    return command.one ? show_one(&command) : run_seeds(&command);
}
