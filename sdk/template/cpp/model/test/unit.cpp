/*
 * unit.cpp - the model on a fake host: fast, under a debugger, without Tenon.
 */
#include "../src/plugin.cpp"

#include <tenon/testkit.h>

int main(void) {
    tn_test.room = 16; /* deltas that the fake host accepts */
    struct tn_test_task *task =
        tn_test_run("@ID@", "{\"model\": \"echo\"}", "{\"messages\": [{\"type\": \"user\", \"content\": \"a b\"}]}");
    TN_TEST_ASSERT(tn_test_completed(task, "{\"message\":{\"type\":\"ai\",\"content\":\"You said: a b\"},\"usage\":{\"input_tokens\":2,"
                                           "\"output_tokens\":4,\"total_tokens\":6},\"finish_reason\":\"stop\"}"));
    tn_test_finish();

    task = tn_test_run("@ID@", "{\"model\": \"echo\"}", "{\"embed\": [\"a\"]}");
    TN_TEST_ASSERT(tn_test_failed(task, "UNSUPPORTED"));
    tn_test_finish();
    return 0;
}

