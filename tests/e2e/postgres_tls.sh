# The store in PostgreSQL over TLS: the server's certificate is checked, the password comes from a secret, and what goes
# wrong is one error without the password. The server has its own folder, a port of localhost and a certificate.
[ -e "$BINARY/lib/tenon/plugins/postgres.so" ] || skips "built without the store in PostgreSQL"
command -v openssl >/dev/null || skips "openssl is not installed"
server=$SOURCE/tests/postgres/server
folder=$(mktemp -d /tmp/tenon-tls-XXXXXX)
trap '"$server" remove "$folder"; rm -rf "$work"' EXIT
"$server" start "$folder" >/dev/null || skips "PostgreSQL is not installed"

# ---- Certificates: two authorities, one of which signs that of the server ----
authority() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.crt" 2>/dev/null; }
authority right && authority wrong
"$server" run "$folder" openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
    -keyout "$folder/data/server.key" -out "$folder/data/server.csr" 2>/dev/null
"$server" run "$folder" chmod 600 "$folder/data/server.key"
openssl x509 -req -in "$folder/data/server.csr" -CA right.crt -CAkey right.key -CAcreateserial -days 2 -out server.crt \
    -extfile <(echo "subjectAltName=DNS:localhost") 2>/dev/null
"$server" run "$folder" tee "$folder/data/server.crt" <server.crt >/dev/null

# ---- A port, TLS, a password ----
password='ge heim%40"x'
printf "ALTER ROLE tenon PASSWORD '%s';" "$password" | "$server" run "$folder" psql -q -h "$folder" -U tenon tenon
"$server" run "$folder" tee "$folder/data/pg_hba.conf" >/dev/null <<END
local all all trust
hostssl all all 127.0.0.1/32 scram-sha-256
END
starts_at() {
    port=$1
    printf '%s\n' "listen_addresses = '127.0.0.1'" "port = $port" "ssl = on" | "$server" run "$folder" tee -a "$folder/data/postgresql.conf" >/dev/null
    "$server" restart "$folder" 2>/dev/null
}
started=
for _ in 1 2 3 4 5; do starts_at $((20000 + RANDOM % 20000)) && started=1 && break; done
[ -n "$started" ] || fails "the server does not start with TLS"
url_with() { echo "postgresql://tenon@localhost:$port/tenon?hostaddr=127.0.0.1&sslmode=$1&sslrootcert=$2"; }
use() { printf 'store: {use: postgres, url: "%s", password: {secret: PASSWORD}}\n' "$1" >tenon.yaml; }
hello=$SOURCE/samples/hello/hello.yaml

# ---- It works; pg_hba.conf allows only encrypted connections ----
export PASSWORD=$password
use "$(url_with verify-full "$PWD/right.crt")"
run tenon run "$hello" --thread ada --set name=Ada
expect_code 0 && expect_out '{"name":"Ada","greeting":"Hello, Ada!"}'
run tenon replay ada
expect_code 0
# ---- One error, without the password or the whole url ----
expect_one_error() {
    expect_code 1 && expect_in err "$1" && expect_not_in err "$PASSWORD" && expect_not_in err "$password"
    expect_not_in err "sslmode=" && expect_not_in err postgresql:// && expect_not_in err "tenon@"
    [ "$(wc -l <"$work/err")" = 1 ] || fails "expected one line"
}
use "$(url_with verify-full "$PWD/wrong.crt")"
run tenon thread list
expect_one_error "certificate verify failed"
use "$(url_with verify-full "$PWD/right.crt" | sed 's/@localhost/@other.localhost/')"
run tenon thread list
expect_one_error 'does not match host name'
use "$(url_with verify-full "$PWD/missing.crt")"
run tenon thread list
expect_one_error "missing.crt"
use "$(url_with disable "$PWD/right.crt")"
run tenon thread list
expect_one_error "no encryption"
use "$(url_with verify-full "$PWD/right.crt")"
export PASSWORD=falsch-geraten
run tenon thread list
expect_one_error "password authentication failed"
printf 'store: {use: postgres, url: "%s"}\n' "$(url_with verify-full "$PWD/right.crt" | sed 's/tenon@/tenon:falsch-geraten@/')" >tenon.yaml
run tenon thread list
expect_one_error "password authentication failed"
