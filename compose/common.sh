# shellcheck shell=bash
# Shared by the commands of this folder, which source it. They work in the repository's folder.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
# Where Debian puts mosquitto, and where only root looks by default.
export PATH=$PATH:/usr/sbin

say() { printf '%s\n' "$*"; }

# Ends the command with one line that says why.
fail() {
    printf 'compose/%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# need_packages PACKAGE…: installs the Debian packages that are not there.
need_packages() {
    command -v dpkg-query >/dev/null || fail "this needs Debian 12, or these packages' like by other means: $*"
    local package missing=() as_root=()
    for package; do
        [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    if ((EUID != 0)); then
        command -v sudo >/dev/null || fail "without sudo root has to do this: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "Installing ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${missing[@]}"
}

need_swift() {
    command -v swift >/dev/null || fail "swift is not on the PATH: install Swift 6.2 or later, see swift.org/install"
}
