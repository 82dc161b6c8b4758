/*
 * arguments.c - parses the command line with the tables of options, and runs the command.
 *
 * Forms: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, combined flags (-jq); `--` ends the options, `-` is an operand.
 * Options and operands can be mixed. A mistake is reported in one line: what was found, what was expected, and where to
 * look.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/base/environment.h"
#include "host/plugin/conformance/guard.h"
#include "host/program/command.h"
#include "host/program/help.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct given_option {
    const char *name;  /* name of the option */
    const char *value; /* NULL for a flag */
};

struct arguments {
    const struct command *command;
    struct given_option *given;
    size_t given_count;
    const char **operands;
    size_t operand_count;
};

/* ---- Access ---- */

const char *argument_command_name(const struct arguments *arguments) { return arguments->command->name; }

bool argument_given(const struct arguments *arguments, const char *option) {
    return argument_count(arguments, option) > 0;
}

size_t argument_count(const struct arguments *arguments, const char *option) {
    size_t count = 0;
    for (size_t i = 0; i < arguments->given_count; i++) count += strcmp(arguments->given[i].name, option) == 0;
    return count;
}

const char *argument_at(const struct arguments *arguments, const char *option, size_t index) {
    for (size_t i = 0; i < arguments->given_count; i++)
        if (strcmp(arguments->given[i].name, option) == 0 && index-- == 0) return arguments->given[i].value;
    return NULL;
}

const char *argument_text(const struct arguments *arguments, const char *option) {
    size_t count = argument_count(arguments, option);
    return count ? argument_at(arguments, option, count - 1) : NULL;
}

size_t operand_count(const struct arguments *arguments) { return arguments->operand_count; }

const char *operand_at(const struct arguments *arguments, size_t index) {
    return index < arguments->operand_count ? arguments->operands[index] : NULL;
}

bool argument_number(const struct arguments *arguments, const char *option, int64_t min, int64_t max, int64_t otherwise,
                     int64_t *out) {
    const char *text = argument_text(arguments, option);
    if (!text) {
        *out = otherwise;
        return true;
    }
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno || end == text || *end || number < min || number > max) {
        command_report(COMMAND_USAGE, "--%s: found `%s`, expected a whole number from %lld to %lld", option, text,
                       (long long)min, (long long)max);
        return false;
    }
    *out = number;
    return true;
}

/* ---- Parsing ---- */

static const struct command_option *find_option(const struct command_option *options, const char *name, size_t length,
                                                char letter, struct nearest *nearest) {
    for (const struct command_option *option = options; option && option->name; option++) {
        if (letter ? option->letter == letter
                   : strlen(option->name) == length && memcmp(option->name, name, length) == 0)
            return option;
        if (nearest) nearest_add_candidate(nearest, option->name, strlen(option->name));
    }
    return NULL;
}

static int usage_error(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int usage_error(const struct command *command, const char *format, ...) {
    struct buffer said;
    va_list args;
    buffer_init(&said, SIZE_MAX);
    va_start(args, format);
    buffer_vformat(&said, format, args);
    va_end(args);
    command_warn("%s", buffer_cstr(&said));
    fprintf(stderr, "See `tenon %s --help`.\n", command->name);
    buffer_finish(&said);
    return COMMAND_USAGE;
}

/* Other commands have --connect. */
static int refuse_connect(const struct command *command) {
    const char *instead = command->instead_of_connect;
    return usage_error(command, "`tenon %s` uses its own host, and cannot be used with --connect%s%s", command->name,
                       instead ? "; " : "", instead ? instead : "");
}

static int unknown_option(const struct command *command, const char *word, const char *near) {
    if (strcmp(word, "connect") == 0 || strncmp(word, "connect=", strlen("connect=")) == 0)
        return refuse_connect(command);
    return usage_error(command, "unknown option `--%s`%s%s%s", word, near ? "; did you mean `--" : "", near ? near : "",
                       near ? "`?" : "");
}

static void add_given_option(struct arguments *arguments, const struct command_option *option, const char *value) {
    arguments->given[arguments->given_count++] = (struct given_option){option->name, value};
}

/* Parses a word that begins with "--". Returns 0, or the exit code. */
static int parse_long(struct arguments *arguments, const char *word, char **argv, int argc, int *at) {
    const struct command *command = arguments->command;
    size_t length = strcspn(word, "=");
    struct nearest nearest;
    nearest_init(&nearest, word, length);
    const struct command_option *option = find_option(command->options, word, length, 0, &nearest);
    if (!option) option = find_option(global_options, word, length, 0, &nearest);
    if (!option) return unknown_option(command, word, nearest_result(&nearest));
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    if (!option->argument) {
        if (value) return usage_error(command, "option `--%s` takes no value", option->name);
    } else if (!value) {
        if (*at + 1 >= argc) return usage_error(command, "option `--%s` needs a value", option->name);
        value = argv[++*at];
    }
    add_given_option(arguments, option, value);
    return 0;
}

static int parse_letters(struct arguments *arguments, const char *word, char **argv, int argc, int *at) {
    const struct command *command = arguments->command;
    for (; *word; word++) {
        const char letter[2] = {*word, 0};
        const struct command_option *option = find_option(command->options, NULL, 0, *word, NULL);
        if (!option) option = find_option(global_options, NULL, 0, *word, NULL);
        if (!option && !(*word >= 'a' && *word <= 'z') && !(*word >= 'A' && *word <= 'Z'))
            return usage_error(
                command, "found `-%s`, expected an option; write -- before an operand that begins with a dash", word);
        if (!option && strpbrk(word, "./"))
            return usage_error(
                command, "unknown option `-%s`; write -- before an operand that begins with a dash, as in `-- -%s`",
                letter, word);
        if (!option) return usage_error(command, "unknown option `-%s`", letter);
        if (!option->argument) {
            add_given_option(arguments, option, NULL);
            continue;
        }
        const char *value = word[1] ? word + 1 : NULL;
        if (!value && *at + 1 >= argc) return usage_error(command, "option `-%s` needs a value", letter);
        add_given_option(arguments, option, value ? value : argv[++*at]);
        return 0;
    }
    return 0;
}

static int parse_words(struct arguments *arguments, int argc, char **argv, int at) {
    bool options_end = false;
    for (; at < argc; at++) {
        const char *word = argv[at];
        int code = 0;
        if (options_end || word[0] != '-' || !word[1])
            arguments->operands[arguments->operand_count++] = word;
        else if (strcmp(word, "--") == 0)
            options_end = true;
        else if (word[1] == '-')
            code = parse_long(arguments, word + 2, argv, argc, &at);
        else
            code = parse_letters(arguments, word + 1, argv, argc, &at);
        if (code) return code;
    }
    return 0;
}

/* Reports a value that is not one of the choices: "found `x`, expected a, b or c". */
static int unknown_choice(const struct command *command, const struct command_option *option, const char *found) {
    struct buffer list;
    struct nearest nearest;
    buffer_init(&list, SIZE_MAX);
    nearest_init(&nearest, found, strlen(found));
    for (const char *word = option->choices; *word;) {
        size_t length = strcspn(word, "|");
        bool last = !word[length];
        buffer_format(&list, "%s%.*s", !list.length ? "" : last ? " or " : ", ", (int)length, word);
        nearest_add_candidate(&nearest, word, length);
        word += length + !last;
    }
    int code = usage_error(command, "--%s: found `%s`, expected %s%s", option->name, found, buffer_cstr(&list),
                           nearest_hint(&nearest).text);
    buffer_finish(&list);
    return code;
}

/* True if `word`, of `length` bytes, is one of the words of `choices`. */
static bool choices_have(const char *choices, const char *word, size_t length) {
    for (const char *choice = choices; length && choice; choice = strpbrk(choice, "|,")) {
        choice += choice != choices;
        if (strcspn(choice, "|,") == length && memcmp(choice, word, length) == 0) return true;
    }
    return false;
}

/* Checks options whose value is one of a few words. Commands check options with lists of words. */
static int check_values(const struct arguments *arguments) {
    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct given_option *given = &arguments->given[i];
        size_t length = strlen(given->name);
        const struct command_option *option = find_option(arguments->command->options, given->name, length, 0, NULL);
        if (!option) option = find_option(global_options, given->name, length, 0, NULL);
        if (given->value && option && option->choices && strchr(option->choices, '|') &&
            !choices_have(option->choices, given->value, strlen(given->value)))
            return unknown_choice(arguments->command, option, given->value);
    }
    return 0;
}

static int check_operands(const struct arguments *arguments) {
    const struct command *command = arguments->command;
    if (arguments->operand_count < command->operands_min)
        return usage_error(command, "an operand is missing, expected %s", command->operands);
    if (arguments->operand_count > command->operands_max)
        return usage_error(command, "too many operands: unexpected `%s`", arguments->operands[command->operands_max]);
    return 0;
}

/*
 * Everything but the name of a file must be UTF-8, because it is compared with texts or becomes one. JSON, expressions
 * and `PATH=VALUE` are parsed later, by functions that report the position in them.
 */
static bool is_checked_as_text(const char *name, const char *value) {
    static const char *const others[] = {"FILE", "DIR", "PATH", "JSON", "PATCH", "EXPR", "PATH=VALUE"};
    name += *name == '[';
    size_t length = strcspn(name, " ]\xE2"); /* the first byte of … */
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == length && memcmp(others[i], name, length) == 0) return false;
    return *value != '@'; /* @FILE */
}

static int check_text(const struct command *command, const char *dashes, const char *name, const char *value) {
    size_t length = strlen(value), at = 0, size;
    uint32_t code_point;
    while (at < length && (size = utf8_decode(value + at, length - at, &code_point)) > 0) at += size;
    if (at == length) return 0;
    return usage_error(command, "%s%.*s: found the byte 0x%02X, expected UTF-8, at byte %zu of `%s`", dashes,
                       (int)strcspn(name, " "), name, (unsigned char)value[at], at + 1, value);
}

static int check_texts(const struct arguments *arguments) {
    const struct command *command = arguments->command;
    const char *name = command->operands;
    int code = 0;
    for (size_t i = 0; !code && i < arguments->operand_count; i++) {
        if (is_checked_as_text(name, arguments->operands[i]))
            code = check_text(command, "", name, arguments->operands[i]);
        const char *next = strchr(name, ' '); /* the last name applies to all further operands */
        if (next) name = next + 1;
    }
    for (size_t i = 0; !code && i < arguments->given_count; i++) {
        const struct given_option *given = &arguments->given[i];
        size_t length = strlen(given->name);
        const struct command_option *option = find_option(command->options, given->name, length, 0, NULL);
        if (!option) option = find_option(global_options, given->name, length, 0, NULL);
        if (given->value && option && is_checked_as_text(option->argument, given->value))
            code = check_text(command, "--", option->name, given->value);
    }
    return code;
}

/* ---- Dispatch ---- */

/* Looks up the command whose name is the first word or two; *used is their number. */
static const struct command *find_command(int argc, char **argv, int *used) {
    const struct command *found = NULL;
    for (size_t i = 0; i < command_count; i++) {
        const char *name = commands[i].name, *second = strchr(name, ' ');
        size_t first = second ? (size_t)(second - name) : strlen(name);
        if (strlen(argv[1]) != first || memcmp(argv[1], name, first) != 0) continue;
        if (!second) {
            if (!found) *used = 1;
            if (!found) found = &commands[i];
        } else if (argc > 2 && strcmp(argv[2], second + 1) == 0) {
            *used = 2;
            return &commands[i];
        }
    }
    return found;
}

/* True if there are commands of two words that begin with `word`, as in "plugin list". */
static bool is_command_group(const char *word) {
    size_t length = strlen(word);
    for (size_t i = 0; i < command_count; i++)
        if (strncmp(commands[i].name, word, length) == 0 && commands[i].name[length] == ' ') return true;
    return false;
}

static int unknown_command(int argc, char **argv) {
    struct nearest nearest;
    char given[128];
    bool group = is_command_group(argv[1]);
    if (argv[1][0] == '-') {
        command_warn("found the option `%s`, expected a command first, as in tenon run FILE %s", argv[1], argv[1]);
        fputs("See `tenon --help`.\n", stderr);
        return COMMAND_USAGE;
    }
    if (group && argc > 2)
        snprintf(given, sizeof given, "%s %s", argv[1], argv[2]);
    else
        snprintf(given, sizeof given, "%s", argv[1]);
    nearest_init(&nearest, given, strlen(given));
    for (size_t i = 0; i < command_count; i++)
        if (!commands[i].hidden) nearest_add_candidate(&nearest, commands[i].name, strlen(commands[i].name));
    if (group && argc == 2) {
        help_group(argv[1], stderr);
        return COMMAND_USAGE;
    }
    command_warn("unknown command `%s`%s", given, nearest_hint(&nearest).text);
    fprintf(stderr, "See `tenon%s%s --help`.\n", group ? " " : "", group ? argv[1] : "");
    return COMMAND_USAGE;
}

static bool is_help(const char *word) { return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0; }

static int run_command_line(int argc, char **argv) {
    if (argc < 2) {
        help_overview(stderr);
        return COMMAND_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("tenon " TENON_VERSION);
        return COMMAND_OK;
    }
    if (is_help(argv[1]) || (strcmp(argv[1], "help") == 0 && (argc == 2 || is_help(argv[2])))) {
        help_overview(stdout);
        return COMMAND_OK;
    }
    bool wants_help = strcmp(argv[1], "help") == 0;
    if (wants_help) {
        argv++;
        argc--;
    }
    if (is_command_group(argv[1]) && (wants_help ? argc == 2 : argc > 2 && is_help(argv[2]))) {
        help_group(argv[1], stdout);
        return COMMAND_OK;
    }
    int used = 0;
    const struct command *command = find_command(argc, argv, &used);
    if (!command) return unknown_command(argc, argv);
    for (int i = 1 + used; i < argc && strcmp(argv[i], "--") != 0; i++) wants_help |= is_help(argv[i]);
    if (wants_help) {
        help_command(command, stdout);
        return COMMAND_OK;
    }
    struct arguments arguments = {.command = command};
    arguments.operands = mem_zalloc((size_t)argc * sizeof *arguments.operands);
    size_t letters = 1; /* an upper bound of the number of options */
    for (int i = 1; i < argc; i++) letters += strlen(argv[i]);
    arguments.given = mem_array(NULL, letters, sizeof *arguments.given);
    int code = parse_words(&arguments, argc, argv, 1 + used);
    if (!code) code = check_operands(&arguments);
    if (!code) code = check_texts(&arguments);
    if (!code) code = check_values(&arguments);
    /* A hidden command is a child of a host, which reports crashes, and was given its secrets. */
    if (!command->hidden) {
        command_report_crashes();
        environment_protect();
    }
    if (!code) code = command->run(&arguments);
    if (!code && guard_findings()) code = COMMAND_PLUGIN_PROBLEM; /* each was logged */
    mem_free(arguments.given);
    mem_free((void *)arguments.operands);
    return code;
}

/*
 * Opens a closed descriptor 0, 1 or 2, so that a file that is opened later does not get its number. Reading or writing
 * it still fails.
 */
static void hold_standard_files(void) {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int command_main(int argc, char **argv) {
    hold_standard_files();
    signal(SIGXFSZ, SIG_IGN); /* a write to a file that is too long fails with EFBIG, and a store reports it */
    return command_close(run_command_line(argc, argv));
}
