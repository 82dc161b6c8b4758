# A document reads below its own folder, its project (the folder of tenon.yaml) and files.roots.
reads prompts/hello.md "Hello Ada"
reads ./inner/../prompts/hello.md "Hello Ada"
reads "$PWD/prompts/hello.md" "Hello Ada"
refuses ../secret/key "it is $outside"
refuses "$(dirname "$PWD")/secret/key" "it is $outside"
refuses /etc/passwd "it is $outside"
refuses ../secret/absent "it is $outside" # whether the file exists is not told
refuses absent "no such file"

# ---- A project: the folder of tenon.yaml ----
touch tenon.yaml
document ../prompts/hello.md >inner/d.yaml
run tenon run inner/d.yaml
expect_code 0 && expect_in out "Hello Ada"
outer inner/d.yaml >d.yaml # the inner document has the root of the outer one
run tenon run d.yaml
expect_code 0 && expect_in out "Hello Ada"
rm tenon.yaml
run tenon run inner/d.yaml
expect_code 3 && expect_in err "it is outside $PWD/inner, below which this document may read"
run tenon run d.yaml
expect_code 0

# ---- files.roots ----
refuses ../shared/bye.md "it is $outside"
echo 'files: {roots: ../shared}' >tenon.yaml
reads ../shared/bye.md "Bye Ada"
reads "$(dirname "$PWD")/shared/bye.md" "Bye Ada"
refuses ../secret/key "it is $outside"
document bye.md >../shared/d.yaml
outer ../shared/d.yaml >d.yaml
run tenon run d.yaml
expect_code 0 && expect_in out "Bye Ada"
document ../project/prompts/hello.md >../shared/d.yaml # found below ../shared: it does not read in the project
run tenon run d.yaml
expect_code 3 && expect_in err "outside $(dirname "$PWD")/shared, below which this document may read"
ln -s ../secret ../shared/folder
refuses ../shared/folder/key "it is a link to a place outside $PWD"
run tenon doctor
expect_in out "documents may read below $PWD/../shared"
echo 'files: {roots: [../gone, /, tenon.yaml]}' >tenon.yaml
run tenon check inner/d.yaml
expect_in err "files.roots: $PWD/../gone does not exist" && expect_in err "files.roots: / lets documents read every file"
expect_in err "files.roots: $PWD/tenon.yaml is not a folder"
echo 'files: {root: x}' >tenon.yaml
run tenon check inner/d.yaml
expect_code 4 && expect_in err 'found the key `root`, which `files` does not have'
rm tenon.yaml
