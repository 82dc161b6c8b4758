# The document: missing, malformed, too large, or with a typo.
run tenon run absent.yaml
expect_code 2 && once "cannot open absent.yaml: No such file or directory"
run tenon run .
expect_code 2 && once "Is a directory"
run tenon run /dev/null
expect_code 3 && once "the document is nothing; expected a mapping"
sed 's/greet,/greeet,/' "$hello" >typo.yaml
run tenon run typo.yaml
expect_code 3 && expect_out "" && expect_in err "typo.yaml:" && expect_in err 'did you mean `greeet`?'
expect_not_in err "$PWD/typo.yaml" # the name that was given
run tenon run typo.yaml --json
expect_code 3 && quiet && expect_in out '{"diagnostics":[{"code":"ADL-E'
for text in '{' '[' '"' '- - - -' $'\t' '%YAML 9.9' '*x' '!!python/object:os.system x' $'\377\376' '{"version": "1.0"' '---' '<<: {}'; do
    printf '%s' "$text" >broken.yaml
    run tenon run broken.yaml
    expect_code 3 && expect_out "" && expect_in err "broken.yaml:1:"
done
head -c 30000 /dev/zero | tr '\0' '[' >deep.yaml
run tenon run deep.yaml
expect_code 3 && expect_in err "deep.yaml:1:129: error[ADL-E011]"
[ "$(wc -c <"$work/err")" -lt 2000 ] || fails "the message does not shorten a line of 30,000 characters"
head -c 17000000 /dev/zero | tr '\0' '#' >huge.yaml
run tenon run huge.yaml
expect_code 3 && once "huge.yaml:1:1: error[ADL-E012]"
{
    echo 'a: &a [x, x, x, x, x, x, x, x, x, x]'
    for i in b c d e f g h i j; do echo "$i: &$i [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]"; done | sed 's/^b:/b:/'
} >laughs.yaml
run tenon run laughs.yaml
expect_code 3 && expect_in err "laughs.yaml:1:1: error[ADL-E022]"
[ "$(wc -c <"$work/err")" -lt 20000 ] || fails "the message contains expanded aliases"
head -c 70000000 /dev/zero >enormous.yaml
run tenon run enormous.yaml
expect_code 2 && once "enormous.yaml is larger than 64 MiB"
rm enormous.yaml huge.yaml
