# The index of topics, and mistakes on the command line.
run tenon reference
expect_code 0
cp "$work/out" index
topics=(commands diagnostics adl expressions nodes tools models reducers plugins events methods annotations errors findings config)
for topic in "${topics[@]}"; do
    grep -qF -- "- \`tenon reference $topic\`: " index || fails "the index lacks the topic $topic"
    topic "topic:$topic"
    [ -s "$BINARY/share/doc/tenon/$topic.md" ] || fails "the topic $topic is not printed into the documentation"
done
"$TENON" reference --help | tr '\n' ' ' | grep -qF "Topics: $(printf '%s, ' "${topics[@]}" | sed 's/, $/./')" ||
    fails "the help of the command does not list the topics"
[ "$(grep -c '^- ' index)" = "${#topics[@]}" ] || fails "expected only these topics in the index: ${topics[*]}"

# Mistakes.
run tenon reference comands
expect_code 2 && expect_out "" && expect_in err 'the reference has no topic, entry or code `comands`; did you mean `commands`?'
run tenon reference TIMOUT
expect_code 2 && expect_in err 'did you mean `TIMEOUT`?'
run tenon reference ''
expect_code 2 && expect_in err "no topic, entry or code"
for both in "adl --man" "--man --completion bash" "adl --completion zsh"; do
    # shellcheck disable=SC2086
    run tenon reference $both
    expect_code 2 && expect_out "" && expect_in err "give one of them"
done
run tenon reference --completion bsh
expect_code 2 && expect_out "" && expect_in err '--completion: found `bsh`, expected bash, zsh or fish; did you mean `bash`?'
for all in adl --man "--completion zsh"; do
    # shellcheck disable=SC2086
    run bash -c '"$TENON" reference "$@" >/dev/full' - $all
    expect_code 1 && expect_in err "cannot write to standard output"
done
