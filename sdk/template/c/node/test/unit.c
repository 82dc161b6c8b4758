/*
 * unit.c - the node on a fake host: fast, under a debugger, without Tenon.
 */
#include "../src/plugin.c"

#include <tenon/testkit.h>

int main(void) {
    tn_test_set_channel("text", "\"a tenon  fits\"");
    tn_test_set_channel("count", "0");
    tn_test_run("@ID@.words", "{\"input_key\": \"text\", \"output_key\": \"count\"}", "null");
    TN_TEST_ASSERT(tn_test_wrote("count", "3"));
    tn_test_finish();

    tn_test_set_channel("text", "7"); /* not a text */
    tn_test_set_channel("count", "0");
    struct tn_test_task *task =
        tn_test_run("@ID@.words", "{\"input_key\": \"text\", \"output_key\": \"count\"}", "null");
    TN_TEST_ASSERT(tn_test_failed(task, "TYPE"));
    tn_test_finish();
    return 0;
}
