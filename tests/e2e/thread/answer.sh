# Answers to interrupts, in any order, given by other processes.
ask_document
run tenon run ask.yaml --thread ask $nodes --json
expect_code 5
read -r first second <<<"$(ids | tr '\n' ' ')"
run tenon run ask.yaml --thread ask $nodes
expect_code 1
expect_in err 'the thread `ask` is not done: it is interrupted; continue it (`resume`), or discard what it was doing and start with the new input (`replace`)'
tenon thread show ask --json >before.json
run tenon run ask.yaml --thread ask $nodes --resume
expect_code 5
expect_in err "node a asks: may I? (id $first)" && expect_in err "--answer $first=VALUE"
expect_in err "node b asks: may I? (id $second)" && expect_in err "--answer $second=VALUE" && expect_not_in err '{"'
run tenon thread show ask
expect_in out "answer    tenon thread answer ask $second=true, or =false" && expect_not_in out '"schema"'
run tenon run ask.yaml --thread ask $nodes --resume --json
expect_code 5
expect_in out '"status":"interrupted"' && expect_in out '"interrupts":[{"id":'
tenon thread show ask --json | cmp - before.json || fails "a resume without an answer changed the thread"
run tenon thread answer ask "$second=\"no\""
expect_code 1
expect_in err "expected a boolean"
run tenon thread answer ask 0123456789abcdef=1
expect_code 1
expect_in err 'the run has no open interrupt with the id `0123456789abcdef`'
run tenon thread answer ask "$second=false"
expect_code 0 && [ ! -s "$work/err" ] || fails "expected nothing on standard error: the answer replaces no other"
run tenon thread answer ask "$second=true"
expect_code 0 && expect_in err "replaced the earlier answer to $second, which was false"
run tenon thread answer ask "$second=true"
expect_code 0 && [ ! -s "$work/err" ] || fails "expected nothing on standard error: the same answer is not a replacement"
run tenon thread show ask
expect_in out "      answered  true"
expect_in out "answer    tenon thread answer ask $first=VALUE"
run tenon run ask.yaml --thread ask $nodes --resume
expect_code 5
run tenon thread answer ask "$second=true"
expect_code 1
run tenon run ask.yaml --thread ask $nodes --resume --answer "$first=yes"
expect_code 0
expect_out '{"t":["yes",true,1,"end"]}'
run tenon run ask.yaml --thread ask $nodes --resume
expect_code 1
expect_in err "is done: there is nothing to resume"
run tenon replay ask $nodes
expect_code 0
run tenon run ask.yaml --thread given-up $nodes
expect_code 5
run tenon run ask.yaml --thread given-up $nodes --replace --json
expect_code 5
