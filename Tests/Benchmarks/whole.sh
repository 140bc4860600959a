# shellcheck shell=bash disable=SC2154
# `compose/bench --whole`: all services, the broker and the devices of live sessions on one machine. Sourced by compose/bench.

# Seconds: the longest delay of an acknowledgement, and when the search ends.
ack_limit=2 search_limit=540
# The sessions that the processes and the restart are measured with, and the most that are tried.
usual_sessions=10000 most_sessions=80000
# What is printed after the table of targets.
tables=()

read_whole_arguments() {
    # What thousands of sessions that start at once leave behind takes seconds of both cores.
    fleet_warm_up=30 fleet_seconds=20
    if ((is_quick)); then fleet_warm_up=15 fleet_seconds=8 search_limit=90; fi
    if ((!is_whole)); then
        [[ ! $only_sessions ]] || fail "--sessions requires --whole"
        ((is_postgres)) || [[ ! $programs_folder ]] || fail "--programs requires --whole, --imports or --postgres"
    elif ((is_postgres)); then
        fail "--whole and --postgres exclude each other"
    fi
    if [[ $only_sessions ]]; then
        if [[ ! $only_sessions =~ ^[1-9][0-9]{0,4}$ ]] || ((only_sessions > most_sessions)); then
            fail "--sessions $only_sessions: not a number from 1 to $most_sessions"
        fi
        ((!is_quick)) || fail "--sessions and --quick exclude each other"
    fi
    if [[ $programs_folder ]]; then
        if [[ $programs_folder != /* ]]; then programs_folder=$called_from/$programs_folder; fi
        local service needed=("${services[@]}")
        if ((is_postgres)); then needed=(metrics-aggregator); fi
        for service in "${needed[@]}"; do
            [[ -x $programs_folder/$service ]] || fail "--programs: no executable $programs_folder/$service"
        done
        bin=$programs_folder
    fi
}

# start_one_service NAME ["at once"]: starts it on its own store, and waits until it is ready, unless "at once".
start_one_service() {
    [[ -v ports[$1] ]] || ports[$1]=$(free_port $((port + 1000)))
    start "$1" env "MQTT_URL=mqtt://127.0.0.1:$port" "STORE_URL=sqlite:$folder/$1.sqlite" "HTTP_PORT=${ports[$1]}" \
        "WEB_PORT=${ports[web]}" "WEB_FOLDER=$web_folder" "EXPORT_FOLDER=$folder/exports" WEATHER_PROVIDER=none \
        "$bin/$1" >>"$folder/$1.log" 2>&1
    if [[ ${2-} != "at once" ]]; then wait_until "$1" is_ready "${ports[$1]}"; fi
}

# start_system: starts the broker and all services, and sets $measured to the fleet's options for them.
start_system() {
    start_broker
    ports=()
    ports[web]=$(free_port $((port + 2000)))
    local name
    for name in "${services[@]}"; do start_one_service "$name"; done
    measured=()
    for name in broker "${services[@]}"; do measured+=(--process "$name=${pids[$name]}"); done
}

# measure_sessions COUNT: lets them run and sets $result, $carries, and $table to what each process takes.
measure_sessions() {
    say "$1 live sessions"
    start_system
    run fleet --port "$port" --sessions "$1" --warm-up "$fleet_warm_up" --seconds "$fleet_seconds" "${measured[@]}"
    local name
    for name in broker "${services[@]}"; do is_running "$name" || give_up "$name ended during the measurement"; done
    clear_away
    carries=$(calculate "${result[ack_p99]} <= $ack_limit")
    table=$(tabulate "$1")
    local verdict="not carried"
    if ((carries)); then verdict=carried; fi
    say "    acknowledgements p50 $(milliseconds "${result[ack_p50]}"), p99 $(milliseconds "${result[ack_p99]}"): $verdict"
}

# tabulate COUNT: prints what each process takes.
tabulate() {
    local name samples=${result[samples]} locations=${result[locations]}
    printf '\n%s live sessions: %.0f samples and %.0f locations a second acknowledged, %s batches sent again;\n' \
        "$1" "$samples" "$locations" "${result[repeated]}"
    printf 'acknowledgements p50 %s, p99 %s, of %s asked for; %s sessions started a second\n\n' \
        "$(milliseconds "${result[ack_p50]}")" "$(milliseconds "${result[ack_p99]}")" "${result[asked]}" "${result[starts]}"
    say '| | CPU of a core | CPU an item | memory | written | written an item |'
    say '|---|---|---|---|---|---|'
    for name in broker "${services[@]}" fleet; do
        say "$name $(items_of "$name") ${result[cpu_$name]} ${result[memory_$name]} ${result[written_$name]}"
    done | awk -v all="$(items_of all)" '
        function line(name, items, cpu, memory, written) {
            if (items == 0) items = 1e-9
            printf "| %s | %.1f %% | %.2f µs | %.0f MiB | %.2f MB/s | %.0f B |\n", name, cpu * 100,
                cpu / items * 1e6, memory / 1048576, written / 1e6, written / items
        }
        { line($1, $2, $3, $4, $5); cpu += $3; memory += $4; written += $5 }
        END { line("all", all, cpu, memory, written) }'
}

# items_of NAME: prints how many items a second a process handles: samples, locations, or both.
items_of() {
    case $1 in
        metrics-aggregator) say "${result[samples]}" ;;
        route-builder) say "${result[locations]}" ;;
        *) calculate "${result[samples]} + ${result[locations]}" ;;
    esac
}

# search: finds how many sessions are carried.
search() {
    local low=0 high=0 bound='' count=$usual_sessions carried_table=
    while true; do
        measure_sessions "$count"
        if ((count == usual_sessions)); then
            tables+=("$table")
            add_targets
        fi
        # An overloaded system is late with its items; that is no loss.
        if ((carries)); then low=$count carried_table=$table; else high=$count lost=$((lost - result[lost])); fi
        if ((high == 0)); then
            ((count = low * 2, count <= most_sessions)) || break
        elif ((low == 0)); then
            ((count = high / 2, count >= 1)) || break
        else
            (((high - low) * 8 > high && !is_quick)) || break
            count=$(((low + high) / 2))
        fi
        if ((SECONDS - begun_at > search_limit)); then
            say "    the search ends after $search_limit s"
            break
        fi
    done
    if ((low && low != usual_sessions)); then tables+=("$carried_table"); fi
    if ((high)); then bound=", not $high"; fi
    row "Sessions carried, a sample and a location a second each" "" "$low$bound" "≥ 20000" "$low >= 20000"
}

# add_targets: adds the lines about the usual number of sessions.
add_targets() {
    local name key=metrics-aggregator
    row "$usual_sessions live sessions: CPU of $key a sample" "" "$(each "cpu_$key" 1e6) µs" "≤ 8 µs" \
        "$(each "cpu_$key" 1e6) <= 8"
    for key in metrics-aggregator route-builder; do
        row "$usual_sessions live sessions: written by $key an item" "" "$(each "written_$key" 1) B" "≤ 300 B" \
            "$(each "written_$key" 1) <= 300"
    done
    row "$usual_sessions live sessions: CPU of session-engine" "" "$(percent session-engine)" "≤ 2 %" \
        "${result[cpu_session-engine]} <= 0.02"
    row "$usual_sessions live sessions: CPU of weather-fetcher" "" "$(percent weather-fetcher)" "≤ 1 %" \
        "${result[cpu_weather-fetcher]} <= 0.01"
}

# each FIELD FACTOR: prints a value a second as a value an item.
each() { calculate "sprintf(\"%.1f\", ${result[$1]} * $2 / ($(items_of "${1#*_}") + 1e-9))"; }

# percent NAME: prints the CPU of a process.
percent() { calculate "sprintf(\"%.1f %%\", ${result[cpu_$1]} * 100)"; }

# measure_old_restart: kills the owners of items, one after the other, while the sessions live on.
measure_old_restart() {
    local sessions=$usual_sessions name title
    local -A signals=([metrics-aggregator]=USR1 [route-builder]=USR2)
    if ((is_quick)); then sessions=$old_sessions; fi
    say "Restart with $sessions sessions of $old_items seconds"
    start_system
    start load "$programs/fleet" --port "$port" --sessions "$sessions" --history "$old_items" --restarts >>"$folder/load.out"
    wait_for_output live
    read_fields
    row "Restart with $sessions live sessions of $old_items items of each kind: stored before, items/s" "" "${result[history]}"
    for name in metrics-aggregator route-builder; do
        title="Restart of $name with them"
        # Until items of the last seconds are there too, as they are stored while sessions are live.
        wait_while_running load "$fleet_warm_up"
        kill_now "$name"
        : >"$folder/load.out"
        kill "-${signals[$name]}" "${pids[load]}"
        start_one_service "$name" "at once"
        wait_for_return "$name"
        row "$title: half the streams acknowledged" "" "${result[half]} s"
        row "$title: all streams acknowledged" "" "${result[back]} s" "≤ 3 s" "${result[back]} <= 3"
    done
    clear_away
}

# wait_while_running NAME SECONDS: waits; gives up when the process ends.
wait_while_running() {
    local until=$((SECONDS + $2))
    while ((SECONDS < until)); do
        is_running "$1" || give_up "$1 ended"
        sleep 0.1
    done
}

# wait_for_return NAME: sets $result to the times at which the streams were acknowledged again.
wait_for_return() {
    local until=$((SECONDS + 120))
    until grep -q back= "$folder/load.out"; do
        if ! is_running load || ! is_running "$1"; then give_up "the fleet or $1 ended"; fi
        ((SECONDS < until)) || give_up "$1 does not acknowledge all streams within 120 s"
        sleep 0.1
    done
    read_fields
}

# measure_imports: the files of an hour that become workouts in a minute, and what they cost live sessions.
measure_imports() {
    local sessions=1000 files=1000 before p99
    if ((is_quick)); then files=200; fi
    say "$files files of an hour"
    start_system
    start_imports
    while is_running imports; do sleep 0.1; done
    read_fields
    [[ -v result[lost] ]] || give_up "the files were not all imported"
    lost=$((lost + result[lost]))
    row "$files FIT files of an hour, through all services: files a minute" "" "${result[minute]}" "≥ 300" \
        "${result[minute]} >= 300"
    row "Most memory of importer meanwhile" "" "$(memory_of importer) MiB"
    clear_away
    say "$sessions live sessions"
    start_system
    run fleet --port "$port" --sessions "$sessions" --warm-up "$fleet_warm_up" --seconds "$fleet_seconds"
    before=${result[ack_p99]}
    row "$sessions live sessions: acknowledgements, p50" "" "$(milliseconds "${result[ack_p50]}")"
    row "$sessions live sessions: acknowledgements, p99" "" "$(milliseconds "$before")"
    clear_away
    say "$sessions live sessions beside $files files"
    start_system
    start_imports
    run fleet --port "$port" --sessions "$sessions" --warm-up "$fleet_warm_up" --seconds "$fleet_seconds"
    p99=${result[ack_p99]}
    # Files that were imported before the end would prove nothing.
    is_running imports || give_up "all files were imported before the measurement ended"
    row "$sessions live sessions beside $files files: acknowledgements, p50" "" "$(milliseconds "${result[ack_p50]}")"
    row "$sessions live sessions beside $files files: acknowledgements, p99" "" "$(milliseconds "$p99")" "≤ 0.5 s" "$p99 <= 0.5"
    clear_away
}

# start_imports: begins to upload the files; prints its figures for read_fields.
start_imports() {
    start imports "$PYTHON" Tests/Benchmarks/imports.py --port "$port" --files "$files" >"$folder/load.out"
    # The first files are being read.
    wait_until imports grep -q begun "$folder/load.out"
}

# memory_of NAME: prints the most memory that a process had, in MiB.
memory_of() { awk '/VmHWM/ { printf "%.0f", $2 / 1024 }' "/proc/${pids[$1]}/status"; }

run_whole() {
    need_packages gcc libc6-dev libmosquitto-dev mosquitto python3-venv "${web_packages[@]}"
    [[ $programs_folder ]] || need_swift
    need_python
    build_whole
    prepare_folder
    begun_at=$SECONDS
    if [[ $only_sessions ]]; then
        measure_sessions "$only_sessions"
        say "$table"
        return
    fi
    if ((is_imports)); then
        measure_imports
        print_table
        return
    fi
    search
    measure_old_restart
    row "Items never acknowledged while all sessions were carried" "" "$lost" 0 "$lost == 0"
    print_table
    printf '%s\n' "${tables[@]}"
}

# build_whole: builds the services, unless they are elsewhere, and the fleet.
build_whole() {
    [[ $programs_folder ]] || compose/build
    compile fleet sender stream mqtt measure
    web_folder=$bin/web
    if [[ ! -d $web_folder ]]; then
        web_folder=$PWD/$programs/web
        build_web "$web_folder"
    fi
}
