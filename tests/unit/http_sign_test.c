/*
 * http_sign_test.c - requests that the host signs with AWS's signature version 4: the vectors of AWS's test suite, and
 * the member `sign` of a request.
 */
#include "http_fixture.h"

#include "host/net/http_sign.h"

#define KEY_ID     "AKIDEXAMPLE"
#define SECRET_KEY "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define AT_MS      INT64_C(1440938160000) /* 2015-08-30T12:36:00Z */
#define TOKEN                                                                                                          \
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuw"  \
    "thAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHN"  \
    "VXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLx"   \
    "BA=="

static void expect_signature(const char *method, const char *target, const char *headers, const char *body,
                             const char *service, const char *expected) {
    struct aws_signer signer = {service, "us-east-1", KEY_ID, SECRET_KEY, ""};
    struct aws_signed request = {method, target, parse_json(headers), body, strlen(body)};
    struct buffer out;
    aws_date(AT_MS, signer.date);
    assert_string_equal(signer.date, "20150830T123600Z");
    buffer_init(&out, SIZE_MAX);
    aws_sign(&signer, &request, &out);
    if (!strstr(buffer_cstr(&out), expected)) fail_msg("%s: %s, expected %s", target, buffer_cstr(&out), expected);
    buffer_finish(&out);
    value_unref(request.headers);
}

#define HOST_DATE "\"host\":\"example.amazonaws.com\",\"x-amz-date\":\"20150830T123600Z\""

/* get-vanilla, get-vanilla-query-order-key, post-vanilla, post-x-www-form-urlencoded and post-sts-header-before of
 * AWS's suite. The others were computed with botocore. */
static void vectors(void **state) {
    (void)state;
    expect_signature("GET", "/", "{" HOST_DATE "}", "", "service",
                     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                     "SignedHeaders=host;x-amz-date, "
                     "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    expect_signature("GET", "/?Param2=value2&Param1=value1", "{" HOST_DATE "}", "", "service",
                     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
    expect_signature("POST", "/", "{\"x-amz-date\":\"20150830T123600Z\",\"host\":\" example.amazonaws.com \"}", "",
                     "service", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
    expect_signature("POST", "/", "{" HOST_DATE ",\"content-type\":\"application/x-www-form-urlencoded\"}",
                     "Param1=value1", "service", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
    expect_signature("POST", "/", "{" HOST_DATE ",\"x-amz-security-token\":\"" TOKEN "\"}", "", "service",
                     "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead");
    expect_signature("GET", "/a//b/%20x~?b=2&a=%C3%BC&a=1&c", "{" HOST_DATE "}", "", "service",
                     "788e2952cfbce854de2333bd9128e8a0faebeee7d2486decfc98ec91b1e6eae6");
    expect_signature("POST",
                     "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.anthropic."
                     "claude-sonnet-4-v1%3A0/converse",
                     "{\"host\":\"bedrock-runtime.us-east-1.amazonaws.com\",\"x-amz-date\":\"20150830T123600Z\","
                     "\"content-type\":\"application/json\"}",
                     "{\"a\":\"\u00fc\"}", "bedrock",
                     "f1a4e1b9b07344a22c961ca43d385d3ed85a758d1b68d1aa2539dc4f5a1fd3fa");
}

static void dates(void **state) {
    (void)state;
    static const struct {
        int64_t ms;
        const char *expected;
    } cases[] = {{0, "19700101T000000Z"},
                 {-1, "19700101T000000Z"},
                 {INT64_C(951782399999), "20000228T235959Z"},
                 {INT64_MAX, "99991231T235959Z"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char date[AWS_DATE_SIZE];
        aws_date(cases[i].ms, date);
        assert_string_equal(date, cases[i].expected);
    }
}

/* ---- The member of a request ---- */

#define SIGN(more)                                                                                                     \
    "\"sign\":{\"aws\":{\"service\":\"service\",\"region\":\"us-east-1\",\"key_id\":{\"secret\":\"ID\"},"              \
    "\"secret_key\":{\"secret\":\"KEY\"}" more "}}"
#define SESSION ",\"session_token\":{\"secret\":\"SESSION\",\"optional\":true}"
#define BEARER  "\"headers\":{\"authorization\":[\"Bearer \",{\"secret\":\"BEARER\",\"optional\":true}]},"

static void open_at(int64_t wall_ms) {
    setenv("ID", KEY_ID, 1);
    setenv("KEY", SECRET_KEY, 1);
    fixture_open(&(struct fixture_options){.effects = "[\"network.http\",\"secret\"]"});
    loop_fake_move_wall(host_loop(host), wall_ms - loop_wall_ms(host_loop(host)));
}

static void close_all(void) {
    fixture_close();
    unsetenv("ID");
    unsetenv("KEY");
}

static void signs_requests(void **state) {
    (void)state;
    open_at(AT_MS);
    send_request("{\"url\":\"https://example.amazonaws.com/\",\"method\":\"POST\"," BEARER SIGN(SESSION) "}");
    run_loop();
    expect_sent(0,
                "{\"url\":\"https://example.amazonaws.com/\",\"method\":\"POST\",\"headers\":{\"x-amz-date\":"
                "\"20150830T123600Z\",\"authorization\":\"AWS4-HMAC-SHA256 "
                "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, "
                "Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b\"},\"receive\":\"whole\"}");
    provider_report(0, TN_HTTP_FAILED, "{\"code\":\"TLS\",\"message\":\"of AKIDEXAMPLE\"}");
    expect_in(&received, "of {secret:ID}");
    setenv("SESSION", TOKEN, 1);
    send_request("{\"url\":\"https://example.amazonaws.com/\",\"method\":\"POST\"," SIGN(SESSION) "}");
    run_loop();
    assert_non_null(strstr(sent_text(1), "x-amz-security-token\":\"AQoDYX"));
    assert_non_null(strstr(sent_text(1), "Signature=85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"));
    unsetenv("SESSION");
    /* A header `authorization` comes before the signature, and its keys need not exist then. */
    setenv("BEARER", "bearer-token-1", 1);
    send_request("{\"url\":\"https://example.amazonaws.com/\"," BEARER
                 "\"sign\":{\"aws\":{\"service\":\"s\",\"region\":\"r\",\"key_id\":{\"secret\":\"NO\"},"
                 "\"secret_key\":{\"secret\":\"NO\"}}}}");
    run_loop();
    expect_sent(2, "{\"url\":\"https://example.amazonaws.com/\",\"method\":\"GET\",\"headers\":{\"authorization\":"
                   "\"Bearer bearer-token-1\"},\"receive\":\"whole\"}");
    unsetenv("BEARER");
    close_all();
}

/* The port is signed unless it is the scheme's own, and the clock of a request can be moved. */
static void signs_port_and_skew(void **state) {
    (void)state;
    open_at(AT_MS - 3600000);
    send_request(
        "{\"url\":\"http://example.amazonaws.com:80/\",\"method\":\"POST\"," SIGN(",\"clock_skew_ms\":3600000") "}");
    send_request(
        "{\"url\":\"http://example.amazonaws.com:81/\",\"method\":\"POST\"," SIGN(",\"clock_skew_ms\":3600000") "}");
    run_loop();
    assert_non_null(strstr(sent_text(0), "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"));
    assert_null(strstr(sent_text(1), "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"));
    assert_non_null(strstr(sent_text(1), "20150830T123600Z"));
    close_all();
}

static void refuses(void **state) {
    (void)state;
    static const char *const faults[][2] = {
        {"{\"url\":\"http://a.example\",\"sign\":1}", "expected {aws: {"},
        {"{\"url\":\"http://a.example\",\"sign\":{\"gcp\":{}}}", "expected {aws: {"},
        {"{\"url\":\"http://a.example\",\"sign\":{\"aws\":{\"regoin\":\"x\"}}}", "unknown member"},
        {"{\"url\":\"http://a.example\",\"sign\":{\"aws\":{\"service\":\"s\",\"region\":\"a/b\"}}}",
         "names of small letters"},
        {"{\"url\":\"http://a.example\",\"sign\":{\"aws\":{\"service\":\"s\",\"region\":\"r\",\"key_id\":\"a\"}}}",
         "is missing"},
        {"{\"url\":\"http://a.example\"," SIGN(",\"session_token\":1") "}", "must each be a string"},
        {"{\"url\":\"http://a.example\"," SIGN(",\"clock_skew_ms\":1.5") "}", "whole number"},
        {"{\"url\":\"http://a.example\"," SIGN(",\"clock_skew_ms\":99999999999999") "}", "at most a year"},
        {"{\"url\":\"http://a.example\",\"redirects\":1," SIGN("") "}", "remove `redirects`"},
    };
    open_at(AT_MS);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        expect_rejected(faults[i][0], "INVALID_INPUT", faults[i][1]);
    setenv("ID", "AKID, Signature=0", 1);
    expect_rejected("{\"url\":\"http://a.example\"," SIGN("") "}", "INVALID_INPUT", "`sign.aws.key_id`");
    expect_rejected("{\"url\":\"http://a.example\",\"sign\":{\"aws\":{\"service\":\"s\",\"region\":\"r\","
                    "\"key_id\":{\"secret\":\"NO\"},\"secret_key\":{\"secret\":\"KEY\"}}}}",
                    "SECRET_NOT_FOUND", "the secret `NO`");
    close_all();
}

/* The secrets of a signature need the same permission as those of a header. */
static void needs_permission(void **state) {
    (void)state;
    fixture_open(&(struct fixture_options){.effects = "[\"network.http\",\"secret:ID\"]"});
    expect_rejected("{\"url\":\"http://a.example\"," SIGN("") "}", "PERMISSION_DENIED", "add \\\"secret:KEY\\\"");
    fixture_close();
    fixture_open(&(struct fixture_options){.effects = "[\"network.http\",\"secret\"]",
                                           .config = "secrets: {KEY: {env: K, hosts: [\"*.amazonaws.com\"]}}\n"});
    expect_rejected("{\"url\":\"http://a.example\"," SIGN("") "}", "PERMISSION_DENIED", "`secrets.KEY.hosts`");
    fixture_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),        cmocka_unit_test(dates),
        cmocka_unit_test(signs_requests), cmocka_unit_test(signs_port_and_skew),
        cmocka_unit_test(refuses),        cmocka_unit_test(needs_permission),
    };
    RUN_TESTS(tests);
}
