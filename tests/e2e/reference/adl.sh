# The topic adl: every key, with an example that is valid.
topic adl
awk -F '"' '/^DOCUMENT_KEY\(/ { split($1, row, /[(,]/); print row[2], $2 }' "$SOURCE/adl/document/keys.def" |
    while read -r mapping key; do
        name=$(of "s/^DOCUMENT_MAPPING\($mapping, .*, \"(.*)\",\$/\1/p; s/^DOCUMENT_MAPPING\($mapping, .*, \"([^\"]*)\", \".*/\1/p" \
            "$SOURCE/adl/document/keys.def")
        section adl.md "$name" >section
        grep -qx "### $key" section || fails "the topic adl lacks the key $key of $name"
    done
blocks yaml adl.md | sed '/^%$/,$d' >first.yaml
grep -q '^nodes:' first.yaml || fails "adl.md does not start with a document"
run tenon check first.yaml
expect_code 0
{
    cat hello.yaml
    echo "x-examples:"
    blocks yaml adl.md | sed '1,/^%$/d; /^%$/d; s/^/  - /'
} >examples.yaml
[ "$(wc -l <examples.yaml)" -gt 60 ] || fails "expected more than 60 lines of examples"
run tenon check examples.yaml
expect_code 0 && expect_in err "no problems found"
