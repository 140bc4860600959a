# shellcheck shell=bash disable=SC2034,SC2154
# `compose/bench --postgres`: metrics-aggregator on SQLite and on PostgreSQL. Sourced by compose/bench.

# The PostgreSQL server's folder, and its port.
cluster='' server_port=

# start_server: starts a PostgreSQL server with its usual settings on a free loopback port.
start_server() {
    choose_postgres
    cluster=$(mktemp -d "${TMPDIR:-/var/tmp}/pacebus-bench-server.XXXXXX")
    if ((EUID == 0)); then chown postgres: "$cluster"; fi
    server_port=$(free_port 28990)
    "${postgres_account[@]}" "$postgres_programs/initdb" -D "$cluster" --auth=trust --encoding=UTF8 --locale=C --username=pacebus >"$folder/initdb.log"
    start server "${postgres_account[@]}" "$postgres_programs/postgres" -D "$cluster" -p "$server_port" -c listen_addresses=127.0.0.1 \
        -c unix_socket_directories= >"$folder/server.log" 2>&1
    wait_until server pg_isready --quiet --host 127.0.0.1 --port "$server_port"
}

stop_server() {
    if is_running server; then kill -INT "${pids[server]}"; fi
    while is_running server; do sleep 0.05; done
    if [[ $cluster ]]; then rm -rf "$cluster"; fi
}

# use_store NAME: lets the next service start on a new store of that kind. What the server wrote before is on disk by then.
use_store() {
    local name
    store_url=
    psql -Xq -h 127.0.0.1 -p "$server_port" -U pacebus postgres -c CHECKPOINT
    [[ $1 == postgres ]] || return 0
    name=bench_$((++databases))
    psql -Xq -h 127.0.0.1 -p "$server_port" -U pacebus postgres -c "CREATE DATABASE $name"
    store_url=postgres://pacebus@127.0.0.1:$server_port/$name
}

# measure_stores BATCH: the highest rate, with 2,000 devices catching up.
measure_stores() {
    local -A rate=() used=()
    local name="One sample a message" ratios=() costs=() round store server ratio cost
    if (($1 > 1)); then name="Batches of $1"; fi
    say "$name"
    for ((round = 0; round < rounds; round++)); do
        for store in sqlite postgres; do
            use_store "$store"
            start_broker
            start_service metrics-aggregator
            server=()
            if [[ $store == postgres ]]; then server=(--server "${pids[server]}"); fi
            load --sessions 2000 --batch "$1" --age 40000 --warm-up "$warm_up" --seconds "$seconds" \
                --measure "${pids[service]}" "${server[@]}"
            rate[$store]+=" ${result[messages_per_second]}" used[$store]+=" ${result[cpu_us]}"
            clear_away
        done
        ratios+=("$(calculate "sprintf(\"%.2f\", ${rate[postgres]##* } / ${rate[sqlite]##* })")")
        costs+=("$(calculate "sprintf(\"%.2f\", ${used[postgres]##* } / ${used[sqlite]##* })")")
    done
    ratio=$(median "${ratios[@]}") cost=$(median "${costs[@]}")
    # shellcheck disable=SC2086
    row "$name: messages/s" "$(median ${rate[sqlite]})" "$(median ${rate[postgres]}), ratio $ratio" "ratio ≥ 0.8" "$ratio >= 0.8"
    # shellcheck disable=SC2086
    row "$name: CPU a sample" "$(median ${used[sqlite]}) µs" "$(median ${used[postgres]}) µs, $cost times" "≤ 1.5 times" "$cost <= 1.5"
}

run_stores() {
    local databases=0 batch
    columns="SQLite | PostgreSQL"
    need_packages gcc libc6-dev libmosquitto-dev mosquitto postgresql
    [[ $programs_folder ]] || compose/build
    compile load stream mqtt measure
    prepare_folder
    start_server
    for batch in 1 10; do measure_stores "$batch"; done
    row "Items never acknowledged, in all measurements" "" "$lost" 0 "$lost == 0"
    print_table
}
