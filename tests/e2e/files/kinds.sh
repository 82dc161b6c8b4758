# Only regular files are read, without blocking, and only so much of them.
mkfifo pipe
refuses pipe "found a named pipe, expected a regular file"
refuses prompts "found a folder, expected a regular file"
refuses . "found a folder, expected a regular file"
ln -s /dev/zero zero
refuses zero "it is a link to a place $outside"
truncate -s 17M large
refuses large "it is longer than 16 MiB"
printf '\xff' >bytes
refuses bytes "it is not UTF-8"
truncate -s 16M large # the same for all files together
many() { # COUNT: a document with so many nodes that name the large file
    cat <<Y
version: "1.0"
agent: {name: many}
channels: [{name: out, type: last_value}]
nodes:
$(for i in $(seq "$1"); do echo "  - {id: n$i, type: prompt, config: {template: {file: large}, output_key: out}}"; done)
edges:
  - {from: START, to: n1}
$(for i in $(seq 2 "$1"); do echo "  - {from: n$((i - 1)), to: n$i}"; done)
  - {from: n$1, to: END}
Y
}
many 16 >d.yaml
run tenon check d.yaml
expect_code 0
many 17 >d.yaml
run tenon check d.yaml
expect_code 3 && expect_in err "the files that this document names have more than 256 MiB in all"
document prompts/hello.md >d.yaml # a name ends at no NUL character
sed -i "s|'prompts/hello.md'|\"prompts/hello.md\\\\0.txt\"|" d.yaml
run tenon check d.yaml
expect_code 3 && expect_in err "its name contains a NUL character"
outer inner/d.yaml >d.yaml
document ../prompts/hello.md >inner/d.yaml
sed -i "s|'inner/d.yaml'|\"inner/d.yaml\\\\0.txt\"|" d.yaml
run tenon check d.yaml
expect_code 3 && expect_in err "its name contains a NUL character"
