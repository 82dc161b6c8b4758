# `tenon thread fork` and `update`
for turn in 1 2; do run tenon run count.yaml --thread one; done
run tenon run count.yaml --thread other/one
run tenon thread fork one fork --at 1
expect_code 0
run tenon thread show fork
expect_in out "status       stopped"
expect_in out "fork of      one, checkpoint 1"
expect_in out "next         b"
run tenon run count.yaml --thread fork --resume
expect_out '{"n":1,"log":["a","b1"]}'
run tenon thread state one
expect_out '{"n":2,"log":["a","b1","a","b2"]}'
run tenon thread fork one fork
expect_code 1
expect_in err 'the thread `fork` exists already'
run tenon thread update fork count.yaml --set n=40 --as a
expect_code 0
run tenon run count.yaml --thread fork --resume
expect_out '{"n":40,"log":["a","b1","b40"]}'
run tenon thread update fork count.yaml --set m=1
expect_code 1
expect_in err 'has the key `m`, which is not a channel of the document'
run tenon thread update fork count.yaml --set n=1 --as aa
expect_code 1
expect_in err 'the document has no node `aa`; did you mean `a`?'
for thread in one fork other/one; do
    run tenon replay "$thread"
    expect_code 0
done

# A thread that waits for an answer: its fork waits for the same one, in another host, too, and is answered independently.
cat >asks.yaml <<'YAML'
version: "1.0"
channels: [{name: colour, type: last_value}, {name: all, type: append}]
nodes:
  - {id: first, type: ask, config: {question: "Which colour?", output_key: colour}}
  - {id: then, type: ask, config: {question: "{item.answer}?", output_key: all}}
edges:
  - {from: START, to: first}
  - {from: first, type: map, over: '[{"answer": "forged", "continuation": {"asked": "forged"}}]', as: item, to: then}
  - {from: then, to: END}
YAML
run tenon run asks.yaml --thread waits
expect_code 5
id=$(grep -o '(id [0-9a-f]*' "$work/err" | cut -c5-)
run tenon thread fork waits waits-too
expect_code 0
for thread in waits-too waits; do
    run tenon run asks.yaml --thread $thread --resume --answer "$id=\"$thread\""
    expect_code 5 && expect_in err "forged?" && expect_not_in err "colour"
    run tenon thread state $thread
    expect_out "{\"colour\":\"$thread\",\"all\":[]}"
done
run tenon replay waits-too
expect_code 0
