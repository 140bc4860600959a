# shellcheck shell=bash
# What compose/up records of the running system, for the other commands. Sourced after common.sh. The Debian package has systemd units
# instead: units.sh, sourced at the end, replaces some of these functions.

# url_of NAME: prints a listener's URL from data/run/urls; nothing if compose/up opened no such listener.
url_of() { sed -n "s|^$1 ||p" data/run/urls 2>/dev/null || true; }

# need_running: sets $up to the process id of compose/up. Fails unless it runs in this folder.
need_running() {
    local owner=
    # shellcheck disable=SC2034
    if is_claimed; then read -r up owner <data/up.lock || true; fi
    [[ $owner == up ]] || fail "Pacebus does not run in $PWD; start it with compose/up"
}

# is_up: whether the system still runs that need_running found.
is_up() { kill -0 "$up" 2>/dev/null; }

# processes: prints a line for each supervised process: its name, its process id or 0 while it waits for its restart, and how often
# it was restarted.
processes() { cat data/run/processes 2>/dev/null || true; }

# log_names: prints the processes that have a log.
log_names() { find data/log -name '*.log' -printf '%f\n' 2>/dev/null | sed 's/[.]log$//' | sort; }

# read_log NAME LINES [--follow]: prints the last lines of a log, and those that follow.
read_log() { tail -n "$2" ${3:+-F} "data/log/$1.log" 2>/dev/null; }

# recent_log NAME: prints the last lines of a log.
recent_log() { read_log "$1" 10000; }

# system_problem: prints what systemd says in the log on standard input of a process that failed; without systemd nothing.
system_problem() { :; }

# state_without_process NAME: prints the state of what has no process.
state_without_process() { say restarting; }

# failures: prints what failed besides the processes.
failures() { :; }

# request_restart NAME: asks for a restart of the process.
request_restart() { : >"data/run/restart-$1"; }

# request_scale SERVICE N: asks for this number of replicas.
request_scale() {
    say "$2" >data/run/new-scale
    mv data/run/new-scale "data/run/scale-$1"
}

# claimants: prints the ids of the processes that keep ./data locked: compose/up and all it started.
claimants() { find /proc/[0-9]*/fd -lname "$PWD/data/up.lock" 2>/dev/null | cut -d / -f 3 | sort -u; }

# The services that may have replicas.
scalable=(session-engine metrics-aggregator route-builder weather-fetcher exporter live-activity-publisher virtual-run importer dashboard)

# check_scale SERVICE=N: sets $service and $count. Fails unless the service may have that number of replicas.
check_scale() {
    [[ $1 =~ ^([a-z-]+)=([1-9])$ && " ${scalable[*]} " == *" ${BASH_REMATCH[1]} "* ]] ||
        fail "invalid scale '$1'; allowed: SERVICE=1 to SERVICE=9 of ${scalable[*]}"
    # shellcheck disable=SC2034
    service=${BASH_REMATCH[1]} count=${BASH_REMATCH[2]}
}

is_claimed() { [[ -e data/up.lock ]] && ! flock --shared --nonblock data/up.lock true; }

# need_process NAME: sets $process to the supervised process of that name; `broker` is mosquitto. Fails if there is none.
# shellcheck disable=SC2034
need_process() {
    local known
    known=$(processes | cut -d ' ' -f 1)
    [[ $known ]] || fail "Pacebus is still starting; see compose/status"
    process=${1/#broker/mosquitto}
    grep -qxF -e "$process" <<<"$known" || fail "unknown process '$1'; running: ${known//$'\n'/, }"
}

# id_of NAME: prints its process id, or 0 while it waits for its restart.
id_of() { processes | awk -v name="$1" '$1 == name { print $2 }'; }

# The states of processes that work.
# shellcheck disable=SC2034
well='^(ready|ready without .*|running|active|standby)$'

# state_of NAME: prints its state in one word or phrase.
state_of() {
    local id url response port
    id=$(id_of "$1")
    if [[ ! $id || $id == 0 || ! -d /proc/$id ]]; then state_without_process "$1" && return; fi
    url=$(url_of "$1")
    if [[ $1 == mosquitto && ! $url ]]; then url=$(url_of mqtt); fi
    port=${url##*:}
    if ! answers "$1" "$port"; then
        # shellcheck disable=SC2034
        pids[$1]=$id
        if owns_port "$1" "$port"; then say "hung"; else say "starting"; fi
        return
    fi
    if [[ $url == postgres:* ]]; then say "running" && return; fi
    if [[ $url == mqtt:* ]]; then
        if [[ ! $(url_of mosquitto-2) || $(url_of partitions) ]]; then
            say "running"
        elif is_active "$1"; then
            say "active"
        elif (($(server_count status "$1" ',state="UP"'))); then
            say "standby"
        else
            say "starting"
        fi
        return
    fi
    response=$(http_get "$port" /readyz)
    case ${response%%$'\n'*} in
        200) say "ready$(sed -n 's/^degraded: //p' <<<"$response" | paste -sd , | sed 's/^./ without &/')" ;;
        503) say "${response#*$'\n'}" | sed -n 's/^not ready: //p' | paste -sd , | sed 's/^/not ready: /' ;;
        *) say "no response" ;;
    esac
}

# is_active BROKER: whether it has the clients, of two.
is_active() { (($(server_count current_sessions "$1") > 0)); }

# server_count METRIC BROKER [LABELS]: prints what HAProxy counts for one of two brokers; 0 without an answer.
server_count() {
    local url count=
    url=$(url_of mqtt-proxy)
    if [[ $url ]]; then
        count=$(http_get "${url##*:}" '/metrics?scope=server' |
            sed -n "s/^haproxy_server_$1{proxy=\"brokers\",server=\"$2\"${3-}} //p")
    fi
    say "${count:-0}"
}

# shellcheck disable=SC2154
if [[ $packaged ]]; then source compose/units.sh; fi
