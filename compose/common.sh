# shellcheck shell=bash
# Shared by the commands of this folder, which source it. They work in the repository's folder.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
# Where Debian puts mosquitto, and where only root looks by default.
export PATH=$PATH:/usr/sbin

# What runs beside the broker: the executables' names. Each has the broker account of that name behind a `_`.
# shellcheck disable=SC2034
services=(session-engine metrics-aggregator route-builder weather-fetcher exporter live-activity-publisher)

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

# need_python: puts into $PYTHON an interpreter with what checks our work, independent of our code.
need_python() {
    export PYTHON=$PWD/.build/venv/bin/python
    [[ -x $PYTHON ]] || /usr/bin/python3 -m venv .build/venv
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --requirement compose/requirements.txt
}

need_swift() {
    command -v swift >/dev/null || fail "swift is not on the PATH: install Swift 6.2 or later, see swift.org/install"
}

# need_data: the folder of all that a running system writes, for its owner's eyes alone.
need_data() {
    umask 077
    mkdir -p data
    [[ -O data ]] || fail "$PWD/data belongs to $(stat -c %U data): start this as $(stat -c %U data)"
}

# claim_data: nothing else may use the folder's data until this process and all it starts have ended.
claim_data() {
    need_data
    exec 9>>data/up.lock
    flock -n 9 || fail "already running in $PWD, or still stopping (process $(<data/up.lock))"
    say $$ >data/up.lock
}
