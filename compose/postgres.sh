# shellcheck shell=bash disable=SC2154
# PostgreSQL with the stores of all services, in data/postgres. Sourced after accounts.sh and processes.sh.

# The first port to try.
first_postgres_port=$((5432 + port_offset))

# The password file of a role, by its name: a service, or `backup`.
store_secret() { say "data/secrets/postgres-$1"; }

# start_postgres: creates the database and the services' roles where they are missing, starts the server on a free loopback
# port, ${ports[postgres]}, and waits until it answers.
start_postgres() {
    prepare_postgres
    choose_port postgres "$first_postgres_port"
    start_listening postgres postgres
    # After a crash it reads its log first.
    until pg_isready --quiet --host 127.0.0.1 --port "${ports[postgres]}"; do
        is_running postgres || stopped_by_itself postgres
        sleep 0.05
    done
}

# prepare_postgres: creates the database and the services' roles where they are missing, while no server runs.
prepare_postgres() {
    choose_postgres
    : >"$(new_log postgres)"
    [[ -d data/postgres ]] || create_postgres
    find_postgres_programs
    prepare_roles | run_alone data/postgres
}

# choose_postgres: sets $postgres_account to the command that drops to the servers' account, and $postgres_programs to the folder of
# the newest programs.
choose_postgres() {
    postgres_account=(env --chdir /)
    # As root, drop to the account of Debian's package.
    if ((EUID == 0)); then
        postgres_account+=(setpriv --reuid postgres --regid postgres --clear-groups --pdeathsig INT)
    fi
    postgres_programs=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort --version-sort | tail -n 1)
}

# find_postgres_programs: sets $postgres_programs to the folder of the programs that fit data/postgres.
find_postgres_programs() {
    local version
    version=$(<data/postgres/PG_VERSION)
    postgres_programs=/usr/lib/postgresql/$version/bin
    [[ -x $postgres_programs/postgres ]] || fail "data/postgres needs PostgreSQL $version: install postgresql-$version"
}

# The programs open the folder as a descriptor, because their account may lack access to its parents.
create_postgres() {
    local folder=data/postgres.new
    rm -rf "$folder"
    mkdir "$folder"
    if ((EUID == 0)); then chown postgres: "$folder"; fi
    # The superuser has no password, hence no login.
    "${postgres_account[@]}" "$postgres_programs/initdb" -D /proc/self/fd/7 --encoding=UTF8 --locale=C --username=postgres \
        --auth-local=reject --auth-host=scram-sha-256 7<"$folder" >>data/log/postgres.log 2>&1 || stopped_by_itself postgres
    say 'CREATE DATABASE pacebus;' | run_alone "$folder" postgres
    mv "$folder" data/postgres
}

# run_alone FOLDER [DATABASE]: runs the statements on standard input, one a line, as the superuser, while no server runs.
run_alone() {
    "${postgres_account[@]}" "$postgres_programs/postgres" --single -D /proc/self/fd/7 -c log_min_error_statement=panic \
        "${2-pacebus}" 7<"$1" >>data/log/postgres.log 2>&1 || stopped_by_itself postgres
}

# prepare_roles: prints the statements that give each service a role and a schema, compose/backup a role that reads all of them, and a
# program that watches the server one that reads its figures.
prepare_roles() {
    local service
    for service in "${stored[@]}"; do
        prepare_role "$service"
        say "CREATE SCHEMA IF NOT EXISTS \"$service\" AUTHORIZATION \"$service\";"
    done
    prepare_role backup
    say 'GRANT pg_read_all_data TO backup;'
    prepare_role monitor
    say 'GRANT pg_monitor TO monitor;'
}

# prepare_role NAME: prints the statements for a role with the password in its file, which is created if it is missing.
prepare_role() {
    local secret
    secret=$(store_secret "$1")
    if [[ ! -s $secret ]]; then
        new_password >"$secret.new"
        mv "$secret.new" "$secret"
    fi
    # The statements run as the superuser, and a backup may hold any text.
    [[ $(<"$secret") =~ ^[0-9a-f]{48}$ ]] || fail "$secret holds no password of compose/up; delete it, and a new one is created"
    say "DO \$\$ BEGIN CREATE ROLE \"$1\" LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END \$\$;"
    say "ALTER ROLE \"$1\" PASSWORD '$(<"$secret")';"
}

# as_role NAME PROGRAM OPTION…: runs a program of PostgreSQL against the server on ${ports[postgres]}.
as_role() {
    # In the environment: an argument would show in the process list.
    PGPASSWORD=$(<"$(store_secret "$1")") PGCONNECT_TIMEOUT=10 "$postgres_programs/$2" --host 127.0.0.1 \
        --port "${ports[postgres]}" --username "$1" --no-password "${@:3}"
}

# free_leases SERVICE EPOCH: prints the statements after which no write of an earlier process counts. EPOCH is at least the epoch of each.
free_leases() {
    say "DELETE FROM \"$1\".member;"
    say "UPDATE \"$1\".lease SET owner = NULL, free_since = clock_timestamp(), epoch = $2 + 1;"
}

# settle_migration: completes what a killed compose/migrate left. Once data/postgres exists, the stores in SQLite are former ones.
settle_migration() {
    local before
    rm -rf data/migrating.??????
    [[ -e data/postgres/migrated ]] || return 0
    sync --file-system data
    before=data/$(<data/postgres/migrated)
    mkdir -p "$before"
    rm -f data/*.sqlite.reserve
    if compgen -G 'data/*.sqlite*' >/dev/null; then mv data/*.sqlite* "$before"; fi
    # Of the Debian package, where data/*.sqlite are links.
    if [[ -d data/stores ]]; then mv data/stores "$before"; fi
    sync --file-system data
    rm data/postgres/migrated
}

launch_postgres() { serve_postgres start postgres >>data/log/postgres.log 2>&1; }

# serve_postgres COMMAND…: runs the server by COMMAND, such as `exec`.
serve_postgres() {
    "$@" "${postgres_account[@]}" "$postgres_programs/postgres" -D /proc/self/fd/7 -p "${ports[postgres]}" \
        -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300 7<data/postgres
}
