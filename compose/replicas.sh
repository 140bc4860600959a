# shellcheck shell=bash disable=SC2004,SC2034,SC2154
# Replicas of services: SERVICE, SERVICE-2 and so on. Sourced after broker.sh, services.sh, health.sh and supervision.sh.

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
    supervised+=(${postgres:+postgres} "${instances[@]}" ${dashboards[0]:+web-proxy} ${listen:+haproxy})
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
            unset "ports[$name]" "due_at[$name]" "starts[$name]" "started_at[$name]" \
                "looks[$name]" "looked_at[$name]" "unanswered[$name]" "has_answered[$name]" "hangs[$name]"
        done
        record_urls
        record_processes
        rm -f "$request"
    done
}

# prepare_dashboards: chooses a loopback port for each of several, and lets HAProxy have ${ports[web]} with the certificate, if
# there is one.
prepare_dashboards() {
    local name
    for name in "${dashboards[@]}"; do ports[web-$name]=$(free_port $((ports[web] + 1))); done
    if ((${#web_settings[@]})); then web_settings=(TRUSTED_PROXY=127.0.0.1 "PUBLIC_URL=$(web_url)"); fi
}

# start_web_proxy: starts HAProxy on ${ports[web]} and waits until it listens.
start_web_proxy() {
    mkdir -p data/proxy
    if [[ $listen ]]; then copy_certificate; fi
    : >"$(new_log web-proxy)"
    ports[web-proxy]=$(free_port $((9111 + port_offset)))
    start_listening web-proxy "web@$web_address" web-proxy
}

launch_web-proxy() {
    local name
    proxy_account
    for name in "${dashboards[@]}"; do
        say "    server $name 127.0.0.1:${ports[web-$name]} port ${ports[$name]}"
    done >data/proxy/servers
    sed '/^backend \(ready\|live\)$/r data/proxy/servers' compose/web.cfg >data/proxy/web.cfg
    start web-proxy env --chdir data/proxy "WEB_ADDRESS=$web_address" "WEB_PORT=${ports[web]}" "PUBLIC_URL=$(web_url)" \
        "METRICS_PORT=${ports[web-proxy]}" ${listen:+CERTIFICATE=server.pem} "${account[@]}" haproxy -W -f web.cfg \
        >>data/log/web-proxy.log 2>&1
}
