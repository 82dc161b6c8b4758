/*
 * encode.c - see encode.h.
 */
#include "encode.h"
#include <endian.h>

static uint64_t encode_number(double number, int64_t rest, char *out) {
    uint64_t bits;
    uint16_t more = htobe16((uint16_t)(rest + 32768));
    if (number == 0) number = 0; /* -0.0 equals 0.0 */
    memcpy(&bits, &number, sizeof bits);
    /* Positive numbers: set the sign. Negative ones are ordered by decreasing bits. */
    bits = bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
    bits = htobe64(bits);
    out[0] = 1;
    memcpy(out + 1, &bits, 8);
    memcpy(out + 9, &more, 2);
    return 11;
}

static uint64_t encode_integer(int64_t integer, char *out) {
    double nearest = (double)integer;
    if (nearest >= 9223372036854775808.0) return encode_number(nearest, integer - INT64_MAX - 1, out);
    return encode_number(nearest, integer - (int64_t)nearest, out);
}

static uint64_t encode_text(struct tn_store_text text, char *out) {
    uint64_t length = text.length < ENCODE_TEXT_MAX ? text.length : ENCODE_TEXT_MAX;
    out[0] = 2;
    memcpy(out + 1, text.data != NULL ? text.data : "", length);
    return length + 1;
}

uint64_t encode_member(tn_value member, char out[ENCODE_MAX]) {
    int64_t integer = 0;
    double real = 0;
    int32_t truth = 0;
    switch (tn.value->kind(member)) {
    case TN_NONE:
    case TN_NULL: out[0] = 0; return 1;
    case TN_BOOL: (void)tn.value->as_bool(member, &truth); return encode_integer(truth != 0, out);
    case TN_INT: (void)tn.value->as_int(member, &integer); return encode_integer(integer, out);
    case TN_DOUBLE: (void)tn.value->as_double(member, &real); return encode_number(real, 0, out);
    case TN_STRING: return encode_text(tn_store_text_of(member), out);
    default: break;
    }
    tn_value json = tn_to_json(member);
    uint64_t length = encode_text(tn_store_text_of(json), out);
    tn_release(json);
    return length;
}

uint64_t encode_member_start(tn_value member, uint64_t start, char out[ENCODE_MAX]) {
    uint64_t length = encode_member(member, out);
    return start > 0 && out[0] == 2 && length > start + 1 ? start + 1 : length;
}

bool encode_is_cut(struct tn_store_text encoded) { return encoded.length == ENCODE_MAX && encoded.data[0] == 2; }
