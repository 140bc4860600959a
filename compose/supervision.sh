# shellcheck shell=bash disable=SC2154
# Restarts processes that end or hang, and records which run in data/run. Sourced after processes.sh; `launch NAME` must start one.

# Seconds: the first and the longest pause before a restart, and how long a process must run before its next pause is the first again.
first_pause=1
longest_pause=60
steady_after=300
# Seconds between two looks at whether a process answers, one until its first answer; and the time that one may take: opening
# a large store delays it.
look_every=5
start_limit=600

# By name: when it started and when it is due to start again, in seconds of uptime; its next pause; how often it was started.
declare -A started_at=() due_at=() pauses=() starts=()

# By name: the job that looks at the process, when it began, the looks in a row without an answer, and whether there was one.
declare -A looks=() looked_at=() unanswered=() has_answered=()

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

# look_at NAME: kills the process if it answers twice in a row nothing, or that it hangs. It has ended then, and starts again.
look_at() {
    is_running "$1" || return 0
    read_uptime
    if [[ ! -v looks[$1] ]]; then
        local pause=1
        if [[ -v has_answered[$1] ]]; then pause=$look_every; fi
        ((now >= looked_at[$1] + pause)) || return 0
        looked_at[$1]=$now
        answers "$1" "${ports[$1]}" 9>&- &
        looks[$1]=$!
        return
    fi
    if kill -0 "${looks[$1]}" 2>/dev/null; then return; fi
    if wait "${looks[$1]}"; then
        has_answered[$1]=yes
        unanswered[$1]=0
    elif [[ -v has_answered[$1] ]] || ((now >= started_at[$1] + start_limit)); then
        unanswered[$1]=$((unanswered[$1] + 1))
    fi
    unset "looks[$1]"
    if ((unanswered[$1] >= 2)); then
        say "$1 hangs and is killed"
        kill_now "$1"
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
    looked_at[$1]=$now
    unanswered[$1]=0
    unset "looks[$1]" "has_answered[$1]"
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
