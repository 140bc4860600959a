# shellcheck shell=bash disable=SC2154
# The services' processes, against the broker on ${ports[mosquitto]}. Sourced after accounts.sh and processes.sh.

# The first port to try for a service's health and metrics.
first_health_port=9101

# connect_as USER: sets $connection to the settings an executable connects with.
connect_as() { connection=("MQTT_URL=mqtt://$1@127.0.0.1:${ports[mosquitto]}" "MQTT_PASSWORD_FILE=data/secrets/$1"); }

# The first port to try for the dashboard's web server.
first_web_port=${WEB_PORT:-8080}

# launch_service NAME: starts it with ${ports[NAME]} as its health port, and the dashboard with ${ports[web]}.
launch_service() {
    local settings=()
    connect_as "_$1"
    if [[ $1 == dashboard ]]; then settings=("WEB_PORT=${ports[web]}"); fi
    start "$1" env "${connection[@]}" "STORE_URL=sqlite:./data/$1.sqlite" "HTTP_PORT=${ports[$1]}" "${settings[@]}" \
        "$bin/$1" >>"data/log/$1.log" 2>&1
}

# start_services: starts all and returns when they are ready.
start_services() {
    local service
    choose_port web "$first_web_port"
    for service in "${services[@]}"; do
        : >"$(new_log "$service")"
        ports[$service]=$(free_port "$first_health_port")
        launch_service "$service"
    done
    for service in "${services[@]}"; do wait_until_ready "$service" 30; done
}

# wait_until_ready NAME SECONDS: waits for its health port, which must be its own, to report that it is ready.
wait_until_ready() {
    local deadline=$((SECONDS + $2)) port=${ports[$1]}
    until owns_port "$1" "$port" && [[ $(http_status "$port" /readyz) == 200 ]]; do
        if ! is_running "$1"; then
            # Another process took a port after this script found it free.
            if [[ $1 == dashboard ]] && is_taken "${ports[web]}"; then
                choose_port web "${ports[web]}"
                launch_service "$1"
                continue
            fi
            is_taken "$port" || stopped_by_itself "$1"
            say "Port $port is in use; $1 tries the next"
            ports[$1]=$(free_port $((port + 1)))
            port=${ports[$1]}
            launch_service "$1"
        fi
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
