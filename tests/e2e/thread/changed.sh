# The document has changed since the thread was saved.
for turn in 1 2; do run tenon run count.yaml --thread one; done
sed 's/state.n + 1/state.n + 10/; s/id: b/id: c/; s/to: b/to: c/; s/from: b/from: c/' count.yaml >changed.yaml
run tenon run changed.yaml --thread one
expect_code 1
expect_in err 'node `a`: `config` has changed; node `b` is gone; node `c` is new; the edges have changed'
expect_in err "[GRAPH_CHANGED]" && expect_in err "tenon run changed.yaml --thread one --accept-changes"
run tenon run changed.yaml --thread one --accept-changes
expect_out '{"n":12,"log":["a","b1","a","b2","a","b12"]}'
