# shellcheck shell=bash disable=SC2154
# Kills processes that hang, and writes metrics of all. Sourced after processes.sh.

# Seconds between two looks at whether a process answers, one until its first answer; and the time that one may take: opening
# a large store delays it.
look_every=5
start_limit=600

# By name: when it started, in seconds of uptime, and how often; the job that looks at the process, when it began, the looks in
# a row without an answer, and whether there was one.
declare -A started_at=() starts=() looks=() looked_at=() unanswered=() has_answered=()

# By name: how often the process hung. And when data/run/metrics.prom is due, in seconds of uptime.
declare -A hangs=()
metrics_due=0

# read_uptime: sets $now. The wall clock may step.
read_uptime() {
    read -r now _ </proc/uptime
    now=${now%.*}
}

# note_start NAME: the process has just started.
note_start() {
    read_uptime
    started_at[$1]=$now
    looked_at[$1]=$now
    unanswered[$1]=0
    unset "looks[$1]" "has_answered[$1]"
    starts[$1]=$((${starts[$1]:-0} + 1))
}

# look_at NAME: kills the process after two failed checks in a row. Its supervisor starts it again.
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
        hangs[$1]=$((${hangs[$1]:-0} + 1))
        kill_now "$1"
    fi
}

# record_metrics: writes data/run/metrics.prom at most every 15 s, for the textfile collector of prometheus-node-exporter.
record_metrics() {
    local text
    read_uptime
    ((now >= metrics_due)) || return 0
    metrics_due=$((now + 15))
    text=$(system_metrics 2>/dev/null) || return 0
    # Another account may read it: it has no secrets. A full disk ends nothing.
    (umask 022 && say "$text" 2>/dev/null >data/run/metrics.prom.new) || return 0
    mv data/run/metrics.prom.new data/run/metrics.prom
}

system_metrics() {
    local name file up size free
    describe pacebus_supervisor_timestamp_seconds gauge "When these metrics were last written, in Unix seconds."
    say "pacebus_supervisor_timestamp_seconds $EPOCHSECONDS"
    describe pacebus_process_up gauge "1 if the process runs, has answered since its start, and is not known to hang, else 0."
    for name in "${supervised[@]}"; do
        up=0
        if is_running "$name" && [[ -v has_answered[$name] ]] && ((${unanswered[$name]:-0} == 0)); then up=1; fi
        say "pacebus_process_up{process=\"$name\"} $up"
    done
    describe pacebus_process_restarts_total counter "Restarts of the process."
    for name in "${supervised[@]}"; do
        say "pacebus_process_restarts_total{process=\"$name\"} $((${starts[$name]:-1} - 1))"
    done
    describe pacebus_process_hangs_total counter "Times that the process hung and was killed."
    for name in "${supervised[@]}"; do say "pacebus_process_hangs_total{process=\"$name\"} ${hangs[$name]:-0}"; done
    read -r size free < <(df --output=size,avail --block-size=1 data | tail -n 1) || return 1
    describe pacebus_data_disk_size_bytes gauge "Size of the disk of the folder data, in bytes."
    say "pacebus_data_disk_size_bytes $size"
    describe pacebus_data_disk_free_bytes gauge "Free space on the disk of the folder data, in bytes."
    say "pacebus_data_disk_free_bytes $free"
    describe pacebus_backup_timestamp_seconds gauge "When the newest backup began, in Unix seconds; 0 without a backup."
    say "pacebus_backup_timestamp_seconds $(stat -c %Y data/last-backup || say 0)"
    describe pacebus_certificate_expires_timestamp_seconds gauge "When the certificate expires, in Unix seconds."
    for file in ${listen:+data/tls/server.crt data/tls/ca.crt} ${TLS_CERT_FILE:+"$TLS_CERT_FILE"}; do
        say "pacebus_certificate_expires_timestamp_seconds{file=\"${file//[\"\\]/_}\"} $(expiry_of "$file")"
    done
}

# describe METRIC TYPE HELP: prints what precedes the samples of a metric.
describe() { printf '# HELP %s %s\n# TYPE %s %s\n' "$1" "$3" "$1" "$2"; }

# expiry_of FILE: prints when a certificate expires, in Unix seconds; 0 if it cannot be read.
expiry_of() {
    local end
    if end=$(openssl x509 -in "$1" -noout -enddate); then date --date "${end#*=}" +%s; else say 0; fi
}
