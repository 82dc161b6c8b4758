# A command finds the key in a variable.
cat >>tenon.yaml <<'Y'
plugins:
  config:
    tenon.define:
      tools:
        - {name: show, command: [printenv, TENON_IDEMPOTENCY_KEY]}
Y
for call in 1 2 3; do
    run tenon tool call show --yes
    expect_code 0
    all+=("$(cat "$work/out")")
done
expect_different "${all[@]}"
run tenon tool call show --yes --idempotency-key order-17
expect_out order-17
