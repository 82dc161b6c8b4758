/*
 * call.c - puts the arguments in place, calls the function, detects a failure, and reads the results.
 *
 * The function writes only to memory of the call, which is zeroed and has the room that the description promises.
 * Results are copied before the library's lock is released, so that a text in a static buffer is safe.
 */
#include "call.h"
#include "convert.h"
#include "handle.h"
#include <errno.h>
#include <inttypes.h>
#include <tenon/util/build.h>

struct argument {
    union {
        uint64_t bits; /* a scalar, in its own size from the first byte */
        double number;
        void *pointer;
    } passed;
    void *memory;    /* the target of the passed pointer, or NULL */
    uint64_t length; /* bytes of an input buffer */
    uint64_t room;   /* size of memory in bytes */
};

struct call {
    const struct function *function;
    struct conversion conversion;
    struct argument *arguments;
    union {
        ffi_arg integer;
        uint64_t bits;
        double number;
        float narrow;
        void *pointer;
    } result;
    int error; /* errno after the call */
    tn_value detail;
};

struct call *function_call_new(const struct function *function) {
    struct call *call = tn.core->alloc(tn.host, sizeof *call);
    if (call == NULL) return NULL;
    *call = (struct call){.function = function};
    return call;
}

void function_call_free(struct call *call) {
    if (call == NULL) return;
    conversion_finish(&call->conversion);
    tn_release(call->detail);
    tn.core->release(tn.host, call);
}

tn_value function_call_error(const struct call *call) {
    tn_value error = tn_error(call->conversion.code, call->conversion.message);
    return call->detail != NULL ? tn_set_take(error, "detail", tn_retain(call->detail)) : error;
}

static void *call_alloc(struct call *call, size_t size) {
    void *memory = tn_arena_alloc(&call->conversion.arena, size);
    if (memory == NULL) (void)conversion_fail(&call->conversion, NULL, "NO_MEMORY", "out of memory");
    return memory;
}

/* ---- In ---- */

static bool is_pointed_to(const struct parameter *parameter) {
    enum type_kind kind = parameter->type->kind;
    return parameter->direction != DIRECTION_IN || kind == TYPE_STRUCT || kind == TYPE_BUFFER;
}

/* The caller requests the room of a buffer by the name of the parameter that passes its length. */
static const char *capacity_name(const struct function *function, const struct parameter *parameter) {
    for (uint32_t i = 0; i < function->count; i++)
        if (function->parameters[i].length_of == (int32_t)(parameter - function->parameters))
            return function->parameters[i].name;
    return NULL;
}

static bool requested_capacity(struct call *call, const struct parameter *parameter, tn_value input, uint64_t *room) {
    *room = parameter->size != 0 ? parameter->size : parameter->capacity;
    const char *name = parameter->capacity_max != 0 ? capacity_name(call->function, parameter) : NULL;
    tn_value requested = name != NULL ? tn_get(input, name) : NULL;
    struct value_path place = {NULL, name, 0};
    int64_t number;
    if (requested == NULL) return true;
    if (tn.value->as_int(requested, &number) != TN_OK || number < 0 || (uint64_t)number > parameter->capacity_max)
        return conversion_fail(&call->conversion, &place, "INVALID_INPUT", "expected an integer from 0 to %" PRIu64,
                               parameter->capacity_max);
    *room = (uint64_t)number;
    return true;
}

static bool buffer_in(struct call *call, const struct parameter *parameter, struct argument *argument, tn_value value,
                      tn_value input) {
    struct value_path place = {NULL, parameter->name, 0};
    const void *bytes = NULL;
    uint64_t room = 0;
    if (!requested_capacity(call, parameter, input, &room)) return false;
    if (parameter->direction != DIRECTION_OUT) {
        if (!convert_bytes(&call->conversion, &place, value, &bytes, &argument->length)) return false;
        if (parameter->size != 0 && argument->length != parameter->size)
            return conversion_fail(&call->conversion, &place, "INVALID_INPUT",
                                   "found %" PRIu64 " bytes, expected exactly %" PRIu64, argument->length,
                                   parameter->size);
    }
    argument->room = argument->length > room ? argument->length : room;
    argument->memory = call_alloc(call, argument->room);
    if (argument->memory != NULL && bytes != NULL && argument->length > 0)
        memcpy(argument->memory, bytes, argument->length);
    return argument->memory != NULL;
}

static bool memory_in(struct call *call, const struct parameter *parameter, struct argument *argument, tn_value value,
                      tn_value input) {
    struct value_path place = {NULL, parameter->name, 0};
    bool text_buffer = parameter->type->kind == TYPE_STRING && parameter->capacity != 0;
    if (parameter->type->kind == TYPE_BUFFER) return buffer_in(call, parameter, argument, value, input);
    if (text_buffer && !requested_capacity(call, parameter, input, &argument->room)) return false;
    /* A text buffer has one extra zero byte after the capacity that the function sees, so it is always terminated. */
    argument->memory = call_alloc(call, text_buffer ? argument->room + 1 : parameter->type->size);
    if (argument->memory == NULL) return false;
    return parameter->direction == DIRECTION_OUT ||
           convert_in(&call->conversion, &place, parameter->type, value, argument->memory);
}

static bool argument_in(struct call *call, const struct parameter *parameter, struct argument *argument, tn_value input,
                        uint32_t *known) {
    struct value_path place = {NULL, parameter->name, 0};
    tn_value value = parameter->fixed ? NULL : tn_get(input, parameter->name);
    bool is_input = parameter_is_input(call->function, parameter);
    if (value != NULL && is_input) ++*known;
    if (value == NULL) value = parameter->value;
    if (is_input && parameter->length_of != NO_PARAMETER)
        return true; /* requested_capacity reads a buffer's capacity */
    if (is_input && value == NULL && !parameter->nullable)
        return conversion_fail(&call->conversion, &place, "INVALID_INPUT", "is missing");
    bool null = is_input && parameter->nullable && (value == NULL || tn.value->kind(value) == TN_NULL);
    if (null || (parameter->fixed && tn.value->kind(value) == TN_NULL)) return true;
    if (is_pointed_to(parameter)) {
        bool good = memory_in(call, parameter, argument, value, input);
        argument->passed.pointer = argument->memory;
        return good;
    }
    if (parameter->type->kind == TYPE_HANDLE)
        return convert_handle(&call->conversion, &place, parameter->type, value, parameter->frees,
                              &argument->passed.pointer);
    return convert_in(&call->conversion, &place, parameter->type, value, &argument->passed);
}

/* Passes a length by value, or in the integer that a pointer points to. */
static bool length_in(struct call *call, const struct parameter *parameter, struct argument *argument) {
    struct value_path place = {NULL, parameter->name, 0};
    if (parameter->direction != DIRECTION_IN) {
        if (argument->memory == NULL) argument->memory = call_alloc(call, parameter->type->size);
        if (argument->memory == NULL) return false;
        argument->passed.pointer = argument->memory;
    }
    if (parameter->length_of == RESULT || parameter->direction == DIRECTION_OUT) return true;
    const struct parameter *buffer = &call->function->parameters[parameter->length_of];
    const struct argument *target = &call->arguments[parameter->length_of];
    uint64_t length = buffer->direction == DIRECTION_OUT ? target->room : target->length, most;
    int64_t least;
    type_range(parameter->type, &least, &most);
    if (length > most)
        return conversion_fail(&call->conversion, &place, "INVALID_INPUT",
                               "a buffer of %" PRIu64 " bytes does not fit its length parameter (%s)", length,
                               parameter->type->name);
    type_store(parameter->type, length,
               parameter->direction == DIRECTION_IN ? (void *)&argument->passed : argument->memory);
    return true;
}

static bool check_unknown_arguments(struct call *call, tn_value input) {
    const struct function *function = call->function;
    for (uint64_t i = 0; i < tn.value->count(input); i++) {
        tn_value key = NULL, value = NULL;
        bool there = false;
        (void)tn.value->entry(input, i, &key, &value);
        struct nearest nearest = {.name = tn_chars(key, NULL)};
        for (uint32_t j = 0; j < function->count; j++) {
            if (!parameter_is_input(function, &function->parameters[j])) continue;
            there |= strcmp(function->parameters[j].name, nearest.name) == 0;
            nearest_add_candidate(&nearest, function->parameters[j].name);
        }
        if (!there)
            return conversion_fail(&call->conversion, NULL, "INVALID_INPUT", "%s has no argument `%.60s`%s%s%s",
                                   function->id, nearest.name, nearest.best != NULL ? "; did you mean `" : "",
                                   nearest.best != NULL ? nearest.best : "", nearest.best != NULL ? "`?" : "");
    }
    return true;
}

static bool arguments_in(struct call *call, tn_value input) {
    const struct function *function = call->function;
    uint32_t known = 0;
    bool good = true;
    if (input != NULL && tn.value->kind(input) != TN_NULL && tn.value->kind(input) != TN_OBJECT)
        return conversion_fail(&call->conversion, NULL, "INVALID_INPUT", "found %s, expected an object of arguments",
                               tn_kind_name(input));
    for (uint32_t i = 0; good && i < function->count; i++) {
        const struct parameter *parameter = &function->parameters[i];
        if (parameter->length_of == NO_PARAMETER || parameter_is_input(function, parameter))
            good = argument_in(call, parameter, &call->arguments[i], input, &known);
    }
    for (uint32_t i = 0; good && i < function->count; i++)
        if (function->parameters[i].length_of != NO_PARAMETER)
            good = length_in(call, &function->parameters[i], &call->arguments[i]);
    return good && (known == tn.value->count(input) || check_unknown_arguments(call, input));
}

/* ---- Failure ---- */

static bool call_has_failed(const struct call *call) {
    const struct function *function = call->function;
    int64_t number = (int64_t)call->result.bits;
    switch (function->failure) {
    case FAILURE_NEVER: return false;
    case FAILURE_ERRNO: return call->error != 0;
    case FAILURE_NULL: return call->result.pointer == NULL;
    case FAILURE_NONZERO: return number != 0;
    case FAILURE_ZERO: return number == 0;
    case FAILURE_NEGATIVE: return number < 0;
    case FAILURE_UNLESS: break;
    }
    for (uint32_t i = 0; i < function->unless_count; i++)
        if (function->unless[i] == number) return false;
    return true;
}

/* Returns the library's text about the failure, or NULL. */
static const char *failure_text(const struct call *call) {
    const struct function *function = call->function;
    const struct parameter *of =
        function->text_argument == RESULT ? &function->result : &function->parameters[function->text_argument];
    const char *(*text)(void) = NULL;
    if (function->text == NULL) return NULL;
    uint64_t bits = call->result.bits;
    if (function->text_argument != RESULT) {
        const struct argument *argument = &call->arguments[function->text_argument];
        bits = argument->passed.bits;
        if (of->direction != DIRECTION_IN) memcpy(&bits, argument->memory, of->type->size);
    }
    memcpy(&text, &function->text, sizeof text);
    if (of->type->kind == TYPE_HANDLE) {
        void *pointer;
        const char *(*of_handle)(void *);
        memcpy(&pointer, &bits, sizeof pointer);
        memcpy(&of_handle, &text, sizeof of_handle);
        return pointer != NULL ? of_handle(pointer) : NULL;
    }
    if (of->type->size > sizeof(int)) {
        const char *(*of_long)(int64_t);
        memcpy(&of_long, &text, sizeof of_long);
        return of_long((int64_t)bits);
    }
    const char *(*of_int)(int);
    memcpy(&of_int, &text, sizeof of_int);
    return of_int((int)type_load(of->type, &bits));
}

static void describe_failure(struct call *call) {
    const struct function *function = call->function;
    const char *text = failure_text(call), *name = call->error != 0 ? strerrorname_np(call->error) : NULL;
    enum type_kind kind = function->result.type->kind;
    bool integer = kind == TYPE_INTEGER || kind == TYPE_ENUM || kind == TYPE_BOOL;
    char returned[48] = "", system[160] = "", buffer[96];
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn.value->key(builder, "detail", TN_Z);
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "function", function->symbol);
    if (integer && function->failure != FAILURE_ERRNO) {
        (void)snprintf(returned, sizeof returned, " and returned %" PRId64, (int64_t)call->result.bits);
        tn_put_int(builder, "returned", (int64_t)call->result.bits);
    } else if (function->failure == FAILURE_NULL) {
        (void)snprintf(returned, sizeof returned, " and returned NULL");
    }
    if (function->reports_errno && call->error != 0) {
        (void)snprintf(system, sizeof system, "%s%s (%s)", text != NULL ? "; " : ": ",
                       strerror_r(call->error, buffer, sizeof buffer), name != NULL ? name : "?");
        tn_put_int(builder, "errno", call->error);
        if (name != NULL) tn_put_text(builder, "errno_name", name);
    }
    tn.value->end(builder);
    tn.value->end(builder);
    call->detail = tn_finish(builder);
    (void)conversion_fail(&call->conversion, NULL, "FUNCTION_FAILED", "%s failed%s%s%.800s%s", function->symbol,
                          returned, text != NULL ? ": " : "", text != NULL ? text : "", system);
}

/* ---- Out ---- */

/* Stores the number of bytes that the function wrote. False if the number is impossible. */
static bool written_length(struct call *call, const struct parameter *parameter, uint64_t room, uint64_t otherwise,
                           uint64_t *out) {
    const struct function *function = call->function;
    struct value_path place = {NULL, parameter->name, 0};
    uint64_t length = otherwise;
    const struct type *type = NULL;
    if (parameter->length == RESULT) {
        type = function->result.type;
        length = call->result.bits;
    } else if (parameter->length != NO_PARAMETER && function->parameters[parameter->length].direction != DIRECTION_IN) {
        type = function->parameters[parameter->length].type;
        length = type_load(type, call->arguments[parameter->length].memory);
    }
    if (type != NULL && type->is_signed && (int64_t)length < 0)
        return conversion_fail(&call->conversion, &place, "INVALID_OUTPUT",
                               "the function reported a length of %" PRId64 " bytes", (int64_t)length);
    if (length > room)
        return conversion_fail(&call->conversion, &place, "INVALID_OUTPUT",
                               "the function reported a length of %" PRIu64 " bytes, but the buffer has %" PRIu64,
                               length, room);
    *out = length;
    return true;
}

static tn_value bytes_out(struct call *call, const struct parameter *parameter, const void *bytes, uint64_t length) {
    struct value_path place = {NULL, parameter->name, 0};
    return parameter->as_text ? convert_text(&call->conversion, &place, bytes, length) : tn_bytes(bytes, length);
}

static tn_value argument_out(struct call *call, const struct parameter *parameter, const struct argument *argument) {
    struct value_path place = {NULL, parameter->name, 0};
    uint64_t length = 0;
    if (parameter->type->kind == TYPE_BUFFER) {
        uint64_t otherwise = parameter->direction == DIRECTION_INOUT ? argument->length : argument->room;
        if (parameter->size != 0) otherwise = parameter->size;
        return written_length(call, parameter, argument->room, otherwise, &length)
                   ? bytes_out(call, parameter, argument->memory, length)
                   : NULL;
    }
    if (parameter->type->kind == TYPE_STRING && parameter->capacity != 0)
        return convert_text(&call->conversion, &place, argument->memory, strnlen(argument->memory, argument->room));
    return convert_out(&call->conversion, &place, parameter->type, argument->memory);
}

static tn_value result_out(struct call *call) {
    const struct parameter *result = &call->function->result;
    struct value_path place = {NULL, result->name, 0};
    uint64_t length = 0;
    if (result->type->kind == TYPE_BUFFER || result->type->kind == TYPE_STRUCT) {
        const void *memory = call->result.pointer;
        if (memory == NULL) return tn_null();
        if (result->type->kind == TYPE_STRUCT) return convert_out(&call->conversion, &place, result->type, memory);
        return written_length(call, result, BUFFER_MAX, result->size, &length) ? bytes_out(call, result, memory, length)
                                                                               : NULL;
    }
    if (result->type->kind != TYPE_INTEGER && result->type->kind != TYPE_ENUM && result->type->kind != TYPE_BOOL)
        return convert_out(&call->conversion, &place, result->type, &call->result);
    uint64_t scratch = 0;
    type_store(result->type, call->result.bits, &scratch);
    return convert_out(&call->conversion, &place, result->type, &scratch);
}

static tn_value results_out(struct call *call) {
    const struct function *function = call->function;
    tn_builder *builder = tn_builder_new();
    bool good = true;
    tn.value->begin(builder, TN_OBJECT);
    for (uint32_t i = 0; good && i <= function->count; i++) { /* the result, then the parameters */
        const struct parameter *parameter = i == 0 ? &function->result : &function->parameters[i - 1];
        if (i == 0 ? !result_is_output(function) : !parameter_is_output(function, parameter)) continue;
        tn_value value = i == 0 ? result_out(call) : argument_out(call, parameter, &call->arguments[i - 1]);
        good = value != NULL;
        if (good) tn_put_take(builder, parameter->name, value);
    }
    if (good) tn.value->end(builder);
    tn_value output = tn_finish(builder);
    if (output == NULL) (void)conversion_fail(&call->conversion, NULL, "NO_MEMORY", "out of memory");
    return output;
}

/* Frees the returned texts that we own. After a failed call, also frees handles that were not returned to the caller.
 */
static void free_results(const struct call *call, bool failed) {
    const struct function *function = call->function;
    for (uint32_t i = 0; i <= function->count; i++) {
        const struct parameter *parameter = i == 0 ? &function->result : &function->parameters[i - 1];
        const struct type *type = parameter->type;
        void *pointer = NULL;
        if (i == 0 && (type->kind == TYPE_STRING || type->kind == TYPE_HANDLE)) pointer = call->result.pointer;
        if (i > 0 && parameter->direction == DIRECTION_OUT && parameter->capacity == 0 &&
            (type->kind == TYPE_STRING || type->kind == TYPE_HANDLE))
            memcpy(&pointer, call->arguments[i - 1].memory, sizeof pointer);
        if (pointer == NULL) continue;
        if (parameter->free != NULL) parameter->free(pointer);
        if (failed && type->kind == TYPE_HANDLE && type->free != NULL && !handle_is_registered(type, pointer))
            type->free(pointer);
    }
}

/* libffi widens a small integer result to a register. This converts it to 64 bits, sign-extended if its type is signed.
 */
static void widen_result(struct call *call) {
    const struct type *type = call->function->result.type;
    if (type->kind != TYPE_INTEGER && type->kind != TYPE_ENUM && type->kind != TYPE_BOOL) return;
    uint64_t bits = type->size < sizeof call->result.integer ? (uint64_t)call->result.integer : call->result.bits;
    type_store(type, bits, &call->result);
    call->result.bits = type_load(type, &call->result);
}

static tn_value call_invoke(struct call *call) {
    const struct function *function = call->function;
    void **values = call_alloc(call, (function->count + 1) * sizeof *values);
    if (values == NULL) return NULL;
    for (uint32_t i = 0; i < function->count; i++) values[i] = &call->arguments[i].passed;
    errno = 0;
    ffi_call((ffi_cif *)(uintptr_t)&function->cif, function->address, &call->result, values); /* libffi only reads it */
    call->error = errno;
    widen_result(call);
    bool failed = call_has_failed(call);
    conversion_release_handles(&call->conversion, !failed);
    if (failed) describe_failure(call);
    tn_value output = failed ? NULL : results_out(call);
    free_results(call, output == NULL);
    return output;
}

tn_value function_call_run(struct call *call, tn_value input) {
    struct library *library = call->function->library;
    call->arguments = call_alloc(call, (call->function->count + 1) * sizeof *call->arguments);
    if (call->arguments == NULL) return NULL;
    if (!library->thread_safe) pthread_mutex_lock(&library->lock);
    tn_value output = arguments_in(call, input) ? call_invoke(call) : NULL;
    conversion_release_handles(&call->conversion, false);
    if (!library->thread_safe) pthread_mutex_unlock(&library->lock);
    return output;
}
