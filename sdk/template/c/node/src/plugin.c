/*
 * plugin.c - the plugin @ID@: a node that counts the words of a text.
 */
#include <tenon/easy.h>

TN_PLUGIN("@ID@", "0.1.0", "What the plugin is for, in one line")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")
TN_NOTE("{\"component\": {\"id\": \"@ID@.words\", \"documentation\": \"Words are separated by blanks.\"}}")

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
