# shellcheck shell=bash disable=SC2154
# Replicas of services on PostgreSQL: SERVICE, SERVICE-2 and so on. Sourced after services.sh and supervision.sh.

# By service: the number of its replicas, if it was set.
declare -A replicas=()

# list_processes: sets $instances to the services' processes, and $supervised to all that start again.
list_processes() {
    local service number
    instances=()
    for service in "${services[@]}"; do
        instances+=("$service")
        for ((number = 2; number <= ${replicas[$service]:-1}; number++)); do instances+=("$service-$number"); done
    done
    dashboards=()
    if ((${replicas[dashboard]:-1} > 1)); then mapfile -t dashboards < <(printf '%s\n' "${instances[@]}" | grep -E '^dashboard(-[2-9])?$'); fi
    mapfile -t supervised < <(broker_names)
    if ((brokers * partitions > 1)); then supervised+=(mqtt-proxy); fi
    # shellcheck disable=SC2034
    supervised+=(${postgres:+postgres} "${instances[@]}" ${dashboards[0]:+web-proxy} websocket-gateway ${listen:+haproxy})
}

# scale_services: starts and stops the replicas that compose/scale asks for.
scale_services() {
    local request service before name ended
    for request in data/run/scale-*; do
        [[ -e $request ]] || continue
        service=${request#data/run/scale-}
        before=("${instances[@]}")
        replicas[$service]=$(<"$request")
        say "Scaling $service to ${replicas[$service]}"
        list_processes
        for name in "${instances[@]}"; do
            if [[ " ${before[*]} " != *" $name "* ]]; then
                prepare_service "$name"
                note_start "$name"
                show_warnings "$name"
            fi
        done
        ended=()
        for name in "${before[@]}"; do
            if [[ " ${instances[*]} " != *" $name "* ]]; then ended+=("$name"); fi
        done
        stop 6 "${ended[@]}"
        stop 1 "${ended[@]/#/warnings-}"
        for name in "${ended[@]}"; do
            unset "ports[$name]" "due_at[$name]" "pauses[$name]" "starts[$name]" "started_at[$name]" \
                "looks[$name]" "looked_at[$name]" "unanswered[$name]" "has_answered[$name]"
        done
        record_urls
        record_processes
        rm -f "$request"
    done
}
