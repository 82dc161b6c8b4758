# `tenon plugin upgrade` replaces the installed file atomically, and only by a plugin that can be loaded.
mkdir -p "$XDG_DATA_HOME/tenon/plugins"
builds=$BINARY/tests/upgrade
installed=$XDG_DATA_HOME/tenon/plugins/versioned.so
cp "$builds/test_versioned_1.so" "$installed"
cat >which.yaml <<'YAML'
version: "1.0"
agent: {name: which}
channels: [{name: seen, type: last_value}]
nodes: [{id: which, type: test.version, config: {out: seen}}]
edges: [{from: START, to: which}, {from: which, to: END}]
YAML
run tenon run which.yaml
expect_out '{"seen":1}'
run tenon plugin upgrade "$builds/test_versioned_2.so"
expect_code 0
expect_in err "test.versioned: 2.0.0, was 1.0.0, in $installed"
run tenon run which.yaml
expect_out '{"seen":2}'
cmp "$installed" "$builds/test_versioned_2.so" || fails "the file was not replaced"

# An older version replaces it, too, with a message.
run tenon plugin upgrade "$builds/test_versioned_1.so"
expect_code 0 && expect_in err "warning: this is a downgrade: 1.0.0 is older than 2.0.0"
expect_in err "test.versioned: 1.0.0, was 2.0.0"
run tenon plugin upgrade "$builds/test_versioned_2.so"
expect_code 0 && expect_not_in err downgrade

run tenon plugin upgrade "$builds/test_versioned_3.so" # its initialisation fails
expect_code 4
expect_in err "nothing was changed"
run tenon plugin upgrade "$TEST_NODES"
expect_code 4
expect_in err "which is not installed"
run tenon plugin upgrade "$installed"
expect_code 2
run tenon plugin upgrade "$BINARY/lib/tenon/plugins/core.so"
expect_code 4
expect_in err "is part of this installation"
printf 'no plugin' >broken.so
run tenon plugin upgrade broken.so
expect_code 4
run tenon plugin upgrade nowhere.so
expect_code 2
run tenon run which.yaml
expect_out '{"seen":2}'
if [ "$(id -u)" != 0 ]; then
    chmod a-w "$XDG_DATA_HOME/tenon/plugins"
    run tenon plugin upgrade "$builds/test_versioned_1.so"
    expect_code 4
    expect_in err "nothing was changed"
fi
