/*
 * describe.h - a shared library and its functions, as a description says they are: the model that all else works on.
 *
 * Made once, when the plugin is initialised, and not changed any more: it may be read from any thread. What cannot be
 * found wrong (a type that is not the function's real one) is taken for true; all that can be is a fault, and a library
 * with faults is not used.
 *
 *     struct library *library = library_read(text, length, "/etc/tenon/zlib.yaml", "/etc/tenon", &faults);
 *     if (library != NULL && library_open(library, &faults)) ...
 *     library_free(library);
 */
#ifndef TENON_PLUGINS_FFI_DESCRIBE_H
#define TENON_PLUGINS_FFI_DESCRIBE_H

#include "arena.h"
#include <ffi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <tenon/easy.h>

/* Bounds of a description. */
#define LIBRARIES_MAX  100u
#define FUNCTIONS_MAX  2000u /* of a library */
#define TYPES_MAX      1000u
#define PARAMETERS_MAX 32u
#define FIELDS_MAX     256u
#define VALUES_MAX     4096u       /* of an enumeration; constants of a library */
#define STRUCT_MAX     (1u << 20)  /* bytes of a struct */
#define BUFFER_MAX     (64u << 20) /* bytes of a buffer; of a text that a function gives */
#define FAULTS_MAX     20u         /* told; further ones are counted */

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
    uint32_t size, alignment; /* in memory; of strings, buffers and handles: a pointer's */
    ffi_type *ffi;            /* how it is passed; of structs: a pointer */
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
    uint32_t count; /* of an array; 0: none */
    uint32_t chars; /* of a char array that holds a text; 0: none */
};

enum direction { DIRECTION_IN, DIRECTION_OUT, DIRECTION_INOUT };

#define NOBODY (-1) /* no parameter */
#define RESULT (-2) /* the function's result */

struct parameter {
    const char *name, *description;
    const struct type *type;
    enum direction direction;
    bool nullable;
    bool fixed;            /* `value` is passed, and nobody is asked */
    tn_value value;        /* fixed, or the default where not NULL; owned */
    int32_t length_of;     /* the buffer (or RESULT) whose length this is; NOBODY */
    int32_t length;        /* of a buffer or text in a buffer: who has its length (or RESULT); NOBODY */
    uint64_t size;         /* of a buffer: exactly as many bytes; 0: not said */
    uint64_t capacity;     /* of one that is written: room */
    uint64_t capacity_max; /* the caller may ask for as much; 0: may not */
    bool as_text;          /* a buffer's bytes are shown as text */
    bool frees;            /* the handle is gone after the call */
    const char *free_name; /* frees a text that the function gave */
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
    struct parameter result; /* its type is void where there is none */
    struct parameter *parameters;
    uint32_t count;
    enum failure failure;
    bool tells_errno;
    int64_t *unless; /* results that are no failures */
    uint32_t unless_count;
    const char *text_name; /* a function that gives a failure's text … */
    int32_t text_of;       /* … of this parameter, or RESULT */
    void (*text)(void);
    tn_value effects; /* owned; NULL: not said */
    bool idempotent;
    void (*address)(void);
    ffi_cif cif;
    ffi_type **types;
};

struct library {
    struct library *next;
    struct arena arena;
    const char *where; /* the file, or the place in the configuration */
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

/* What is wrong, told to the log one by one. */
struct faults {
    uint32_t count;
};
__attribute__((format(printf, 2, 3))) void faults_add(struct faults *faults, const char *format, ...);
void faults_end(const struct faults *faults); /* how many more there were */

/*
 * `where` is the file's name, or a place in the configuration; a library's relative path is taken from `folder` (NULL:
 * left as it is). NULL where faults were found.
 */
struct library *library_read(const char *text, size_t length, const char *where, const char *folder,
                             struct faults *faults);
/* Opens it, and finds every function. False where faults were found. */
bool library_open(struct library *library, struct faults *faults);
void library_free(struct library *library); /* NULL is allowed */

/* schema.c: the component that a function is; one reference, NULL without memory. */
tn_value function_component(const struct function *function);
/* Whether the parameter is one of the tool's arguments; whether it is part of its result. */
bool parameter_is_asked(const struct function *function, const struct parameter *parameter);
bool parameter_is_given(const struct function *function, const struct parameter *parameter);
bool result_is_given(const struct function *function);

/* symbol.c */
void *symbol_find(void *handle, const char *name);
/* False where the symbol is known to be data. */
bool symbol_is_function(void *address);
/* The exported function of the library itself whose name is nearest, or NULL. */
const char *symbol_nearest(void *handle, const char *name);
/* The nearest of names offered one by one: start with best NULL. */
struct nearest {
    const char *name, *best;
    uint32_t distance;
};
void nearest_offer(struct nearest *nearest, const char *candidate);

/* types.c */
const struct type *type_builtin(const char *name);
void type_offer_builtins(struct nearest *nearest);

#endif
