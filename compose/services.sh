# shellcheck shell=bash disable=SC2154
# The services' processes, against the broker on $mqtt_port. Sourced after accounts.sh and processes.sh.

declare -A health_ports=()
# The first port to try for each service.
http_port=9101

# connect_as USER: sets $connection to the settings an executable connects with.
connect_as() { connection=("MQTT_URL=mqtt://$1@127.0.0.1:$mqtt_port" "MQTT_PASSWORD_FILE=data/secrets/$1"); }

# start_services: starts all and returns when they are ready.
start_services() {
    local service
    for service in "${services[@]}"; do
        http_port=$(free_port "$http_port")
        health_ports[$service]=$http_port
        connect_as "_$service"
        start "$service" env "${connection[@]}" "STORE_URL=sqlite:./data/$service.sqlite" \
            "HTTP_PORT=$http_port" "$bin/$service" >>"$(new_log "$service")" 2>&1
        http_port=$((http_port + 1))
    done
    for service in "${services[@]}"; do wait_until_ready "$service" 30; done
}

wait_until_ready() {
    local deadline=$((SECONDS + $2))
    until [[ $(http_status "${health_ports[$1]}" /readyz) == 200 ]]; do
        if ! is_running "$1"; then stopped_by_itself "$1"; fi
        if ((SECONDS > deadline)); then
            show_log "$1"
            fail "$1 is not ready after $2 s"
        fi
        sleep 0.05
    done
}

stopped_by_itself() {
    show_log "$1"
    fail "$1 ended unexpectedly"
}
