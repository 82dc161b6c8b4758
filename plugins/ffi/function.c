/*
 * function.c - reads one function of a description: its parameters, its result, and how it reports a failure.
 *
 * The allowed keys of a parameter depend on its type and direction. One list below has all rules, each with the message
 * for a violation.
 */
#include "convert.h"
#include "reader.h"
#include <inttypes.h>

/* Functions known to be variadic: called with a fixed list, they would read arguments that were not passed. */
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

/* True for a buffer, and for a text in a buffer. */
static bool is_in_buffer(const struct parameter *parameter) {
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
         "a `pointer` needs `value: null` (or a constant), because its target type is not known; use a handle for a "
         "pointer that only the library dereferences"},
        {!in && (kind == TYPE_POINTER), "a `pointer` must have `direction: in`"},
        {kind == TYPE_HANDLE && parameter->direction == DIRECTION_INOUT, "a handle cannot have `direction: inout`"},
        {kind == TYPE_STRING && parameter->direction == DIRECTION_INOUT,
         "use a `buffer` with `as: text` for a text that is changed in place"},
        {parameter->nullable && (!in || is_number(parameter->type) || kind == TYPE_POINTER),
         "`nullable` is for input texts, buffers, structs and handles"},
        {parameter->value != NULL && !in, "`value` and `default` are for input parameters"},
        {parameter->value != NULL && !is_number(parameter->type) && kind != TYPE_STRING && kind != TYPE_POINTER,
         "`value` and `default` are for numbers, texts and null pointers"},
        {parameter->frees && (kind != TYPE_HANDLE || !in), "`frees` is for an input handle"},
        {parameter->free_name != NULL && (kind != TYPE_STRING || !out || parameter->capacity != 0),
         "`free` is for a text that the function returns; declare it in the type of a handle"},
        {parameter->size != 0 && kind != TYPE_BUFFER, "`size` is for buffers of a fixed size"},
        {parameter->capacity != 0 && (in || (kind != TYPE_BUFFER && kind != TYPE_STRING)),
         "`capacity` is for buffers and texts that the function writes"},
        {parameter->capacity != 0 && parameter->size != 0, "`size` and `capacity` exclude each other"},
        {parameter->capacity_max != 0 && parameter->capacity_max < parameter->capacity,
         "`capacity_max` is less than `capacity`"},
        {parameter->capacity_max != 0 && parameter->capacity == 0, "`capacity_max` requires `capacity`"},
        {kind == TYPE_BUFFER && !in && parameter->capacity == 0 && parameter->size == 0,
         "a buffer that the function writes needs `capacity` or `size`"},
        {parameter->as_text && kind != TYPE_BUFFER, "`as: text` is for buffers"},
        {parameter->length_of != NO_PARAMETER && parameter->type->kind != TYPE_INTEGER, "a length must be an integer"},
        {parameter->length_of != NO_PARAMETER && parameter->value != NULL,
         "a length has no `value` or `default`; it is computed from the buffer"},
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

/* Returns the type, or an enumeration over it if `values` are named. */
static const struct type *read_parameter_type(struct reader *reader, const struct node *node) {
    const struct node *values = node_get(node, "values");
    if (node_get(node, "type") == NULL) {
        (void)reader_fault(reader, node, "`type` is missing");
        return NULL;
    }
    const struct type *type = type_lookup(reader, node_get(node, "type"));
    if (type == NULL || values == NULL) return type;
    return type_enumerate(reader, type, values, reader_boolean(reader, node, "open"));
}

/* A constant's name stands for its number. Numbers and texts are converted now, so that a value of the wrong type is
 * reported here. */
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
        (void)reader_fault(reader, node, "the value must be a number, a text, a boolean or null");
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
    *parameter = (struct parameter){.length_of = NO_PARAMETER, .length = NO_PARAMETER};
}

static bool read_parameter(struct reader *reader, const struct node *node, struct parameter *parameter) {
    static const char *const keys[] = {"name",         "description", "type",    "values",    "open", "direction",
                                       "nullable",     "value",       "default", "length_of", "size", "capacity",
                                       "capacity_max", "as",          "frees",   "free",      NULL};
    if (node_is_text(node, "...")) return type_lookup(reader, node) != NULL; /* reports the fault */
    parameter->name = node_string(node_get(node, "name"));
    reader->parameter = parameter->name;
    bool good = reader_check_keys(reader, node, "a parameter", keys);
    if (!good && (node == NULL || node->kind != NODE_MAPPING)) return false;
    good &= reader_name(reader, node, "name") != NULL;
    const struct node *value = node_get(node, "value"), *otherwise = node_get(node, "default");
    parameter->description = reader_text(reader, node, "description");
    parameter->type = read_parameter_type(reader, node);
    read_direction(reader, node_get(node, "direction"), parameter);
    parameter->nullable = reader_boolean(reader, node, "nullable");
    parameter->frees = reader_boolean(reader, node, "frees");
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
        return reader_fault(reader, node, "`value` (always passed) and `default` exclude each other");
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
        result->type = type_lookup(reader, node);
    } else {
        if (!reader_check_keys(reader, node, "`returns`", keys)) return false;
        if (node_get(node, "name") != NULL) result->name = reader_name(reader, node, "name");
        result->description = reader_text(reader, node, "description");
        result->type = read_parameter_type(reader, node);
        result->size = reader_size(reader, node, "size", 1, BUFFER_MAX, 0);
        result->as_text = node_is_text(node_get(node, "as"), "text");
        result->free_name = node_get(node, "free") != NULL ? reader_name(reader, node, "free") : NULL;
    }
    if (result->type == NULL || result->name == NULL) return false;
    if (result->type->kind == TYPE_POINTER)
        return reader_fault(
            reader, node,
            "the target type of a `pointer` is not known; use a handle for a pointer that only the library "
            "dereferences");
    if (result->free_name != NULL && result->type->kind != TYPE_STRING)
        return reader_fault(reader, node, "`free` is for a text that the function returns");
    if (result->size != 0 && result->type->kind != TYPE_BUFFER)
        return reader_fault(reader, node, "`size` is for buffers of a fixed size");
    return true;
}

/* ---- Lengths ---- */

/* NULL if there is no parameter with this name, also if `name` is NULL. */
static struct parameter *function_lookup_parameter(struct function *function, const char *name, int32_t *index) {
    if (name == NULL) return NULL;
    for (uint32_t i = 0; i < function->count; i++) {
        if (function->parameters[i].name == NULL || strcmp(function->parameters[i].name, name) != 0) continue;
        *index = (int32_t)i;
        return &function->parameters[i];
    }
    if (function->result.name == NULL || strcmp(function->result.name, name) != 0) return NULL;
    *index = RESULT;
    return &function->result;
}

static bool link_length(struct reader *reader, struct function *function, const struct node *node,
                        struct parameter *length, int32_t index) {
    const struct node *of = node_get(node, "length_of");
    const char *name = node_string(of);
    int32_t target;
    if (of == NULL) return true;
    struct parameter *buffer = function_lookup_parameter(function, name, &target);
    if (buffer == NULL)
        return reader_fault(reader, of, "`length_of`: unknown parameter `%.60s`", name != NULL ? name : "");
    if (buffer == length || buffer->type == NULL || !(is_in_buffer(buffer) || buffer == &function->result))
        return reader_fault(reader, of, "`length_of`: `%s` is not a buffer with a length", name);
    length->length_of = target;
    /* The result may be the length written to a buffer whose capacity another parameter passes. */
    if (buffer->length == NO_PARAMETER || index == RESULT) buffer->length = index;
    return true;
}

static bool check_lengths(struct reader *reader, const struct function *function, const struct node *node) {
    bool good = true;
    for (uint32_t i = 0; i < function->count; i++) {
        const struct parameter *parameter = &function->parameters[i];
        if (parameter->type == NULL || parameter->type->kind != TYPE_BUFFER || parameter->length != NO_PARAMETER ||
            parameter->size != 0)
            continue;
        good =
            reader_fault(reader, node,
                         "buffer `%s` has no length; add `length_of: %s` to the parameter with its length, or a fixed "
                         "`size` to the buffer",
                         parameter->name, parameter->name);
    }
    const struct parameter *result = &function->result;
    if (result->type->kind == TYPE_BUFFER && result->length == NO_PARAMETER && result->size == 0)
        good =
            reader_fault(reader, node,
                         "the result is a buffer without a length; add a `size`, or `length_of: %s` to the parameter "
                         "with its length",
                         result->name);
    return good;
}

static bool read_parameters(struct reader *reader, const struct node *node, struct function *function) {
    const struct node *list = node_get(node, "parameters");
    bool good = read_result(reader, node_get(node, "returns"), &function->result);
    if (list != NULL && (list->kind != NODE_LIST || list->count > PARAMETERS_MAX))
        return reader_fault(reader, list, "`parameters` must be a list of at most %u", PARAMETERS_MAX);
    uint32_t count = list != NULL ? list->count : 0;
    function->parameters = reader_alloc(reader, count + 1, sizeof *function->parameters);
    if (function->parameters == NULL) return false;
    for (uint32_t i = 0; i < count; i++) parameter_init(&function->parameters[i]);
    function->count = count;
    for (uint32_t i = 0; i < count; i++) {
        good &= read_parameter(reader, list->items[i], &function->parameters[i]);
        reader->parameter = NULL;
    }
    for (uint32_t i = 0; good && i < count; i++) {
        int32_t first = 0;
        if (function_lookup_parameter(function, function->parameters[i].name, &first) != &function->parameters[i])
            good = reader_fault(reader, list->items[i], "duplicate parameter `%s`", function->parameters[i].name);
        else if (function->parameters[i].direction != DIRECTION_IN &&
                 strcmp(function->result.name, function->parameters[i].name) == 0)
            good = reader_fault(
                reader, list->items[i],
                "the parameter `%s` has the name of the result; rename the result with `returns: {name: …}`",
                function->parameters[i].name);
        else
            good = link_length(reader, function, list->items[i], &function->parameters[i], (int32_t)i);
    }
    if (good) good = link_length(reader, function, node_get(node, "returns"), &function->result, RESULT);
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
        return reader_fault(reader, list, "`unless` must be a list of results that are not failures");
    function->unless = reader_alloc(reader, list->count, sizeof *function->unless);
    for (uint32_t i = 0; function->unless != NULL && i < list->count; i++)
        if (!reader_integer(reader, list->items[i], "a result", &function->unless[i])) return false;
    function->unless_count = list->count;
    function->failure = FAILURE_UNLESS;
    return function->unless != NULL;
}

static bool read_error_text_function(struct reader *reader, const struct node *node, struct function *function) {
    const struct node *of = node_get(node, "of");
    function->text_argument = RESULT;
    if (node_get(node, "text") == NULL) return of == NULL || reader_fault(reader, of, "`of` requires `text`");
    function->error_text_name = reader_name(reader, node, "text");
    const struct parameter *argument = &function->result;
    if (of != NULL) {
        const char *name = node_string(of);
        argument = name != NULL ? function_lookup_parameter(function, name, &function->text_argument) : NULL;
        if (argument == NULL) return reader_fault(reader, of, "`of`: unknown parameter `%.60s`", name ? name : "");
    }
    bool fit = argument->type->kind == TYPE_HANDLE || argument->type->kind == TYPE_INTEGER ||
               argument->type->kind == TYPE_ENUM;
    return fit || reader_fault(reader, node,
                               "`text` must be the name of a function that takes the result (or, with `of`, a "
                               "handle or integer parameter) and returns a text");
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
    if (!reader_check_keys(reader, node, "`error`", keys)) return false;
    function->reports_errno = reader_boolean(reader, node, "errno");
    if (when != NULL && unless != NULL) return reader_fault(reader, unless, "`when` and `unless` exclude each other");
    for (size_t i = 0; when != NULL && i < sizeof names / sizeof *names; i++)
        /* YAML reads null as a null value, but `when: null` means the word. */
        if (node_is_text(when, names[i].name)) function->failure = names[i].failure;
    if (when != NULL && function->failure == FAILURE_NEVER)
        return reader_fault(reader, when, "`when` must be nonzero, zero, negative or null");
    if (unless != NULL && !read_unless(reader, unless, function)) return false;
    if (when == NULL && unless == NULL) {
        if (!function->reports_errno)
            return reader_fault(reader, node, "`error` needs `when`, `unless` or `errno: true`");
        function->failure = FAILURE_ERRNO;
    }
    bool pointer = kind == TYPE_STRING || kind == TYPE_HANDLE || kind == TYPE_STRUCT || kind == TYPE_BUFFER;
    bool integer = kind == TYPE_INTEGER || kind == TYPE_ENUM || kind == TYPE_BOOL;
    if (function->failure == FAILURE_NULL && !pointer)
        return reader_fault(reader, when, "`when: null` requires a result that is a pointer");
    if (function->failure != FAILURE_NULL && function->failure != FAILURE_ERRNO && !integer)
        return reader_fault(reader, node, "the result is not an integer, so it cannot report a failure");
    if (function->failure == FAILURE_NEGATIVE && !function->result.type->is_signed)
        return reader_fault(reader, when, "the type of the result is unsigned, so the result is never negative");
    return read_error_text_function(reader, node, function);
}

/* ---- A function ---- */

static bool read_effects(struct reader *reader, const struct node *node, struct function *function) {
    const struct node *list = node_get(node, "effects");
    if (list == NULL) list = reader->effects;
    if (list == NULL) return true; /* not declared: assume the worst */
    if (list->kind != NODE_LIST) return reader_fault(reader, list, "`effects` must be a list; [] declares no effects");
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint32_t i = 0; i < list->count; i++) {
        const char *effect = node_string(list->items[i]);
        if (effect == NULL)
            (void)reader_fault(reader, list->items[i], "an effect must be a text such as fs.read:/data");
        tn_put_text(builder, NULL, effect != NULL ? effect : "");
    }
    tn.value->end(builder);
    function->effects = tn_finish(builder);
    return true;
}

static void read_function_texts(struct reader *reader, const struct node *node, struct function *function) {
    const struct library *library = reader->library;
    const char *title = reader_text(reader, node, "title"), *text = reader_text(reader, node, "description");
    if (title == NULL && text != NULL) { /* its first sentence */
        size_t length = strcspn(text, "\n");
        const char *stop = strstr(text, ". ");
        if (stop != NULL && (size_t)(stop - text) < length) length = (size_t)(stop - text) + 1;
        while (length > 160 && ((unsigned char)text[length - 1] & 0x80u) != 0) length--;
        title = length <= 160 ? tn_arena_copy(&reader->library->arena, text, length) : NULL;
    }
    if (title == NULL)
        title = tn_arena_format(&reader->library->arena, "Calls %s of %.100s", function->symbol,
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
    bool good = reader_check_keys(reader, node, "a function", keys) && function->name != NULL;
    if (good) {
        bool own = node_get(node, "symbol") != NULL;
        function->symbol = own ? reader_name(reader, node, "symbol") : function->name;
        for (const char *const *known = variadic; function->symbol != NULL && *known != NULL; known++)
            good &= strcmp(*known, function->symbol) != 0;
        if (!good || reader_boolean(reader, node, "variadic"))
            good = reader_fault(reader, node,
                                "a variadic function cannot be described: the types of its further arguments differ "
                                "from call to call; describe a function that takes a fixed list");
    }
    if (good && reader->library->name != NULL && function->symbol != NULL) {
        function->id = tn_arena_format(&reader->library->arena, "%s.%s", reader->library->name, function->name);
        function->idempotent = reader_boolean(reader, node, "idempotent");
        read_function_texts(reader, node, function);
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

static void *function_lookup_symbol(const struct function *function, const char *name, struct faults *faults) {
    const struct library *library = function->library;
    void *address = symbol_lookup(library->handle, name);
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

static ffi_type *parameter_ffi_type(const struct parameter *parameter) {
    return parameter->direction == DIRECTION_IN ? parameter->type->ffi : &ffi_type_pointer;
}

bool function_link(struct function *function, struct faults *faults) {
    uint32_t before = faults->count;
    void *address = function_lookup_symbol(function, function->symbol, faults);
    memcpy(&function->address, &address, sizeof address);
    if (function->error_text_name != NULL) {
        address = function_lookup_symbol(function, function->error_text_name, faults);
        memcpy(&function->text, &address, sizeof address);
    }
    for (uint32_t i = 0; i <= function->count; i++) {
        struct parameter *parameter = i < function->count ? &function->parameters[i] : &function->result;
        if (parameter->free_name == NULL) continue;
        address = function_lookup_symbol(function, parameter->free_name, faults);
        memcpy(&parameter->free, &address, sizeof address);
    }
    function->types = tn_arena_alloc(&function->library->arena, (function->count + 1) * sizeof *function->types);
    for (uint32_t i = 0; function->types != NULL && i < function->count; i++)
        function->types[i] = parameter_ffi_type(&function->parameters[i]);
    if (function->types == NULL || ffi_prep_cif(&function->cif, FFI_DEFAULT_ABI, function->count,
                                                function->result.type->ffi, function->types) != FFI_OK)
        faults_add(faults, "%s: function `%s`: libffi cannot call it", function->library->where, function->name);
    return faults->count == before;
}
