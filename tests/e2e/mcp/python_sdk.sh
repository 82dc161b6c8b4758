# Servers of the SDK for Python, of both eras, which need long to start. The older SDK uses the same other packages.
pip_packages mcp-legacy --no-deps $(cat "$SOURCE/tests/mcp/python-legacy.txt")
export PYTHON_LEGACY=$(echo "$(dirname "$python")"/../lib/python3*/site-packages)
pip_packages mcp $(cat "$SOURCE/tests/mcp/python.txt")
export PYTHON_FOLDER=$(dirname "$(dirname "$python")")
script python_sdk
