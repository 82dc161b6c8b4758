/*
 * fake_host.h - <tenon/testkit.h> over the host's own values, for cmocka.
 *
 *     struct tn_test_task *task = tn_test_run("set", "{\"values\": {\"done\": true}}", "null");
 *     assert_true(tn_test_wrote("done", "true"));
 *     tn_test_finish();
 */
#ifndef TENON_TESTS_FAKE_HOST_H
#define TENON_TESTS_FAKE_HOST_H

#include <tenon.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"

extern const tn_value_1 interface_value; /* the host's */

#define TN_TEST_VALUES            (&interface_value)
#define TN_TEST_ASSERT(condition) assert_true(condition)
#include <tenon/testkit.h>

#endif
