/*
 * function.c - one function of a description: its parameters, its result, what counts as its failure.
 *
 * What can be said of a parameter depends on its type and direction: the rules are in one list below, each with the
 * sentence for whoever breaks it.
 */
#include "convert.h"
#include "reader.h"
#include <inttypes.h>

/* Functions known to be variadic: called as if they were not, they read what nobody passed. */
static const char *const variadic[] = {"printf",
                                       "fprintf",
                                       "sprintf",
                                       "snprintf",
                                       "dprintf",
                                       "asprintf",
                                       "scanf",
                                       "fscanf",
                                       "sscanf",
                                       "wprintf",
                                       "execl",
                                       "execlp",
                                       "execle",
                                       "open",
                                       "open64",
                                       "openat",
                                       "fcntl",
                                       "ioctl",
                                       "prctl",
                                       "syscall",
                                       "syslog",
                                       "err",
                                       "errx",
                                       "warn",
                                       "warnx",
                                       "mremap",
                                       "ptrace",
                                       "sqlite3_mprintf",
                                       "sqlite3_snprintf",
                                       "sqlite3_config",
                                       "sqlite3_db_config",
                                       "sqlite3_log",
                                       "curl_easy_setopt",
                                       "curl_easy_getinfo",
                                       "curl_multi_setopt",
                                       NULL};

static bool is_number(const struct type *type) {
    return type->kind == TYPE_INTEGER || type->kind == TYPE_FLOAT || type->kind == TYPE_BOOL || type->kind == TYPE_ENUM;
}

static bool in_memory(const struct parameter *parameter) { /* a buffer, or a text in one */
    return parameter->type->kind == TYPE_BUFFER || (parameter->type->kind == TYPE_STRING && parameter->capacity != 0);
}

/* ---- A parameter, or the result ---- */

static bool check_parameter(struct reader *reader, const struct node *node, const struct parameter *parameter) {
    enum type_kind kind = parameter->type->kind;
    bool in = parameter->direction == DIRECTION_IN, out = parameter->direction == DIRECTION_OUT;
    const struct {
        bool broken;
        const char *why;
    } rules[] = {
        {kind == TYPE_VOID, "a parameter cannot be `void`"},
        {kind == TYPE_POINTER && !parameter->fixed,
         "a `pointer` needs `value: null` (or a constant): what else it could point to is not known; a pointer that "
         "only the library looks into is a handle"},
        {!in && (kind == TYPE_POINTER), "a `pointer` goes in only"},
        {kind == TYPE_HANDLE && parameter->direction == DIRECTION_INOUT, "a handle goes in or out, not both"},
        {kind == TYPE_STRING && parameter->direction == DIRECTION_INOUT,
         "a text that is changed in place is a `buffer` with `as: text`"},
        {parameter->nullable && (!in || is_number(parameter->type) || kind == TYPE_POINTER),
         "`nullable` is for texts, buffers, structs and handles that go in"},
        {parameter->value != NULL && !in, "`value` and `default` are for what goes in"},
        {parameter->value != NULL && !is_number(parameter->type) && kind != TYPE_STRING && kind != TYPE_POINTER,
         "`value` and `default` are for numbers, texts and null pointers"},
        {parameter->frees && (kind != TYPE_HANDLE || !in), "`frees` is for a handle that goes in"},
        {parameter->free_name != NULL && (kind != TYPE_STRING || !out || parameter->capacity != 0),
         "`free` is for a text that the function gives; a handle has it in its type"},
        {parameter->size != 0 && kind != TYPE_BUFFER, "`size` is for buffers of a fixed size"},
        {parameter->capacity != 0 && (in || (kind != TYPE_BUFFER && kind != TYPE_STRING)),
         "`capacity` is for buffers and texts that the function writes"},
        {parameter->capacity != 0 && parameter->size != 0, "it has either `size` or `capacity`"},
        {parameter->capacity_max != 0 && parameter->capacity_max < parameter->capacity,
         "`capacity_max` is less than `capacity`"},
        {parameter->capacity_max != 0 && parameter->capacity == 0, "`capacity_max` goes with `capacity`"},
        {kind == TYPE_BUFFER && !in && parameter->capacity == 0 && parameter->size == 0,
         "a buffer that the function writes needs `capacity` (or `size`): how many bytes may it have?"},
        {parameter->as_text && kind != TYPE_BUFFER, "`as: text` is for buffers"},
        {parameter->length_of != NOBODY && parameter->type->kind != TYPE_INTEGER, "a length is an integer"},
        {parameter->length_of != NOBODY && parameter->value != NULL, "a length is not said, it is that of the buffer"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].broken) return reader_fault(reader, node, "%s", rules[i].why);
    return true;
}

static void read_direction(struct reader *reader, const struct node *node, struct parameter *parameter) {
    static const char *const names[] = {[DIRECTION_IN] = "in", [DIRECTION_OUT] = "out", [DIRECTION_INOUT] = "inout"};
    if (node == NULL) return;
    for (int i = DIRECTION_IN; i <= DIRECTION_INOUT; i++) {
        if (!node_is_text(node, names[i])) continue;
        parameter->direction = (enum direction)i;
        return;
    }
    (void)reader_fault(reader, node, "`direction` must be in, out or inout");
}

/* The type, or an enumeration over it where `values` are named. */
static const struct type *read_type(struct reader *reader, const struct node *node) {
    const struct node *values = node_get(node, "values");
    if (node_get(node, "type") == NULL) {
        (void)reader_fault(reader, node, "`type` is missing");
        return NULL;
    }
    const struct type *type = type_find(reader, node_get(node, "type"));
    if (type == NULL || values == NULL) return type;
    return type_enumerate(reader, type, values, reader_truth(reader, node, "open"));
}

/* A constant's name stands for its number. Numbers and texts are tried: what does not fit the type is told now. */
static void read_value(struct reader *reader, const struct node *node, struct parameter *parameter) {
    int64_t number;
    const struct type *type = parameter->type;
    bool integer = type->kind == TYPE_INTEGER || type->kind == TYPE_POINTER;
    if (integer && node_string(node) != NULL) {
        if (!reader_integer(reader, node, "the value", &number)) return;
        parameter->value = tn_int(number);
    } else {
        parameter->value = node_value(node);
    }
    if (parameter->value == NULL) {
        (void)reader_fault(reader, node, "the value must be a number, a text, a truth or null");
        return;
    }
    if (!is_number(type) && type->kind != TYPE_STRING) return;
    if (type->kind == TYPE_STRING && node_is_null(node)) return;
    struct conversion conversion = CONVERSION_INIT;
    uint64_t scratch[2];
    if (!convert_in(&conversion, NULL, type, parameter->value, scratch))
        (void)reader_fault(reader, node, "the value does not fit: %s", conversion.message);
    conversion_finish(&conversion);
}

static void parameter_init(struct parameter *parameter) {
    *parameter = (struct parameter){.length_of = NOBODY, .length = NOBODY};
}

static bool read_parameter(struct reader *reader, const struct node *node, struct parameter *parameter) {
    static const char *const keys[] = {"name",         "description", "type",    "values",    "open", "direction",
                                       "nullable",     "value",       "default", "length_of", "size", "capacity",
                                       "capacity_max", "as",          "frees",   "free",      NULL};
    if (node_is_text(node, "...")) return type_find(reader, node) != NULL; /* says why not */
    parameter->name = node_string(node_get(node, "name"));
    reader->parameter = parameter->name;
    bool good = reader_keys(reader, node, "a parameter", keys);
    if (!good && (node == NULL || node->kind != NODE_MAPPING)) return false;
    good &= reader_name(reader, node, "name") != NULL;
    const struct node *value = node_get(node, "value"), *otherwise = node_get(node, "default");
    parameter->description = reader_text(reader, node, "description");
    parameter->type = read_type(reader, node);
    read_direction(reader, node_get(node, "direction"), parameter);
    parameter->nullable = reader_truth(reader, node, "nullable");
    parameter->frees = reader_truth(reader, node, "frees");
    parameter->free_name = node_get(node, "free") != NULL ? reader_name(reader, node, "free") : NULL;
    parameter->size = reader_size(reader, node, "size", 1, BUFFER_MAX, 0);
    parameter->capacity = reader_size(reader, node, "capacity", 1, BUFFER_MAX, 0);
    parameter->capacity_max = reader_size(reader, node, "capacity_max", 1, BUFFER_MAX, 0);
    if (node_get(node, "as") != NULL) {
        parameter->as_text = node_is_text(node_get(node, "as"), "text");
        if (!parameter->as_text) (void)reader_fault(reader, node_get(node, "as"), "`as` can be `text` only");
    }
    if (parameter->type == NULL) return false;
    if (value != NULL && otherwise != NULL)
        return reader_fault(reader, node, "it has either `value`, which is always passed, or `default`");
    parameter->fixed = value != NULL;
    if (value != NULL || otherwise != NULL) read_value(reader, value != NULL ? value : otherwise, parameter);
    return good;
}

static bool read_result(struct reader *reader, const struct node *node, struct parameter *result) {
    static const char *const keys[] = {"name", "description", "type", "values",    "open",
                                       "size", "as",          "free", "length_of", NULL};
    result->direction = DIRECTION_OUT;
    result->name = "result";
    result->type = type_builtin("void");
    if (node == NULL) return true;
    if (node->kind == NODE_SCALAR) {
        result->type = type_find(reader, node);
    } else {
        if (!reader_keys(reader, node, "`returns`", keys)) return false;
        if (node_get(node, "name") != NULL) result->name = reader_name(reader, node, "name");
        result->description = reader_text(reader, node, "description");
        result->type = read_type(reader, node);
        result->size = reader_size(reader, node, "size", 1, BUFFER_MAX, 0);
        result->as_text = node_is_text(node_get(node, "as"), "text");
        result->free_name = node_get(node, "free") != NULL ? reader_name(reader, node, "free") : NULL;
    }
    if (result->type == NULL || result->name == NULL) return false;
    if (result->type->kind == TYPE_POINTER)
        return reader_fault(reader, node,
                            "what a `pointer` points to is not known; one that only the library looks "
                            "into is a handle");
    if (result->free_name != NULL && result->type->kind != TYPE_STRING)
        return reader_fault(reader, node, "`free` is for a text that the function gives");
    if (result->size != 0 && result->type->kind != TYPE_BUFFER)
        return reader_fault(reader, node, "`size` is for buffers of a fixed size");
    return true;
}

/* ---- Lengths ---- */

static struct parameter *find_parameter(struct function *function, const char *name, int32_t *index) {
    for (uint32_t i = 0; i < function->count; i++) {
        if (function->parameters[i].name == NULL || strcmp(function->parameters[i].name, name) != 0) continue;
        *index = (int32_t)i;
        return &function->parameters[i];
    }
    if (function->result.name == NULL || strcmp(function->result.name, name) != 0) return NULL;
    *index = RESULT;
    return &function->result;
}

static bool join_length(struct reader *reader, struct function *function, const struct node *node,
                        struct parameter *length, int32_t index) {
    const struct node *of = node_get(node, "length_of");
    const char *name = node_string(of);
    int32_t target;
    if (of == NULL) return true;
    struct parameter *buffer = name != NULL ? find_parameter(function, name, &target) : NULL;
    if (buffer == NULL)
        return reader_fault(reader, of, "`length_of`: there is no parameter `%.60s`", name != NULL ? name : "");
    if (buffer == length || buffer->type == NULL || !(in_memory(buffer) || buffer == &function->result))
        return reader_fault(reader, of, "`length_of`: `%s` is no buffer that has a length", name);
    length->length_of = target;
    /* The result may tell how much was written to a buffer whose room another parameter says. */
    if (buffer->length == NOBODY || index == RESULT) buffer->length = index;
    return true;
}

static bool check_lengths(struct reader *reader, const struct function *function, const struct node *node) {
    bool good = true;
    for (uint32_t i = 0; i < function->count; i++) {
        const struct parameter *parameter = &function->parameters[i];
        if (parameter->type == NULL || parameter->type->kind != TYPE_BUFFER || parameter->length != NOBODY ||
            parameter->size != 0)
            continue;
        good = reader_fault(reader, node,
                            "buffer `%s` has no length: give the parameter that says it `length_of: %s`, or the buffer "
                            "a fixed `size`",
                            parameter->name, parameter->name);
    }
    const struct parameter *result = &function->result;
    if (result->type->kind == TYPE_BUFFER && result->length == NOBODY && result->size == 0)
        good = reader_fault(reader, node,
                            "the result is a buffer without a length: give it a `size`, or the parameter "
                            "that says it `length_of: %s`",
                            result->name);
    return good;
}

static bool read_parameters(struct reader *reader, const struct node *node, struct function *function) {
    const struct node *list = node_get(node, "parameters");
    bool good = read_result(reader, node_get(node, "returns"), &function->result);
    if (list != NULL && (list->kind != NODE_LIST || list->count > PARAMETERS_MAX))
        return reader_fault(reader, list, "`parameters` must be a list of at most %u", PARAMETERS_MAX);
    uint32_t count = list != NULL ? list->count : 0;
    function->parameters = reader_take(reader, count + 1, sizeof *function->parameters);
    if (function->parameters == NULL) return false;
    for (uint32_t i = 0; i < count; i++) parameter_init(&function->parameters[i]);
    function->count = count;
    for (uint32_t i = 0; i < count; i++) {
        good &= read_parameter(reader, list->items[i], &function->parameters[i]);
        reader->parameter = NULL;
    }
    for (uint32_t i = 0; good && i < count; i++) {
        int32_t first = 0;
        if (find_parameter(function, function->parameters[i].name, &first) != &function->parameters[i])
            good =
                reader_fault(reader, list->items[i], "the parameter `%s` is there twice", function->parameters[i].name);
        else if (function->parameters[i].direction != DIRECTION_IN &&
                 strcmp(function->result.name, function->parameters[i].name) == 0)
            good = reader_fault(reader, list->items[i],
                                "the parameter `%s` has the name of the result; give that another by `returns: {name: "
                                "…}`",
                                function->parameters[i].name);
        else
            good = join_length(reader, function, list->items[i], &function->parameters[i], (int32_t)i);
    }
    if (good) good = join_length(reader, function, node_get(node, "returns"), &function->result, RESULT);
    for (uint32_t i = 0; good && i < count; i++) {
        reader->parameter = function->parameters[i].name;
        good = check_parameter(reader, list->items[i], &function->parameters[i]);
        reader->parameter = NULL;
    }
    return good && check_lengths(reader, function, node);
}

/* ---- Failure ---- */

static bool read_unless(struct reader *reader, const struct node *list, struct function *function) {
    if (list->kind != NODE_LIST || list->count == 0 || list->count > VALUES_MAX)
        return reader_fault(reader, list, "`unless` must be a list of results that are no failures");
    function->unless = reader_take(reader, list->count, sizeof *function->unless);
    for (uint32_t i = 0; function->unless != NULL && i < list->count; i++)
        if (!reader_integer(reader, list->items[i], "a result", &function->unless[i])) return false;
    function->unless_count = list->count;
    function->failure = FAILURE_UNLESS;
    return function->unless != NULL;
}

static bool read_text_of(struct reader *reader, const struct node *node, struct function *function) {
    const struct node *of = node_get(node, "of");
    function->text_of = RESULT;
    if (node_get(node, "text") == NULL) return of == NULL || reader_fault(reader, of, "`of` goes with `text`");
    function->text_name = reader_name(reader, node, "text");
    const struct parameter *argument = &function->result;
    if (of != NULL) {
        const char *name = node_string(of);
        argument = name != NULL ? find_parameter(function, name, &function->text_of) : NULL;
        if (argument == NULL) return reader_fault(reader, of, "`of`: there is no parameter `%.60s`", name ? name : "");
    }
    bool fit = argument->type->kind == TYPE_HANDLE || argument->type->kind == TYPE_INTEGER ||
               argument->type->kind == TYPE_ENUM;
    return fit || reader_fault(reader, node,
                               "`text` is the name of a function that takes the result, or by `of` a "
                               "handle or integer, and gives a text");
}

static bool read_error(struct reader *reader, const struct node *node, struct function *function) {
    static const char *const keys[] = {"when", "unless", "errno", "text", "of", NULL};
    static const struct {
        const char *name;
        enum failure failure;
    } names[] = {
        {"nonzero", FAILURE_NONZERO}, {"zero", FAILURE_ZERO}, {"negative", FAILURE_NEGATIVE}, {"null", FAILURE_NULL}};
    const struct node *when = node_get(node, "when"), *unless = node_get(node, "unless");
    enum type_kind kind = function->result.type->kind;
    if (node == NULL) return true;
    if (!reader_keys(reader, node, "`error`", keys)) return false;
    function->tells_errno = reader_truth(reader, node, "errno");
    if (when != NULL && unless != NULL) return reader_fault(reader, unless, "it has either `when` or `unless`");
    for (size_t i = 0; when != NULL && i < sizeof names / sizeof *names; i++)
        /* YAML has a null of its own, and `when: null` means the word. */
        if (node_is_text(when, names[i].name)) function->failure = names[i].failure;
    if (when != NULL && function->failure == FAILURE_NEVER)
        return reader_fault(reader, when, "`when` must be nonzero, zero, negative or null");
    if (unless != NULL && !read_unless(reader, unless, function)) return false;
    if (when == NULL && unless == NULL) {
        if (!function->tells_errno)
            return reader_fault(reader, node, "`error` needs `when`, `unless` or `errno: true`");
        function->failure = FAILURE_ERRNO;
    }
    bool pointer = kind == TYPE_STRING || kind == TYPE_HANDLE || kind == TYPE_STRUCT || kind == TYPE_BUFFER;
    bool integer = kind == TYPE_INTEGER || kind == TYPE_ENUM || kind == TYPE_BOOL;
    if (function->failure == FAILURE_NULL && !pointer)
        return reader_fault(reader, when, "`when: null` is for results that are pointers");
    if (function->failure != FAILURE_NULL && function->failure != FAILURE_ERRNO && !integer)
        return reader_fault(reader, node, "the result is no integer, so it cannot say that the function failed");
    if (function->failure == FAILURE_NEGATIVE && !function->result.type->is_signed)
        return reader_fault(reader, when, "the result's type is unsigned: it is never negative");
    return read_text_of(reader, node, function);
}

/* ---- A function ---- */

static bool read_effects(struct reader *reader, const struct node *node, struct function *function) {
    const struct node *list = node_get(node, "effects");
    if (list == NULL) list = reader->effects;
    if (list == NULL) return true; /* not said: the worst */
    if (list->kind != NODE_LIST) return reader_fault(reader, list, "`effects` must be a list, [] for none");
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_ARRAY);
    for (uint32_t i = 0; i < list->count; i++) {
        const char *effect = node_string(list->items[i]);
        if (effect == NULL) (void)reader_fault(reader, list->items[i], "an effect is a text: fs.read:/data");
        tn_put_text(builder, NULL, effect != NULL ? effect : "");
    }
    tn.value->end(builder);
    function->effects = tn.value->finish(builder);
    return true;
}

static void read_words(struct reader *reader, const struct node *node, struct function *function) {
    const struct library *library = reader->library;
    const char *title = reader_text(reader, node, "title"), *text = reader_text(reader, node, "description");
    if (title == NULL && text != NULL) { /* its first sentence */
        size_t length = strcspn(text, "\n");
        const char *stop = strstr(text, ". ");
        if (stop != NULL && (size_t)(stop - text) < length) length = (size_t)(stop - text) + 1;
        while (length > 160 && ((unsigned char)text[length - 1] & 0x80u) != 0) length--;
        title = length <= 160 ? arena_text(&reader->library->arena, text, length) : NULL;
    }
    if (title == NULL)
        title = arena_format(&reader->library->arena, "Calls %s of %.100s", function->symbol,
                             library->file != NULL ? library->file : "");
    function->title = title != NULL ? title : "";
    function->documentation = text;
}

bool function_read(struct reader *reader, const struct node *node, struct function *function) {
    static const char *const keys[] = {"name",  "symbol",  "title",      "description", "parameters", "returns",
                                       "error", "effects", "idempotent", "variadic",    NULL};
    parameter_init(&function->result);
    function->result.type = type_builtin("void");
    function->name = reader_name(reader, node, "name");
    reader->function = function->name;
    bool good = reader_keys(reader, node, "a function", keys) && function->name != NULL;
    if (good) {
        bool own = node_get(node, "symbol") != NULL;
        function->symbol = own ? reader_name(reader, node, "symbol") : function->name;
        for (const char *const *known = variadic; function->symbol != NULL && *known != NULL; known++)
            good &= strcmp(*known, function->symbol) != 0;
        if (!good || reader_truth(reader, node, "variadic"))
            good = reader_fault(reader, node,
                                "a variadic function cannot be described: the types of its further arguments differ "
                                "from call to call; describe a function that takes a fixed list");
    }
    if (good && reader->library->name != NULL && function->symbol != NULL) {
        function->id = arena_format(&reader->library->arena, "%s.%s", reader->library->name, function->name);
        function->idempotent = reader_truth(reader, node, "idempotent");
        read_words(reader, node, function);
        good = read_effects(reader, node, function) && read_parameters(reader, node, function) &&
               read_error(reader, node_get(node, "error"), function);
    }
    reader->function = reader->parameter = NULL;
    return good;
}

void function_free(struct function *function) {
    for (uint32_t i = 0; i < function->count; i++) tn_release(function->parameters[i].value);
    tn_release(function->effects);
}

/* ---- In the open library ---- */

static void *find_symbol(const struct function *function, const char *name, struct faults *faults) {
    const struct library *library = function->library;
    void *address = symbol_find(library->handle, name);
    if (address == NULL) {
        const char *near = symbol_nearest(library->handle, name);
        faults_add(faults, "%s: function `%s`: %s has no function `%s`%s%s%s", library->where, function->name,
                   library->file, name, near != NULL ? "; did you mean `" : "", near != NULL ? near : "",
                   near != NULL ? "`?" : "");
    } else if (!symbol_is_function(address)) {
        faults_add(faults, "%s: function `%s`: `%s` of %s is data, not a function", library->where, function->name,
                   name, library->file);
        address = NULL;
    }
    return address;
}

static ffi_type *passed_as(const struct parameter *parameter) {
    return parameter->direction == DIRECTION_IN ? parameter->type->ffi : &ffi_type_pointer;
}

bool function_link(struct function *function, struct faults *faults) {
    uint32_t before = faults->count;
    void *address = find_symbol(function, function->symbol, faults);
    memcpy(&function->address, &address, sizeof address);
    if (function->text_name != NULL) {
        address = find_symbol(function, function->text_name, faults);
        memcpy(&function->text, &address, sizeof address);
    }
    for (uint32_t i = 0; i <= function->count; i++) {
        struct parameter *parameter = i < function->count ? &function->parameters[i] : &function->result;
        if (parameter->free_name == NULL) continue;
        address = find_symbol(function, parameter->free_name, faults);
        memcpy(&parameter->free, &address, sizeof address);
    }
    function->types = arena_take(&function->library->arena, (function->count + 1) * sizeof *function->types);
    for (uint32_t i = 0; function->types != NULL && i < function->count; i++)
        function->types[i] = passed_as(&function->parameters[i]);
    if (function->types == NULL || ffi_prep_cif(&function->cif, FFI_DEFAULT_ABI, function->count,
                                                function->result.type->ffi, function->types) != FFI_OK)
        faults_add(faults, "%s: function `%s`: libffi cannot call it", function->library->where, function->name);
    return faults->count == before;
}
