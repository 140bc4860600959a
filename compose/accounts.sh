# shellcheck shell=bash disable=SC2154
# The broker's accounts: passwords, and what each may touch. Sourced after common.sh.

operator=_operator
broker=data/broker

# lock_accounts: until this shell ends, nobody else changes them.
lock_accounts() {
    exec 8>>data/accounts.lock
    flock 8
}

# prepare_accounts: the folders, and the accounts that every installation has.
prepare_accounts() {
    mkdir -p "$broker" data/secrets
    : >>"$broker/passwords"
    : >>"$broker/viewers"
    local account
    for account in "$operator" "${services[@]/#/_}"; do need_account "$account"; done
    # An outside coach is asked only where somebody wants one.
    if [[ ${COACH-} == on ]]; then need_account _coach; fi
}

new_password() { od -An -tx1 -N24 /dev/urandom | tr -d ' \n'; }

# set_password ACCOUNT PASSWORD: the broker keeps only a hash.
set_password() {
    # By standard input, twice as it asks: an argument would show in the process list.
    printf '%s\n%s\n' "$2" "$2" | mosquitto_passwd "$broker/passwords" "$1" >/dev/null
}

# need_account ACCOUNT: makes it, with a password of its own that stays in data/secrets, unless it is there.
need_account() {
    local secret=data/secrets/$1
    if [[ ! -s $secret ]]; then
        new_password >"$secret.new"
        mv "$secret.new" "$secret"
    fi
    set_password "$1" "$(<"$secret")"
}

# people: prints the names of all accounts that are not the system's.
people() { cut -d : -f 1 "$broker/passwords" | grep -v '^_' | sort || true; }

has_account() { people | grep -qxF -e "$1"; }

# viewed_by ACCOUNT: prints the user whose topics the account reads; nothing when it is a user's own.
viewed_by() { awk -v name="$1" '$1 == name { print $2 }' "$broker/viewers"; }

# viewers_of USER: prints the names of the accounts that read this user's topics.
viewers_of() { awk -v name="$1" '$2 == name { print $1 }' "$broker/viewers"; }

# write_access: puts together what the broker reads from access.conf and the accounts that there are.
write_access() {
    local name user
    {
        cat compose/access.conf
        for name in $(people); do
            user=$(viewed_by "$name")
            printf '\nuser %s\n' "$name"
            if [[ $user ]]; then
                # The patterns would make a user of it under its own name.
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
    # Root's broker gives its rights away, to the account that Debian's package made.
    if ((EUID == 0)); then chown -R mosquitto: "$broker"; fi
}

# reload_broker: a broker that compose/up runs here reads its accounts anew, and throws out whom it no longer knows.
reload_broker() {
    local id
    id=$(cat data/broker.pid 2>/dev/null) || return 0
    # An old number may have become another process.
    if [[ $(cat "/proc/$id/comm" 2>/dev/null) == mosquitto && /proc/$id/cwd -ef $broker ]]; then
        kill -HUP "$id"
    fi
}
