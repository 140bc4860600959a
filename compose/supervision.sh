# shellcheck shell=bash disable=SC2004,SC2154
# Restarts processes that end, and records which run in data/run. Sourced after processes.sh and health.sh; `launch NAME` must
# start one. The Debian package leaves this to systemd.

# Seconds before a restart, as in the package.
pause=1

# By name: when it is due to start again, in seconds of uptime.
declare -A due_at=()

# supervise NAME: starts the process again if it has ended, after a pause, or at once if compose/restart asks for it.
supervise() {
    read_uptime
    if [[ -e data/run/restart-$1 ]]; then
        say "Restarting $1"
        stop 6 "$1"
        rm -f "data/run/restart-$1"
        start_again "$1"
    elif [[ -v due_at[$1] ]]; then
        if ((now >= due_at[$1])); then start_again "$1"; fi
    elif ! is_running "$1"; then
        say "$1 ended unexpectedly and starts again in $pause s; see data/log/$1.log, which ends with:"
        say "  $(tail -n 1 "data/log/$1.log" | printable)"
        unset "pids[$1]"
        due_at[$1]=$((now + pause))
        record_processes
    fi
}

start_again() {
    unset "due_at[$1]"
    launch "$1"
    note_start "$1"
    record_processes
    say "$1 runs again"
}

# record_processes: writes data/run/processes, a line for each supervised process: its name, its process id or 0 while it waits for
# its restart, and how often it was restarted.
record_processes() {
    local name
    for name in "${supervised[@]}"; do
        if [[ -v starts[$name] ]]; then say "$name ${pids[$name]:-0} $((starts[$name] - 1))"; fi
    done 2>/dev/null >data/run/processes.new || return 0 # a full disk ends nothing
    mv data/run/processes.new data/run/processes
}
