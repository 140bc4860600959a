# shellcheck shell=bash disable=SC2154
# The broker and its proxy: configuration and processes. Sourced after accounts.sh and processes.sh.

# start_broker PORT [ADDRESS TLS-PORT]: starts it on loopback, and a proxy for TLS on ADDRESS. Returns when both listen.
start_broker() {
    local as=()
    raise_file_limit
    mkdir -p "$broker/db"
    if ((EUID == 0)); then take_broker_folder; fi
    # In the broker's folder: the broker's account may lack access to .build.
    rm -f "$broker/pacebus_plugin.so"
    if [[ -e $bin/pacebus_plugin.so ]]; then cp "$bin/pacebus_plugin.so" "$broker"; else build_plugin "$broker"; fi
    {
        cat compose/mosquitto.conf
        printf '\nacl_file access.conf\npersistence_location db/\n'
        printf '\nplugin ./pacebus_plugin.so\nplugin_opt_passwords passwords\nplugin_opt_viewers viewers\n'
        printf '\nlistener %s 127.0.0.1\n' "$1"
    } >"$broker/mosquitto.conf"
    if ((EUID == 0)); then
        # As root, drop to the account of Debian's package.
        find "$broker" -maxdepth 1 -type f -exec chown root:mosquitto {} + -exec chmod 640 {} +
        as=(setpriv --reuid mosquitto --regid mosquitto --clear-groups --pdeathsig TERM)
    fi
    # env changes the folder as root: the other account may lack access to the parents. mosquitto would keep up to 4 KiB of its log
    # in memory.
    start mosquitto env --chdir "$broker" "${as[@]}" stdbuf -oL mosquitto -c mosquitto.conf >>"$(new_log mosquitto)" 2>&1
    say "${pids[mosquitto]}" >data/broker.pid
    await_listener mosquitto "$1"
    if [[ ${2-} ]]; then start_proxy "$1" "$2" "$3"; fi
}

# take_broker_folder: gives $broker to root and $broker/db, the stored messages, to the broker's account. In a folder of its own
# that account could replace a file by a link that root follows.
take_broker_folder() {
    chown root:mosquitto "$broker"
    chmod 750 "$broker"
    # Earlier versions gave the account the whole folder.
    find "$broker" -maxdepth 1 -type l -delete
    if [[ -e $broker/mosquitto.db ]]; then mv -n "$broker/mosquitto.db" "$broker/db"; fi
    chown -R mosquitto: "$broker/db"
}

# start_proxy PORT ADDRESS TLS-PORT: starts HAProxy, which passes TLS connections on to the broker's PORT.
start_proxy() {
    local folder=data/proxy account=()
    mkdir -p "$folder"
    cp compose/haproxy.cfg "$folder"
    cat data/tls/server.crt data/tls/server.key >"$folder/server.pem"
    # As root, its worker drops to the account of Debian's package.
    if ((EUID == 0)); then account=(PROXY_ACCOUNT=haproxy); fi
    start haproxy env --chdir "$folder" "MQTT_PORT=$1" "TLS_ADDRESS=$2" "TLS_PORT=$3" "${account[@]}" \
        haproxy -W -f haproxy.cfg >>"$(new_log haproxy)" 2>&1
    await_listener haproxy "$3" "$2"
}

# await_listener NAME PORT [ADDRESS]: waits until the process accepts connections.
await_listener() {
    local deadline=$((SECONDS + 10))
    until is_taken "$2" "${3-}"; do
        if ! is_running "$1" || ((SECONDS > deadline)); then
            show_log "$1"
            fail "$1 did not start; see data/log/$1.log"
        fi
        sleep 0.1
    done
}

# raise_file_limit: each connection takes a file descriptor, and the usual limit is 1,024.
raise_file_limit() { ulimit -n 65536 2>/dev/null || ulimit -Sn "$(ulimit -Hn)"; }
