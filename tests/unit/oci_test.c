/*
 * oci_test.c - what is read from a user and from an OCI registry: references, challenges and manifests.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/net/oci/oci_challenge.h"
#include "host/net/oci/oci_manifest.h"
#include "host/net/oci/oci_transfer.h"
#include "host/plugin/pack/pack_platform.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SHA "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* ---- References ---- */

static void references_that_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text, *host, *name, *tag, *digest, *written;
        bool loopback;
    } cases[] = {
        {"oci://ghcr.io/acme/text", "ghcr.io", "acme/text", "", "", NULL, false},
        {"oci://GHCR.io/acme/text:1.0.0-rc.1", "ghcr.io", "acme/text", "1.0.0-rc.1", "",
         "oci://ghcr.io/acme/text:1.0.0-rc.1", false},
        {"oci://localhost:5000/a@" SHA, "localhost:5000", "a", "", SHA, NULL, true},
        {"oci://h/a:v1@" SHA, "h", "a", "v1", SHA, "oci://h/a@" SHA, false},
        {"oci://[::1]:5000/a/b/c:_", "[::1]:5000", "a/b/c", "_", "", NULL, true},
        {"oci://127.1.2.3/a.b_c__d---e:A.", "127.1.2.3", "a.b_c__d---e", "A.", "", NULL, true},
        {"oci://127.evil.example/a:1", "127.evil.example", "a", "1", "", NULL, false},
        {"oci://localhost.evil.example/a:1", "localhost.evil.example", "a", "1", "", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oci_reference read;
        struct buffer text;
        assert_true(oci_is_reference(cases[i].text));
        assert_int_equal(oci_reference_read(cases[i].text, &read, NULL), TN_OK);
        assert_string_equal(read.host, cases[i].host);
        assert_string_equal(read.name, cases[i].name);
        assert_string_equal(read.tag, cases[i].tag);
        assert_string_equal(read.digest, cases[i].digest);
        assert_true(oci_reference_is_loopback(&read) == cases[i].loopback);
        buffer_init(&text, SIZE_MAX);
        oci_reference_write(&text, &read);
        assert_string_equal(buffer_cstr(&text), cases[i].written ? cases[i].written : cases[i].text);
        buffer_finish(&text);
    }
}

static void references_that_are_refused(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"ghcr.io/acme/text", "does not begin with oci://"},
        {"oci://ghcr.io", "no name after the host"},
        {"oci://ghcr.io/", "no name after the host"},
        {"oci:///acme", "no host"},
        {"oci://ghcr.io:0/acme", "port"},
        {"oci://ghcr.io:port/acme", "port"},
        {"oci://jane@ghcr.io/acme", "user name"},
        {"oci://jane:hunter2@ghcr.io/acme:1", "packs: {registries: "},
        {"oci://jane:hunter2@ghcr.io", "user name"},
        {"oci://jane:hun/hunter2@ghcr.io/acme", "user name"},
        {"oci://gh cr.io/acme", "host contains a character"},
        {"oci://ghcr.io?x/acme", "its host contains `?` or `#`"},
        {"oci://ghcr.io#x/acme", "its host contains `?` or `#`"},
        {"oci://ghcr.io/Acme", "lowercase"},
        {"oci://ghcr.io/acme//text", "lowercase"},
        {"oci://ghcr.io/acme/../text", "lowercase"},
        {"oci://ghcr.io/acme.", "lowercase"},
        {"oci://ghcr.io/a___b", "lowercase"},
        {"oci://ghcr.io/a%2fb", "lowercase"},
        {"oci://ghcr.io/a?b", "lowercase"},
        {"oci://ghcr.io/acme:", "tag"},
        {"oci://ghcr.io/acme:.1", "tag"},
        {"oci://ghcr.io/acme:1/2", "tag"},
        {"oci://ghcr.io/acme:1:2", "tag"},
        {"oci://ghcr.io/acme@sha256:123", "digest"},
        {"oci://ghcr.io/acme@md5:d41d8cd98f00b204e9800998ecf8427e", "digest"},
        {"oci://ghcr.io/acme@sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855", "digest"},
    };
    struct oci_reference unused;
    char text[400];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = ERROR_INIT;
        assert_int_equal(oci_reference_read(cases[i][0], &unused, &error), TN_INVALID);
        assert_string_equal(error.code, "INVALID_INPUT");
        if (!strstr(error.message, cases[i][1])) fail_msg("expected %s in: %s", cases[i][1], error.message);
        assert_null(strstr(error.message, "hunter2"));
        error_finish(&error);
    }
    /* The longest name and tag, and one byte more. */
    for (int more = 0; more < 2; more++) {
        snprintf(text, sizeof text, "oci://h/%.*s:1", (int)(OCI_NAME_MAX - 2) + more,
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        assert_int_equal(oci_reference_read(text, &unused, NULL), more ? TN_INVALID : TN_OK);
        memset(text, 'b', sizeof text);
        memcpy(text, "oci://h/a:", 10);
        text[10 + OCI_TAG_MAX + (size_t)more] = 0;
        assert_int_equal(oci_reference_read(text, &unused, NULL), more ? TN_INVALID : TN_OK);
    }
}

/* ---- Challenges ---- */

static void expect_challenge(const char *header, const char *expected) {
    struct oci_challenge read;
    char found[512];
    static const char *const names[] = {[OCI_NO_CHALLENGE] = "-", [OCI_BASIC] = "Basic", [OCI_BEARER] = "Bearer"};
    oci_challenge_read(header, strlen(header), &read);
    snprintf(found, sizeof found, "%s %s %s %s", names[read.scheme], read.realm ? read.realm : "-",
             read.service ? read.service : "-", read.scope ? read.scope : "-");
    oci_challenge_finish(&read);
    assert_string_equal(found, expected);
}

static void challenges(void **state) {
    (void)state;
    expect_challenge("Bearer realm=\"https://a/t\",service=\"r\",scope=\"repository:x:pull,push\"",
                     "Bearer https://a/t r repository:x:pull,push");
    expect_challenge("bearer Realm=https://a/t , SERVICE = r", "Bearer https://a/t r -");
    expect_challenge("Basic realm=\"x\"", "Basic x - -");
    expect_challenge("Basic", "Basic - - -");
    expect_challenge("Negotiate, Basic realm=\"x\", Bearer realm=\"y\", service=\"z\"", "Bearer y z -");
    expect_challenge("Bearer realm=\"y\", Basic realm=\"x\"", "Bearer y - -");
    expect_challenge("Bearer service=\"z\", Basic realm=\"x\"", "Basic x - -");
    expect_challenge("Digest realm=\"x\", nonce=\"Bearer realm=1\"", "- - - -");
    expect_challenge("Bearer realm=\"a\\\"b\",realm=\"second\"", "Bearer a\"b - -");
    expect_challenge("Bearer realm=\"open", "- - - -");
    expect_challenge("Bearer realm=", "- - - -");
    expect_challenge("= , \"", "- - - -");
    expect_challenge("", "- - - -");
    char *large = mem_zalloc(OCI_CHALLENGE_MAX + 2);
    memset(large, ' ', OCI_CHALLENGE_MAX + 1);
    memcpy(large, "Basic", 5);
    expect_challenge(large, "- - - -");
    large[OCI_CHALLENGE_MAX] = 0;
    expect_challenge(large, "Basic - - -");
    mem_free(large);
}

/* ---- Manifests ---- */

static const struct oci_kind kind = {"a test", "application/vnd.acme.test", "application/vnd.acme.layer"};

static void manifest_written_is_read(void **state) {
    (void)state;
    struct oci_artifact artifact = {.layer_size = 7}, read;
    struct error error = ERROR_INIT;
    size_t length;
    memcpy(artifact.layer_digest, SHA, sizeof SHA);
    artifact.annotations = value_set_take(value_object(), "a", value_text("b"));
    tn_value text = oci_manifest_write(&kind, &artifact);
    const char *chars = value_chars(text, &length);
    assert_string_equal(
        chars, "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"artifactType\":"
               "\"application/vnd.acme.test\",\"config\":{\"mediaType\":\"application/vnd.oci.empty.v1+json\","
               "\"digest\":\"" OCI_EMPTY_DIGEST "\",\"size\":2,\"data\":\"e30=\"},\"layers\":[{\"mediaType\":"
               "\"application/vnd.acme.layer\",\"digest\":\"" SHA "\",\"size\":7}],\"annotations\":{\"a\":\"b\"}}");
    assert_int_equal(oci_manifest_read(&kind, "h/a", OCI_MANIFEST_TYPE "; charset=utf-8", chars, length, &read, &error),
                     TN_OK);
    assert_string_equal(read.layer_digest, SHA);
    assert_int_equal(read.layer_size, 7);
    assert_string_equal(oci_annotation(read.annotations, "a"), "b");
    assert_null(oci_annotation(read.annotations, "c"));
    assert_null(oci_annotation(read.layer_annotations, "a"));
    /* Every prefix, and every text with one changed byte, is read or refused without harm. */
    char *copy = mem_text(chars);
    for (size_t i = 0; i < length; i++) {
        struct oci_artifact other;
        char before = copy[i];
        if (oci_manifest_read(&kind, "h/a", OCI_MANIFEST_TYPE, chars, i, &other, NULL) == TN_OK)
            oci_artifact_finish(&other);
        copy[i] = (char)(before ^ 2);
        if (oci_manifest_read(&kind, "h/a", OCI_MANIFEST_TYPE, copy, length, &other, NULL) == TN_OK)
            oci_artifact_finish(&other);
        copy[i] = before;
    }
    mem_free(copy);
    oci_artifact_finish(&read);
    oci_artifact_finish(&artifact);
    value_unref(text);
}

static void digests(void **state) {
    (void)state;
    char digest[OCI_DIGEST_MAX + 1], path[] = "/tmp/tenon-oci-XXXXXX";
    int64_t length = 0;
    oci_digest_of("", 0, digest);
    assert_string_equal(digest, SHA);
    oci_digest_of(OCI_EMPTY, 2, digest);
    assert_string_equal(digest, OCI_EMPTY_DIGEST);
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, OCI_EMPTY, 2) == 2); /* the offset is at the end */
    assert_int_equal(oci_digest_of_file(file, digest, &length, NULL), TN_OK);
    assert_string_equal(digest, OCI_EMPTY_DIGEST);
    assert_int_equal(length, 2);
    close(file);
    unlink(path);
}

/* ---- Platforms ---- */

static void platforms(void **state) {
    (void)state;
    char list[100];
    const char *host = pack_host_platform();
    assert_true(pack_platforms_fit(""));
    assert_true(pack_platforms_fit(host));
    assert_false(pack_platforms_fit("linux/none"));
    assert_false(pack_platforms_fit("linux"));
    snprintf(list, sizeof list, "linux/none,%s", host);
    assert_true(pack_platforms_fit(list));
    snprintf(list, sizeof list, "%s,linux/none,", host);
    assert_true(pack_platforms_fit(list));
    snprintf(list, sizeof list, "%sx,x%s", host, host);
    assert_false(pack_platforms_fit(list));
    assert_false(pack_platforms_fit(",,,"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_that_are_read),
        cmocka_unit_test(references_that_are_refused),
        cmocka_unit_test(challenges),
        cmocka_unit_test(manifest_written_is_read),
        cmocka_unit_test(digests),
        cmocka_unit_test(platforms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
