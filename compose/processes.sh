# shellcheck shell=bash
# Starts, stops and checks processes by name. Sourced after common.sh.

declare -A pids=()

# The bytes at which a log is rotated.
log_limit=$((10 << 20))

# new_log NAME: prints the log file of a process. The previous log becomes NAME.log.1.
new_log() {
    local log=data/log/$1.log
    if [[ -e $log ]]; then mv "$log" "$log.1"; fi
    say "$log"
}

# rotate_logs: moves what is in a large log to NAME.log.1, and empties it. Processes append to their logs and keep them open; a
# line written between the copy and the emptying is lost.
rotate_logs() {
    local log
    for log in data/log/*.log; do
        if [[ $(stat -c %s "$log") -ge $log_limit ]]; then
            cp "$log" "$log.1"
            : >"$log"
        fi
    done
}

# start NAME COMMAND…: runs a command in the background.
start() {
    local name=$1
    shift
    # A session of its own keeps Ctrl-C away from it: this script decides the order of stopping. If this script is killed,
    # the kernel terminates the process.
    setsid setpriv --pdeathsig TERM "$@" </dev/null &
    pids[$name]=$!
    # Without this, bash prints a line when the process is killed.
    disown
}

is_running() { [[ -v pids[$1] ]] && kill -0 "${pids[$1]}" 2>/dev/null; }

# stop SECONDS NAME…: terminates processes, and kills those still running after SECONDS.
stop() {
    local seconds=$1 name
    shift
    for name; do
        if is_running "$name"; then kill -TERM "${pids[$name]}" 2>/dev/null || true; fi
    done
    local deadline=$((SECONDS + seconds))
    for name; do
        while is_running "$name" && ((SECONDS <= deadline)); do sleep 0.1; done
        if is_running "$name"; then
            say "$name did not stop within $seconds s and was killed" >&2 || true
            kill -KILL "${pids[$name]}" 2>/dev/null || true
        fi
        unset "pids[$name]"
    done
}

# show_log NAME: prints the end of its log.
show_log() {
    say "The end of data/log/$1.log:" >&2
    tail -n 20 "data/log/$1.log" | printable | sed 's/^/    /' >&2
}

# is_taken PORT [ADDRESS]
is_taken() { (exec 3<>"/dev/tcp/${2:-127.0.0.1}/$1") 2>/dev/null; }

# free_port FIRST: prints the first free port on loopback, counting up from FIRST.
free_port() {
    local port=$1
    while is_taken "$port"; do port=$((port + 1)); done
    say "$port"
}

# http_status PORT PATH: prints the HTTP status, such as 200, or nothing without a response.
http_status() {
    local status=
    {
        printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" >&3
        read -r -t 5 _ status _ <&3 || true
    } 3<>"/dev/tcp/127.0.0.1/$1" || true
    say "$status"
} 2>/dev/null
