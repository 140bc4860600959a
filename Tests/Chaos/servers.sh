# shellcheck shell=bash disable=SC2034,SC2154
# Two PostgreSQL servers with the stores of all services, a primary and a synchronous standby. Sourced after postgres.sh.

# The servers' folder, the name of each role, and the moment of the last kill.
cluster='' primary=alpha standby=beta

# start_servers: creates both in a temporary folder, on free loopback ports, and sets $store_servers to their addresses.
start_servers() {
    choose_postgres
    cluster=$(mktemp -d "${TMPDIR:-/var/tmp}/pacebus-servers.XXXXXX")
    if ((EUID == 0)); then chown postgres: "$cluster"; fi
    choose_port server-alpha "$first_postgres_port"
    choose_port server-beta $((ports[server-alpha] + 1))
    store_servers=127.0.0.1:${ports[server-alpha]},127.0.0.1:${ports[server-beta]}
    # Only the servers' account can open the folder of the socket.
    as_server initdb -D "$cluster/$primary" --encoding=UTF8 --locale=C --username=postgres --auth-local=trust \
        --auth-host=scram-sha-256 >>data/log/servers.log 2>&1
    start_server "$primary"
    say 'CREATE DATABASE pacebus;' | query postgres
    prepare_roles | query pacebus
    add_standby
}

# as_server PROGRAM ARGUMENT…: runs a program of PostgreSQL under the servers' account.
as_server() { "${postgres_account[@]}" "$postgres_programs/$1" "${@:2}"; }

# query DATABASE: runs the statements on standard input on the primary, as the superuser.
query() {
    as_server psql -XqAt -v ON_ERROR_STOP=1 -h "$cluster" -p "${ports[server-$primary]}" -U postgres -d "$1" 2>>data/log/servers.log
}

# start_server NAME: starts it and waits until it answers.
start_server() {
    # A promotion waits for the end of this interval.
    start "server-$1" "${postgres_account[@]}" "$postgres_programs/postgres" -D "$cluster/$1" -p "${ports[server-$1]}" -k "$cluster" \
        -c listen_addresses=127.0.0.1 -c max_connections=200 -c "cluster_name=$1" -c wal_retrieve_retry_interval=500ms \
        >>data/log/servers.log 2>&1
    until pg_isready --quiet --host 127.0.0.1 --port "${ports[server-$1]}"; do
        is_running "server-$1" || fail "the PostgreSQL server did not start; see .build/chaos/servers.log"
        sleep 0.05
    done
}

# add_standby: makes $standby a copy of $primary and returns when the primary's commits wait for it.
add_standby() {
    rm -rf "${cluster:?}/$standby"
    as_server pg_basebackup -D "$cluster/$standby" -h "$cluster" -p "${ports[server-$primary]}" -U postgres --checkpoint=fast \
        --write-recovery-conf >>data/log/servers.log 2>&1
    start_server "$standby"
    say "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 ($standby)'; SELECT pg_reload_conf();" | query postgres >>data/log/servers.log
    until [[ $(say 'SELECT sync_state FROM pg_stat_replication' | query postgres) == quorum ]]; do sleep 0.05; done
}

# kill_server NAME: kills all of its processes at one time, as the loss of its machine does.
kill_server() {
    local pid=${pids[server-$1]}
    # The first one would start the others again.
    # shellcheck disable=SC2046
    kill -KILL "$pid" $(cat "/proc/$pid/task/$pid/children") || true
    while is_running "server-$1"; do sleep 0.01; done
}

# serve_failover: does what failover.py asks for: `fail`, the loss of the primary and the promotion of the standby, or `repair`, a
# new standby in the place of the former primary.
serve_failover() {
    [[ -e data/run/failover ]] || return 0
    case $(<data/run/failover) in
        fail)
            say "$EPOCHREALTIME" >data/run/failed-at
            kill_server "$primary"
            as_server pg_ctl promote --no-wait -D "$cluster/$standby" >>data/log/servers.log
            read -r primary standby <<<"$standby $primary"
            ;;
        repair) add_standby ;;
    esac
    rm data/run/failover
}

stop_servers() {
    stop 10 server-alpha server-beta
    if [[ $cluster ]]; then rm -rf "$cluster"; fi
}
