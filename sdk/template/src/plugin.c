/*
 * plugin.c - the plugin @ID@: a node that counts the words of a text, and a tool that repeats one.
 */
#include <tenon/easy.h>

TN_PLUGIN("@ID@", "0.1.0", "What the plugin is for, in one line")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")
TN_NOTE("{\"component\": {\"id\": \"@ID@.words\", \"documentation\": \"Words are separated by blanks.\"}}")
TN_NOTE("{\"component\": {\"id\": \"@ID@.repeat\", \"documentation\": \"Returns a list of `times` texts.\"}}")

TN_NODE(words, "@ID@.words", "Counts the words of a text.", TN_PURE, (READ, input_key, "the text's channel"),
        (WRITE, output_key, "where the number goes")) {
    tn_value text = tn_read_text(task, config->input_key);
    if (text == NULL) return TN_FAILED; /* the task has been failed */
    int64_t count = 0;
    for (const char *at = tn_chars(text, NULL); *at != '\0'; at++)
        count += *at != ' ' && (at[1] == ' ' || at[1] == '\0');
    tn_release(text);
    return tn_done_written(task, tn_write_int(task, config->output_key, count));
}

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
