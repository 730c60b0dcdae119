#!/bin/sh
# Puts libtcmalloc_minimal into a folder, where the engine finds it: on the CPU it makes a token about a third cheaper.
# usage: fetch-tcmalloc.sh FOLDER
# Needs no root and changes nothing outside FOLDER. Without apt it only says what is missing; the engine runs all the same.
set -eu
into=${1:?FOLDER}

if ldconfig -p 2>/dev/null | grep -q 'libtcmalloc.*\.so\.4' || [ -e "$into/libtcmalloc_minimal.so.4" ]; then
    exit 0
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fetch() {
    (cd "$tmp" && apt-get download -qq libtcmalloc-minimal4 >/dev/null 2>&1)
}

if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
    fetch || { [ "$(id -u)" = 0 ] && apt-get update -qq >/dev/null 2>&1 && fetch; } || true
    if ls "$tmp"/*.deb >/dev/null 2>&1; then
        dpkg-deb -x "$tmp"/*.deb "$tmp/root"
        find "$tmp/root" -name 'libtcmalloc_minimal.so.4*' -exec cp -P {} "$into/" \;
        exit 0
    fi
fi
echo "Note: libtcmalloc_minimal.so.4 is not here and could not be fetched; completions will be slower." \
     "Install it by your system's packages (Debian, Ubuntu: libtcmalloc-minimal4)."
