# shellcheck shell=bash disable=SC2154
# Restarts processes that end, and records which run in data/run. Sourced after processes.sh; `launch NAME` must start one.

# Seconds: the first and the longest pause before a restart, and how long a process must run before its next pause is the first again.
first_pause=1
longest_pause=60
steady_after=300

# By name: when it started and when it is due to start again, in seconds of uptime; its next pause; how often it was started.
declare -A started_at=() due_at=() pauses=() starts=()

# read_uptime: sets $now. The wall clock may step.
read_uptime() {
    read -r now _ </proc/uptime
    now=${now%.*}
}

# supervise NAME: starts the process again if it has ended, after a pause that doubles each time, or at once if
# compose/restart asks for it.
supervise() {
    read_uptime
    if [[ -e data/run/restart-$1 ]]; then
        say "Restarting $1"
        stop 6 "$1"
        rm -f "data/run/restart-$1"
        unset "pauses[$1]"
        start_again "$1"
    elif [[ -v due_at[$1] ]]; then
        if ((now >= due_at[$1])); then start_again "$1"; fi
    elif ! is_running "$1"; then
        local pause=${pauses[$1]:-$first_pause}
        if ((now - started_at[$1] >= steady_after)); then pause=$first_pause; fi
        say "$1 ended unexpectedly and starts again in $pause s; see data/log/$1.log, which ends with:"
        say "  $(tail -n 1 "data/log/$1.log" | printable)"
        unset "pids[$1]"
        due_at[$1]=$((now + pause))
        pauses[$1]=$((pause * 2 < longest_pause ? pause * 2 : longest_pause))
        record_processes
    fi
}

start_again() {
    unset "due_at[$1]"
    launch "$1"
    note_start "$1"
    say "$1 runs again"
}

# note_start NAME: the process has just started.
note_start() {
    read_uptime
    started_at[$1]=$now
    starts[$1]=$((${starts[$1]:-0} + 1))
    record_processes
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
