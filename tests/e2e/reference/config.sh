# The topic config: every key and limit of tenon.yaml, with examples that are accepted.
topic config
while read -r name; do
    [ -n "$(section config.md "$name")" ] || fails "the topic config lacks the key $name"
done < <(awk -F '"' '/^CONFIG_KEY\(/ { print ($2 == "" ? "" : $2 ".") $4 }' "$SOURCE/host/base/config/config_keys.def")
rows=$(of 's/^ *LIMIT\(([a-z_]+), .*/\1/p' "$SOURCE/host/base/config/config.h")
for limit in $rows; do
    grep -q "^| \`$limit\` | " config.md || fails "the topic config lacks the limit $limit"
done
blocks yaml config.md | awk 'BEGIN { n = 1 } /^%$/ { n++; next } { print > ("example" n ".yaml") }'
[ "$(find . -name 'example[0-9]*.yaml' | wc -l)" = "$(grep -c '^CONFIG_KEY(' "$SOURCE/host/base/config/config_keys.def")" ] || fails "expected one example for each key of tenon.yaml"
for example in example[0-9]*.yaml; do
    run tenon plugin list --config "$example"
    expect_code 0 && expect_not_in err "INVALID_CONFIG" && expect_not_in err "example"
done
