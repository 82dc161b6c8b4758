/* <tenon/util/utf8.h>, <tenon/util/sha256.h> and <tenon/util/wav.h>, against known vectors. */
#include "tests/unit/util_fixture.h"

#include <tenon/util/sha256.h>
#include <tenon/util/utf8.h>
#include <tenon/util/wav.h>

static void test_every_character(void **state) {
    (void)state;
    for (uint32_t point = 0; point <= 0x10FFFF; point++) {
        char bytes[4];
        uint32_t size = tn_utf8_encode(point, bytes), read = UINT32_MAX;
        bool surrogate = point >= 0xD800 && point <= 0xDFFF;
        assert_int_equal(tn_utf8_decode(bytes, size, &read), surrogate ? 0 : size);
        assert_int_equal(read, surrogate ? UINT32_MAX : point);
        assert_int_equal(tn_utf8_is_valid(bytes, size), !surrogate);
        if (size > 1) assert_int_equal(tn_utf8_decode(bytes, size - 1, &read), 0);
    }
}

static void test_malformed(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        uint64_t size; /* that one U+FFFD replaces */
    } cases[] = {
        {"\x80", 1},
        {"\xBF\x80", 1},
        {"\xC0\x80", 1},
        {"\xC1\xBF", 1},
        {"\xC2", 1},
        {"\xC2"
         "A",
         1},
        {"\xE0\x80\x80", 1},
        {"\xE0\x9F\xBF", 1},
        {"\xE1\x80", 2},
        {"\xE1\x80"
         "A",
         2},
        {"\xED\xA0\x80", 1},
        {"\xED\xBF\xBF", 1},
        {"\xF0\x80\x80\x80", 1},
        {"\xF0\x90\x80", 3},
        {"\xF1\x80\x80"
         "A",
         3},
        {"\xF1\x80"
         "A",
         2},
        {"\xF4\x90\x80\x80", 1},
        {"\xF5\x80\x80\x80", 1},
        {"\xFE", 1},
        {"\xFF", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t length = strlen(cases[i].bytes);
        uint32_t point = 7;
        assert_int_equal(tn_utf8_decode(cases[i].bytes, length, &point), 0);
        assert_int_equal(point, 7);
        assert_int_equal(tn_utf8_malformed_size(cases[i].bytes, length), cases[i].size);
        for (uint64_t lead = 0; lead < 20; lead++) { /* at every place of a word */
            char text[32] = "aaaaaaaaaaaaaaaaaaaa";
            memcpy(text + lead, cases[i].bytes, length + 1);
            assert_false(tn_utf8_is_valid(text, strlen(text)));
        }
    }
    assert_true(tn_utf8_is_valid("", 0));
    assert_true(tn_utf8_is_valid("a\0b", 3));
    assert_int_equal(tn_utf8_malformed_size("", 0), 0);
}

static void test_cut(void **state) {
    (void)state;
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"; /* 1 + 2 + 3 + 4 bytes */
    static const uint64_t cut[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (uint64_t most = 0; most < 12; most++) assert_int_equal(tn_utf8_cut(text, sizeof text - 1, most), cut[most]);
    for (uint64_t length = 0; length < sizeof text; length++) assert_int_equal(tn_utf8_trim(text, length), cut[length]);
    assert_int_equal(tn_utf8_trim("\\x80\\x80\\x80\\x80", 4), 4); /* not the start of a character */
}

static void expect_hash(const char *bytes, uint64_t length, const char *hash) {
    for (uint64_t step = 1; step <= 200; step += 37) { /* in pieces of several sizes */
        struct tn_sha256 sha;
        char text[TN_SHA256_TEXT];
        tn_sha256_init(&sha);
        for (uint64_t at = 0; at < length; at += step)
            tn_sha256_update(&sha, bytes + at, length - at < step ? length - at : step);
        tn_sha256_finish_text(&sha, text);
        assert_string_equal(text, hash);
    }
}

/* FIPS 180-4's examples, and NIST's for a million letters. */
static void test_sha256(void **state) {
    (void)state;
    expect_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect_hash(
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrst"
        "nopqrstu",
        112, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    unsigned char hash[TN_SHA256_BYTES];
    static const unsigned char expected[4] = {0xcd, 0xc7, 0x6e, 0x5c};
    tn_sha256_hash(million, 1000000, hash);
    assert_memory_equal(hash, expected, 4);
    expect_hash(million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

static void test_pcm_types(void **state) {
    (void)state;
    static const struct {
        const char *type;
        uint32_t rate, channels; /* 0: not raw PCM */
    } cases[] = {
        {"audio/L16;codec=pcm;rate=24000", 24000, 1},
        {"audio/l16; rate=16000; channels=2", 16000, 2},
        {"AUDIO/PCM; Rate=8000", 8000, 1},
        {"audio/pcm", TN_PCM_RATE, 1},
        {"audio/pcm;", TN_PCM_RATE, 1},
        {"audio/pcm;rate", TN_PCM_RATE, 1},
        {"audio/pcm;rates=8000;rate=0;channels=65", TN_PCM_RATE, 1},
        {"audio/pcm;rate=99999999999999999999", TN_PCM_RATE, 1},
        {"audio/L24;rate=24000", 0, 0},
        {"audio/pcmu", 0, 0},
        {"audio/wav", 0, 0},
        {"", 0, 0},
        {NULL, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tn_pcm pcm = {0, 0};
        assert_int_equal(tn_pcm_read(cases[i].type, &pcm), cases[i].rate > 0);
        assert_int_equal(pcm.rate, cases[i].rate);
        assert_int_equal(pcm.channels, cases[i].channels);
    }
}

/* The header as Python's module `wave` writes it: of 4 bytes in mono, and of 8 in stereo. */
static void test_wav_header(void **state) {
    (void)state;
    static const char mono[] = "RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\xc0\x5d\0\0\x80\xbb\0\0\2\0\x10\0data\4\0\0\0";
    static const char stereo[] =
        "RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\1\0\2\0\x44\xac\0\0\x10\xb1\2\0\4\0\x10\0data\x08\0\0\0";
    unsigned char header[TN_WAV_HEADER_SIZE];
    assert_int_equal(sizeof mono - 1, TN_WAV_HEADER_SIZE);
    tn_wav_put_header(header, &(struct tn_pcm){24000, 1}, 4);
    assert_memory_equal(header, mono, sizeof header);
    tn_wav_put_header(header, &(struct tn_pcm){44100, 2}, 8);
    assert_memory_equal(header, stereo, sizeof header);
    tn_wav_put_header(header, &(struct tn_pcm){44100, 2}, UINT64_C(1) << 33);
    assert_memory_equal(header + 4, "\xf7\xff\xff\xff", 4);
    assert_memory_equal(header + 40, "\xd3\xff\xff\xff", 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_character), cmocka_unit_test(test_malformed), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_sha256),          cmocka_unit_test(test_pcm_types), cmocka_unit_test(test_wav_header),
    };
    return cmocka_run_group_tests(tests, util_setup, NULL);
}
