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

# Whether the stores are in PostgreSQL, and the addresses of several servers.
postgres='' store_servers=''
# The services' processes.
instances=("${services[@]}")

# Several dashboards, if there are, behind HAProxy on ${ports[web]}.
dashboards=()

# launch_service NAME: starts it with ${ports[NAME]} as its health port, and a dashboard with its web port. NAME is that of a
# service, or of a replica, which ends in -2 to -9.
launch_service() {
    local service=${1%-[2-9]} settings=()
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
    connect_as "_$service"
    if [[ $service == dashboard ]]; then
        settings=("WEB_PORT=${ports[$(web_listener "$1")]}" "LOGIN_KEY_FILE=$login_key" PAIRINGS_FOLDER=data/run/pairings
            "${web_settings[@]}")
    elif [[ $postgres ]]; then
        settings=("STORE_URL=postgres://$service@${store_servers:-127.0.0.1:${ports[postgres]}}/pacebus"
            "STORE_PASSWORD_FILE=$(store_secret "$service")" SHARDS=auto)
    else
        settings=("STORE_URL=sqlite:./data/$service.sqlite")
    fi
    start "$1" env "${connection[@]}" "HTTP_PORT=${ports[$1]}" "LOG_NAME=$1" "${settings[@]}" "$bin/$service" >>"data/log/$1.log" 2>&1
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
