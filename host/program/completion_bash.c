/*
 * completion_bash.c - the completion for bash: one function that does not need the package bash-completion.
 *
 * Bash splits words at `=` and `@` (COMP_WORDBREAKS): `--color=al` is three words and `@in` is two. The completion then
 * offers the rest of the word. It needs bash 3.2 or later, and uses compopt if it exists.
 */
#include "host/program/completion.h"
#include <stdio.h>

static const char functions[] =
    "# Completion of tenon for bash, printed by `tenon reference --completion bash`.\n"
    "_tenon_offer() {\n"
    "    local word\n"
    "    while IFS= read -r word; do COMPREPLY+=(\"$word\"); done < <(compgen \"$@\")\n"
    "}\n"
    "\n"
    "_tenon_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    _tenon_offer \"$@\" -- \"$current\"\n"
    "}\n"
    "\n"
    "_tenon_value() {\n"
    "    case $1 in\n"
    "    file) _tenon_files -f ;;\n"
    "    folder) _tenon_files -d ;;\n"
    "    json)\n"
    "        if [[ $current == @* ]]; then\n"
    "            _tenon_offer -P @ -f -- \"${current#@}\"\n"
    "        elif [[ $from_file ]]; then\n"
    "            _tenon_files -f\n"
    "        fi\n"
    "        ;;\n"
    "    one) _tenon_offer -W \"$2\" -- \"$current\" ;;\n"
    "    some)\n"
    "        compopt -o nospace 2>/dev/null\n"
    "        _tenon_offer -P \"${current%\"${current##*,}\"}\" -W \"$2\" -- \"${current##*,}\"\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "_tenon() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} from_file='' option='' options=''\n"
    "    local operand='' operand_words='' value='' words='' ended='' first=2 at=$((COMP_CWORD - 1)) i\n"
    "    COMPREPLY=()\n"
    "    if [[ $command == help ]] && ((COMP_CWORD > 1)); then\n"
    "        command=${COMP_WORDS[2]} first=3\n"
    "    fi\n"
    "    if ((COMP_CWORD == first - 1)); then\n";

static const char option_before[] = "    ((${#COMP_WORDS[@]} > 2)) && [[ ${COMP_WORDS[1]} == help ]] && return\n"
                                    "    if [[ $current == @ && $COMP_WORDBREAKS == *@* ]]; then\n"
                                    "        current='' from_file=1\n"
                                    "    elif [[ ${COMP_WORDS[at]} == @ ]]; then\n"
                                    "        from_file=1 at=$((at - 1))\n"
                                    "    fi\n"
                                    "    if [[ $current == = ]]; then\n"
                                    "        current=''\n"
                                    "    elif [[ ${COMP_WORDS[at]} == = ]]; then\n"
                                    "        at=$((at - 1))\n"
                                    "    fi\n"
                                    "    for ((i = first; i <= at; i++)); do\n"
                                    "        [[ ${COMP_WORDS[i]} == -- ]] && ended=1\n"
                                    "    done\n"
                                    "    [[ $ended ]] || ((at < first)) || option=${COMP_WORDS[at]}\n"
                                    "    case $command in\n";

static const char ending[] = "    *) return ;;\n"
                             "    esac\n"
                             "    if [[ $value ]]; then\n"
                             "        _tenon_value \"$value\" \"$words\"\n"
                             "    elif [[ $current == -* && -z $ended ]]; then\n"
                             "        _tenon_offer -W \"$options\" -- \"$current\"\n"
                             "    else\n"
                             "        _tenon_value \"$operand\" \"$operand_words\"\n"
                             "    fi\n"
                             "}\n"
                             "complete -F _tenon tenon\n";

static void bash_print_word(void *user, const char *word, const char *summary) {
    (void)user;
    (void)summary;
    printf(" %s", word);
}

/* `value='one' words='a b'` */
static void bash_print_offer(const char *kind, const char *words, struct offer offer) {
    static const char *const names[] = {
        [VALUE_NONE] = "",     [VALUE_ANY] = "any", [VALUE_FILE] = "file", [VALUE_FOLDER] = "folder",
        [VALUE_JSON] = "json", [VALUE_ONE] = "one", [VALUE_SOME] = "some"};
    printf("%s='%s'", kind, names[offer.value]);
    if (!offer.words) return;
    printf(" %s='", words);
    offer_print_words(offer.words);
    putchar('\'');
}

static void bash_print_names(const struct command_option *options) {
    for (; options && options->name; options++) {
        printf(" --%s", options->name);
        if (options->letter) printf(" -%c", options->letter);
    }
}

/* Prints the cases of $option for options with a value. */
static void bash_print_values(const struct command_option *options) {
    for (; options && options->name; options++) {
        if (!options->argument) continue;
        printf("        --%s", options->name);
        if (options->letter) printf(" | -%c", options->letter);
        fputs(") ", stdout);
        bash_print_offer("value", "words", offer_of_option(options));
        puts(" ;;");
    }
}

static void bash_print_command(const struct command *command) {
    printf("    '%s')\n        options='", command->name);
    bash_print_names(command->options);
    bash_print_names(global_options);
    fputs("'\n        ", stdout);
    bash_print_offer("operand", "operand_words", offer_of_operand(command));
    puts("\n        case $option in");
    bash_print_values(command->options);
    bash_print_values(global_options);
    puts("        esac\n        ;;");
}

static void bash_print_group(void *user, const char *group) {
    (void)user;
    printf("    if [[ $command == '%s' ]]; then\n        if ((COMP_CWORD == first)); then\n"
           "            _tenon_offer -W '",
           group);
    completion_each(group, bash_print_word, NULL);
    puts(" --help' -- \"$current\"\n            return\n        fi\n"
         "        command+=\" ${COMP_WORDS[first]}\" first=$((first + 1))\n    fi");
}

void completion_bash(void) {
    fputs(functions, stdout);
    fputs("        words='", stdout);
    completion_each(NULL, bash_print_word, NULL);
    puts("'\n        ((first == 2)) && words+=' help --help --version'\n"
         "        _tenon_offer -W \"$words\" -- \"$current\"\n        return\n    fi");
    completion_each_group(bash_print_group, NULL);
    fputs(option_before, stdout);
    for (size_t i = 0; i < command_count; i++)
        if (!commands[i].hidden) bash_print_command(&commands[i]);
    fputs(ending, stdout);
}
