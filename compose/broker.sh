# shellcheck shell=bash
# The broker: its accounts, its configuration, its process. Sourced after processes.sh.

# need_account USER: makes the account with a password of its own unless it has one. The broker keeps only a hash.
need_account() {
    local secret=data/secrets/$1 password
    if [[ ! -s $secret ]]; then
        od -An -tx1 -N24 /dev/urandom | tr -d ' \n' >"$secret.new"
        mv "$secret.new" "$secret"
    fi
    password=$(<"$secret")
    : >>data/broker/passwords
    # By standard input, twice as it asks: an argument would show in the process list.
    printf '%s\n%s\n' "$password" "$password" | mosquitto_passwd data/broker/passwords "$1" >/dev/null
}

# start_broker PORT: on loopback, with the accounts made before; returns when it listens.
start_broker() {
    local as=()
    cp compose/access.conf data/broker/access.conf
    {
        cat compose/mosquitto.conf
        printf '\nlistener %s 127.0.0.1\n' "$1"
    } >data/broker/mosquitto.conf
    if ((EUID == 0)); then
        # Root gives its rights away, to the account that Debian's package made.
        chown -R mosquitto: data/broker
        as=(setpriv --reuid mosquitto --regid mosquitto --clear-groups --pdeathsig TERM)
    fi
    # It enters the folder first: that account need not find the way there.
    start mosquitto env --chdir data/broker "${as[@]}" mosquitto -c mosquitto.conf >"$(new_log mosquitto)" 2>&1
    local deadline=$((SECONDS + 10))
    until is_taken "$1"; do
        if ! is_running mosquitto || ((SECONDS > deadline)); then
            show_log mosquitto
            fail "the broker did not start"
        fi
        sleep 0.1
    done
}
