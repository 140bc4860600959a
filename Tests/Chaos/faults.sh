# shellcheck shell=bash disable=SC2034,SC2154
# The attacks of compose/chaos on replicas and on PostgreSQL. Sourced after replicas.sh, health.sh, supervision.sh and servers.sh.

# prepare_attack SERVICE=N…: chooses PostgreSQL and the numbers of replicas.
prepare_attack() {
    local word
    for word; do replicas[${word%=*}]=${word#*=}; done
    # The files are none of the attack's matter.
    export EXPORT_FORMATS=csv
    listen='' postgres=yes first_postgres_port=28980
    list_processes
}

prepare_replicas() {
    prepare_attack metrics-aggregator=4 route-builder=2 session-engine=2 exporter=2 live-activity-publisher=2 \
        virtual-run=2 importer=2 weather-fetcher=2
    start_postgres
}

prepare_failover() {
    prepare_attack metrics-aggregator=2
    start_servers
}

# attack_system COMMAND PROGRAM ARGUMENT…: runs a program of Tests/Chaos with devices, and after each turn COMMAND. Starts services
# again, as compose/up does.
attack_system() {
    local name each=$1 program=$2 tests=$repository/Tests
    shift 2
    gcc -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror "$tests/Chaos/devices.c" \
        "$tests"/Benchmarks/{sender,stream,mqtt,measure}.c -lm -o data/devices
    supervised=("${instances[@]}")
    for name in "${supervised[@]}"; do note_start "$name"; done
    record_processes
    start client /usr/bin/python3 -B "$tests/Chaos/$program" "$seed" "${ports[mqtt]}" $((minutes * 60)) "$@" \
        > >(tee data/log/client.log) 2>&1
    while is_running client; do
        sleep 0.1
        "$each"
        for name in "${supervised[@]}"; do supervise "$name" >>data/log/supervision.log; done
    done
    [[ -e data/met ]]
}

attack_replicas() { attack_system : replicas.py "127.0.0.1:${ports[postgres]}"; }

attack_failover() { attack_system serve_failover failover.py "$store_servers" "$count"; }
