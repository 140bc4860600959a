# shellcheck shell=bash disable=SC2154
# The services' processes, against the broker on ${ports[mqtt]}. Sourced after accounts.sh and processes.sh.

# The first port to try for a service's health and metrics.
first_health_port=$((9101 + port_offset))

# connect_as USER: sets $connection to the settings an executable connects with; a service connects to all partitions.
connect_as() {
    local address=127.0.0.1:${ports[mqtt]}
    if [[ $1 == _* ]] && ((partitions > 1)); then address=$(partition_addresses); fi
    connection=("MQTT_URL=mqtt://$1@$address" "MQTT_PASSWORD_FILE=data/secrets/$1")
}

# The dashboard's web server, also for WebSockets: its address, the first port to try, and settings that come before the
# environment's.
web_address=${WEB_HOST:-127.0.0.1}
first_web_port=${WEB_PORT:-$((8080 + port_offset))}
web_settings=()

# serve_web_over_tls: lets the dashboard listen on $listen with the certificate in data/tls, unless the environment has another
# address or certificate, or a proxy of its own.
serve_web_over_tls() {
    [[ ! ${WEB_HOST-}${TLS_CERT_FILE-}${TRUSTED_PROXY-} ]] || return 0
    web_address=$listen
    first_web_port=${https_port:-${WEB_PORT:-$((8443 + port_offset))}}
    web_settings=("WEB_HOST=$listen" TLS_CERT_FILE=data/tls/server.crt TLS_KEY_FILE=data/tls/server.key)
}

# Whether the stores are in PostgreSQL, and the addresses of several servers. Otherwise the folder of the SQLite stores.
postgres='' store_servers='' store_folder=data
# The services' processes.
instances=("${services[@]}")

# Several dashboards, if there are, behind HAProxy on ${ports[web]}.
dashboards=()

# service_settings NAME: sets $settings to its environment, with ${ports[NAME]} as its health port, and of a dashboard with its
# web port. NAME is that of a service, or of a replica, which ends in -2 to -9.
service_settings() {
    local service=${1%-[2-9]}
    connect_as "_$service"
    settings=("${connection[@]}" "HTTP_PORT=${ports[$1]}" "LOG_NAME=$1")
    if [[ $service == dashboard ]]; then
        settings+=("WEB_PORT=${ports[$(web_listener "$1")]}" "LOGIN_KEY_FILE=$login_key" PAIRINGS_FOLDER=data/run/pairings
            "${web_settings[@]}")
    elif [[ $postgres ]]; then
        settings+=("STORE_URL=postgres://$service@${store_servers:-127.0.0.1:${ports[postgres]}}/pacebus"
            "STORE_PASSWORD_FILE=$(store_secret "$service")" SHARDS=auto)
    else
        settings+=("STORE_URL=sqlite:./$store_folder/$service.sqlite")
    fi
}

# launch_service NAME: starts it.
launch_service() {
    local settings
    if [[ $(refused_port "$1") == "${ports[$1]}" ]]; then
        say "Port ${ports[$1]} is in use; $1 tries the next"
        ports[$1]=$(free_port $((ports[$1] + 1)))
        if [[ -e data/run/urls ]]; then
            sed -i "s|^$1 http:.*|$1 http://127.0.0.1:${ports[$1]}|" data/run/urls
            record_targets
        fi
        # It requests the health of dashboards there.
        if [[ -v ports[web-proxy] ]]; then : >data/run/restart-web-proxy; fi
    fi
    service_settings "$1"
    start "$1" env "${settings[@]}" "$bin/${1%-[2-9]}" >>"data/log/$1.log" 2>&1
}

# record_urls: writes data/run/urls: the name and the URL of each listener, then of each process' health and metrics.
record_urls() {
    local name web
    web=$(web_url)
    {
        say "mqtt mqtt://127.0.0.1:${ports[mqtt]}"
        if [[ $listen ]]; then say "mqtts mqtts://$(public_name "$listen"):${ports[mqtts]}"; fi
        say "web $web"
        say "ws ${web/#http/ws}/mqtt"
        if ((partitions > 1)); then say "partitions mqtt://$(partition_addresses)"; fi
        if ((brokers * partitions > 1)); then
            for name in $(broker_names); do say "$name mqtt://127.0.0.1:${ports[$name]}"; done
        fi
        for name in "${supervised[@]}"; do
            case $name in
                mosquitto*) ;;
                postgres) say "$name postgres://127.0.0.1:${ports[$name]}" ;;
                *) say "$name http://127.0.0.1:${ports[$name]}" ;;
            esac
        done
    } >data/run/urls.new
    mv data/run/urls.new data/run/urls
    record_targets
}

# web_url: prints the dashboard's address in browsers.
web_url() {
    local scheme=http
    if [[ ${TLS_CERT_FILE-} ]] || ((${#web_settings[@]})); then scheme=https; fi
    say "${PUBLIC_URL:-$scheme://$(public_name "$web_address"):${ports[web]}}"
}

# record_targets: writes data/run/targets.json, the processes in data/run/urls that have metrics, for Prometheus' file_sd_configs.
record_targets() {
    # Another account may read it: it has no secrets.
    (umask 022 && awk '$1 != "web" && sub("^http://", "", $2) {
        service = $1
        sub("-[2-9]$", "", service)
        printf "%s  {\"targets\": [\"%s\"], ", count++ ? ",\n" : "[\n", $2
        printf "\"labels\": {\"service\": \"%s\", \"process\": \"%s\"}}", service, $1
    }
    END { print count ? "\n]" : "[]" }' data/run/urls >data/run/targets.json.new) || return 0 # a full disk ends nothing
    mv data/run/targets.json.new data/run/targets.json
}

# web_listener NAME: prints the listener of a dashboard in ${ports}: `web`, or its own behind HAProxy.
web_listener() { say "web${dashboards[0]:+-$1}"; }

# prepare_service NAME: starts it with a new log, on a free port.
prepare_service() {
    : >"$(new_log "$1")"
    ports[$1]=$(free_port "$first_health_port")
    launch_service "$1"
}

# start_services: starts all and returns when they are ready.
start_services() {
    local name
    choose_port web "$first_web_port" "$web_address"
    if ((${#dashboards[@]})); then prepare_dashboards; fi
    for name in "${instances[@]}"; do prepare_service "$name"; done
    for name in "${instances[@]}"; do wait_until_ready "$name" 30; done
}

# wait_until_ready NAME SECONDS: waits for its health port, which must be its own, to report that it is ready.
wait_until_ready() {
    local deadline=$((SECONDS + $2)) port=${ports[$1]} service_address=$web_address
    if ((${#dashboards[@]})); then service_address=127.0.0.1; fi
    until owns_port "$1" "$port" && [[ $(http_status "$port" /readyz) == 200 ]]; do
        if ! is_running "$1"; then
            case $(refused_port "$1") in
                '') stopped_by_itself "$1" ;;
                "$port") ;;
                *) choose_port "$(web_listener "$1")" "${ports[$(web_listener "$1")]}" "$service_address" ;;
            esac
            launch_service "$1"
            port=${ports[$1]}
        fi
        if ((SECONDS > deadline)); then
            show_log "$1"
            fail "$1 is not ready after $2 s"
        fi
        sleep 0.05
    done
}

# refused_port NAME: prints the port that a service could not open before it ended, because another process had taken it and may
# have left it by now.
refused_port() { tail -n 1 "data/log/$1.log" | sed -nE "s/.*cannot listen on .*:([0-9]+): .*$in_use.*/\1/p"; }

stopped_by_itself() {
    show_log "$1"
    fail "$1 ended unexpectedly"
}
