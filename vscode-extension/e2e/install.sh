#!/usr/bin/env bash
# Installs a real VS Code for the tests: code-server (the workbench and a Node extension host) from npm, and Chromium
# from Debian. Nothing is downloaded from anywhere else. Does nothing when all is there.
#   usage: install.sh PREFIX    with Node 24 and its npm on the PATH
# Some native modules are compiled: a C++ compiler and the headers of Kerberos are needed.
set -euo pipefail
PREFIX=$(mkdir -p "$1" && cd "$1" && pwd)
CODE_SERVER=4.139.1 # VS Code 1.139.1; it runs on Node 24 only

missing=()
for package in chromium fonts-dejavu-core libkrb5-dev g++ make python3 pkg-config; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
    echo "The tests in VS Code need these Debian packages: ${missing[*]}" >&2
    echo "Install them first (as root, with apt-get on Debian 12), or use such a machine." >&2
    exit 1
  fi
  echo "  ${missing[*]} …"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

timeout 120 chromium --headless --no-sandbox --disable-gpu --dump-dom about:blank >/dev/null 2>&1 || {
  echo "Chromium does not run on this machine." >&2
  exit 1
}

ENTRY=$PREFIX/node_modules/code-server/out/node/entry.js
[ -f "$PREFIX/installed" ] && [ "$(cat "$PREFIX/installed")" = "$CODE_SERVER" ] && exit 0
echo "  code-server $CODE_SERVER …"
rm -rf "$PREFIX/node_modules" "$PREFIX/installed"
echo '{"private": true}' >"$PREFIX/package.json"
# nodedir: the headers of this very Node, which would otherwise be downloaded or be another Node's
npm_config_nodedir=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
export npm_config_nodedir npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
export XDG_CONFIG_HOME=$PREFIX/config # code-server writes a file there whenever it is run
JOBS=$(nproc) npm install --prefix "$PREFIX" --no-package-lock --foreground-scripts "code-server@$CODE_SERVER" \
  >"$PREFIX/install.log" 2>&1 || { tail -40 "$PREFIX/install.log" >&2; exit 1; }
for module in @vscode/spdlog @vscode/native-watchdog node-pty @parcel/watcher kerberos; do
  (cd "$PREFIX/node_modules/code-server/lib/vscode" && node -e "require('$module')")
done
node "$ENTRY" --version >/dev/null
echo "$CODE_SERVER" >"$PREFIX/installed"
