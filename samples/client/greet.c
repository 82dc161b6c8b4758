/* greet.c - a plugin with one node type, in two builds: -DBUILD=1 and -DBUILD=2. */
#include <tenon/easy.h>

#if BUILD == 1
TN_PLUGIN("sample.greet", "1.0.0", "Greets people")
#define GREETING "Hello, {name}!"
#else
TN_PLUGIN("sample.greet", "2.0.0", "Greets people, and is glad to")
#define GREETING "Good morning, {name}! How nice to see you."
#endif

TN_NODE(greet, "sample.greet", "Greets a person.", TN_PURE, (TEMPLATE_OR, text, GREETING, "the greeting"),
        (WRITE, out, "its channel")) {
    (void)input;
    tn_value text = tn_render(task, config->text, NULL);
    return text ? tn_done_written(task, tn_write_take(task, config->out, text)) : TN_FAILED;
}
