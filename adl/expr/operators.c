/*
 * operators.c - arithmetic, order, membership and indexing on cells.
 *
 * Integers never wrap: a result that does not fit is an error. An int combined with a double becomes a double. Division
 * truncates toward zero, and the remainder has the sign of the dividend.
 */
#include "adl/expr/machine.h"
#include "adl/expr/time.h"
#include <math.h>
#include <string.h>

static struct cell fault_overflow(const struct machine *machine) { return fault_cell(machine, FAULT_OVERFLOW, NULL); }

static struct cell of_ints(const struct machine *machine, enum expr_operation operation, int64_t a, int64_t b) {
    int64_t result;
    bool wrong;
    switch (operation) {
    case OP_ADD: wrong = __builtin_add_overflow(a, b, &result); break;
    case OP_SUB: wrong = __builtin_sub_overflow(a, b, &result); break;
    case OP_MUL: wrong = __builtin_mul_overflow(a, b, &result); break;
    default:
        if (b == 0) return fault_cell(machine, FAULT_ZERO, NULL);
        if (a == INT64_MIN && b == -1) return fault_overflow(machine);
        return cell_int(operation == OP_DIV ? a / b : a % b);
    }
    return wrong ? fault_overflow(machine) : cell_int(result);
}

static struct cell of_uints(const struct machine *machine, enum expr_operation operation, uint64_t a, uint64_t b) {
    uint64_t result;
    bool wrong;
    switch (operation) {
    case OP_ADD: wrong = __builtin_add_overflow(a, b, &result); break;
    case OP_SUB: wrong = __builtin_sub_overflow(a, b, &result); break;
    case OP_MUL: wrong = __builtin_mul_overflow(a, b, &result); break;
    default:
        if (b == 0) return fault_cell(machine, FAULT_ZERO, NULL);
        return cell_uint(operation == OP_DIV ? a / b : a % b);
    }
    return wrong ? fault_overflow(machine) : cell_uint(result);
}

static struct cell mismatch(const struct machine *machine, const struct cell *left, const struct cell *right) {
    struct cell error = fault_cell(machine, FAULT_OPERANDS, left);
    error.as.natural = right->kind;
    return error;
}

static struct cell of_doubles(const struct machine *machine, enum expr_operation operation, const struct cell *left,
                              const struct cell *right) {
    double a = left->kind == TN_INT ? (double)left->as.integer : left->as.real;
    double b = right->kind == TN_INT ? (double)right->as.integer : right->as.real;
    switch (operation) {
    case OP_ADD: return cell_double(a + b);
    case OP_SUB: return cell_double(a - b);
    case OP_MUL: return cell_double(a * b);
    case OP_DIV: return cell_double(a / b);
    default: return mismatch(machine, left, right);
    }
}

/* ---- Times ---- */

static struct cell out_of_range(const struct machine *machine) { return fault_cell(machine, FAULT_TIME_RANGE, NULL); }

static struct cell duration_of(int64_t nanoseconds) {
    return (struct cell){.kind = EXPR_DURATION, .as.integer = nanoseconds};
}

static struct cell timestamp_add(const struct machine *machine, const struct cell *timestamp, int64_t nanoseconds) {
    int64_t seconds = timestamp->as.integer + nanoseconds / SECOND_NANOSECONDS;
    int64_t rest = (int64_t)timestamp->length + nanoseconds % SECOND_NANOSECONDS;
    if (rest < 0) {
        rest += SECOND_NANOSECONDS;
        seconds--;
    } else if (rest >= SECOND_NANOSECONDS) {
        rest -= SECOND_NANOSECONDS;
        seconds++;
    }
    if (seconds < TIMESTAMP_FIRST || seconds > TIMESTAMP_LAST) return out_of_range(machine);
    return (struct cell){.kind = EXPR_TIMESTAMP, .length = (uint32_t)rest, .as.integer = seconds};
}

static struct cell between(const struct machine *machine, const struct cell *from, const struct cell *to) {
    int64_t result, rest = (int64_t)to->length - (int64_t)from->length;
    if (__builtin_mul_overflow(to->as.integer - from->as.integer, (int64_t)SECOND_NANOSECONDS, &result) ||
        __builtin_add_overflow(result, rest, &result))
        return out_of_range(machine);
    return duration_of(result);
}

static struct cell of_times(const struct machine *machine, enum expr_operation operation, const struct cell *left,
                            const struct cell *right) {
    bool add = operation == OP_ADD, sub = operation == OP_SUB;
    int64_t result;
    if (left->kind == EXPR_TIMESTAMP && right->kind == EXPR_TIMESTAMP && sub) return between(machine, right, left);
    if (left->kind == EXPR_DURATION && right->kind == EXPR_TIMESTAMP && add)
        return timestamp_add(machine, right, left->as.integer);
    if (right->kind != EXPR_DURATION || (!add && !sub)) return mismatch(machine, left, right);
    if (left->kind == EXPR_TIMESTAMP && add) return timestamp_add(machine, left, right->as.integer);
    if (left->kind == EXPR_TIMESTAMP) {
        if (right->as.integer == INT64_MIN) return out_of_range(machine);
        return timestamp_add(machine, left, -right->as.integer);
    }
    if (left->kind != EXPR_DURATION) return mismatch(machine, left, right);
    bool wrong = add ? __builtin_add_overflow(left->as.integer, right->as.integer, &result)
                     : __builtin_sub_overflow(left->as.integer, right->as.integer, &result);
    return wrong ? out_of_range(machine) : duration_of(result);
}

/* ---- Operators ---- */

/* The maximum cost of comparing the cell; for values from outside, only the top level is known. */
static size_t weight(const struct cell *cell) {
    if (cell->kind != TN_ARRAY && cell->kind != TN_OBJECT) return 0;
    return cell->built ? cell_weight(cell) : cell_count(cell);
}

static struct cell ordered(struct machine *machine, enum expr_operation operation, const struct cell *left,
                           const struct cell *right) {
    int order;
    if (left->kind == TN_INT && right->kind == TN_INT) /* the most frequent case */
        order = (left->as.integer > right->as.integer) - (left->as.integer < right->as.integer);
    else if (!cell_compare(left, right, &order))
        return mismatch(machine, left, right);
    switch (operation) {
    case OP_LT: return cell_bool(order == -1);
    case OP_LE: return cell_bool(order == -1 || order == 0);
    case OP_GT: return cell_bool(order == 1);
    default: return cell_bool(order == 1 || order == 0);
    }
}

static bool cell_is_time(const struct cell *cell) {
    return cell->kind == EXPR_TIMESTAMP || cell->kind == EXPR_DURATION;
}

static bool is_mixed(const struct cell *cell) { return cell->kind == TN_INT || cell->kind == TN_DOUBLE; }

struct cell operate(struct machine *machine, enum expr_operation operation, const struct cell *left,
                    const struct cell *right) {
    if (operation == OP_EQ || operation == OP_NE) {
        if (!charge_items(machine, weight(left))) return stopped(machine);
        return cell_bool(cell_equal(left, right) == (operation == OP_EQ));
    }
    if (operation >= OP_LT && operation <= OP_GE) return ordered(machine, operation, left, right);
    if (left->kind == TN_INT && right->kind == TN_INT)
        return of_ints(machine, operation, left->as.integer, right->as.integer);
    if (is_mixed(left) && is_mixed(right)) return of_doubles(machine, operation, left, right);
    if (left->kind == EXPR_UINT && right->kind == EXPR_UINT)
        return of_uints(machine, operation, left->as.natural, right->as.natural);
    if (cell_is_time(left) && cell_is_time(right)) return of_times(machine, operation, left, right);
    bool alike = left->kind == right->kind && operation == OP_ADD;
    if (alike && (left->kind == TN_STRING || left->kind == TN_BYTES)) return build_joined(machine, left, right);
    if (alike && left->kind == TN_ARRAY) return build_lists(machine, left, right);
    return mismatch(machine, left, right);
}

struct cell negate(struct machine *machine, const struct cell *operand) {
    if (operand->kind == TN_DOUBLE) return cell_double(-operand->as.real);
    if (operand->kind != TN_INT) return fault_cell(machine, FAULT_OPERAND, operand);
    return operand->as.integer == INT64_MIN ? fault_overflow(machine) : cell_int(-operand->as.integer);
}

/* ---- Lists and maps ---- */

static bool list_has_text(tn_value list, const char *chars, size_t length) {
    for (size_t i = 0, count = value_count(list); i < count; i++) {
        tn_value item = value_at(list, i);
        size_t item_length;
        if (!value_is(item, TN_STRING)) continue;
        const char *text = value_chars(item, &item_length);
        if (item_length == length && memcmp(text, chars, length) == 0) return true;
    }
    return false;
}

static bool list_has(const struct cell *list, const struct cell *item) {
    if (!list->built && item->kind == TN_STRING) {
        size_t length;
        const char *chars = cell_chars(item, &length);
        return list_has_text(list->as.value, chars, length);
    }
    for (size_t i = 0, count = cell_count(list); i < count; i++) {
        struct cell other = cell_item(list, i);
        if (cell_equal(item, &other)) return true;
    }
    return false;
}

struct cell contained(struct machine *machine, const struct cell *item, const struct cell *in) {
    if (in->kind == TN_OBJECT) return cell_bool(cell_is_key(item) && cell_lookup(in, item).kind != TN_NONE);
    if (in->kind != TN_ARRAY) return mismatch(machine, item, in);
    if (!charge_items(machine, weight(in))) return stopped(machine);
    return cell_bool(list_has(in, item));
}

bool cell_to_index(const struct cell *key, int64_t *out) {
    if (key->kind == TN_INT) {
        *out = key->as.integer;
        return true;
    }
    if (key->kind == EXPR_UINT) {
        *out = key->as.natural > INT64_MAX ? INT64_MAX : (int64_t)key->as.natural;
        return true;
    }
    if (key->kind != TN_DOUBLE || !(fabs(key->as.real) < 9e15) || key->as.real != floor(key->as.real)) return false;
    *out = (int64_t)key->as.real;
    return true;
}

struct cell indexed(struct machine *machine, const struct cell *in, const struct cell *key) {
    if (in->kind == TN_OBJECT) {
        if (!cell_is_key(key)) return fault_cell(machine, FAULT_NOT_KEY, key);
        struct cell found = cell_lookup(in, key);
        return found.kind == TN_NONE ? fault_cell(machine, FAULT_NO_KEY, key) : found;
    }
    if (in->kind != TN_ARRAY) return fault_cell(machine, FAULT_NOT_INDEXED, in);
    int64_t index;
    if (!cell_to_index(key, &index)) return fault_cell(machine, FAULT_NOT_INDEX, key);
    size_t count = cell_count(in);
    if (index >= 0 && (uint64_t)index < count) return cell_item(in, (size_t)index);
    struct cell wanted = cell_int(index), error = fault_cell(machine, FAULT_NO_ITEM, &wanted);
    return error;
}
