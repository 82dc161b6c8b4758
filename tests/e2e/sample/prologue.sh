# Shared by the tests of samples that are built as by a stranger: copied out of the tree, and built against an installation.
#
#   install_tenon        installs into $prefix, and puts its program on the PATH; $TENON is that program
#   readme_commands FILE LANGUAGE
#                        prints the commands of the blocks ```LANGUAGE of a README
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fails "$*"; }; }
prefix=$work/prefix
install_tenon() {
    quietly cmake --install "$BINARY" --prefix "$prefix"
    TENON=$prefix/bin/tenon
    export PATH="$prefix/bin:$PATH" CMAKE_PREFIX_PATH=$prefix CC
    [ -z "$SANITIZE" ] || export CFLAGS="-fsanitize=$SANITIZE"
}
readme_commands() { sed -n "/^\`\`\`$2\$/,/^\`\`\`\$/{/^\`\`\`/!p}" "$1"; }
