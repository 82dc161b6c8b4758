#include <tenon/easy.h>

TN_PLUGIN("acme.calc", "1.0.0", "Arithmetic for agents")

TN_TOOL(add, "calc.add", "Adds two integers.", TN_PURE, (INT, a, "first addend"), (INT, b, "second addend")) {
    return tn_done_int(task, args->a + args->b);
}
