# `tenon replay`: a thread is repeated from its journal, without effects; and what it reports if the document, the journal
# or the thread has changed.
for turn in 1 2 3; do run tenon run count.yaml --thread c; expect_code 0; done
expect_out '{"n":3,"log":["a","b1","a","b2","a","b3"]}'
run tenon replay c
expect_code 0
expect_out "c: 9 of 9 checkpoints are identical"
run tenon replay c --json
expect_out '{"replayed":9,"checkpoints":9,"diverged":null,"name":"c"}'

# Another document has other results: the first difference is reported.
sed 's/state.n + 1/state.n + 2/' count.yaml >other.yaml
run tenon replay c --document other.yaml
expect_code 1
expect_in out 'c: channel `n` differs at checkpoint 1 of 9'
expect_in out 'recorded: {"set":1}'
expect_in out 'replayed: {"set":2}'
# The thread is unchanged.
run tenon replay c
expect_code 0

# Components with effects, or with counters, are not called: their results come from the journal.
cat >agent.yaml <<'YAML'
version: "1.0"
agent: {name: agent}
tools: [{name: "test.*", approval: auto}]
channels: [{name: t, type: append}]
nodes:
  - {id: count, type: test.count_destroyer, config: {in: t, out: t}}
  - {id: agent, type: test.agent, config: {out: t}}
edges: [{from: START, to: count}, {from: count, to: agent}, {from: agent, to: END}]
YAML
for turn in 1 2; do
    run tenon run agent.yaml --thread a $nodes --json
    expect_code 5
    id=$(tail -n 1 "$work/out" | grep -o '"interrupts":\[{"id":"[0-9a-f]*' | grep -o '[0-9a-f]*$')
    run tenon run agent.yaml --thread a $nodes --resume --answer "$id=yes"
    expect_code 0
done
expect_out '{"t":[1,"tallied 1","tallied 2","yes",1,"tallied 1","tallied 2","yes"]}'
run tenon replay a $nodes
expect_code 0
expect_out "a: 6 of 6 checkpoints are identical"

# An interrupted thread is replayed up to the interrupt.
run tenon run agent.yaml --thread waits $nodes
expect_code 5
run tenon replay waits $nodes
expect_code 0
expect_out "waits: 2 of 2 checkpoints are identical"

# Live, from a checkpoint on, as another thread.
run tenon replay c --from 1 --fork c2
expect_code 0
expect_out '{"n":1,"log":["a","b1"]}'
run tenon replay c2
expect_code 0
run tenon replay c --from 2 --fork c3
expect_code 1
expect_in err "nothing to resume"
run tenon replay c --from 1
expect_code 2
# From a checkpoint that waits, the new thread waits too.
run tenon replay waits --from 1 --fork waits2 $nodes
expect_code 5
expect_in err "waiting for an answer: node agent asks: may I?"

# An exported thread is a test.
mkdir tests
tenon thread export a >tests/agent.json
tenon thread export c >tests/count.json
run tenon test tests/agent.json tests/count.json $nodes
expect_code 0
expect_in out "tests/agent.json: 6 of 6 checkpoints are identical"
expect_in err "2 of 2 passed"
sed 's/"done":{/"lost":{/' tests/agent.json >tests/broken.json
run tenon test tests/broken.json $nodes
expect_code 1
expect_in out 'the outcome of the node has neither `done` nor `failed`'
rm tests/broken.json
cp other.yaml agent.yaml tests/
mv tests/other.yaml tests/count.yaml
mv count.yaml kept.yaml
run tenon test tests/agent.json tests/count.json $nodes # beside the file: the other one
expect_code 1
expect_in err "1 of 2 passed"
mv kept.yaml count.yaml
echo '{}' >tests/none.json
run tenon test tests/none.json
expect_code 2
expect_in err "is not an exported thread"

# Mistakes.
run tenon replay nobody
expect_code 1
expect_in err 'the thread `nobody` does not exist'
run tenon run count.yaml --thread end --durability exit
expect_code 0
run tenon replay end
expect_code 1
expect_in err "durability \`exit\`"
mv count.yaml gone.yaml
run tenon replay c
expect_code 3
expect_in err "count.yaml"
