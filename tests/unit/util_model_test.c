/*
 * util_model_test.c - what <tenon/util/…> has for models: names of tools, answers, errors. Every allocation of the
 * headers fails once.
 */
#include "tests/unit/util_fixture.h"

#include <tenon/util/answer.h>
#include <tenon/util/model_error.h>

extern int64_t value_live_count(void);

/* ---- A task that records what is emitted, one JSON text per line, and can be full ---- */

static struct tn_text_buffer emitted;
static int32_t emit_status;

static int32_t TN_ABI task_emit(tn_task task, tn_value chunk) {
    (void)task;
    if (emit_status != TN_OK) return emit_status;
    (void)tn_text_append_value(&emitted, chunk);
    (void)tn_text_append(&emitted, "\n");
    return TN_OK;
}

static int32_t TN_ABI task_context(tn_task task, tn_value *out) {
    (void)task;
    *out = json_value("{\"task_id\": \"r4nd0m.ask\", \"attempt\": 1, \"seed\": 7}");
    return TN_OK;
}

static const tn_task_1 task_table = {.size = sizeof(tn_task_1), .emit = task_emit, .context = task_context};

static int model_setup(void **state) {
    (void)util_setup(state);
    tn.task = &task_table;
    return 0;
}

static void expect_emitted(const char *lines) {
    assert_string_equal(tn_text_chars(&emitted), lines);
    tn_text_free(&emitted);
}

/* ---- Names ---- */

static void test_names(void **state) {
    (void)state;
    int64_t before = value_live_count();
    struct tn_tool_names names = TN_TOOL_NAMES;
    tn_value tools =
        json_value("[{\"name\": \"a.b\"}, {\"name\": \"a_b\"}, {\"name\": \"größe\"}, {\"name\": \"9\"}, {}]");
    assert_int_equal(tn_tool_names_add(&names, tools), TN_OK);
    tn_release(tools);
    assert_string_equal(tn_tool_names_to_service(&names, "a_b"), "a_b"); /* valid names come first */
    const char *service = tn_tool_names_to_service(&names, "a.b");
    assert_memory_equal(service, "a_b_", 4);
    assert_int_equal(strlen(service), 12);
    assert_string_equal(tn_tool_names_from_service(&names, service), "a.b");
    assert_string_equal(tn_tool_names_to_service(&names, "größe"), "gr__e");
    assert_string_equal(tn_tool_names_to_service(&names, "9"), "_9");
    assert_string_equal(tn_tool_names_from_service(&names, "unknown"), "unknown");
    char longest[200];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    service = tn_tool_names_to_service(&names, longest); /* only in the history */
    assert_int_equal(strlen(service), TN_TOOL_NAME_MAX);
    assert_string_equal(tn_tool_names_from_service(&names, service), longest);
    tn_tool_names_free(&names);
    assert_int_equal(value_live_count(), before);
    assert_int_equal(blocks, 0);
}

/* ---- Answers ---- */

/* Takes the arguments. */
static void add_call_take(struct tn_answer *answer, int64_t index, tn_value id, tn_value name, tn_value arguments) {
    tn_answer_add_call(answer, index, id, name, arguments);
    tn_release(id);
    tn_release(name);
    tn_release(arguments);
}

static void add_text_take(struct tn_answer *answer, tn_value text) {
    tn_answer_add_text(answer, text);
    tn_release(text);
}

static void build_answer(struct tn_answer *answer) {
    static const struct tn_answer_usage usage = {10, 5, -1, 2, -1, -1};
    add_text_take(answer, tn_text("I "));
    add_text_take(answer, tn_text("look."));
    add_call_take(answer, 3, NULL, tn_text("find"), NULL);
    add_call_take(answer, 3, NULL, NULL, tn_text("{\"a\":"));
    add_call_take(answer, 3, NULL, NULL, tn_text("1}"));
    add_call_take(answer, 5, tn_text("second"), tn_text("find"), tn_text("not JSON"));
    tn_answer_set_usage(answer, &usage);
    tn_answer_finish(answer, "stop");
    tn_answer_end(answer);
}

static void test_answer(void **state) {
    (void)state;
    int64_t before = value_live_count();
    struct tn_answer answer;
    tn_value input = json_value("{\"messages\": [1, 2]}");
    tn_answer_init(&answer, 1, input, "acme");
    tn_release(input);
    build_answer(&answer);
    assert_true(tn_answer_is_complete(&answer));
    tn_value output = tn_answer_output(&answer), calls = tn_get(tn_get(output, "message"), "tool_calls");
    char id[64];
    (void)snprintf(id, sizeof id, "%s", tn_get_text(tn.value->at(calls, 0), "id", ""));
    assert_int_equal(strncmp(id, "call_", 5), 0);
    char deltas[1000];
    (void)snprintf(
        deltas, sizeof deltas,
        "{\"content\":\"I \"}\n{\"content\":\"look.\"}\n"
        "{\"tool_call_delta\":{\"index\":0,\"id\":\"%s\",\"name\":\"find\"}}\n"
        "{\"tool_call_delta\":{\"index\":0,\"arguments\":\"{\\\"a\\\":\"}}\n"
        "{\"tool_call_delta\":{\"index\":0,\"arguments\":\"1}\"}}\n"
        "{\"tool_call_delta\":{\"index\":1,\"id\":\"second\",\"name\":\"find\",\"arguments\":\"not JSON\"}}\n"
        "{\"done\":{\"finish_reason\":\"tool_calls\",\"usage\":{\"input_tokens\":10,\"output_tokens\":5,"
        "\"total_tokens\":15,\"cached_tokens\":2}}}\n",
        id);
    expect_emitted(deltas);
    (void)snprintf(deltas, sizeof deltas,
                   "{\"type\":\"ai\",\"content\":\"I look.\",\"tool_calls\":[{\"id\":\"%s\",\"name\":\"find\","
                   "\"arguments\":{\"a\":1}},{\"id\":\"second\",\"name\":\"find\",\"arguments\":\"not JSON\"}],"
                   "\"usage\":{\"input_tokens\":10,\"output_tokens\":5,\"total_tokens\":15,\"cached_tokens\":2},"
                   "\"finish_reason\":\"tool_calls\"}",
                   id);
    expect_json_take(tn_retain(tn_get(output, "message")), deltas);
    tn_release(output);
    tn_answer_free(&answer);
    assert_int_equal(value_live_count(), before);
    assert_int_equal(blocks, 0);
}

/* Deltas wait while the host does not accept them, and keep their order. */
static void test_answer_waits(void **state) {
    (void)state;
    struct tn_answer answer;
    tn_answer_init(&answer, 1, NULL, "acme");
    emit_status = TN_AGAIN;
    add_text_take(&answer, tn_text("a"));
    assert_true(tn_answer_is_waiting(&answer));
    emit_status = TN_OK;
    add_text_take(&answer, tn_text("b")); /* behind the first one */
    tn_answer_finish(&answer, "length");
    tn_answer_end(&answer);
    assert_false(tn_answer_is_complete(&answer));
    expect_emitted("");
    assert_true(tn_answer_flush(&answer));
    assert_true(tn_answer_is_complete(&answer));
    expect_emitted("{\"content\":\"a\"}\n{\"content\":\"b\"}\n{\"done\":{\"finish_reason\":\"length\"}}\n");
    tn_answer_free(&answer);
    /* A task that is cancelled or has ended. */
    tn_answer_init(&answer, 1, NULL, "acme");
    emit_status = TN_CANCELLED;
    add_text_take(&answer, tn_text("a"));
    assert_int_equal(answer.status, TN_CANCELLED);
    emit_status = TN_OK;
    add_text_take(&answer, tn_text("b"));
    expect_emitted("");
    expect_json_take(tn_answer_error(&answer), "{\"code\":\"CANCELLED\",\"message\":\"cancelled\"}");
    tn_answer_free(&answer);
    assert_int_equal(blocks, 0);
}

static void test_answer_parts(void **state) {
    (void)state;
    struct tn_answer answer;
    tn_value text = tn_text("x"), image = json_value("{\"type\": \"image\", \"url\": \"u\"}"), one = tn_int(1);
    tn_answer_init(&answer, 1, NULL, "acme");
    tn_answer_add_text(&answer, text);
    tn_answer_restart(&answer, "OVERLOADED");
    tn_answer_add_reasoning(&answer, text);
    tn_answer_set_part_extra(&answer, "signature", text);
    tn_answer_add_part(&answer, image);
    tn_answer_add_refusal(&answer, text);
    tn_answer_set_extra(&answer, "id", one);
    tn_answer_set_model(&answer, text);
    tn_answer_add_call(&answer, 0, NULL, NULL, NULL);
    tn_answer_set_call_extra(&answer, 0, "k", one);
    assert_int_equal(tn_answer_get_count(one, "k"), -1);
    tn_answer_end(&answer);
    expect_json_take(tn_answer_error(&answer),
                     "{\"code\":\"INVALID_RESPONSE\",\"message\":\"acme sent a tool call without a "
                     "name; try again\",\"retryable\":true}");
    tn_text_free(&emitted);
    tn_answer_clear(&answer);
    answer.status = TN_OK;
    tn_answer_add_reasoning(&answer, text);
    tn_answer_set_part_extra(&answer, "signature", text);
    tn_answer_add_part(&answer, image);
    tn_answer_add_refusal(&answer, text);
    tn_answer_set_extra(&answer, "id", one);
    tn_answer_set_model(&answer, text);
    tn_answer_finish(&answer, "stop");
    tn_answer_end(&answer);
    expect_emitted(
        "{\"reasoning\":\"x\"}\n{\"part\":{\"type\":\"image\",\"url\":\"u\"}}\n"
        "{\"part\":{\"type\":\"refusal\",\"text\":\"x\"}}\n{\"done\":{\"finish_reason\":\"content_filter\"}}\n");
    expect_json_take(
        tn_answer_output(&answer),
        "{\"message\":{\"type\":\"ai\",\"content\":[{\"type\":\"reasoning\",\"text\":\"x\",\"extra\":{\"acme\":"
        "{\"signature\":\"x\"}}},{\"type\":\"image\",\"url\":\"u\"},{\"type\":\"refusal\",\"text\":\"x\"}],"
        "\"finish_reason\":\"content_filter\",\"model\":\"x\",\"extra\":{\"acme\":{\"id\":1}}},"
        "\"finish_reason\":\"content_filter\"}");
    tn_answer_free(&answer);
    tn_release(text);
    tn_release(image);
    tn_release(one);
    assert_int_equal(blocks, 0);
}

static void test_answer_without_memory(void **state) {
    (void)state;
    int64_t before = value_live_count();
    bool failed = true;
    for (int64_t n = 1; failed; n++) {
        struct tn_answer answer;
        struct tn_tool_names names = TN_TOOL_NAMES;
        tn_answer_init(&answer, 1, NULL, "acme");
        answer.names = &names;
        fails_at = n;
        emit_status = TN_AGAIN; /* so that the queue is allocated, too */
        (void)tn_tool_names_to_service(&names, "find");
        build_answer(&answer);
        failed = fails_at == 0;
        fails_at = 0;
        emit_status = TN_OK;
        if (answer.status != TN_OK) {
            tn_value error = tn_answer_error(&answer);
            assert_string_equal(tn_get_text(error, "code", ""), "LIMIT");
            tn_release(error);
        }
        tn_answer_free(&answer);
        tn_tool_names_free(&names);
        tn_text_free(&emitted);
        assert_int_equal(value_live_count(), before);
        assert_int_equal(blocks, 0);
        assert_true(n < 1000);
    }
}

/* ---- Errors ---- */

static void test_errors(void **state) {
    (void)state;
    int64_t before = value_live_count();
    struct tn_model_failure failure = TN_MODEL_FAILURE("acme");
    tn_value headers = json_value("{\"retry-after\": \"2\", \"x-request-id\": \"r1\"}");
    tn_value message = tn_text("slow down,\nk-1234 and sk-abc are over the limit"), key = tn_text("k-1234");
    failure.status = 429;
    failure.headers = headers;
    failure.message = message;
    failure.key = key;
    expect_json_take(
        tn_model_error(&failure),
        "{\"code\":\"RATE_LIMITED\",\"message\":\"acme does not accept more requests at the moment (status 429): "
        "\\\"slow down, ****** and sk-*** are over the limit\\\"; wait, or have the limit raised there\","
        "\"retryable\":true,\"retry_after_ms\":2000,\"detail\":{\"status\":429,\"provider\":\"acme\","
        "\"request_id\":\"r1\"}}");
    failure.status = 401;
    failure.secret = "ACME_KEY";
    expect_json_take(
        tn_model_error(&failure),
        "{\"code\":\"AUTH\",\"message\":\"acme does not accept the key, or the key has no access (status 401): "
        "\\\"slow down, ****** and sk-*** are over the limit\\\"; check `api_key`, which is written in the "
        "configuration\",\"retryable\":false,\"detail\":{\"status\":401,\"provider\":\"acme\",\"request_id\":\"r1\"}}");
    failure.key = NULL;
    failure.message = NULL;
    expect_json_take(
        tn_model_error(&failure),
        "{\"code\":\"AUTH\",\"message\":\"acme does not accept the key, or the key has no access (status 401); "
        "check `api_key`, by default the secret ACME_KEY\",\"retryable\":false,\"detail\":{\"status\":401,"
        "\"provider\":\"acme\",\"request_id\":\"r1\",\"secret\":\"ACME_KEY\"}}");
    failure.credentials = "`entra`";
    expect_json_take(
        tn_model_error(&failure),
        "{\"code\":\"AUTH\",\"message\":\"acme does not accept the credentials, or they have no access "
        "(status 401); check `entra`\",\"retryable\":false,\"detail\":{\"status\":401,\"provider\":\"acme\","
        "\"request_id\":\"r1\"}}");
    failure.credentials = NULL;
    tn_release(headers);
    headers = json_value("{\"location\": \"https://acme.example/v1/chat?key=12345\"}");
    failure.status = 308;
    failure.headers = headers;
    expect_json_take(
        tn_model_error(&failure),
        "{\"code\":\"INVALID_RESPONSE\",\"message\":\"acme sent an invalid answer (status 308, a redirect to "
        "https://acme.example/v1/chat); check `base_url`, or try "
        "again\",\"retryable\":false,\"detail\":{\"status\":308,"
        "\"provider\":\"acme\"}}");
    tn_release(headers);
    tn_release(message);
    tn_release(key);
    struct tn_model_failure lost = TN_MODEL_FAILURE("acme");
    tn_value error = json_value("{\"code\": \"CONNECTION_LOST\", \"message\": \"closed\", \"retryable\": true}");
    expect_json_take(tn_model_error_http(&lost, error),
                     "{\"code\":\"CONNECT\",\"message\":\"acme: closed\",\"retryable\":true,"
                     "\"detail\":{\"provider\":\"acme\",\"type\":\"CONNECTION_LOST\"}}");
    lost.status = 200;
    expect_json_take(
        tn_model_error_http(&lost, error),
        "{\"code\":\"INVALID_RESPONSE\",\"message\":\"acme: the answer was interrupted (closed); try again\","
        "\"retryable\":true,\"detail\":{\"status\":200,\"provider\":\"acme\",\"type\":\"CONNECTION_LOST\"}}");
    tn_release(error);
    assert_int_equal(value_live_count(), before);
    assert_int_equal(blocks, 0);
}

static void test_error_codes(void **state) {
    static const struct {
        int64_t status;
        const char *code;
    } cases[] = {{402, "QUOTA"},           {404, "NOT_FOUND"},     {0, "OVERLOADED"},   {302, "INVALID_RESPONSE"},
                 {400, "INVALID_REQUEST"}, {403, "AUTH"},          {407, "AUTH"},       {408, "TIMEOUT"},
                 {425, "OVERLOADED"},      {429, "RATE_LIMITED"},  {500, "OVERLOADED"}, {529, "OVERLOADED"},
                 {422, "INVALID_REQUEST"}, {413, "CONTEXT_LENGTH"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(tn_model_error_code(cases[i].status), cases[i].code);
    assert_int_equal(tn_model_http_date("Wed, 21 Oct 2015 07:28:00 GMT"), 1445412480000);
    assert_int_equal(tn_model_http_date("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
    assert_int_equal(tn_model_http_date("soon"), -1);
    static const struct {
        const char *headers;
        int64_t ms;
    } waits[] = {{"{}", -1},
                 {"{\"retry-after\": \"1.5\"}", 1500},
                 {"{\"retry-after\": \"x\"}", -1},
                 {"{\"retry-after\": \"-1\"}", -1},
                 {"{\"retry-after\": \"nan\"}", -1},
                 {"{\"retry-after\": \"1e30\"}", TN_MODEL_RETRY_AFTER_MAX},
                 {"{\"retry-after\": \"9\", \"retry-after-ms\": \"20\"}", 20}};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        tn_value headers = json_value(waits[i].headers);
        assert_int_equal(tn_model_retry_after_ms(headers), waits[i].ms);
        tn_release(headers);
    }
}

/* ---- Bodies of errors ---- */

/* The true bodies of services, and of servers and proxies that stand in their place. */
static const struct {
    int64_t status;
    const char *body, *code, *message, *type, *field;
} bodies[] = {
    /* OpenAI */
    {429,
     "{\"error\":{\"message\":\"You exceeded your current quota, please check your plan and billing "
     "details.\",\"type\":"
     "\"insufficient_quota\",\"param\":null,\"code\":\"insufficient_quota\"}}",
     "QUOTA", "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", ""},
    {404,
     "{\"error\":{\"message\":\"The model `gpt-9` does not exist or you do not have access to it.\",\"type\":"
     "\"invalid_request_error\",\"param\":null,\"code\":\"model_not_found\"}}",
     "NOT_FOUND", "The model `gpt-9` does not exist or you do not have access to it.", "model_not_found", ""},
    {400,
     "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens'\",\"type\":\"invalid_request_error\",\"param\":"
     "\"max_tokens\",\"code\":\"unsupported_parameter\"}}",
     "INVALID_REQUEST", "Unsupported parameter: 'max_tokens'", "unsupported_parameter", "max_tokens"},
    {400, "{\"error\":{\"message\":\"Invalid value for 'messages[0].role'\",\"type\":\"invalid_request_error\"}}",
     "INVALID_REQUEST", "Invalid value for 'messages[0].role'", "invalid_request_error", "messages[0].role"},
    /* Anthropic */
    {400,
     "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.0.content: Field "
     "required\"},\"request_id\":\"req_1\"}",
     "INVALID_REQUEST", "messages.0.content: Field required", "invalid_request_error", "messages.0.content"},
    {400,
     "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Your credit balance is too low "
     "to "
     "access the Anthropic API.\"}}",
     "QUOTA", "Your credit balance is too low to access the Anthropic API.", "invalid_request_error", ""},
    {400,
     "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 210000 "
     "tokens > "
     "200000 maximum\"}}",
     "CONTEXT_LENGTH", "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error", ""},
    /* Gemini */
    {400,
     "[{\"error\":{\"code\":400,\"message\":\"Invalid value\",\"status\":\"INVALID_ARGUMENT\",\"details\":[{\"@type\":"
     "\"type.googleapis.com/"
     "google.rpc.BadRequest\",\"fieldViolations\":[{\"field\":\"contents[0].role\",\"description\":"
     "\"bad\"}]}]}}]",
     "INVALID_REQUEST", "Invalid value", "INVALID_ARGUMENT", "contents[0].role"},
    /* Mistral, and other servers made with FastAPI */
    {422,
     "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"stream_options\"],\"msg\":\"Extra inputs are not "
     "permitted\",\"input\":{}}]}",
     "INVALID_REQUEST", "Extra inputs are not permitted", "extra_forbidden", "stream_options"},
    {422,
     "{\"object\":\"error\",\"message\":{\"detail\":[{\"loc\":[\"body\",\"messages\",0,\"content\"],\"msg\":\"field "
     "required\",\"type\":\"value_error.missing\"}]},\"type\":\"invalid_request_error\"}",
     "INVALID_REQUEST", "field required", "value_error.missing", "messages.0.content"},
    {401, "{\"detail\":\"Unauthorized\"}", "AUTH", "Unauthorized", "", ""},
    {400,
     "{\"object\":\"error\",\"message\":\"Invalid model: "
     "mistral-x\",\"type\":\"invalid_model\",\"param\":null,\"code\":"
     "\"1500\"}",
     "NOT_FOUND", "Invalid model: mistral-x", "1500", ""},
    {400,
     "{\"object\":\"error\",\"message\":\"Prompt contains 40000 tokens and 0 draft tokens, too large for model with "
     "32768 "
     "maximum context length\",\"type\":\"invalid_request_error\"}",
     "CONTEXT_LENGTH",
     "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
     "invalid_request_error", ""},
    /* vLLM */
    {400,
     "{\"object\":\"error\",\"message\":\"This model's maximum context length is 4096 "
     "tokens.\",\"type\":\"BadRequestError\","
     "\"param\":null,\"code\":400}",
     "CONTEXT_LENGTH", "This model's maximum context length is 4096 tokens.", "BadRequestError", ""},
    {404,
     "{\"object\":\"error\",\"message\":\"The model `x` does not exist.\",\"type\":\"NotFoundError\",\"code\":404}",
     "NOT_FOUND", "The model `x` does not exist.", "NotFoundError", ""},
    /* DeepSeek, OpenRouter, Ollama, AWS, problem+json, and others */
    {402,
     "{\"error\":{\"message\":\"Insufficient Balance\",\"type\":\"unknown_error\",\"param\":null,\"code\":"
     "\"invalid_request_error\"}}",
     "QUOTA", "Insufficient Balance", "invalid_request_error", ""},
    {400, "{\"error\":{\"message\":\"acme/x is not a valid model ID\",\"code\":400},\"user_id\":\"u\"}", "NOT_FOUND",
     "acme/x is not a valid model ID", "", ""},
    {404, "{\"error\":\"model 'm' not found\"}", "NOT_FOUND", "model 'm' not found", "", ""},
    {400, "{\"Message\":\"The provided model identifier is invalid.\"}", "NOT_FOUND",
     "The provided model identifier is invalid.", "", ""},
    {429, "{\"message\":\"Too many requests\",\"__type\":\"ThrottlingException\"}", "RATE_LIMITED", "Too many requests",
     "ThrottlingException", ""},
    {400, "{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"detail\":\"no such field\",\"status\":400}",
     "INVALID_REQUEST", "no such field", "about:blank", ""},
    {400, "{\"errors\":[{\"message\":\"first\"},{\"message\":\"second\"},\"third\"]}", "INVALID_REQUEST",
     "first; second; third", "", ""},
    {400, "{\"error\":\"invalid_request\",\"error_description\":\"no grant\"}", "INVALID_REQUEST", "no grant", "", ""},
    /* What services say about messages that are too long, without a word for it: xAI, Moonshot, TGI, LM Studio, Cohere
     */
    {400,
     "{\"code\":\"Client specified an invalid argument\",\"error\":\"This model's maximum prompt length is 131072 but "
     "the "
     "request contains 537812 tokens.\"}",
     "CONTEXT_LENGTH", "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
     "Client specified an invalid argument", ""},
    {400,
     "{\"error\":{\"message\":\"Invalid request: Your request exceeded model token limit: 8192\",\"type\":"
     "\"invalid_request_error\"}}",
     "CONTEXT_LENGTH", "Invalid request: Your request exceeded model token limit: 8192", "invalid_request_error", ""},
    {422,
     "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` "
     "tokens and 500 `max_new_tokens`\",\"error_type\":\"validation\"}",
     "CONTEXT_LENGTH",
     "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 500 "
     "`max_new_tokens`",
     "", ""},
    {400, "{\"error\":\"The number of tokens to keep from the initial prompt is greater than the context length.\"}",
     "CONTEXT_LENGTH", "The number of tokens to keep from the initial prompt is greater than the context length.", "",
     ""},
    {400, "{\"message\":\"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.\"}",
     "CONTEXT_LENGTH", "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.", "",
     ""},
    {413, "<html><head><title>413 Request Entity Too Large</title></head></html>", "CONTEXT_LENGTH",
     "413 Request Entity Too Large", "", ""},
    {400, "{\"oops\": {\"a\": 1}}", "INVALID_REQUEST", "{\"oops\":{\"a\":1}}", "", ""},
    /* Text */
    {503, "upstream connect error or disconnect/reset before headers\n", "OVERLOADED",
     "upstream connect error or disconnect/reset before headers", "", ""},
    {502, "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>nginx</h1></body></html>", "OVERLOADED",
     "502 Bad Gateway", "", ""},
    {502, "<!DOCTYPE html><style>b {}</style><body><script>x < 1</script><p>Down</p> for <b>repairs</b>", "OVERLOADED",
     "Down for repairs", "", ""},
    {500, "a\x1b[31mred\x07 \xc2\x9b \xe2\x80\xae end \xff.", "OVERLOADED", "a [31mred end \xef\xbf\xbd.", "", ""},
    {500, "", "OVERLOADED", "", "", ""},
    {500, "null", "OVERLOADED", "", "", ""},
    {500, "<", "OVERLOADED", "", "", ""},
};

static void test_bodies(void **state) {
    (void)state;
    int64_t before = value_live_count();
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct tn_model_body body;
        tn_model_body_read(&body, bodies[i].body, strlen(bodies[i].body));
        assert_string_equal(tn_text_chars(&body.message), bodies[i].message);
        assert_string_equal(tn_text_chars(&body.type), bodies[i].type);
        assert_string_equal(tn_text_chars(&body.field), bodies[i].field);
        tn_model_body_free(&body);
        struct tn_model_failure failure = TN_MODEL_FAILURE("acme");
        failure.status = bodies[i].status;
        failure.body = tn_bytes(bodies[i].body, strlen(bodies[i].body));
        tn_value error = tn_model_error(&failure);
        const char *message = tn_get_text(error, "message", "");
        assert_string_equal(tn_get_text(error, "code", ""), bodies[i].code);
        assert_non_null(strstr(message, bodies[i].message));
        if (*bodies[i].field) assert_non_null(strstr(message, bodies[i].field));
        tn_release(error);
        tn_release(failure.body);
    }
    assert_int_equal(value_live_count(), before);
    assert_int_equal(blocks, 0);
}

/* A body that repeats the key, one that is cut inside of it, and a huge one. */
static void test_hostile_bodies(void **state) {
    (void)state;
    struct tn_text_buffer text = TN_TEXT_BUFFER(0);
    struct tn_model_failure failure = TN_MODEL_FAILURE("acme");
    tn_value key = tn_text("hunter-2-hunter-2");
    failure.status = 400;
    failure.key = key;
    for (size_t size = 370; size < 420; size++) { /* the quote ends inside of the key */
        tn_text_clear(&text, 0);
        for (size_t i = 0; i < size; i++) (void)tn_text_append_char(&text, 'a');
        (void)tn_text_append(&text, " hunter-2-hunter-2 sk-abcdef eyJhbGciOiJ9.e30 key=12345 risk-averse");
        failure.body = tn_text_n(tn_text_chars(&text), text.length);
        tn_value error = tn_model_error(&failure), json = tn_to_json(error);
        const char *chars = tn_chars(json, NULL);
        assert_null(strstr(chars, "hunter"));
        assert_null(strstr(chars, "abcdef"));
        assert_null(strstr(chars, "hbGci"));
        assert_null(strstr(chars, "12345"));
        assert_non_null(strstr(chars, "risk-averse")); /* in the detail, which has more of the body */
        assert_non_null(strstr(chars, "--record"));
        tn_release(json);
        tn_release(error);
        tn_release(failure.body);
    }
    tn_text_clear(&text, 0);
    (void)tn_text_append(&text, "{\"error\": {\"message\": \"");
    for (size_t i = 0; i < 1000000; i++) (void)tn_text_append(&text, "\xc3\xa4");
    (void)tn_text_append(&text, "\", \"type\": \"");
    for (size_t i = 0; i < 100000; i++) (void)tn_text_append_char(&text, 't');
    (void)tn_text_append(&text, "\"}}");
    failure.body = tn_text_n(tn_text_chars(&text), text.length);
    tn_value error = tn_model_error(&failure), json = tn_to_json(error);
    uint64_t length = 0;
    (void)tn_chars(json, &length);
    assert_in_range(length, 500, 4000);
    tn_release(json);
    tn_release(error);
    tn_release(failure.body);
    /* Deep nesting ends. */
    tn_text_clear(&text, 0);
    for (size_t i = 0; i < 60; i++) (void)tn_text_append(&text, "{\"error\":[");
    (void)tn_text_append(&text, "\"deep\"");
    for (size_t i = 0; i < 60; i++) (void)tn_text_append(&text, "]}");
    failure.body = tn_text_n(tn_text_chars(&text), text.length);
    error = tn_model_error(&failure);
    assert_non_null(strstr(tn_get_text(error, "message", ""), "error"));
    tn_release(error);
    tn_release(failure.body);
    tn_release(key);
    tn_text_free(&text);
    assert_int_equal(blocks, 0);
}

/* Each allocation fails once: nothing leaks, and a key is not shown in what is left. */
static void test_bodies_without_memory(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{\"detail\":[{\"loc\":[\"body\",\"messages\",0],\"msg\":\"hunter-2 is wrong\",\"type\":\"hunter-2\"}]}",
        "<html><title></title><p>hunter-2 &amp; more</p>", "{\"odd\": \"hunter-2\"}"};
    int64_t before = value_live_count();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool failed = true;
        for (int64_t n = 1; failed; n++) {
            struct tn_model_failure failure = TN_MODEL_FAILURE("acme");
            failure.key = tn_text("hunter-2");
            failure.body = tn_bytes(texts[i], strlen(texts[i]));
            failure.status = 400;
            fails_at = n;
            tn_value error = tn_model_error(&failure);
            failed = fails_at == 0;
            fails_at = 0;
            tn_value json = error != NULL ? tn_to_json(error) : NULL;
            if (json != NULL) assert_null(strstr(tn_chars(json, NULL), "hunter-2"));
            tn_release(json);
            tn_release(error);
            tn_release(failure.body);
            tn_release(failure.key);
            assert_int_equal(value_live_count(), before);
            assert_int_equal(blocks, 0);
            assert_true(n < 1000);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),          cmocka_unit_test(test_answer),
        cmocka_unit_test(test_answer_waits),   cmocka_unit_test(test_answer_parts),
        cmocka_unit_test(test_errors),         cmocka_unit_test(test_answer_without_memory),
        cmocka_unit_test(test_error_codes),    cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_hostile_bodies), cmocka_unit_test(test_bodies_without_memory),
    };
    return cmocka_run_group_tests(tests, model_setup, NULL);
}
