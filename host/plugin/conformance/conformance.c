/*
 * conformance.c - the list of findings, and what a check reads of the file itself: its symbols and libraries.
 * conformance_manifest.c checks the manifest, conformance_run.c runs the plugin.
 *
 * Reading continues after a finding if the rest can still be understood.
 */
#include "host/plugin/conformance/conformance.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/plugin/conformance/conformance_internal.h"
#include "host/plugin/registry/elf_note.h"
#include "host/plugin/registry/manifest.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ENTRY "tn_plugin_entry_1"

/* ---- Findings ---- */

static void conformance_add_text(struct conformance *conformance, enum conformance_severity severity,
                                 enum finding finding, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

static void conformance_add_text(struct conformance *conformance, enum conformance_severity severity,
                                 enum finding finding, const char *format, va_list args) {
    if (conformance->count == CONFORMANCE_FINDINGS_MAX) {
        conformance->dropped++;
        return;
    }
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_vformat(&text, format, args);
    MEM_EXTEND(conformance->items, conformance->count);
    conformance->items[conformance->count++] =
        (struct conformance_finding){severity, finding_info(finding)->code, mem_text(buffer_cstr(&text))};
    buffer_finish(&text);
}

void conformance_add(struct conformance *conformance, enum finding finding, const char *format, ...) {
    va_list args;
    va_start(args, format);
    conformance_add_text(conformance, finding_info(finding)->severity, finding, format, args);
    va_end(args);
}

void conformance_add_as(struct conformance *conformance, enum conformance_severity severity, enum finding finding,
                        const char *format, ...) {
    va_list args;
    va_start(args, format);
    conformance_add_text(conformance, severity, finding, format, args);
    va_end(args);
}

void conformance_finish(struct conformance *conformance) {
    for (size_t i = 0; i < conformance->count; i++) mem_free(conformance->items[i].message);
    mem_free(conformance->items);
    *conformance = (struct conformance)CONFORMANCE_INIT;
}

int conformance_worst(const struct conformance *conformance) {
    int worst = -1;
    for (size_t i = 0; i < conformance->count; i++)
        if ((int)conformance->items[i].severity > worst) worst = (int)conformance->items[i].severity;
    return worst;
}

tn_value conformance_to_value(const struct conformance *conformance) {
    tn_value all = value_array_reserve(conformance->count);
    for (size_t i = 0; i < conformance->count; i++) {
        tn_value item = value_object_reserve(3);
        item = value_set_take(item, "severity", value_text(conformance_severity_name(conformance->items[i].severity)));
        item = value_set_take(item, "code", value_text(conformance->items[i].code));
        item = value_set_take(item, "message",
                              value_string_lossy(conformance->items[i].message, strlen(conformance->items[i].message)));
        all = value_push_take(all, item);
    }
    return all;
}

/* ---- Symbols ---- */

/* Symbols that compilers and linkers add. */
static bool is_toolchain_symbol(const char *name) {
    static const char *const names[] = {"_init", "_fini", "__bss_start", "_edata", "_end"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return strncmp(name, "__odr_asan", 10) == 0 || strncmp(name, "__start_", 8) == 0 ||
           strncmp(name, "__stop_", 7) == 0;
}

static void conformance_check_symbols(const char *path, struct elf_file *file, struct conformance *conformance) {
    struct elf_symbols symbols = ELF_SYMBOLS_INIT;
    struct error error = ERROR_INIT;
    if (elf_symbols(file, &symbols, &error) != TN_OK) {
        conformance_add(conformance, FINDING_ELF, "%s", error.message);
        error_finish(&error);
        return;
    }
    bool entry = false;
    for (size_t i = 0; i < symbols.defined_count; i++) {
        const char *name = symbols.defined[i];
        if (strcmp(name, ENTRY) == 0)
            entry = true;
        else if (!is_toolchain_symbol(name))
            conformance_add(conformance, FINDING_EXTRA_SYMBOL,
                            "%s: exports `%s`; expected " ENTRY
                            " and nothing else: link it with tenon_add_plugin(), or with tenon-plugin.map",
                            path, name);
    }
    if (!entry)
        conformance_add(conformance, FINDING_ENTRY_MISSING, "%s: does not export " ENTRY "; declare it with TN_EXPORT",
                        path);
    for (size_t i = 0; i < symbols.unique_count; i++)
        conformance_add(
            conformance, FINDING_UNIQUE_SYMBOL,
            "%s: `%s` is unique in a process (STB_GNU_UNIQUE), so two versions of the plugin would share it; build "
            "with -fno-gnu-unique",
            path, symbols.unique[i]);
    for (size_t i = 0; i < symbols.undefined_count; i++)
        if (strncmp(symbols.undefined[i], "tn_", 3) == 0 || strncmp(symbols.undefined[i], "tenon_", 6) == 0)
            conformance_add(conformance, FINDING_HOST_SYMBOL,
                            "%s: imports the host symbol `%s`; a plugin gets interfaces from tn_host.get instead", path,
                            symbols.undefined[i]);
    for (size_t i = 0; i < symbols.needed_count; i++)
        if (strncmp(symbols.needed[i], "libtenon", 8) == 0)
            conformance_add(conformance, FINDING_HOST_LIBRARY, "%s: is linked with %s; a plugin needs only the headers",
                            path, symbols.needed[i]);
    elf_symbols_finish(&symbols);
}

/* ---- The check ---- */

static void conformance_add_unreadable(const char *path, struct error *error, struct conformance *conformance) {
    size_t length = strlen(path);
    bool object = length > 3 && strcmp(path + length - 3, ".so") == 0;
    if (object)
        conformance_add(conformance, FINDING_ELF, "%s", error->message);
    else
        conformance_add(conformance, FINDING_ELF,
                        "%s; if it is a program that speaks the component protocol, put its manifest into "
                        "%s.tenon.json",
                        error->message, path);
    error_finish(error);
}

void conformance_check(const char *path, const struct registry_options *options, int timeout_ms,
                       struct conformance *conformance) {
    static const struct registry_options nothing;
    bool program = manifest_is_program(path);
    struct error error = ERROR_INIT;
    struct manifest manifest;
    struct elf_file *file;
    if (!program) {
        if (elf_open(path, &file, &error) != TN_OK) {
            conformance_add_unreadable(path, &error, conformance);
            return;
        }
        conformance_check_symbols(path, file, conformance);
        elf_close(file);
    }
    if (!options) options = &nothing;
    if (!conformance_check_manifest(path, options, conformance, &manifest)) return;
    if (!program)
        conformance_run(path, manifest.value, options, timeout_ms > 0 ? timeout_ms : CONFORMANCE_TIMEOUT_MS,
                        conformance);
    manifest_finish(&manifest);
}
