# What h11, httptools or Node refuses, the server refuses: a corpus and 1,000 mutations of requests.
command -v node >/dev/null || skips "node is not installed"
pip_packages differential h11==0.16.0 httptools==0.9.0
serve_test differential.py 1000 "${DIFFERENTIAL_SEED:-1}"
