# shellcheck shell=bash disable=SC2004,SC2154
# The broker and its proxies: configuration and processes. Sourced after accounts.sh and processes.sh.

# Two for an active and a standby broker behind HAProxy.
brokers=1
# Several for brokers behind HAProxy that have a part of the accounts each.
partitions=1

# broker_names: prints the names of all brokers' processes.
broker_names() {
    local number
    say mosquitto
    for ((number = 2; number <= brokers * partitions; number++)); do say "mosquitto-$number"; done
}

# partition_addresses: prints the brokers' addresses in the order of their partitions, separated by commas.
partition_addresses() {
    local name list=
    for name in $(broker_names); do list+=,127.0.0.1:${ports[$name]}; done
    say "${list#,}"
}

# port_of ACCOUNT: prints the port of the broker that has the account's topics.
port_of() {
    local checksum names
    ((partitions > 1)) || { say "${ports[mqtt]}" && return; }
    # gzip ends with the CRC-32 of its input and its length.
    checksum=$(printf '%s' "$1" | gzip -c | tail -c 8 | od -A n -t u4 -N 4)
    mapfile -t names < <(broker_names)
    say "${ports[${names[checksum % partitions]}]}"
}

# start_broker PORT: starts the broker, or several with their proxy, on the first free loopback port from PORT, ${ports[mqtt]},
# and waits until they listen.
start_broker() {
    raise_file_limit
    prepare_broker
    : >"$(new_log mosquitto)"
    if ((brokers * partitions == 1)); then
        choose_port mosquitto "$1"
        start_listening mosquitto mosquitto
        ports[mqtt]=${ports[mosquitto]}
        return
    fi
    choose_port mqtt "$1"
    local name
    for name in $(broker_names); do
        ports[$name]=$(free_port $((ports[mqtt] + 1)))
        : >"$(new_log "$name")"
        start_listening "$name" "$name"
    done
    mkdir -p data/proxy
    : >"$(new_log mqtt-proxy)"
    ports[mqtt-proxy]=$(free_port $((9110 + port_offset)))
    start_listening mqtt-proxy mqtt mqtt-proxy
}

# prepare_broker: creates the broker's folders, and puts the plugin there: the broker's account may lack access to .build.
prepare_broker() {
    mkdir -p "$broker/db"
    if ((EUID == 0)); then take_broker_folder; fi
    rm -f "$broker/pacebus_plugin.so"
    if [[ -e $bin/pacebus_plugin.so ]]; then cp "$bin/pacebus_plugin.so" "$broker"; else build_plugin "$broker"; fi
}

# launch NAME: starts a process on its chosen ports.
launch() {
    case $1 in
        mosquitto*) launch_mosquitto "$1" ;;
        postgres | haproxy | mqtt-proxy | web-proxy) "launch_$1" ;;
        *) launch_service "$1" ;;
    esac
}

# configure_mosquitto NAME: all brokers read the same accounts and rules. The standby stores nothing, so that it begins empty;
# neither do partitions: another number of them would bring back what others own now.
configure_mosquitto() {
    local file=$broker/$1.conf
    {
        if [[ $1 == mosquitto && $partitions == 1 ]]; then cat compose/mosquitto.conf; else grep -v '^persistence ' compose/mosquitto.conf; fi
        printf '\nacl_file access.conf\npersistence_location db/\n'
        printf '\nplugin ./pacebus_plugin.so\nplugin_opt_passwords passwords\nplugin_opt_viewers viewers\n'
        printf '\nlistener %s 127.0.0.1\n' "${ports[$1]}"
    } 2>/dev/null >"$file.new" && mv "$file.new" "$file"
    # On a full disk the broker starts with the file of its last start.
    [[ -s $file ]] || fail "data/broker/$1.conf: cannot be written"
    # The account of Debian's package reads them.
    if ((EUID == 0)); then find "$broker" -maxdepth 1 -type f -exec chown root:mosquitto {} + -exec chmod 640 {} +; fi
}

# launch_mosquitto NAME
launch_mosquitto() {
    local as=()
    configure_mosquitto "$1"
    if ((EUID == 0)); then
        # As root, drop to the account of Debian's package.
        as=(setpriv --reuid mosquitto --regid mosquitto --clear-groups --pdeathsig TERM)
    fi
    # env changes the folder as root: the other account may lack access to the parents. mosquitto would keep up to 4 KiB of its log
    # in memory.
    start "$1" env --chdir "$broker" "${as[@]}" stdbuf -oL mosquitto -c "$1.conf" >>"data/log/$1.log" 2>&1
    if [[ $1 == mosquitto ]]; then say "${pids[mosquitto]}" >data/broker.pid; fi
}

launch_mqtt-proxy() {
    proxy_account
    local settings=("MQTT_PORT=${ports[mqtt]}" "METRICS_PORT=${ports[mqtt-proxy]}") file=brokers.cfg name number=0
    if ((partitions > 1)); then
        file=partitions.cfg
        settings+=("PARTITIONS=$partitions")
        {
            cat compose/partitions.cfg
            for name in $(broker_names); do
                printf 'backend partition-%s\n    server %s 127.0.0.1:%s\n' "$number" "$name" "${ports[$name]}"
                number=$((number + 1))
            done
        } >data/proxy/partitions.cfg
    else
        cp compose/brokers.cfg data/proxy
        settings+=("FIRST_PORT=${ports[mosquitto]}" "SECOND_PORT=${ports[mosquitto-2]}")
    fi
    start mqtt-proxy env --chdir data/proxy "${settings[@]}" "${account[@]}" haproxy -W -f "$file" >>data/log/mqtt-proxy.log 2>&1
}

# The connections that the standby had taken over when it was last emptied, and when to look again, in seconds of this script.
standby_total=0 standby_due=0

# empty_standby: once all clients are back at the first broker, asks for a restart of the second, which then forgets the retained
# messages and sessions of its turn: later ones would come back as news.
empty_standby() {
    ((brokers == 2 && SECONDS >= standby_due)) || return 0
    standby_due=$((SECONDS + 5))
    local total
    total=$(server_count sessions_total mosquitto-2)
    if is_active mosquitto && ! is_active mosquitto-2 && ((total > standby_total)); then
        standby_total=$total
        : >data/run/restart-mosquitto-2
    fi
}

# proxy_account: sets $account to the setting with which HAProxy's worker, started as root, drops to the account of Debian's
# package.
proxy_account() {
    account=()
    if ((EUID == 0)); then account=(PROXY_ACCOUNT=haproxy); fi
}

# take_broker_folder: gives $broker to root and $broker/db, the stored messages, to the broker's account. In a folder of its own
# that account could replace a file by a link that root follows.
take_broker_folder() {
    chown root:mosquitto "$broker"
    chmod 750 "$broker"
    chown -R mosquitto: "$broker/db"
}

# start_proxy ADDRESS PORT: starts HAProxy, which ends TLS on the first free port of ADDRESS from PORT, ${ports[mqtts]}, and
# serves its metrics on ${ports[haproxy]}. Waits until it listens.
start_proxy() {
    listen=$1
    prepare_proxy
    : >"$(new_log haproxy)"
    choose_port mqtts "$2" "$1"
    ports[haproxy]=$(free_port $((9109 + port_offset)))
    start_listening haproxy "mqtts@$1" haproxy
}

# copy_certificate: gives HAProxy the certificate with its key.
copy_certificate() {
    cat data/tls/server.crt data/tls/server.key >data/proxy/server.pem.new && mv data/proxy/server.pem.new data/proxy/server.pem
}

# When to look at the certificate again, in seconds of this script.
certificate_due=60

# renew_certificate: once a minute signs a certificate again that expires within 400 days, and lets the proxies use one that has
# changed. Open connections continue at a former worker of HAProxy. The dashboard watches the files itself.
renew_certificate() {
    [[ $listen ]] && ((SECONDS >= certificate_due)) || return 0
    certificate_due=$((SECONDS + 60))
    # For the same names: an authority for others would lock devices out.
    if [[ -s data/tls/ca.key ]] && ! is_lasting; then
        say "Renewing the certificate"
        # A full disk ends nothing.
        cp data/tls/server.ext data/tls/server.ext.new && sign_certificate || return 0
    fi
    if cmp -s <(cat data/tls/server.crt data/tls/server.key) data/proxy/server.pem; then return; fi
    is_pair || { say "data/tls/server.crt and server.key are not a pair; HAProxy continues with the former certificate" && return; }
    copy_certificate || return 0
    local name
    for name in haproxy web-proxy; do
        if is_running "$name"; then
            say "$name uses the certificate that has changed"
            kill -USR2 "${pids[$name]}"
        fi
    done
}

# prepare_proxy: writes its configuration and certificate.
prepare_proxy() {
    mkdir -p data/proxy
    cp compose/haproxy.cfg data/proxy
    copy_certificate
}

# proxy_settings: prints its environment, a setting a line.
proxy_settings() {
    proxy_account
    printf '%s\n' "MQTT_PORT=${ports[mqtt]}" "TLS_ADDRESS=$listen" "TLS_PORT=${ports[mqtts]}" "METRICS_PORT=${ports[haproxy]}" \
        "${account[@]}"
}

launch_haproxy() {
    local settings
    if is_pair; then copy_certificate; fi
    mapfile -t settings < <(proxy_settings)
    start haproxy env --chdir data/proxy "${settings[@]}" haproxy -W -f haproxy.cfg >>data/log/haproxy.log 2>&1
}

# raise_file_limit: each connection takes a file descriptor, and the usual limit is 1,024.
raise_file_limit() { ulimit -n 65536 2>/dev/null || ulimit -Sn "$(ulimit -Hn)"; }
