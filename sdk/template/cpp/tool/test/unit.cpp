/*
 * unit.cpp - the tool on a fake host: fast, under a debugger, without Tenon.
 */
#include "../src/plugin.cpp"

#include <tenon/testkit.h>

int main(void) {
    struct tn_test_task *task = tn_test_run("@ID@.repeat", "{}", "{\"text\": \"fits\", \"times\": 2}");
    TN_TEST_ASSERT(tn_test_completed(task, "[\"fits\",\"fits\"]"));
    tn_test_finish();

    task = tn_test_run("@ID@.repeat", "{}", "{\"text\": \"fits\", \"times\": 101}");
    TN_TEST_ASSERT(tn_test_failed(task, "INVALID_INPUT"));
    tn_test_finish();
    return 0;
}
