/*
 * describe.h - a shared library and its functions, as a description declares them.
 *
 * Built once, when the plugin is initialised, and immutable afterwards, so any thread may read it. Mistakes that cannot
 * be detected (a type that is not the function's real one) are trusted. Everything else is a fault, and a library with
 * faults is not used.
 *
 *     struct library *library = library_read(text, length, "/etc/tenon/zlib.yaml", "/etc/tenon", &faults);
 *     if (library != NULL && library_open(library, &faults)) ...
 *     library_free(library);
 */
#ifndef TENON_PLUGINS_FFI_DESCRIBE_H
#define TENON_PLUGINS_FFI_DESCRIBE_H

#include <ffi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <tenon/easy.h>
#include <tenon/util/arena.h>

/* Limits of a description. */
#define LIBRARIES_MAX  100u
#define FUNCTIONS_MAX  2000u /* of a library */
#define TYPES_MAX      1000u
#define PARAMETERS_MAX 32u
#define FIELDS_MAX     256u
#define VALUES_MAX     4096u       /* of an enumeration; constants of a library */
#define STRUCT_MAX     (1u << 20)  /* bytes of a struct */
#define BUFFER_MAX     (64u << 20) /* bytes of a buffer, or of a text that a function returns */
#define FAULTS_MAX     20u         /* faults that are logged; further ones are only counted */

enum type_kind {
    TYPE_VOID,
    TYPE_INTEGER,
    TYPE_FLOAT, /* float and double, by size */
    TYPE_BOOL,
    TYPE_STRING,  /* char *, NUL at its end */
    TYPE_BUFFER,  /* void *, its length elsewhere */
    TYPE_POINTER, /* null, or a constant address */
    TYPE_ENUM,    /* an integer, by name */
    TYPE_STRUCT,  /* by pointer */
    TYPE_HANDLE,  /* an opaque pointer, kept in a table */
};

struct named_value {
    const char *name;
    int64_t value;
};

struct field;
struct type {
    const char *name;
    enum type_kind kind;
    bool is_signed;
    uint32_t size, alignment; /* in memory; strings, buffers and handles have the size of a pointer */
    ffi_type *ffi;            /* how it is passed; a struct is passed as a pointer */
    /* Enumerations. */
    const struct type *base;
    struct named_value *values;
    uint32_t value_count;
    bool open; /* other integers are allowed */
    /* Structs. */
    struct field *fields;
    uint32_t field_count;
    /* Handles. */
    const char *free_name;
    void (*free)(void *pointer);
    struct type *next; /* of its library */
};

struct field {
    const char *name, *description;
    const struct type *type;
    uint32_t offset;
    uint32_t count; /* length of an array; 0: not an array */
    uint32_t chars; /* size of a char array that holds a text; 0: not a char array */
};

enum direction { DIRECTION_IN, DIRECTION_OUT, DIRECTION_INOUT };

#define NO_PARAMETER (-1) /* no parameter */
#define RESULT       (-2) /* the function's result */

struct parameter {
    const char *name, *description;
    const struct type *type;
    enum direction direction;
    bool nullable;
    bool fixed;            /* `value` is always passed; it is not an argument of the tool */
    tn_value value;        /* the fixed value or the default; NULL: neither; owned */
    int32_t length_of;     /* the buffer (or RESULT) whose length this is, or NO_PARAMETER */
    int32_t length;        /* of a buffer: the parameter (or RESULT) that holds its length, or NO_PARAMETER */
    uint64_t size;         /* exact size of a buffer in bytes; 0: not fixed */
    uint64_t capacity;     /* bytes that the function may write */
    uint64_t capacity_max; /* the caller may request a capacity up to this; 0: it may not */
    bool as_text;          /* a buffer's bytes are shown as text */
    bool frees;            /* the call frees the handle */
    const char *free_name; /* frees a text that the function returned */
    void (*free)(void *pointer);
};

enum failure {
    FAILURE_NEVER,
    FAILURE_NONZERO,
    FAILURE_ZERO,
    FAILURE_NEGATIVE,
    FAILURE_NULL,
    FAILURE_UNLESS,
    FAILURE_ERRNO
};

struct function {
    const char *id, *name, *symbol, *title, *documentation;
    struct library *library;
    struct parameter result; /* its type is void if there is no result */
    struct parameter *parameters;
    uint32_t count;
    enum failure failure;
    bool reports_errno;
    int64_t *unless; /* results that are not failures */
    uint32_t unless_count;
    const char *error_text_name; /* a function that returns the failure's text, */
    int32_t text_argument;       /* called with this parameter, or RESULT */
    void (*text)(void);
    tn_value effects; /* owned; NULL: not declared */
    bool idempotent;
    void (*address)(void);
    ffi_cif cif;
    ffi_type **types;
};

struct library {
    struct library *next;
    struct tn_arena arena;
    const char *where; /* the file, or the path in the configuration */
    const char *name, *file, *description;
    bool thread_safe;
    pthread_mutex_t lock; /* held in calls, unless thread_safe */
    void *handle;         /* dlopen's */
    struct type *types;
    struct named_value *constants;
    uint32_t constant_count;
    struct function *functions;
    uint32_t count;
};

/* Counts the faults of descriptions. Each is logged when it is found. */
struct faults {
    uint32_t count;
};
__attribute__((format(printf, 2, 3))) void faults_add(struct faults *faults, const char *format, ...);
void faults_log_rest(const struct faults *faults); /* logs the number of suppressed faults */

/*
 * `where` is the file's name, or a place in the configuration. A library's relative path is resolved against `folder`
 * (NULL: kept). Returns NULL if faults were found.
 */
struct library *library_read(const char *text, size_t length, const char *where, const char *folder,
                             struct faults *faults);
/* Opens the library and finds every function. False if faults were found. */
bool library_open(struct library *library, struct faults *faults);
void library_free(struct library *library); /* NULL is allowed */

/* schema.c: returns the component for a function (one reference), or NULL if memory is exhausted. */
tn_value function_component(const struct function *function);
/* True if the parameter is an argument of the tool / part of the tool's result. */
bool parameter_is_input(const struct function *function, const struct parameter *parameter);
bool parameter_is_output(const struct function *function, const struct parameter *parameter);
bool result_is_output(const struct function *function);

/* symbol.c */
void *symbol_lookup(void *handle, const char *name);
/* False if the symbol is known to be data. */
bool symbol_is_function(void *address);
/* Returns the function that the library exports with the nearest name, or NULL. */
const char *symbol_nearest(void *handle, const char *name);
/* Finds the nearest of several names: start with best NULL. */
struct nearest {
    const char *name, *best;
    uint32_t distance;
};
void nearest_add_candidate(struct nearest *nearest, const char *candidate);

/* types.c */
const struct type *type_builtin(const char *name);
void type_add_builtins(struct nearest *nearest);

#endif
