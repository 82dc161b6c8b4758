/*
 * plugin.c - the plugin @ID@: a tool that repeats a text.
 */
#include <tenon/easy.h>

TN_PLUGIN("@ID@", "0.1.0", "What the plugin is for, in one line")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")
TN_NOTE("{\"component\": {\"id\": \"@ID@.repeat\", \"documentation\": \"Returns a list of `times` texts.\"}}")

TN_TOOL(repeat, "@ID@.repeat", "Repeats a text.", TN_PURE, (TEXT, text, "what to repeat"),
        (INT_OR, times, 2, "how often, at most 100")) {
    if (args->times < 0 || args->times > 100) return tn_fail(task, "INVALID_INPUT", "`times` must be 0 to 100");
    tn_value once = tn_text_n(args->text, args->text_length);
    tn_builder *result = tn_builder_new();
    tn.value->begin(result, TN_ARRAY);
    for (int64_t i = 0; i < args->times; i++) tn_put(result, NULL, once);
    tn.value->end(result);
    tn_release(once);
    return tn_done_take(task, tn_finish(result));
}
