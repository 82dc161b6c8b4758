/*
 * expr_zone_test.c - offsets of TZif files: generated tables and footers, truncated and changed bytes, and the system's
 * files (if present), compared with libc.
 */
#include "adl/expr/time.h"
#include "adl/expr/zone.h"
#include "adl/value/buffer.h"
#include "tests/unit/corpus.h"
#include <time.h>
#include <unistd.h>

static void put(struct buffer *out, uint64_t number, int bytes) {
    while (bytes-- > 0) buffer_char(out, (char)(number >> (8 * bytes)));
}

/* A header and its table: one change at `moment`, from `before` to `after` seconds. */
static void put_table(struct buffer *out, char version, int size, int64_t moment, int32_t before, int32_t after) {
    buffer_text(out, "TZif");
    buffer_char(out, version);
    for (int i = 0; i < 15; i++) buffer_char(out, 0);
    const uint32_t counts[] = {0, 0, 0, 1, 2, 4};
    for (size_t i = 0; i < 6; i++) put(out, counts[i], 4);
    put(out, (uint64_t)moment, size);
    put(out, 1, 1);
    put(out, (uint32_t)before, 4);
    put(out, 0, 2);
    put(out, (uint32_t)after, 4);
    put(out, 0, 2);
    buffer_append(out, "ABC", 4);
}

static void file_of(struct buffer *out, const char *footer) {
    buffer_init(out, SIZE_MAX);
    put_table(out, '2', 4, 1000, 60, 120);
    put_table(out, '2', 8, 1000, 3600, 7200);
    buffer_format(out, "\n%s\n", footer);
}

static int32_t offset_at(const struct buffer *file, int64_t utc) {
    int32_t offset = -1;
    assert_true(zone_offset(file->data, file->length, utc, &offset));
    return offset;
}

static int64_t utc(const char *text) {
    int64_t seconds;
    uint32_t nanoseconds;
    assert_true(timestamp_parse(text, strlen(text), &seconds, &nanoseconds));
    return seconds;
}

static void test_tables(void **state) {
    (void)state;
    struct buffer file;
    file_of(&file, "");
    assert_int_equal(offset_at(&file, 999), 3600);
    assert_int_equal(offset_at(&file, 1000), 7200);
    assert_int_equal(offset_at(&file, utc("9999-12-31T23:59:59Z")), 7200);
    buffer_clear(&file);
    put_table(&file, 0, 4, 1000, 60, -120);
    assert_int_equal(offset_at(&file, 999), 60);
    assert_int_equal(offset_at(&file, 1000), -120);
    buffer_finish(&file);
}

static void test_footers(void **state) {
    (void)state;
    static const struct {
        const char *footer, *moment;
        int32_t offset;
    } cases[] = {
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-03-31T00:59:59Z", 3600},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-03-31T01:00:00Z", 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-10-27T00:59:59Z", 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-10-27T01:00:00Z", 3600},
        {"EST5EDT,M3.2.0,M11.1.0", "2031-07-01T00:00:00Z", -14400},
        {"EST5EDT,M3.2.0,M11.1.0", "2031-01-01T00:00:00Z", -18000},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2024-01-01T00:00:00Z", 39600},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2024-07-01T00:00:00Z", 36000},
        {"<-03>3", "2024-07-01T00:00:00Z", -10800},
        {"<+0545>-5:45", "2024-07-01T00:00:00Z", 20700},
        {"NST3:30NDT,M3.2.0,M11.1.0", "2024-07-01T00:00:00Z", -9000},
        {"LHT-10:30LHDT-11,M10.1.0,M4.1.0", "2024-01-01T00:00:00Z", 39600},
        {"AAA0BBB,J60,J300", "2024-03-01T01:59:59Z", 0},
        {"AAA0BBB,J60,J300", "2024-03-01T02:00:00Z", 3600},
        {"AAA0BBB,59,300", "2024-02-29T02:00:00Z", 3600},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2024-03-31T01:00:00Z", -3600},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2024-03-31T00:59:59Z", -7200},
        /* Without a valid rule, the table's last offset applies. */
        {"nonsense", "2024-07-01T00:00:00Z", 7200},
        {"CET-1CEST", "2024-07-01T00:00:00Z", 7200},
        {"CET-1CEST,M13.1.0,M10.5.0", "2024-07-01T00:00:00Z", 7200},
        {"CET-999", "2024-07-01T00:00:00Z", 7200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer file;
        file_of(&file, cases[i].footer);
        int32_t offset = offset_at(&file, utc(cases[i].moment));
        if (offset != cases[i].offset) fail_msg("%s at %s: %d", cases[i].footer, cases[i].moment, offset);
        buffer_finish(&file);
    }
}

/* A file that is cut anywhere, or has any byte changed, yields an offset within a day, or fails. */
static void test_hostile(void **state) {
    (void)state;
    struct buffer file;
    int32_t offset;
    file_of(&file, "CET-1CEST,M3.5.0,M10.5.0/3");
    for (size_t length = 0; length < file.length; length++) {
        char *copy = malloc(length + 1);
        memcpy(copy, file.data, length);
        (void)zone_offset(copy, length, 1720000000, &offset);
        free(copy);
    }
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff, ',', '9', '-'};
    for (size_t i = 0; i < file.length; i++)
        for (size_t j = 0; j < sizeof values; j++) {
            char kept = file.data[i];
            file.data[i] = (char)values[j];
            for (int64_t moment = TIMESTAMP_FIRST; moment < TIMESTAMP_LAST; moment += TIMESTAMP_LAST / 7)
                if (zone_offset(file.data, file.length, moment, &offset)) assert_in_range(offset + 700000, 0, 1400000);
            file.data[i] = kept;
        }
    assert_false(zone_offset("", 0, 0, &offset));
    buffer_finish(&file);
}

static void test_system(void **state) {
    (void)state;
    static const char *const zones[] = {
        "UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Casablanca"};
    int checked = 0;
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        char path[256];
        snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", zones[i]);
        if (access(path, R_OK) != 0) continue;
        size_t length;
        char *bytes = corpus_load(path, &length);
        setenv("TZ", zones[i], 1);
        tzset();
        for (int64_t moment = -2000000000; moment < 3000000000; moment += 1234567) {
            time_t seconds = (time_t)moment;
            struct tm local;
            int32_t offset = 0;
            localtime_r(&seconds, &local);
            assert_true(zone_offset(bytes, length, moment, &offset));
            if (offset != local.tm_gmtoff) fail_msg("%s at %lld: %d", zones[i], (long long)moment, offset);
            checked++;
        }
        free(bytes);
    }
    print_message("%d moments compared with libc\n", checked);
    if (checked == 0) skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_footers),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
