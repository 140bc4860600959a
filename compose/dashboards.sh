# shellcheck shell=bash disable=SC2004,SC2034,SC2154
# Several dashboards behind HAProxy. Sourced after broker.sh and services.sh.

# prepare_dashboards: chooses a loopback port for each, and lets HAProxy have ${ports[web]} with the certificate, if there is one.
prepare_dashboards() {
    local name
    for name in "${dashboards[@]}"; do ports[web-$name]=$(free_port $((ports[web] + 1))); done
    if ((${#web_settings[@]})); then web_settings=(TRUSTED_PROXY=127.0.0.1 "PUBLIC_URL=$(web_url)"); fi
}

# start_web_proxy: starts HAProxy on ${ports[web]} and waits until it listens.
start_web_proxy() {
    local name
    mkdir -p data/proxy
    {
        cat compose/web.cfg
        for name in "${dashboards[@]}"; do say "    server $name 127.0.0.1:${ports[web-$name]}"; done
    } >data/proxy/web.cfg
    if [[ $listen ]]; then cat data/tls/server.crt data/tls/server.key >data/proxy/server.pem; fi
    : >"$(new_log web-proxy)"
    ports[web-proxy]=$(free_port $((9111 + port_offset)))
    start_listening web-proxy "web@$web_address" web-proxy
}

launch_web-proxy() {
    proxy_account
    start web-proxy env --chdir data/proxy "WEB_ADDRESS=$web_address" "WEB_PORT=${ports[web]}" \
        "METRICS_PORT=${ports[web-proxy]}" ${listen:+CERTIFICATE=server.pem} "${account[@]}" haproxy -W -f web.cfg \
        >>data/log/web-proxy.log 2>&1
}
