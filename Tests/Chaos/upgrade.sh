# shellcheck shell=bash disable=SC2154
# `compose/chaos upgrade`: a rolling upgrade while devices send. Sourced by compose/chaos.

# The services whose replicas are replaced, and where their newer version is built.
upgraded=(session-engine metrics-aggregator route-builder)
newer_build=$repository/.build/upgrade

upgrade_usage() {
    cat <<'END_OF_USAGE'
usage: compose/chaos upgrade [--programs FOLDER] [--seed N]

Starts PostgreSQL and all services in a temporary folder, with two replicas each of session-engine, metrics-aggregator
and route-builder. While 12 devices send, replaces these replicas one after the other by programs of a newer schema, and
kills the first of each pair once it is upgraded. Prints how long each step takes and the longest times without an
acknowledgement. Ends with status 1 if an item or a command is lost or counts twice, compared with the same workouts in a
quiet run, if an older replica takes a shard that a newer one had, if the leases are not of the newer version in the end, or
if the p99 of these times reaches 2 s for a restart or 10 s for a kill.

Builds these sources in debug mode, and again in .build/upgrade with an additional step in the schemas. This takes
several minutes the first time. The run takes about four minutes. .build/chaos has the logs.

  --programs FOLDER   uses the executables in FOLDER as the newer version instead of building one
  --seed N            repeats the session ids of an earlier run; drawn at random by default
  --help              shows this
END_OF_USAGE
}

read_upgrade_arguments() {
    newer='' seed=$(od -An -tu4 -N4 /dev/urandom | tr -d ' ')
    seed=$((seed % 1000000000))
    while (($#)); do
        case $1 in
            --programs)
                [[ -d ${2-} ]] || fail "--programs: no folder '${2-}'"
                newer=$(realpath "$2")
                shift
                ;;
            --seed) number "$1" "${2-}" 0 999999999 && seed=$((10#$2)) && shift ;;
            --help | -h) upgrade_usage && exit ;;
            *) fail "unknown argument '$1'; see compose/chaos upgrade --help" ;;
        esac
        shift
    done
    local service
    for service in "${upgraded[@]}"; do
        [[ ! $newer || -x $newer/$service ]] || fail "--programs: no executable $newer/$service"
    done
}

# build_newer: builds the services with one more step in their schemas, and sets $newer to the folder with the executables.
build_newer() {
    local source=$newer_build/source build=$newer_build/build part file service
    rm -rf "$source"
    mkdir -p "$source" "$build"
    # With their times, so that only changes are built.
    cp -a Package.swift Package.resolved Services Shared Tests "$source"
    for file in Shared/Streams/StreamStore.swift Services/SessionEngine/Machine/SessionRecord.swift; do
        # The end of `steps: [[…], …]`.
        sed -Ei '/steps: \[/s/\]\](,|\))/], [StoreCollection("upgrades")]]\1/' "$source/$file"
        ! cmp -s "$file" "$source/$file" || fail "no schema was found in $file"
        touch -r "$file" "$source/$file"
    done
    # The same packages, without the network.
    for part in artifacts checkouts repositories workspace-state.json; do
        if [[ -e .build/$part && ! -e $build/$part ]]; then cp -a "--reflink=auto" ".build/$part" "$build"; fi
    done
    for service in "${upgraded[@]}"; do
        swift build --package-path "$source" --scratch-path "$build" --disable-automatic-resolution --product "$service"
    done
    newer=$build/debug
}

# start_upgradable: starts the system with the older programs in a folder without sources, and waits until it runs.
start_upgradable() {
    local older=$repository/.build/debug name
    folder=$(mktemp -d "${TMPDIR:-/var/tmp}/pacebus-chaos.XXXXXX")
    mkdir -p "$folder/.build/bin"
    ln -s "$repository/compose" "$folder"
    for name in "${executables[@]}"; do ln -s "$older/$name" "$folder/.build/bin"; done
    cd "$folder" || exit
    need_data
    mkdir -p data/log
    (
        lock_accounts
        prepare_accounts
        # It acts for all users of devices.
        need_account _simulator
    )
    # The files are none of its matter.
    start up env WEATHER_PROVIDER=none EXPORT_FORMATS=csv compose/up --no-demo --postgres --scale "${upgraded[@]/%/=2}" \
        >data/log/up.log 2>&1
    until grep -q '^compose/status shows' data/log/up.log; do
        is_running up || stopped_by_itself up
        sleep 0.2
    done
}

stop_upgrade() {
    trap '' INT TERM HUP PIPE
    stop 10 client
    stop 60 up
    [[ $folder ]] || return 0
    cd "$repository" || exit
    rm -rf .build/chaos
    mv "$folder/data/log" .build/chaos || true
    rm -rf "$folder"
}

upgrade() {
    read_upgrade_arguments "$@"
    need_packages mosquitto postgresql python3
    need_swift
    swift build
    if [[ ! $newer ]]; then build_newer; fi
    trap stop_upgrade EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    start_upgradable
    say "seed $seed; repeat with --seed $seed"
    start client /usr/bin/python3 -B "$repository/Tests/Chaos/upgrade.py" "$seed" "$(sed -n 's/^mqtt .*://p' data/run/urls)" \
        "$newer" > >(tee data/log/client.log) 2>&1
    while is_running client; do sleep 0.2; done
    [[ -e data/met ]]
}
