# The topic expressions: every function, operator and variable. Examples give the documented results.
topic expressions
of 's/^(FUNCTION|MACRO)\([^"]*"([^"]*)",$/\2/p' "$SOURCE/adl/expr/functions.def" | while read -r signature; do
    grep -qxF "### \`$signature\`" expressions.md || fails "the topic expressions lacks $signature"
done
[ "$(grep -cE '^(OPERATOR|BINARY)\(' "$SOURCE/adl/expr/operators.def")" = "$(section expressions.md Operators | grep -c '^### ')" ] ||
    fails "the topic expressions lacks an operator"
sed -nE 's/^- `(.*)` returns `(.*)`$/\1\t\2/p' expressions.md >gives
[ "$(wc -l <gives)" = "$(section expressions.md Operators | grep -c '^### ')" ] || fails "expected an example for each operator"
while IFS=$'\t' read -r expression result; do
    run tenon eval -- "$expression"
    expect_code 0 && expect_out "$result"
done <gives
for variable in state input run item config; do
    grep -q "^- \`$variable\`" expressions.md || fails "the topic expressions lacks the variable $variable"
done
