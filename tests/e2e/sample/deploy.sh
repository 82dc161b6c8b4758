# samples/deploy: the unit, the image, and nginx, as far as they can be run here.
for plugin in serve openai_server rest_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
cp -r "$SOURCE/samples/deploy" deploy
cp deploy/assistant.yaml deploy/container # as in the image, and in /etc/tenon
sed -i "s|/var/lib/tenon|$work|" deploy/container/tenon.yaml
run tenon check deploy/container/assistant.yaml --config deploy/container/tenon.yaml
expect_code 0
run tenon serve --config deploy/container/tenon.yaml --port 0
expect_code 2 && expect_in err 'tenon key create' # it listens for other machines only if there is a key

# ---- The image: the packages of each stage ----
dockerfile=deploy/container/Dockerfile
stage() { sed -e ':a; /\\$/{N; s/\\\n//; ba}' "$2" | grep -o 'apt-get install.*' | sed -n "$1p" | sed 's/&&.*//; s/.*--no-install-recommends//' | tr -s ' ' '\n' | sed '/^$/d' | sort; }
diff <(stage 1 $dockerfile) <(sed -n 's/^build=(\(.*\))/\1/p' "$SOURCE/tests/tools/packages" | tr ' ' '\n' | sort) || fails "expected the packages of tests/tools/packages"
if command -v dpkg-query objdump >/dev/null && [ -z "$SANITIZE" ]; then
    needed=$(objdump -p "$TENON" "$BINARY"/lib/tenon/plugins/*.so | awk '/NEEDED/ {print $2}' | sort -u | grep -vE '^(libc|libm|ld-linux.*)\.so')
    for library in $needed; do
        package=$(dpkg-query -S "*/$library" | head -n 1 | cut -d: -f1)
        for file in "$dockerfile" "$SOURCE/samples/many-hosts/Dockerfile"; do
            case $library:$file in libgnutls*:*many-hosts* | libcrypto*:*many-hosts*) continue ;; esac # others depend on them
            tr -s ' \\' '\n' <"$file" | grep -qx "$package" || fails "$file: expected the package $package, for $library"
        done
    done
fi

# ---- The unit ----
if command -v systemd-analyze >/dev/null; then
    sed "s|/usr/bin/tenon|$TENON|" deploy/systemd/tenon.service >tenon.service
    run systemd-analyze verify ./tenon.service
    expect_code 0
    ! grep tenon.service "$work/err" || fails "systemd-analyze has found something"
    if systemd-analyze security --help | grep -q -- --offline; then
        run systemd-analyze security --offline=true --threshold=15 ./tenon.service
        expect_code 0
    fi
    # Isolated plugins can be confined as much as without the filter.
    isolation() { "$@" "$TENON" doctor --no-config | sed -n '/^isolation/,/^$/p'; }
    diff <(isolation env) <(isolation python3 "$SOURCE/tests/e2e/sample/confine.py" deploy/systemd/tenon.service) || fails "the filter of the unit is too strict"
    export CONFINED=1
fi

# ---- nginx in front of the unit's command ----
nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || skips "nginx is not installed; the unit and the packages of the image are as expected"
curl --version | grep -q HTTP2 || skips "curl cannot do HTTP/2"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout deploy/tenon.key -out deploy/tenon.pem -days 2 \
    -subj /CN=agents.example 2>/dev/null
chmod -R a+rX "$work"
run env NGINX_PROGRAM="$nginx" PYTHONDONTWRITEBYTECODE=1 timeout 150 python3 "$SOURCE/tests/e2e/sample/deploy.py" deploy
cat "$work/out"
expect_code 0
