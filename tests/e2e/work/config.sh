# `work:` of tenon.yaml: mistakes in its form are errors, and names that do not exist are warnings of `check` and `doctor`.
cat >good.yaml <<'E'
version: '1.0'
agent: {name: good}
output: {type: object, properties: {user_output: {type: [string, 'null']}, task_state: {enum: [done, failed, running]}}}
channels: [{name: task, type: last_value}, {name: user_output, type: last_value}, {name: task_state, type: last_value, default: done}]
nodes: [{id: greet, type: set, config: {values: {user_output: '"Hello"'}}}]
edges: [{from: START, to: greet}, {from: greet, to: END}]
E
sed 's/name: task,/name: job,/' good.yaml >bad.yaml

wrong() { # LINES, and a part of the message
    printf 'work:\n%s\n' "$1" >tenon.yaml
    run tenon check good.yaml
    expect_code 4 && expect_in err "$2"
}
wrong '  a: {ttl: 1ms}' '`work.a.ttl`: found `1ms`, expected a duration from 1s to 7d'
wrong '  a: {ttl: 8d}' '`work.a.ttl`: found `8d`'
wrong '  a: {priority: high}' '`work.a.priority`: found `high`, expected a whole number from -1000 to 1000'
wrong '  a: {concurrency: 0}' '`work.a.concurrency`: found 0, expected a whole number from 1 to 10000'
wrong '  a: {strategie: b}' 'found the key `strategie`, which a Task type does not have'
wrong '  a: {strategy: x, runner: y}' 'found `strategy` and `runner`, expected one of them'
wrong '  a: {tools: search}' '`work.a.tools`: found `search`, expected a list of names of tools'
wrong '  a: {retries: {max_attempts: 0}}' '`work.a.retries.max_attempts`: found 0'
wrong '  a: {retries: {factor: 0.5}}' '`work.a.retries.factor`: found 0.5, expected a number from 1 to 100'
wrong '  a: {retries: {initial: soon}}' '`work.a.retries.initial`: found `soon`'
wrong '  a: {options: 1}' '`work.a.options`: found int, expected a mapping'
wrong '  "": {strategy: x}' 'a Task type must have 1 to 128 bytes'
wrong '  a: tenon:pdca' '`work.a`: found string, expected a mapping'
wrong "$(for i in $(seq 65); do echo "  t$i: {strategy: x}"; done)" 'found 65 Task types, expected at most 64'

cat >tenon.yaml <<'E'
work:
  good: {strategy: ./good.yaml, tools: ["artifact.*"], ttl: 2m, priority: -1, concurrency: 2,
         retries: {max_attempts: 5, initial: 500ms, factor: 1.5, max: 1m}, options: {a: 1}}
  gone: {strategy: ./gone.yaml}
  bad: {strategy: ./bad.yaml}
  none: {strategy: "tenon:none"}
  coded: {runner: acme.none}
  neither: {ttl: 2m}
  user_request: {ttl: 2m}
  eager: {strategy: ./good.yaml, retries: {initial: 10m}}
E
for command in "check good.yaml" doctor; do
    run tenon $command
    cat "$work/out" "$work/err" >both
    grep -q 'work.good' both && fails "$command: reported a type without mistakes"
    grep -q 'work.gone: the strategy `.*gone.yaml` cannot be read: no such file' both || fails "$command: gone"
    grep -q 'work.bad: .*`task`.*ADL-E07' both || fails "$command: bad"
    grep -q 'work.none: the strategy `tenon:none` cannot be read' both || fails "$command: none"
    grep -q 'work.neither: found neither `strategy` nor `runner`, expected one of them' both || fails "$command: neither"
    grep -q 'work.user_request' both && fails "$command: reported a default type"
    grep -q 'work.eager: retries: found `initial` of 600000 ms and `max` of 300000 ms' both || fails "$command: eager"
    grep -q 'work.coded: unknown runner `acme.none`' both || fails "$command: coded"
done
run tenon schema config
expect_code 0 && expect_in out 'tenon:notify'
run tenon work --types bad --once
expect_in err 'Tasks of the type `bad` cannot be handled' && expect_in err '`task`'
run tenon work --types godo --once
expect_in err 'did you mean `good`'
