/* calc.c - arithmetic tools for a model, in one file. The declarations below are the descriptions that the model sees.
 */
#include <tenon/easy.h>

TN_PLUGIN("sample.calc", "1.0.0", "Arithmetic for agents")

TN_TOOL(add, "calc.add", "Adds two numbers.", TN_PURE, (NUM, a, "first addend"), (NUM, b, "second addend")) {
    return tn_done_num(task, args->a + args->b);
}

TN_TOOL(multiply, "calc.multiply", "Multiplies two numbers.", TN_PURE, (NUM, a, "first factor"),
        (NUM, b, "second factor")) {
    return tn_done_num(task, args->a * args->b);
}

TN_TOOL(divide, "calc.divide", "Divides one number by another.", TN_PURE, (NUM, a, "what is divided"),
        (NUM, b, "by what; not 0")) {
    if (args->b == 0) return tn_fail(task, "DIVISION_BY_ZERO", "found 0 as `b`, expected another number");
    return tn_done_num(task, args->a / args->b);
}

/* A destructive effect: the host asks for approval before the call. */
TN_TOOL(pay, "calc.pay", "Pays an amount to a recipient.", TN_EFFECTS("destructive"), (TEXT, to, "to whom"),
        (NUM, amount, "how much")) {
    char text[160];
    (void)snprintf(text, sizeof text, "paid %.2f to %.100s", args->amount, args->to);
    return tn_done_text(task, text);
}
