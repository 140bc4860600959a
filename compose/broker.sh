# shellcheck shell=bash disable=SC2154
# The broker: configuration and process. Sourced after accounts.sh and processes.sh.

# start_broker PORT [ADDRESS TLS-PORT]: starts it on loopback, and over TLS on ADDRESS. Returns when it listens.
start_broker() {
    local as=()
    {
        cat compose/mosquitto.conf
        printf '\npassword_file passwords\nacl_file access.conf\npersistence_location ./\n'
        # mosquitto opens listeners in order: once the second accepts connections, so does this one.
        if [[ ${2-} ]]; then
            cp data/tls/server.crt data/tls/server.key "$broker"
            printf '\nlistener %s %s\ncertfile server.crt\nkeyfile server.key\n' "$3" "$2"
        fi
        printf '\nlistener %s 127.0.0.1\n' "$1"
    } >"$broker/mosquitto.conf"
    if ((EUID == 0)); then
        # As root, drop to the account of Debian's package.
        chown -R mosquitto: "$broker"
        as=(setpriv --reuid mosquitto --regid mosquitto --clear-groups --pdeathsig TERM)
    fi
    # env changes the folder as root: the other account may lack access to the parents.
    start mosquitto env --chdir "$broker" "${as[@]}" mosquitto -c mosquitto.conf >"$(new_log mosquitto)" 2>&1
    say "${pids[mosquitto]}" >data/broker.pid
    local deadline=$((SECONDS + 10))
    until is_taken "$1"; do
        if ! is_running mosquitto || ((SECONDS > deadline)); then
            show_log mosquitto
            fail "the broker did not start; see data/log/mosquitto.log"
        fi
        sleep 0.1
    done
}
