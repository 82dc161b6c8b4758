/*
 * section_check.c - checks what a plugin's section of the configuration names: programs and folders.
 *
 * Annotations in the plugin's config schema mark them (`x-tenon: program`, `x-tenon: folder`). An item of a list that
 * is the name of a file (`x-tenon: file`) stands for the descriptions in that file. They have the form of the other
 * items, so they are checked as the items of that list. The plugin itself reports a file that it cannot read.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/schema/schema.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include "host/base/file_open.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_internal.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DESCRIPTIONS_MAX (16u << 20) /* bytes of a file of descriptions */

struct section_check {
    const struct plugin *plugin;
    plugin_missing_fn *missing;
    void *user;
    const char *file; /* while its descriptions are checked; else NULL */
    char *list;       /* the pointer of the list whose items the descriptions are */
    tn_value files;   /* {pointer: path}: items that are names of files */
};

/* ---- Programs ---- */

static bool is_regular_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* The file of a program, a new reference: one that can be executed or, if PATH has none, any other; NULL if absent. */
static tn_value program_file(const char *name) {
    if (strchr(name, '/')) return access(name, F_OK) == 0 ? value_text(name) : NULL;
    const char *path = getenv("PATH");
    tn_value other = NULL;
    for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");
        tn_value file = value_format("%.*s/%s", length ? (int)length : 1, length ? at : ".", name);
        const char *chars = value_chars(file, NULL);
        if (is_regular_file(chars) && access(chars, X_OK) == 0) return value_unref(other), file;
        if (!other && access(chars, F_OK) == 0)
            other = file;
        else
            value_unref(file);
        at += length + (at[length] == ':');
    }
    return other;
}

/* The program after `#!` in the first line of a script, for `env` its argument; mem_free it. NULL if it has none. */
static char *script_interpreter(const char *path) {
    char line[256];
    FILE *file = fopen(path, "re");
    bool script = file && fgets(line, sizeof line, file) && line[0] == '#' && line[1] == '!';
    if (file) fclose(file);
    if (!script) return NULL;
    const char *word = line + 2 + strspn(line + 2, " \t"), *end = word + strcspn(word, " \t\r\n");
    const char *argument = end + strspn(end, " \t"), *last = argument + strcspn(argument, " \t\r\n");
    bool env = end - word > 4 && strncmp(end - 4, "/env", 4) == 0 && *argument != '-' && last > argument;
    return env ? mem_text_n(argument, (size_t)(last - argument)) : mem_text_n(word, (size_t)(end - word));
}

/* Why the program cannot be started, a new reference; NULL if it can. */
static tn_value program_problem(const char *name) {
    tn_value file = program_file(name), why = NULL;
    const char *path = file ? value_chars(file, NULL) : "";
    char *interpreter = NULL;
    if (!file)
        why = value_format("cannot find the program `%s`", name);
    else if (!is_regular_file(path))
        why = value_format("found the folder or device `%s`, expected a program", path);
    else if (access(path, X_OK) != 0)
        why = value_format("the program `%s` is not executable; use chmod +x", path);
    else if ((interpreter = script_interpreter(path)) != NULL) {
        tn_value found = program_file(interpreter);
        if (!found)
            why = value_format("cannot find the program `%s`, the interpreter of the script `%s`", interpreter, path);
        value_unref(found);
    }
    mem_free(interpreter);
    value_unref(file);
    return why;
}

/* ---- Annotations ---- */

static void section_report(const struct section_check *check, const char *pointer, tn_value why) {
    const char *text = value_chars(why, NULL), *index = check->file ? pointer + strlen(check->list) + 1 : "";
    int digits = (int)strcspn(index, "/");
    tn_value message = check->file
                           ? value_format("%s: [%.*s]%s: %s", check->file, digits, index, index + digits, text)
                           : value_format("tenon.yaml: plugins.config.%s at %s: %s", check->plugin->id, pointer, text);
    check->missing(check->user, value_chars(message, NULL));
    value_unref(message);
}

static bool is_below(const char *pointer, const char *item) {
    size_t length = strlen(item);
    return strncmp(pointer, item, length) == 0 && pointer[length] == '/';
}

static void on_checked_annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct section_check *check = self;
    if (on_key || !value_is(where, TN_STRING) || (check->file && !is_below(pointer, check->list))) return;
    const char *name = value_chars(where, NULL);
    struct stat status;
    tn_value why = NULL;
    if (value_text_is(annotation, "file") && !check->file)
        check->files = value_set_take(check->files, pointer, value_ref(where));
    else if (value_text_is(annotation, "folder") && (stat(name, &status) != 0 || !S_ISDIR(status.st_mode)))
        why = value_format("cannot find the folder `%s`", name);
    else if (value_text_is(annotation, "program") && !strchr(name, '{')) /* {…} is known only at the call */
        why = program_problem(name);
    if (why) section_report(check, pointer, why);
    value_unref(why);
}

/* ---- Files of descriptions ---- */

/* The value of a YAML file, a new reference; NULL if it cannot be read, or is not valid. */
static tn_value description_file_read(const char *path) {
    struct error error = ERROR_INIT;
    size_t length;
    int descriptor = is_regular_file(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    tn_value text = descriptor >= 0 ? file_read_text(descriptor, DESCRIPTIONS_MAX, &error) : NULL, value = NULL;
    if (descriptor >= 0) close(descriptor);
    if (text) {
        const char *chars = value_chars(text, &length);
        struct diagnostics *found = diagnostics_new();
        struct source *source = source_new(path, chars, length);
        struct tree *tree = tree_read(source, &(struct tree_limits){.size = DESCRIPTIONS_MAX}, found);
        if (!diagnostics_errors(found)) value = tree_to_value(tree_root(tree));
        tree_free(tree);
        source_unref(source);
        diagnostics_free(found);
    }
    value_unref(text);
    error_finish(&error);
    return value;
}

/* True if the pointer names an item of a list. */
static bool is_list_item(const char *pointer) {
    const char *last = strrchr(pointer, '/');
    return last && last[1] && last[1 + strspn(last + 1, "0123456789")] == 0;
}

/* Checks the descriptions of a file as if they were the list that has the name of the file as an item. */
static void section_check_file(struct section_check *check, const struct schema *schema, tn_value section,
                               const char *pointer, const char *path) {
    tn_value root = is_list_item(pointer) ? description_file_read(path) : NULL;
    if (!root) return;
    tn_value items = value_is(root, TN_ARRAY) ? root : value_push_take(value_array(), root);
    check->file = path;
    check->list = mem_text_n(pointer, (size_t)(strrchr(pointer, '/') - pointer));
    /* One walk for the whole file: a file can have many descriptions, and the section many other items. */
    tn_value inlined = section_replace(section, check->list, items);
    schema_each_annotation(schema, inlined, "x-tenon", on_checked_annotation, check);
    value_unref(inlined);
    mem_free(check->list);
    check->file = NULL;
    value_unref(items);
}

int32_t plugin_check_section(struct plugin *plugin, plugin_missing_fn *missing, void *user, struct error *error) {
    tn_value document = value_get(manifest_plugin(plugin_manifest(plugin)), "config"), section = NULL;
    struct section_check check = {.plugin = plugin, .missing = missing, .user = user, .files = value_object()};
    struct schema *schema = NULL;
    int32_t status = plugin_section(plugin, &section, error);
    if (status == TN_OK && document && schema_compile(document, NULL, &schema, NULL) == TN_OK) {
        schema_each_annotation(schema, section, "x-tenon", on_checked_annotation, &check);
        for (size_t i = 0; i < value_count(check.files); i++)
            section_check_file(&check, schema, section, value_chars(value_key_at(check.files, i), NULL),
                               value_chars(value_value_at(check.files, i), NULL));
    }
    value_unref(check.files);
    value_unref(section);
    schema_unref(schema);
    return status;
}
