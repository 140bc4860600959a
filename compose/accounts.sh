# shellcheck shell=bash disable=SC2154
# The broker's accounts: passwords and access rules. Sourced after common.sh.

operator=_operator
broker=data/broker

# lock_accounts: blocks other changes of accounts until this shell ends.
lock_accounts() {
    exec 8>>data/accounts.lock
    flock 8
}

# prepare_accounts: creates the folders and the accounts every installation has.
prepare_accounts() {
    mkdir -p "$broker" data/secrets
    : >>"$broker/passwords"
    : >>"$broker/viewers"
    local account
    for account in "$operator" "${services[@]/#/_}"; do need_account "$account"; done
    if [[ ${COACH-} == on ]]; then need_account _coach; fi
}

new_password() { od -An -tx1 -N24 /dev/urandom | tr -d ' \n'; }

# set_password ACCOUNT PASSWORD: stores its hash for the broker.
set_password() {
    # On standard input, typed twice: an argument would show in the process list.
    printf '%s\n%s\n' "$2" "$2" | mosquitto_passwd "$broker/passwords" "$1" >/dev/null
}

# need_account ACCOUNT: creates the account with a generated password in data/secrets, if it does not exist.
need_account() {
    local secret=data/secrets/$1
    if [[ ! -s $secret ]]; then
        new_password >"$secret.new"
        mv "$secret.new" "$secret"
    fi
    set_password "$1" "$(<"$secret")"
}

# people: prints the names of people's accounts.
people() { cut -d : -f 1 "$broker/passwords" | grep -v '^_' | sort || true; }

has_account() { people | grep -qxF -e "$1"; }

# viewed_by ACCOUNT: prints the user a viewer's account reads; nothing for a user's account.
viewed_by() { awk -v name="$1" '$1 == name { print $2 }' "$broker/viewers"; }

# viewers_of USER: prints the names of the user's viewers.
viewers_of() { awk -v name="$1" '$2 == name { print $1 }' "$broker/viewers"; }

# write_access: writes the broker's access file from access.conf and the existing accounts.
write_access() {
    local name user
    {
        cat compose/access.conf
        for name in $(people); do
            user=$(viewed_by "$name")
            printf '\nuser %s\n' "$name"
            if [[ $user ]]; then
                # Takes away what access.conf's patterns give to the viewer's own name.
                printf 'topic deny pacebus/v1/+/%s/#\n' "$name"
                printf 'topic deny pacebus/v1/u/%s/replies/#\n' "$user"
                printf 'topic deny pacebus/v1/u/%s/coach/#\n' "$user"
                printf 'topic deny pacebus/v1/+/%s/+/activity/register\n' "$user"
                printf 'topic read pacebus/v1/+/%s/#\n' "$user"
            else
                printf 'topic read pacebus/v1/u/%s/coach/request\n' "$name"
            fi
        done
    } >"$broker/access.conf"
    # A broker started by root runs under the account of Debian's package.
    if ((EUID == 0)); then chown -R mosquitto: "$broker"; fi
}

# reload_broker: makes a running broker read its accounts again and disconnect removed ones.
reload_broker() {
    local id
    id=$(cat data/broker.pid 2>/dev/null) || return 0
    # The process id in the file may belong to another process by now.
    if [[ $(cat "/proc/$id/comm" 2>/dev/null) == mosquitto && /proc/$id/cwd -ef $broker ]]; then
        kill -HUP "$id"
    fi
}
