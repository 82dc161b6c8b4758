/*
 * fields.c - every kind of field of <tenon/easy.h>, in one component of each style: the macros compile without a
 * warning wherever the header does, and produce the schema in fields.expected (examples.sh).
 */
#include <tenon/easy.h>

TN_PLUGIN("test.fields", "1.0.0", "Every kind of field")
TN_NOTE("{\"plugin\":{\"licence\":\"MIT\"}}")

#define LIMIT 5

TN_TOOL(none, "fields.none", "No arguments", TN_PURE) { return tn_done_bool(task, args->tn_all != NULL); }

TN_TOOL_BLOCKING(plain, "fields.plain", "Says \"hello\", at length", TN_EFFECTS("fs.read:/etc", "destructive"),
                 (INT_OR, count, LIMIT, "how many"), (INT, least, "at \"least\",\n\tat most \\ none"),
                 (NUM, ratio, "a ratio"), (NUM_OR, scale, -2.5, "a scale"), (BOOL, deep, "whether"),
                 (BOOL_OR, loud, 1, "whether"), (TEXT, word, "a word"),
                 (TEXT_OR, separator, ", \"\\\n", "what stands between"), (TEXT_OPT, note, "a note"),
                 (VALUE, any, "any value"), (VALUE_OPT, more, "any value"), (FILE, path, "a file"),
                 (FILE_OR, other, "a.txt", "a file"), (FILE_OPT, third, "a file")) {
    if (args->any == NULL || args->more == NULL || args->note_length > args->word_length) return TN_INVALID;
    return tn_done_num(task, args->ratio * tn_get_num(args->tn_all, "count", 1.5));
}

TN_NODE(names, "fields.names", "Names of the graph", TN_PURE, (READ, r, "r"), (READ_OR, r_or, "in", "r"),
        (READ_OPT, r_opt, "r"), (WRITE, w, "w"), (WRITE_OR, w_or, "out", "w"), (WRITE_OPT, w_opt, "w"), (EXPR, e, "e"),
        (EXPR_OR, e_or, "1 + 1", "e"), (EXPR_OPT, e_opt, "e"), (TEMPLATE, t, "t"), (TEMPLATE_OR, t_or, "{in}", "t"),
        (TEMPLATE_OPT, t_opt, "t")) {
    tn_value text = config->t_opt == TN_UNBOUND ? tn_read_text(task, config->r) : tn_render(task, config->t_opt, NULL);
    if (text == NULL) return TN_FAILED;
    return tn_done_written(task, tn_write_take(task, config->w, text));
}

TN_CHECK(names) {
    if (config->r != config->w) return TN_OK;
    return tn_refuse_at("/w", "INVALID_CONFIG", "`w` must be another channel than `r`");
}

TN_NODE_BLOCKING(calls, "fields.calls", "Components", TN_PURE, (MODEL, m, "m"), (MODEL_OR, m_or, "default", "m"),
                 (MODEL_OPT, m_opt, "m"), (TOOL, u, "u"), (TOOL_OR, u_or, "calc.add", "u"), (TOOL_OPT, u_opt, "u")) {
    return tn_done_value(task, input);
}

static int32_t own_create(tn_value config, tn_binder *binder, void **self) {
    (void)config, (void)binder, (void)self;
    return TN_OK;
}

static int32_t own_start(void *self, tn_task task, tn_value input) {
    (void)self, (void)input;
    return tn_fail(task, "OWN", "not today");
}

TN_COMPONENT(own, "fields.own", own_create, own_start, NULL, NULL, NULL)

static int32_t on_init(void *self, tn_value config) {
    (void)self, (void)config;
    return TN_OK;
}

TN_LIFECYCLE(on_init, NULL, NULL)

static const struct { uint64_t size; } service = {sizeof service};
TN_PROVIDES(service, "test.service/1", &service)

/* Components that are added at run time: their id is the instance. */
static int32_t dynamic_create(const char *id, uint64_t length, tn_value config, tn_binder *binder, void **self) {
    tn_value name = tn_text_n(id, length);
    (void)config, (void)binder;
    if (strncmp(tn_chars(name, NULL), "dynamic.", 8) == 0) {
        union {
            tn_value value;
            void *pointer;
        } instance;
        instance.value = name;
        *self = instance.pointer;
        return TN_OK;
    }
    tn_release(name);
    return tn_refuse("NOT_FOUND", "no such component was added");
}

static tn_value dynamic_name(void *self) { return TN_EASY_FROM(tn_value, self); }

static int32_t dynamic_start(void *self, tn_task task, tn_value input) {
    (void)input;
    return tn_done_value(task, dynamic_name(self));
}

static void dynamic_destroy(void *self) { tn_release(dynamic_name(self)); }

TN_DYNAMIC(dynamic, dynamic_create, dynamic_start, NULL, NULL, dynamic_destroy)
