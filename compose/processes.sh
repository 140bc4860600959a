# shellcheck shell=bash
# Starts, stops and checks processes by name. Sourced after common.sh.

# The process ids, and the TCP ports, by name.
declare -A pids=() ports=()

# What the environment adds to each usual port, so that systems side by side share none.
port_offset=${PORT_OFFSET:-0}
[[ $port_offset =~ ^(0|[1-9][0-9]{0,3}|1[0-9]{4}|20000)$ ]] || fail "invalid PORT_OFFSET '$port_offset'; allowed: 0 to 20000"

# The bytes at which a log is rotated.
log_limit=$((10 << 20))

# What begins a warning or an error: of a service as text or as JSON, of mosquitto, of a service that refuses its settings, of a
# command, of HAProxy without its last lines that only say that there were some, of a program that cannot be run, and of the proxy.
# shellcheck disable=SC2034
problem='^[^ ]+ (warning|error|critical) |"level":"(warning|error|critical)"|^([^ ]+ )?(Warning|Error): |^(compose/|pacebus-admin )[a-z]+: |^\[ALERT\] .*([Bb]ind|config : [^EF])|^env: |Server brokers/mosquitto is DOWN'

# What mosquitto, HAProxy, PostgreSQL and ours write when a port is taken.
in_use='Address already in use'

# new_log NAME: prints the log file of a process. The previous log becomes NAME.log.1.
new_log() {
    local log=data/log/$1.log
    if [[ -e $log ]]; then mv "$log" "$log.1"; fi
    say "$log"
}

# rotate_logs: moves what is in a large log to NAME.log.1, and empties it. Processes append to their logs and keep them open; a
# line written between the copy and the emptying is lost.
rotate_logs() {
    local size log
    while read -r size log; do
        if ((size >= log_limit)); then
            cp "$log" "$log.1" || continue
            : >"$log"
        fi
    done < <(stat -c '%s %n' data/log/*.log)
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
    local seconds=$1 name signal
    shift
    for name; do
        # After SIGTERM, PostgreSQL waits for its clients.
        if [[ $name == postgres ]]; then signal=INT; else signal=TERM; fi
        if is_running "$name"; then kill "-$signal" "${pids[$name]}" 2>/dev/null || true; fi
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

# kill_now NAME…: kills processes and their children, which a stopped process cannot end.
kill_now() {
    local name
    for name; do
        # shellcheck disable=SC2046
        if is_running "$name"; then
            kill -KILL "${pids[$name]}" $(cat "/proc/${pids[$name]}/task/${pids[$name]}/children") 2>/dev/null || true
        fi
    done
}

# show_log NAME: prints the end of the log of a process that failed. Ends the command if a disk is full.
show_log() {
    say "The end of data/log/$1.log:" >&2
    tail -n 20 "data/log/$1.log" | printable | sed 's/^/    /' >&2
    name_full_disk
}

# is_taken PORT [ADDRESS]
is_taken() { (exec 3<>"/dev/tcp/${2:-127.0.0.1}/$1") 2>/dev/null; }

# The ports that browsers refuse, https://fetch.spec.whatwg.org/#port-blocking.
blocked_ports='1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135
137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049
3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080'

is_blocked() { [[ " ${blocked_ports//$'\n'/ } " == *" $1 "* ]]; }

# check_port SETTING VALUE: fails unless the value is a port that browsers accept.
check_port() {
    if [[ ! $2 =~ ^[0-9]{1,5}$ ]] || ((10#$2 < 1 || 10#$2 > 65535)); then fail "invalid $1 '$2'; allowed: 1 to 65535"; fi
    if is_blocked "$((10#$2))"; then fail "invalid $1 '$2': browsers refuse this port; choose another"; fi
}

# free_port FIRST [ADDRESS]: prints the first free port, counting up from FIRST, that no process of this script has and browsers accept.
# Another process can take it before ours listens: check with owns_port.
free_port() {
    local port=$1
    while is_blocked "$port" || is_taken "$port" "${2-}" || [[ " ${ports[*]} " == *" $port "* ]]; do port=$((port + 1)); done
    say "$port"
}

# listeners PORT: prints the inodes of the sockets that listen on the TCP port.
listeners() { awk -v port="$(printf ':%04X$' "$1")" '$4 == "0A" && $2 ~ port { print $10 }' /proc/net/tcp*; }

# owns_port NAME PORT: whether the process itself or its child listens on the TCP port.
owns_port() {
    local pid=${pids[$1]} sockets inodes inode
    inodes=$(listeners "$2")
    [[ $inodes ]] || return 1
    sockets=$(for id in "$pid" $(cat "/proc/$pid/task/$pid/children"); do readlink "/proc/$id/fd/"*; done 2>/dev/null) || true
    # In a container, root without CAP_SYS_PTRACE can list the descriptors of another account's process and not read them. A
    # process that ends because the port is taken has none to list.
    if [[ ! $sockets ]]; then
        compgen -G "/proc/$pid/fd/*" >/dev/null
        return
    fi
    for inode in $inodes; do
        if [[ $sockets == *"socket:[$inode]"* ]]; then return 0; fi
    done
    return 1
}

# choose_port LISTENER FIRST [ADDRESS]: sets ${ports[LISTENER]} to the first free port from FIRST.
choose_port() {
    ports[$1]=$(free_port "$2" "${3-}")
    local why="is in use"
    if is_blocked "$2"; then why="is one that browsers refuse"; fi
    if ((ports[$1] != $2)); then say "Port $2 $why; $1 listens on ${ports[$1]}"; fi
}

# start_listening NAME LISTENER[@ADDRESS]…: launches the process and waits until it listens on the ports of these listeners. A process
# that ends because another one has taken a port starts again on the next free one.
start_listening() {
    local name=$1 listener address deadline=$((SECONDS + 10))
    shift
    launch "$name"
    until listens "$name" "$@"; do
        if ((SECONDS > deadline)) || ! grep -q "$in_use" "data/log/$name.log"; then
            show_log "$name"
            fail "$name did not start; see data/log/$name.log"
        fi
        for listener; do
            address=${listener#"${listener%@*}"}
            # The other one may have ended by now.
            if is_taken "${ports[${listener%@*}]}" "${address#@}"; then
                choose_port "${listener%@*}" "${ports[${listener%@*}]}" "${address#@}"
            fi
        done
        : >"data/log/$name.log"
        launch "$name"
    done
}

# listens NAME LISTENER[@ADDRESS]…: waits until the process listens. Fails when it has ended.
listens() {
    local name=$1 deadline=$((SECONDS + 10)) listener
    shift
    for listener; do
        until owns_port "$name" "${ports[${listener%@*}]}"; do
            is_running "$name" || return 1
            if ((SECONDS > deadline)); then
                show_log "$name"
                fail "$name does not listen on port ${ports[${listener%@*}]} after 10 s; see data/log/$name.log"
            fi
            sleep 0.05
        done
    done
}

# answers NAME PORT: whether the process answers within 3 s as only one that works does. The system accepts connections for
# one that hangs.
answers() {
    local asking result=
    exec {asking}< <(ask "$1" "$2" && say yes)
    # Without an answer it may still wait for a connection.
    read -r -t 3 result <&"$asking" || kill "$!" 2>/dev/null || true
    exec {asking}<&-
    [[ $result ]]
}

# ask NAME PORT: asks it and checks its answer. A broker refuses a CONNECT without an account, PostgreSQL replies to a request
# for TLS, HAProxy serves HTTP, and a service knows whether its loop continues.
ask() {
    local answer=
    case $1 in
        mosquitto*)
            printf '\x10\x0c\x00\x04MQTT\x04\x02\x00\x0a\x00\x00' >&3
            IFS= read -r -N 2 answer <&3 && [[ $answer == $' \x02' ]]
            ;;
        postgres)
            printf '\x00\x00\x00\x08\x04\xd2\x16\x2f' >&3
            IFS= read -r -N 1 answer <&3 && [[ $answer == [NS] ]]
            ;;
        *)
            printf 'GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
            read -r answer <&3 && [[ $answer == *' 200 '* || $1 == haproxy || $1 == *-proxy ]]
            ;;
    esac
} 2>/dev/null 3<>"/dev/tcp/127.0.0.1/$2"

# http_get PORT PATH: prints the response's status and its body, or nothing without a response.
http_get() {
    local _ status='' line
    {
        printf 'GET %s HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" >&3
        read -r -t 3 _ status _ <&3 || true
        say "$status"
        while IFS= read -r -t 3 line && [[ $line != $'\r' ]]; do :; done <&3
        timeout 3 cat <&3
    } 3<>"/dev/tcp/127.0.0.1/$1" || true
} 2>/dev/null

# http_status PORT PATH: prints the HTTP status, such as 200, or nothing without a response.
http_status() { http_get "$1" "$2" | sed -n 1p; }
