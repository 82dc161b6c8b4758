/*
 * exercise_outcome.c - compares what a task has ended with to what was declared: its output to the `output` of its
 * manifest; and, for a program, output, chunks and error to the shapes of their kind (payload.h).
 *
 * Check mode compares the shapes of a plugin in this process. It reports an output of a task only while the task is
 * open, and does not know the manifest.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/call/call.h"
#include "host/plugin/conformance/exercise_internal.h"
#include "host/plugin/conformance/payload.h"
#include <stdio.h>
#include <string.h>

/* `part` is the anchor in the schema of the kind; NULL: the shape is `error`. */
static void exercise_check_shape(struct exercise *it, const char *verb, const char *part, tn_value value) {
    char shape[PAYLOAD_SHAPE_MAX];
    (void)snprintf(shape, sizeof shape, part ? "%.20s#%s" : "%.20s", part ? it->component->info->kind : "error", part);
    char *difference = payload_check(shape, value);
    if (difference)
        exercise_report(it, FINDING_SHAPE, "%s: %s; see `tenon schema %.*s`", verb, difference,
                        (int)strcspn(shape, "#"), shape);
    mem_free(difference);
}

/* A host validates the output of a tool, and the editors of documents show that of the others. */
static void exercise_check_declared(struct exercise *it, tn_value output) {
    const struct schema *schema = it->component->info->output;
    tn_value whole = output ? output : value_null();
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    if (!output && strcmp(it->component->info->kind, "tool") != 0) return; /* it has written to channels, for example */
    if (schema && schema_validate(schema, whole, NULL) != TN_OK) {
        char *text = json_text(whole, JSON_COMPACT);
        (void)schema_validate(schema, whole, &errors);
        const char *pointer = errors.count ? errors.items[0].pointer : "";
        exercise_report(it, FINDING_SHAPE,
                        "completes with %.300s, which `output` of its manifest does not allow: %s%.100s%s%.300s; "
                        "correct the one or "
                        "the other",
                        text, *pointer ? "at `" : "", pointer, *pointer ? "`: " : "",
                        errors.count ? errors.items[0].message : "");
        mem_free(text);
    }
    schema_errors_finish(&errors);
}

/* What the host makes of a message that the program must not send (isolate/remote_message.c). */
/* The host itself has failed the task, because a message violates the protocol: the error names the plugin. */
static bool is_protocol_error(const struct exercise *it, const struct error *error) {
    char start[256];
    if (!error->code || (strcmp(error->code, "PLUGIN_INVALID") != 0 && strcmp(error->code, "CHANNEL") != 0))
        return false;
    snprintf(start, sizeof start, "plugin `%s`: ", plugin_id(it->component->plugin));
    return error->message && strncmp(error->message, start, strlen(start)) == 0;
}

static void exercise_check_failure(struct exercise *it, const struct error *error) {
    const char *message = error->message ? error->message : "";
    if (strcmp(message, "the task failed without an error message") == 0) {
        exercise_report(it, FINDING_SHAPE,
                        "fails with an invalid error: found no `message`, expected {code, message}; see `tenon schema "
                        "error`");
    } else if (is_protocol_error(it, error)) {
        exercise_report(it, FINDING_CONTRACT, "%s; protocol.md in the documentation of the SDK has the form", message);
    } else {
        tn_value value = error_to_value(error);
        exercise_check_shape(it, "fails with an invalid error", NULL, value);
        value_unref(value);
    }
}

void exercise_check_outcome(struct exercise *it, const struct call *call, tn_value chunks) {
    if (it->shape_reported) return;
    uint64_t before = it->reports;
    enum call_outcome outcome = call_outcome(call);
    if (it->remote && outcome == CALL_COMPLETED && call_output(call))
        exercise_check_shape(it, "completes with an invalid output", "output", call_output(call));
    if (it->remote && outcome == CALL_FAILED) exercise_check_failure(it, call_error(call));
    for (size_t i = 0; it->remote && i < value_count(chunks) && it->reports == before; i++)
        exercise_check_shape(it, "emits an invalid chunk", "chunk", value_at(chunks, i));
    if (outcome == CALL_COMPLETED && it->reports == before) exercise_check_declared(it, call_output(call));
    it->shape_reported = it->reports > before;
}
