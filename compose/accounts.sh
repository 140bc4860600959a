# shellcheck shell=bash disable=SC2154
# The broker's accounts: passwords and access rules. Sourced after common.sh. The broker's plugin reads the files.

operator=_operator
broker=data/broker
# The key of the dashboards' login cookies. No account has this name.
login_key=data/secrets/_login-key

# lock_accounts: blocks other changes of accounts until this shell ends.
lock_accounts() {
    exec 8>>data/accounts.lock
    flock 8
}

# prepare_accounts: creates the folders, the accounts every installation has, and the key of login cookies.
prepare_accounts() {
    mkdir -p "$broker" data/secrets
    : >>"$broker/passwords"
    : >>"$broker/viewers"
    local account
    for account in "$operator" "${services[@]/#/_}"; do need_account "$account"; done
    if [[ ${COACH-} == on ]]; then need_account _coach; fi
    if [[ ! -s $login_key ]]; then
        random_hex 32 >"$login_key.new"
        mv "$login_key.new" "$login_key"
    fi
}

new_password() { random_hex 24; }

# random_hex BYTES: prints as many random bytes.
random_hex() { od -An -tx1 -N"$1" /dev/urandom | tr -d ' \n'; }

# change_accounts COMMAND…: replaces the password file in one step by what COMMAND makes of its copy, $changed. The
# broker reads the new file at the next login, or within a second.
change_accounts() {
    changed=$broker/passwords.new
    cp "$broker/passwords" "$changed"
    "$@"
    replace passwords
}

# replace FILE: puts FILE.new in the place of FILE. The broker never reads half a file.
replace() {
    # A broker started by root runs under the account of Debian's package, which only reads.
    if ((EUID == 0)); then chown root:mosquitto "$broker/$1.new" && chmod 640 "$broker/$1.new"; fi
    mv "$broker/$1.new" "$broker/$1"
}

# set_password ACCOUNT[/DEVICE] PASSWORD: stores its hash for the broker.
set_password() { change_accounts hash_password "$@"; }

# On standard input, typed twice: an argument would show in the process list.
hash_password() { printf '%s\n%s\n' "$2" "$2" | mosquitto_passwd "$changed" "$1" >/dev/null; }

# remove_passwords PATTERN: removes all lines that match the extended regular expression.
remove_passwords() { change_accounts remove_lines "$1"; }

remove_lines() {
    local lines
    lines=$(grep -vE "$1" "$changed" || true)
    printf '%s' "${lines:+$lines$'\n'}" >"$changed"
}

has_password() { grep -q "^$1:" "$broker/passwords"; }

# need_account ACCOUNT: creates the account with a generated password in data/secrets, if it does not exist.
need_account() {
    local secret=data/secrets/$1
    if [[ -s $secret ]] && has_password "$1"; then return; fi
    if [[ ! -s $secret ]]; then
        new_password >"$secret.new"
        mv "$secret.new" "$secret"
    fi
    set_password "$1" "$(<"$secret")"
}

# rotate_services: gives all services and the operator new passwords. The previous ones stay valid too, as ACCOUNT/old,
# for services that run.
# write_operator PORT: writes the file that mosquitto_sub reads its options from: the password stays out of the process list.
write_operator() {
    mkdir -p data/operator
    printf -- '-h 127.0.0.1\n-p %s\n-u %s\n-P %s\n' "$1" "$operator" "$(<data/secrets/$operator)" >data/operator/mosquitto_sub
}

rotate_services() {
    local account secret
    change_accounts hash_new_passwords
    for secret in data/secrets/_*.new; do
        # A service under an account of its own reads it.
        chown --reference "${secret%.new}" "$secret"
        chmod --reference "${secret%.new}" "$secret"
        mv "$secret" "${secret%.new}"
    done
    if [[ -s data/operator/mosquitto_sub ]]; then
        mapfile -t lines <data/operator/mosquitto_sub
        printf '%s\n' "${lines[@]/#-P */-P $(<data/secrets/$operator)}" >data/operator/mosquitto_sub
    fi
}

hash_new_passwords() {
    local accounts
    remove_lines '^_[^:]*/old:'
    sed -i -E 's|^(_[^:/]*):|\1/old:|' "$changed"
    mapfile -t accounts < <(sed -n 's|^\(_.*\)/old:.*|\1|p' "$changed")
    for account in "${accounts[@]}"; do
        new_password >"data/secrets/$account.new"
        hash_password "$account" "$(<"data/secrets/$account.new")"
    done
}

# people: prints the names of people's accounts.
people() { if [[ -e $broker/passwords ]]; then sed -nE 's|^([^_:/][^:/]*):.*|\1|p' "$broker/passwords" | sort; fi; }

has_account() { people | grep -qxF -e "$1"; }

# devices_of ACCOUNT: prints the names of devices with a password of their own.
devices_of() { sed -nE "s|^$1/([^:]*):.*|\1|p" "$broker/passwords" | sort; }

# viewed_by ACCOUNT: prints the users a viewer's account reads, in one line; nothing for a user's account.
viewed_by() { awk -v name="$1" '$1 == name { print $2 }' "$broker/viewers" | sort | paste -sd ' '; }

# sole_viewers_of USER: prints the names of viewers who read this user's topics alone.
sole_viewers_of() {
    awk -v user="$1" '{ count[$1]++ } $2 == user { views[$1] } END { for (name in views) if (count[name] == 1) print name }' \
        "$broker/viewers"
}

# write_access: copies the services' access rules for the broker.
write_access() {
    cp compose/access.conf "$broker/access.conf.new"
    replace access.conf
}
