# The topic commands and the manual page: every command, option, exit code and environment variable.
topic commands
read_commands
run tenon reference --man
expect_code 0 && [ ! -s "$work/err" ] || fails "cannot print the manual page"
cp "$work/out" tenon.1
LC_ALL=C grep -q '[^ -~]' tenon.1 && fails "the manual page contains characters that are not ASCII"
expect_not_in out "plugin serve"
for command in "${commands[@]}"; do
    section commands.md "tenon $command" >section
    grep -qF "    tenon $command [OPTION…]" section || fails "the topic commands lacks a section tenon $command"
    grep -qx ".SS tenon $command" tenon.1 || fails "the manual page lacks a section tenon $command"
    # shellcheck disable=SC2086
    run tenon $command --help
    for option in $(sed '/^Options of every command:/,$d' "$work/out" | sed -nE 's/^  .{4}--([a-z-]+).*/\1/p'); do
        grep -qF -- "--$option" section || fails "the reference of tenon $command lacks --$option"
        awk -v heading=".SS tenon $command" '$0 == heading { on = 1; next } /^\.S/ { on = 0 } on' tenon.1 |
            grep -qF -- "\\-\\-${option//-/\\-}\\fR" || fails "the manual page of tenon $command lacks --$option"
    done
done
grep -q "plugin serve" commands.md && fails "a hidden command is in the reference"
rows=$(sed -nE '/^\/\* Exit codes/,/^$/s/^#define COMMAND_[A-Z_]+ +([0-9]+).*/\1/p' "$SOURCE/host/program/command.h")
[ "$(wc -w <<<"$rows")" -ge 7 ] || fails "command.h has too few exit codes"
for row in $rows; do
    grep -q "^| $row | " commands.md || fails "the reference lacks the exit code $row"
    grep -qx "\\\\fB$row\\\\fR" tenon.1 || fails "the manual page lacks the exit code $row"
done
rows=$(grep -rhoE 'getenv\("[A-Z_]+"\)' "$SOURCE/host" "$SOURCE/adl" | grep -oE '[A-Z_]{2,}' | sort -u)
for name in $rows; do
    grep -qF -- "- \`$name\`: " commands.md || fails "the reference lacks the environment variable $name"
    grep -qxF "\\fB$name\\fR" tenon.1 || fails "the manual page lacks the environment variable $name"
done
