# shellcheck shell=bash
# Shared by the commands of this folder. They run in the repository's folder.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
# Debian installs mosquitto in a folder that only root has on its PATH.
export PATH=$PATH:/usr/sbin
# The README's `export` line is for pacebus and device. Processes of these commands have accounts of their own.
unset MQTT_URL MQTT_PASSWORD_FILE MQTT_CA_FILE MQTT_CERT_FILE MQTT_KEY_FILE

# The services, as compose.yaml lists them. Each is an executable NAME with the broker account `_NAME`.
mapfile -t services < <(sed -n 's|^ *MQTT_URL: mqtt://_\(.*\)@broker:1883$|\1|p' compose/compose.yaml)
# Those of them with a store.
# shellcheck disable=SC2034
mapfile -t stored < <(sed -n 's|^ *STORE_URL: sqlite:/data/\(.*\)\.sqlite$|\1|p' compose/compose.yaml)
# All executables, and the folder compose/build installs them in. The Debian package has them in `bin`.
# shellcheck disable=SC2034
executables=("${services[@]}" device pacebus) bin=.build/bin packaged=''
# shellcheck disable=SC2034
if [[ -d bin && ! -e Package.swift ]]; then bin=bin packaged=yes; fi

# The files of data/broker that a backup holds; compose/up writes the others again.
# shellcheck disable=SC2034
broker_files=(passwords viewers)

say() { printf '%s\n' "$*"; }

# printable: copies standard input, with control characters as `?`: a terminal would obey them.
printable() {
    # The second part are the controls that reverse the direction of text, U+202A to U+202E and U+2066 to U+2069.
    LC_ALL=C.UTF-8 sed -u $'s/[[:cntrl:]\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9]/?/g'
}

# fail MESSAGE: prints the reason in one line and ends the command.
fail() {
    printf 'compose/%s: %s\n' "${0##*/}" "$*" | printable >&2
    exit 1
}

# The folders that a command writes to.
disks=(data .build)

# name_full_disk: ends the command if the disk of one of $disks is full. To be called when something has failed.
name_full_disk() {
    local folder free
    for folder in "${disks[@]}"; do
        free=$(df --output=avail --block-size=1K "$folder" 2>/dev/null | tail -n 1) || continue
        ((${free:-1024} >= 1024)) ||
            fail "the disk of $(realpath "$folder") is full ($((free)) KiB free); delete files, such as old ones in data/backups, and try again"
    done
}

# A command that could not write has printed one line of its own. Subshells leave it to the command itself.
set -E
trap 'if [[ $BASHPID == "$$" ]]; then name_full_disk; fi' ERR

# need_packages PACKAGE…: installs the Debian packages that are missing.
need_packages() {
    command -v dpkg-query >/dev/null || fail "dpkg-query not found; install these packages by other means: $*"
    local package missing=() as_root=()
    for package; do
        [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    # A unit of systemd may not install any.
    [[ ! $packaged ]] || fail "missing Debian packages; install them: apt install ${missing[*]}"
    if ((EUID != 0)); then
        command -v sudo >/dev/null || fail "sudo not found; run as root: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "Installing ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${missing[@]}"
}

# need_python: sets $PYTHON to an interpreter with the packages of requirements.txt.
need_python() {
    export PYTHON=$PWD/.build/venv/bin/python
    [[ -x $PYTHON ]] || /usr/bin/python3 -m venv .build/venv
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --requirement compose/requirements.txt
}

need_swift() {
    command -v swift >/dev/null || fail "swift is not on the PATH; install Swift 6.2 or later: swift.org/install"
}

# need_data: creates ./data, readable by its owner alone. It holds everything a running system writes.
need_data() {
    umask 077
    mkdir -p data
    [[ -O data ]] || fail "$(stat -c %U data) owns $PWD/data: run this as $(stat -c %U data)"
}

# claim_data: locks ./data until this process and all it starts have ended.
claim_data() {
    need_data
    local owner=
    exec 9>>data/up.lock
    # compose/status and others test the lock for a moment.
    if ! flock --timeout 1 9; then
        read -r owner _ <data/up.lock || true
        fail "Pacebus runs in $PWD already, or is still stopping (process $owner); see compose/status, or stop it with compose/stop"
    fi
    say "$$ ${0##*/}" >data/up.lock
}

# build_plugin FOLDER: compiles the broker's plugin into it. Needs gcc, libc6-dev, libssl-dev and mosquitto-dev.
build_plugin() {
    gcc -std=gnu17 -O2 -fPIC -shared -fstack-protector-strong -D_FORTIFY_SOURCE=2 -Wall -Wextra -Werror \
        -Wl,-z,relro,-z,now,-z,noexecstack -s compose/broker/*.c -o "$1/pacebus_plugin.so" -lcrypto
}
