#include <tenon/easy.h>

TN_PLUGIN("acme.text", "1.0.0", "Nodes that work on texts")

TN_NODE(words, "acme.text.words", "Counts the words of a text.", TN_PURE, (READ, input_key, "the text's channel"),
        (WRITE, output_key, "where the number goes")) {
    tn_value text = tn_read_text(task, config->input_key);
    if (text == NULL) return TN_FAILED; /* the task says why */
    int64_t count = 0;
    for (const char *at = tn_chars(text, NULL); *at != '\0'; at++)
        count += *at != ' ' && (at[1] == ' ' || at[1] == '\0');
    tn_release(text);
    return tn_done_written(task, tn_write_int(task, config->output_key, count));
}
