# samples/web: both pages in Chromium. A person says something, allows what the graph wants to store, and loads the page
# again. Without Chromium, the page with React is still built.
npm_packages ai @ai-sdk/react react react-dom esbuild @esbuild/linux-x64
node24 || skips "Node 24 cannot be installed"
cp -r "$SOURCE/samples/web" web
cd web
ln -s "$modules" node_modules
run "$node24" node_modules/esbuild/bin/esbuild chat.jsx --bundle --format=esm --jsx=automatic --outfile=chat.js
expect_code 0
command -v chromium >/dev/null || skips "chromium is not installed"
reserve_port
WEB_PORT=$port BUILD=$PWD/build TENON=$TENON ./run >pages 2>&1 &
sample=$!
servers+=("$sample")
wait_until eval 'grep -q chat.html pages || ! kill -0 $sample'
# see PAGE CHAT EXPRESSION…: in a browser that the chat is new for
see() {
    run timeout 100 "$node24" "$SOURCE/tests/e2e/sample/browser.mjs" "$(grep "/$1.html" pages)&chat=$2" "${@:3}"
    expect_code 0
}
allow="[...document.querySelectorAll('button')].filter(button => button.textContent === 'Allow').map(button => button.click()).length"
answered="document.body.innerText.includes('I have noted: I like tea.')"
for page in plain chat; do
    see $page "$page&say=I%20like%20tea." "$allow" "$answered"
    expect_in out "output-available"
    see $page $page "$answered"
    expect_in out "output-available"
done
