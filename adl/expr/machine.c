/*
 * machine.c - runs compiled expressions.
 *
 * Errors are cells: an operation with an error as operand returns the error, && and || may discard it, and an error
 * that is left at the end is the result. If both operands are errors, the later one is returned. Exceeding a limit is
 * different: it sets `left` below zero, and the evaluation ends before the next instruction. Only the arena allocates;
 * its first kilobytes are on the C stack.
 */
#include "adl/expr/machine.h"
#include "adl/expr/kinds.h"
#include "adl/value/memory.h"
#include <string.h>

#define STACK_FIRST 48u /* cells on the C stack; an expression that needs more takes them from the arena */

struct cell fault_cell(const struct machine *machine, enum fault fault, const struct cell *culprit) {
    struct cell error = {
        .kind = CELL_ERROR, .reason = (uint8_t)fault, .length = (uint32_t)(machine->at - machine->expr->code)};
    if (culprit) {
        error.culprit = culprit->kind;
        error.built = culprit->built;
        error.as = culprit->as;
    }
    return error;
}

struct cell machine_stop(struct machine *machine, enum fault limit) {
    if (machine->stopped == FAULT_NONE) {
        machine->stopped = limit;
        machine->stopped_at = machine->at;
    }
    machine->left = -1;
    return fault_cell(machine, limit, NULL);
}

struct cell stopped(const struct machine *machine) {
    return fault_cell(machine, machine->stopped, NULL);
}

static bool charge(struct machine *machine, size_t operations) {
    if (operations <= (size_t)(machine->left < 0 ? 0 : machine->left)) {
        machine->left -= (int64_t)operations;
        return true;
    }
    machine_stop(machine, FAULT_OPERATIONS);
    return false;
}

bool charge_items(struct machine *machine, size_t items) { return charge(machine, items / ITEMS_AN_OPERATION); }

bool charge_bytes(struct machine *machine, size_t bytes) { return charge(machine, bytes / BYTES_AN_OPERATION); }

/* ---- Building ---- */

struct cell build_text(struct machine *machine, int kind, const char *chars, size_t length) {
    if (length > machine->expr->limits.string_length) return machine_stop(machine, FAULT_STRING_LENGTH);
    char *copy = arena_take(&machine->arena, length + 1);
    if (!copy) return machine_stop(machine, FAULT_MEMORY);
    if (length) memcpy(copy, chars, length);
    copy[length] = 0;
    return (struct cell){.kind = (uint8_t)kind, .built = true, .length = (uint32_t)length, .as.chars = copy};
}

struct cell build_joined(struct machine *machine, const struct cell *left, const struct cell *right) {
    size_t left_length, right_length;
    const char *left_chars = cell_chars(left, &left_length), *right_chars = cell_chars(right, &right_length);
    size_t length = left_length + right_length;
    if (right_length == 0) return *left;
    if (left_length == 0) return *right;
    if (length > machine->expr->limits.string_length) return machine_stop(machine, FAULT_STRING_LENGTH);
    if (!charge_bytes(machine, length)) return stopped(machine);
    /* a + b + c: the newest text in the arena grows in place; other cells never read past their own length. */
    bool grown = left->built && arena_extend(&machine->arena, left_chars + left_length + 1, right_length);
    char *chars = grown ? (char *)(uintptr_t)left_chars : arena_take(&machine->arena, length + 1);
    if (!chars) return machine_stop(machine, FAULT_MEMORY);
    if (!grown) memcpy(chars, left_chars, left_length);
    memmove(chars + left_length, right_chars, right_length);
    chars[length] = 0;
    return (struct cell){.kind = left->kind, .built = true, .length = (uint32_t)length, .as.chars = chars};
}

struct cell build_list(struct machine *machine, size_t capacity) {
    if (capacity > machine->expr->limits.list_length) return machine_stop(machine, FAULT_LIST_LENGTH);
    struct cell_list *list = cell_list_new(&machine->arena, (uint32_t)capacity);
    if (!list) return machine_stop(machine, FAULT_MEMORY);
    return (struct cell){.kind = TN_ARRAY, .built = true, .as.list = list};
}

void build_list_add(struct machine *machine, struct cell *list, const struct cell *item) {
    if (item->kind == CELL_ERROR) *list = *item;
    if (list->kind == CELL_ERROR) return;
    if (list->as.list->count >= machine->expr->limits.list_length)
        *list = machine_stop(machine, FAULT_LIST_LENGTH);
    else if (cell_depth(item) >= CELL_DEPTH)
        *list = machine_stop(machine, FAULT_NESTING);
    else if (!cell_list_add(&machine->arena, list->as.list, item))
        *list = machine_stop(machine, FAULT_MEMORY);
}

struct cell build_lists(struct machine *machine, const struct cell *left, const struct cell *right) {
    size_t left_count = cell_count(left), right_count = cell_count(right), count = left_count + right_count;
    if (right_count == 0) return *left;
    if (left_count == 0) return *right;
    if (count > machine->expr->limits.list_length) return machine_stop(machine, FAULT_LIST_LENGTH);
    if (!charge_items(machine, count)) return stopped(machine);
    struct cell list = build_list(machine, count), item;
    for (size_t i = 0; i < left_count; i++) {
        item = cell_item(left, i);
        build_list_add(machine, &list, &item);
    }
    for (size_t i = 0; i < right_count; i++) {
        item = cell_item(right, i);
        build_list_add(machine, &list, &item);
    }
    return list;
}

struct cell search_pattern(struct machine *machine, const struct regex *regex, const struct cell *text) {
    size_t length;
    const char *chars = cell_chars(text, &length);
    if (!charge_bytes(machine, length)) return stopped(machine);
    int found = regex_search(regex, chars, length, &machine->scratch);
    return found < 0 ? machine_stop(machine, FAULT_MATCHING) : cell_bool(found == 1);
}

struct cell build_map(struct machine *machine, size_t capacity) {
    if (capacity > machine->expr->limits.list_length) return machine_stop(machine, FAULT_LIST_LENGTH);
    struct cell_map *map = cell_map_new(&machine->arena, (uint32_t)capacity);
    if (!map) return machine_stop(machine, FAULT_MEMORY);
    return (struct cell){.kind = TN_OBJECT, .built = true, .as.map = map};
}

void build_map_add(struct machine *machine, struct cell *map, const struct cell *key, const struct cell *value) {
    bool duplicate;
    if (key->kind == CELL_ERROR) *map = *key;
    if (value->kind == CELL_ERROR) *map = *value;
    if (map->kind == CELL_ERROR) return;
    if (key->kind == TN_DOUBLE || !cell_is_key(key))
        *map = fault_cell(machine, FAULT_NOT_KEY, key);
    else if (cell_depth(value) >= CELL_DEPTH)
        *map = machine_stop(machine, FAULT_NESTING);
    else if (map->as.map->count >= machine->expr->limits.list_length)
        *map = machine_stop(machine, FAULT_LIST_LENGTH);
    else if (!cell_map_add(&machine->arena, map->as.map, key, value, &duplicate))
        *map = machine_stop(machine, FAULT_MEMORY);
    else if (duplicate)
        *map = fault_cell(machine, FAULT_SAME_KEY, key);
}

struct held {
    struct held *next;
    tn_value value;
};

struct cell build_held_take(struct machine *machine, tn_value value, size_t bytes) {
    struct held *held = arena_take(&machine->arena, sizeof *held);
    bool fits = held && bytes <= machine->arena.limit - machine->arena.taken;
    if (!fits) {
        value_unref(value);
        return machine_stop(machine, FAULT_MEMORY);
    }
    machine->arena.taken += bytes;
    *held = (struct held){machine->held, value};
    machine->held = held;
    return cell_of(value);
}

/* ---- Names and fields ---- */

static struct cell found_or(struct machine *machine, tn_value value, enum fault missing) {
    return value ? cell_of(value) : fault_cell(machine, missing, NULL);
}

static tn_value host_field(const struct expr_env *env, const struct instruction *instruction) {
    if (!env->field || instruction->b == EXPR_WHOLE) return NULL;
    return env->field(env->self, instruction->a, instruction->b);
}

static struct cell host_variable(struct machine *machine, uint32_t variable) {
    const struct expr_env *env = machine->env;
    return found_or(machine, env->variable ? env->variable(env->self, variable) : NULL, FAULT_NO_VARIABLE);
}

static struct cell host_name(struct machine *machine, const struct cell *constant) {
    const struct expr_env *env = machine->env;
    size_t length;
    const char *chars = cell_chars(constant, &length);
    return found_or(machine, env->name ? env->name(env->self, chars, length) : NULL, FAULT_NO_NAME);
}

static struct cell selected(struct machine *machine, const struct cell *map, const struct cell *key) {
    if (map->kind == CELL_ERROR) return *map;
    if (map->kind != TN_OBJECT) return fault_cell(machine, FAULT_NOT_MAP, map);
    struct cell found = cell_lookup(map, key);
    /*
     * The culprit is the map: the message takes the key from the instruction and searches the map for the nearest key.
     */
    return found.kind == TN_NONE ? fault_cell(machine, FAULT_NO_KEY, map) : found;
}

static struct cell selectable(struct machine *machine, const struct cell *map, const struct cell *key) {
    if (map->kind == CELL_ERROR) return *map;
    if (map->kind != TN_OBJECT) return fault_cell(machine, FAULT_NOT_MAP, map);
    return cell_bool(cell_lookup(map, key).kind != TN_NONE);
}

/* ---- Logic ---- */

/* Returns an operand of && or || if it is a bool or an error, else the error that it is neither. */
static struct cell logical(struct machine *machine, const struct cell *operand) {
    if (operand->kind == TN_BOOL || operand->kind == CELL_ERROR) return *operand;
    return fault_cell(machine, FAULT_NOT_BOOL, operand);
}

/*
 * x && y for settling false, x || y for settling true: an operand with that value makes the other one, even an error,
 * irrelevant.
 */
static struct cell combined(struct machine *machine, const struct cell *left, const struct cell *right, bool settling) {
    if ((left->kind == TN_BOOL && left->as.truth == settling) ||
        (right->kind == TN_BOOL && right->as.truth == settling))
        return cell_bool(settling);
    struct cell second = logical(machine, right);
    return second.kind == CELL_ERROR ? second : logical(machine, left);
}

/* The variables of a loop with two of them, for the current turn. `loop` is its cells: it n result item. */
static struct cell loop_key(const struct cell *loop) {
    return loop->kind == TN_ARRAY ? cell_int(loop[1].as.integer - 1) : loop[3];
}

static struct cell loop_value(const struct cell *loop) {
    return loop->kind == TN_ARRAY ? loop[3] : cell_entry_value(loop, (size_t)loop[1].as.integer - 1);
}

/* Adds the entries of a map to another one. */
static void add_entries(struct machine *machine, struct cell *result, const struct cell *value) {
    if (value->kind == CELL_ERROR)
        *result = *value;
    else if (value->kind != TN_OBJECT)
        *result = fault_cell(machine, FAULT_NOT_ENTRY, value);
    else if (!charge_items(machine, cell_count(value)))
        *result = stopped(machine);
    for (size_t i = 0; result->kind != CELL_ERROR && i < cell_count(value); i++) {
        struct cell key = cell_key(value, i), item = cell_entry_value(value, i);
        build_map_add(machine, result, &key, &item);
    }
}

/* Adds the value of a turn to the loop's result. Returns true if the result is final. */
static bool macro_loop_turn(struct machine *machine, enum loop_macro macro, struct cell *loop,
                            const struct cell *value) {
    struct cell *result = &loop[2];
    if (macro == LOOP_TRANSFORM_MAP) {
        struct cell key = loop_key(loop);
        build_map_add(machine, result, &key, value);
        return result->kind == CELL_ERROR;
    }
    if (macro == LOOP_TRANSFORM_ENTRY) {
        add_entries(machine, result, value);
        return result->kind == CELL_ERROR;
    }
    if (macro == LOOP_MAP || macro == LOOP_FILTER) {
        build_list_add(machine, result, value);
        return result->kind == CELL_ERROR;
    }
    struct cell truth =
        value->kind == TN_BOOL || value->kind == CELL_ERROR ? *value : fault_cell(machine, FAULT_CONDITION, value);
    if (macro == LOOP_EXISTS_ONE) {
        if (truth.kind == CELL_ERROR)
            *result = truth;
        else
            result->as.integer += truth.as.truth;
        return truth.kind == CELL_ERROR;
    }
    bool settling = macro == LOOP_EXISTS;
    if (truth.kind == CELL_ERROR || truth.as.truth == settling) *result = truth;
    return truth.kind == TN_BOOL && truth.as.truth == settling;
}

static struct cell loop_start(struct machine *machine, enum loop_macro macro) {
    switch (macro) {
    case LOOP_ALL: return cell_bool(true);
    case LOOP_EXISTS: return cell_bool(false);
    case LOOP_EXISTS_ONE: return cell_int(0);
    case LOOP_TRANSFORM_MAP:
    case LOOP_TRANSFORM_ENTRY: return build_map(machine, 0);
    default: return build_list(machine, 0);
    }
}

/* ---- Calls ---- */

static struct cell machine_call(struct machine *machine, const struct instruction *instruction,
                                const struct cell *arguments) {
    for (uint32_t i = instruction->a; i-- > 0;)
        if (arguments[i].kind == CELL_ERROR) return arguments[i];
    const struct expr_function *row = expr_function_at(instruction->b);
    if (instruction->a > 0 && !(row->on & EXPR_KIND(arguments[0].kind)))
        return fault_cell(machine, FAULT_ARGUMENT, &arguments[0]);
    if (instruction->a > 1 && !(row->with & EXPR_KIND(arguments[1].kind)))
        return fault_cell(machine, FAULT_ARGUMENT, &arguments[1]);
    return function_handler(instruction->b)(machine, arguments, instruction->a);
}

/* ---- The loop ---- */

static struct cell machine_run(struct machine *machine, struct cell *stack) {
    const struct instruction *const code = machine->expr->code;
    const struct cell *const constants = machine->expr->constants;
    struct cell *top = stack; /* first free cell */
    for (const struct instruction *at = code;; at++) {
        machine->at = at;
        if (--machine->left < 0) return machine_stop(machine, FAULT_OPERATIONS);
        switch ((enum expr_operation)at->operation) {
        case OP_CONSTANT: *top++ = constants[at->b]; break;
        case OP_VARIABLE: *top++ = host_variable(machine, at->b); break;
        case OP_FIELD: *top++ = found_or(machine, host_field(machine->env, at), FAULT_NO_FIELD); break;
        case OP_HAS_FIELD: *top++ = cell_bool(host_field(machine->env, at) != NULL); break;
        case OP_NAME: *top++ = host_name(machine, &constants[at->b]); break;
        case OP_SLOT: *top++ = stack[at->b]; break;
        case OP_LOOP_KEY: *top++ = loop_key(&stack[at->b - 3]); break;
        case OP_LOOP_VALUE: *top++ = loop_value(&stack[at->b - 3]); break;
        case OP_SELECT: top[-1] = selected(machine, &top[-1], &constants[at->b]); break;
        case OP_HAS: top[-1] = selectable(machine, &top[-1], &constants[at->b]); break;
        case OP_INDEX:
        case OP_IN:
        case OP_EQ:
        case OP_NE:
        case OP_LT:
        case OP_LE:
        case OP_GT:
        case OP_GE:
        case OP_ADD:
        case OP_SUB:
        case OP_MUL:
        case OP_DIV:
        case OP_MOD:
            top--;
            if (top->kind == CELL_ERROR)
                top[-1] = *top;
            else if (top[-1].kind == CELL_ERROR)
                break;
            else if (at->operation == OP_INDEX)
                top[-1] = indexed(machine, &top[-1], top);
            else if (at->operation == OP_IN)
                top[-1] = contained(machine, &top[-1], top);
            else
                top[-1] = operate(machine, (enum expr_operation)at->operation, &top[-1], top);
            break;
        case OP_NEG:
            if (top[-1].kind != CELL_ERROR) top[-1] = negate(machine, &top[-1]);
            break;
        case OP_NOT:
            if (top[-1].kind == TN_BOOL)
                top[-1] = cell_bool(!top[-1].as.truth);
            else
                top[-1] = logical(machine, &top[-1]);
            break;
        case OP_SKIP_FALSE:
            if (cell_is_false(&top[-1])) at = code + at->b - 1;
            break;
        case OP_SKIP_TRUE:
            if (cell_is_true(&top[-1])) at = code + at->b - 1;
            break;
        case OP_AND:
        case OP_OR:
            top--;
            top[-1] = combined(machine, &top[-1], top, at->operation == OP_OR);
            break;
        case OP_BRANCH:
            if (cell_is_true(&top[-1]))
                at++;
            else if (cell_is_false(&top[-1]))
                at = code + at->b - 1;
            else if (top[-1].kind != CELL_ERROR)
                top[-1] = fault_cell(machine, FAULT_CONDITION, &top[-1]);
            if (top[-1].kind == TN_BOOL) top--;
            break;
        case OP_JUMP: at = code + at->b - 1; break;
        case OP_LIST: *top++ = build_list(machine, at->b); break;
        case OP_LIST_ADD:
            top--;
            build_list_add(machine, &top[-1], top);
            break;
        case OP_MAP: *top++ = build_map(machine, at->b); break;
        case OP_MAP_ADD:
            top -= 2;
            build_map_add(machine, &top[-1], top, top + 1);
            break;
        case OP_LOOP:
            if (top[-1].kind != TN_ARRAY && top[-1].kind != TN_OBJECT) {
                if (top[-1].kind != CELL_ERROR) top[-1] = fault_cell(machine, FAULT_NOT_LOOPED, &top[-1]);
                at = code + at->b - 1;
                break;
            }
            top[0] = cell_int(0);
            top[1] = loop_start(machine, (enum loop_macro)at->a);
            top[2] = cell_bool(false);
            top += 3;
            break;
        case OP_NEXT: {
            size_t next = (size_t)top[-3].as.integer;
            if (next >= cell_count(&top[-4])) {
                at = code + at->b - 1;
                break;
            }
            top[-1] = top[-4].kind == TN_ARRAY ? cell_item(&top[-4], next) : cell_key(&top[-4], next);
            top[-3].as.integer++;
            break;
        }
        case OP_KEEP:
            top--;
            if (cell_is_true(top))
                at++;
            else if (cell_is_false(top))
                at = code + at->b - 1;
            else
                top[-2] = top->kind == CELL_ERROR ? *top : fault_cell(machine, FAULT_CONDITION, top);
            break;
        case OP_TURN:
            top--;
            if (!macro_loop_turn(machine, (enum loop_macro)at->a, &top[-4], top)) at = code + at->b - 1;
            break;
        case OP_DONE:
            top -= 3;
            top[-1] = top[1];
            if (at->a == LOOP_EXISTS_ONE && top[-1].kind == TN_INT) top[-1] = cell_bool(top[-1].as.integer == 1);
            break;
        case OP_SORT:
            top--;
            if (top->kind == CELL_ERROR)
                top[-1] = *top;
            else if (top[-1].kind != CELL_ERROR)
                top[-1] = sorted_by(machine, &top[-1], top);
            break;
        case OP_CALL:
            top -= at->a;
            *top = machine_call(machine, at, top);
            top++;
            break;
        case OP_MATCH:
            if (top[-1].kind == TN_STRING)
                top[-1] = search_pattern(machine, machine->expr->patterns[at->b], &top[-1]);
            else if (top[-1].kind != CELL_ERROR)
                top[-1] = fault_cell(machine, FAULT_OPERAND, &top[-1]);
            break;
        case OP_UNKNOWN:
            top -= at->a;
            *top++ = fault_cell(machine, FAULT_NO_FUNCTION, NULL);
            break;
        case OP_RETURN: return top[-1];
        }
    }
}

/* Runs the expression and stores its result, which may point into the arena. The caller frees the arena. */
static int32_t machine_evaluate(struct machine *machine, const struct expr *expr, const struct expr_env *env,
                                struct cell *result) {
    static const struct expr_env nothing = {0};
    struct cell first[STACK_FIRST], *stack = first;
    machine->expr = expr;
    machine->env = env ? env : &nothing;
    machine->left = expr->limits.operations;
    machine->at = machine->stopped_at = expr->code;
    machine->stopped = FAULT_NONE;
    machine->scratch = NULL;
    machine->held = NULL;
    arena_init(&machine->arena, expr->limits.memory);
    if (expr->stack > STACK_FIRST) stack = arena_take(&machine->arena, expr->stack * sizeof *stack);
    *result = stack ? machine_run(machine, stack) : machine_stop(machine, FAULT_MEMORY);
    regex_scratch_free(machine->scratch);
    /* The result is copied; shared parts are copied for each of their occurrences. */
    if (result->kind != CELL_ERROR && cell_weight(result) > expr->limits.memory / sizeof(struct cell))
        machine_stop(machine, FAULT_MEMORY);
    if (machine->stopped != FAULT_NONE) {
        machine->at = machine->stopped_at;
        *result = fault_cell(machine, machine->stopped, NULL);
    }
    return result->kind == CELL_ERROR ? TN_FAILED : TN_OK;
}

static void machine_finish(struct machine *machine) {
    struct expr_cost *cost = machine->env->cost;
    if (cost) {
        int64_t left = machine->left < 0 ? 0 : machine->left;
        cost->operations = machine->expr->limits.operations - (uint64_t)left;
        cost->allocations = machine->arena.block_count;
        cost->memory = machine->arena.taken;
    }
    for (const struct held *held = machine->held; held; held = held->next) value_unref(held->value);
    arena_finish(&machine->arena);
}

/* Reports a result of the wrong kind. */
static int32_t result_wrong(const struct expr *expr, struct error *error, const char *before, const char *found,
                            const char *after) {
    int32_t status = error_set(error, TN_FAILED, "EXPRESSION_ERROR", "%s%s%s", before, found, after);
    if (error) error->span = (struct span){0, expr->text_length};
    return status;
}

int32_t expr_eval_missing(const struct expr *expr, const struct expr_env *env, tn_value *out, bool *missing,
                          struct error *error) {
    struct machine machine;
    struct cell result;
    int32_t status = machine_evaluate(&machine, expr, env, &result);
    *missing = false;
    if (status != TN_OK) {
        *missing = fault_class(result.reason) == FAULT_CLASS_MISSING;
        status = fault_report(&machine, &result, error);
    } else {
        const char *why = "";
        tn_value value = cell_to_value(&result, &why);
        if (value)
            *out = value;
        else
            status = result_wrong(expr, error, "the result is ", why, "");
    }
    machine_finish(&machine);
    return status;
}

int32_t expr_eval(const struct expr *expr, const struct expr_env *env, tn_value *out, struct error *error) {
    bool missing;
    return expr_eval_missing(expr, env, out, &missing, error);
}

int32_t expr_eval_bool(const struct expr *expr, const struct expr_env *env, bool *out, struct error *error) {
    struct machine machine;
    struct cell result;
    int32_t status = machine_evaluate(&machine, expr, env, &result);
    if (status != TN_OK) {
        status = fault_report(&machine, &result, error);
    } else if (result.kind == TN_BOOL) {
        *out = result.as.truth;
    } else {
        status =
            result_wrong(expr, error, "the condition returns ", expr_kind_name(result.kind), "; it must return bool");
    }
    machine_finish(&machine);
    return status;
}
