# samples/languages: the same plugin in several languages, built by the commands of their READMEs. Its transcript is the
# same in every language, in the host's process and isolated. No exception or panic leaves a plugin. A language without
# its toolchain is reported and left out.
[ -z "$SANITIZE" ] || skips "a sanitizer in a C program does not support C++ exceptions of a plugin"
command -v pkg-config >/dev/null || skips "pkg-config is not installed"
# Default locations of cargo and go. rustup also searches for toolchains in HOME.
PATH=$PATH:${CARGO_HOME:-$owner_home/.cargo}/bin:/usr/local/go/bin
if [ -d "${RUSTUP_HOME:-$owner_home/.rustup}" ]; then export RUSTUP_HOME=${RUSTUP_HOME:-$owner_home/.rustup}; fi
export CARGO_HOME=$work/cargo
export GOCACHE=$BINARY/go-cache GOPATH=$work/go GOPROXY=off GOTOOLCHAIN=local GOENV=off GOWORK=off CGO_ENABLED=1
# Go compiles its whole library for a plugin.
export GOFLAGS="'-gcflags=all=-N -l'"

cmake --install "$BINARY/sdk" --prefix "$work/sdk" >"$work/log" || { cat "$work/log" >&2; fails "the SDK cannot be installed"; }
PKG_CONFIG_PATH=$(dirname "$(find "$work/sdk" -name tenon-sdk.pc)")
export PKG_CONFIG_PATH
mkdir -p tree/samples
cp -r "$SOURCE/samples/languages" tree/samples/
ln -s "$SOURCE/sdk" tree/sdk # the sample in Rust uses the template's tenon.rs
cd tree/samples/languages
rm -rf build

# A plugin with a node that calls a tool.
cat >ask.c <<'SOURCE'
#include <tenon/easy.h>
TN_PLUGIN("test.ask", "1.0.0", "Calls a tool")
TN_NODE_BLOCKING(ask, "test.ask", "Gives a text to a tool.", TN_PURE, (TOOL, tool, "which"), (READ, input_key, "the text"),
                 (WRITE, output_key, "where its result goes")) {
    tn_value result = NULL, error = NULL, text = tn_read_text(task, config->input_key);
    if (text == NULL) return TN_FAILED;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "text", text);
    tn.value->end(builder);
    tn_value arguments = tn_finish(builder);
    int32_t status = tn.task->call_wait(task, config->tool, arguments, NULL, &result, &error);
    tn_release(arguments);
    if (status == TN_OK) return tn_done_written(task, tn_write_take(task, config->output_key, result));
    return status == TN_FAILED ? tn_fail_take(task, error) : status;
}
SOURCE
# shellcheck disable=SC2046
"$CC" $(pkg-config --variable=plugin_flags tenon-sdk) $(pkg-config --cflags tenon-sdk) -o ask.so ask.c || fails "ask.c does not compile"

document() { # TYPE CONFIG
    printf 'version: "1.0"\nchannels: [{name: text, type: last_value}, {name: out, type: last_value}]\n'
    printf 'nodes: [{id: only, type: %s, config: {%s, output_key: out}}]\n' "$1" "$2"
    printf 'edges: [{from: START, to: only}, {from: only, to: END}]\n'
}
cat >texts <<'TEXTS'
{"text": "the more the MERRIER"}
{"text": " \t\r\n "}
{"text": "now panic! more"}
{"text": "  all\tis\n\nwell "}
{"text": 7}
{"text": "panic!"}
{"text": ""}
{"text": "again and again and again"}
TEXTS

# The expected transcript of every language. PANIC and TEXT stand for the error code and the message of the language's
# exception or panic.
cat >expected <<'EXPECTED'
{"type":"tasks","step":1,"node":"only","event":"start","attempt":1}
{"type":"custom","step":1,"node":"only","data":{"word":"a"}}
{"type":"custom","step":1,"node":"only","data":{"word":"rose"}}
{"type":"custom","step":1,"node":"only","data":{"word":"is"}}
{"type":"tasks","step":1,"node":"only","event":"end","attempt":1,"outcome":"done"}
{"type":"updates","step":1,"node":"only","writes":{"out":{"words":8,"distinct":3}}}
{"type":"result","status":"done","steps":1,"state":{"text":"a rose is a rose is a rose","out":{"words":8,"distinct":3}}}
500 custom events, the last: {"type":"custom","step":1,"node":"only","data":{"word":"500"}}
{"output":{"text":"the more the MERRIER","out":{"words":4,"distinct":3}}}
{"output":{"text":" \t\r\n ","out":{"words":0,"distinct":0}}}
{"error":{"code":"PANIC","message":"node `only`: TEXT","retryable":false}}
{"output":{"text":"  all\tis\n\nwell ","out":{"words":3,"distinct":3}}}
{"error":{"code":"TYPE","message":"node `only`: the channel to read must hold a string","retryable":false}}
{"error":{"code":"PANIC","message":"node `only`: TEXT","retryable":false}}
{"output":{"text":"","out":{"words":0,"distinct":0}}}
{"output":{"text":"again and again and again","out":{"words":5,"distinct":2}}}
{"type":"tasks","step":1,"node":"only","event":"start","attempt":1}
{"type":"tasks","step":1,"node":"only","event":"end","attempt":1,"outcome":"done"}
{"type":"updates","step":1,"node":"only","writes":{"out":"A Rose Is A Rose"}}
{"type":"result","status":"done","steps":1,"state":{"text":"a rose IS a rOSE","out":"A Rose Is A Rose"}}
{"output":{"text":"the more the MERRIER","out":"The More The Merrier"}}
{"error":{"code":"INVALID_INPUT","message":"node `only`: `text` is blank; give it a word at least","retryable":false}}
{"error":{"code":"PANIC","message":"node `only`: TEXT","retryable":false}}
{"output":{"text":"  all\tis\n\nwell ","out":"  All\tIs\n\nWell "}}
{"error":{"code":"TYPE","message":"node `only`: the channel to read must hold a string, and holds an int","retryable":false}}
{"error":{"code":"PANIC","message":"node `only`: TEXT","retryable":false}}
{"error":{"code":"INVALID_INPUT","message":"node `only`: `text` is blank; give it a word at least","retryable":false}}
{"output":{"text":"again and again and again","out":"Again And Again And Again"}}
EXPECTED

# transcript LANGUAGE OPTION…: prints what the plugin does, without what differs between runs.
without() { sed -E 's/,"(task_id|run_id)":"[^"]*"//g; s/,"ms":[0-9]+//g' "$work/out"; }
transcript() {
    local language=$1
    shift
    run tenon run count.yaml --plugins "build/$language" "$@" --json --set 'text=a rose is a rose is a rose'
    expect_code 0 && expect_not_in err "sandbox: refused" # the sandbox allows what the runtime needs
    without
    # More chunks than fit into the buffer.
    run tenon run count.yaml --plugins "build/$language" "$@" --json --set "text=$(seq 1 500 | tr '\n' ' ')"
    expect_code 0
    echo "$(grep -c '"type":"custom"' "$work/out") custom events, the last: $(grep '"type":"custom"' "$work/out" | tail -n 1)"
    run tenon run count.yaml --plugins "build/$language" "$@" --batch texts
    expect_code 1
    without
    run tenon run title.yaml --plugins "build/$language" --plugins ask.so "$@" --json --set 'text=a rose IS a rOSE'
    expect_code 0
    without
    run tenon run title.yaml --plugins "build/$language" --plugins ask.so "$@" --batch texts
    expect_code 1
    without
}

same() { # LANGUAGE WAY CODE TEXT
    grep -qF "\"code\":\"$3\"" "$1.$2" || fails "$1, $2: expected the error $3"
    sed -E "s~\"code\":\"$3\",\"message\":\"node \`only\`: [^\"]*$4[^\"]*\"~\"code\":\"PANIC\",\"message\":\"node \`only\`: TEXT\"~" \
        "$1.$2" >found
    diff expected found >&2 || fails "$1, $2: the transcript differs (< expected, > found)"
}

# language NAME TOOL CODE TEXT WAY…: builds the plugin with the commands of its README, and runs it in each way: here (in
# the host's process), isolated, or declared (its manifest requests isolation).
skipped='' built=''
language() {
    local name=$1 tool=$2 code_of_barrier=$3 text=$4 way options
    shift 4
    if ! "$tool" --version >/dev/null 2>&1 && ! "$tool" version >/dev/null 2>&1; then
        skipped="$skipped $name (no $tool)"
        return 0
    fi
    sed -n "/^\`\`\`sh $name\$/,/^\`\`\`\$/{/^\`\`\`/d;p}" README.md >build.sh
    [ -s build.sh ] || fails "README.md has no commands for $name"
    bash -eu build.sh >"$work/log" 2>&1 || { cat "$work/log" >&2; fails "$name cannot be built"; }
    run tenon plugin check "build/$name/$name.so"
    expect_code 0
    document "$name.count" 'input_key: text' >count.yaml
    document test.ask "tool: $name.title, input_key: text" >title.yaml
    for way in "$@"; do
        case $way in
        isolated) options=(--isolate "sample.$name") ;;
        *) options=() ;;
        esac
        transcript "$name" "${options[@]}" >"$name.$way"
        same "$name" "$way" "$code_of_barrier" "$text"
    done
    # An exception leaks no value and does not violate the contract.
    [ "$1" = isolated ] || [ "$1" = declared ] || {
        run tenon run count.yaml --plugins "build/$name" --check-plugins --batch texts
        expect_code 1
        expect_not_in err check:
    }
    built="$built $name"
}

language cpp c++ EXCEPTION range here isolated
language rust cargo PANIC 'src/lib.rs:[0-9]+: index out of bounds' here isolated
language go go PANIC 'index out of range' declared isolated # its manifest requests isolation
# The document of the sample, with the commands of its README.
if [[ $built = *" cpp"* ]]; then
    cp "$SOURCE/samples/languages/count.yaml" .
    sed -n '/^```sh run$/,/^```$/{/^```/d;p}' README.md | sed 's/^tenon /"$TENON" /' >run.sh
    [ -s run.sh ] || fails "README.md has no commands that run the document"
    run bash -eu run.sh
    expect_code 0 && expect_in out '"counted":{"words":5,"distinct":3}'
fi
[ -z "$skipped" ] || echo "not installed:$skipped"
[ -n "$built" ] || skips "no toolchain of another language is installed"
echo "built and run:$built"
