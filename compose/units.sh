# shellcheck shell=bash disable=SC2034,SC2154
# The Debian package: processes are systemd units on fixed ports, and their logs are in the journal. Sourced by state.sh.

((EUID == 0)) || [[ ${0##*/} == unit || ${1-} == --help || ${1-} == -h ]] || fail "run this as root"

# unit_of NAME: prints the unit of a process.
unit_of() {
    case $1 in
        mosquitto | haproxy) say "$1.service" ;;
        postgres) say pacebus-postgres.service ;;
        *) say "pacebus@$1.service" ;;
    esac
}

# enabled: prints the services and replicas that start with the target.
enabled() { systemctl show --value --property Wants pacebus.target | tr ' ' '\n' | sed -n 's/^pacebus@\(.*\)\.service$/\1/p' | sort; }

# log_names: prints all processes, those of other packages first.
log_names() {
    say mosquitto
    [[ ! -d data/postgres ]] || say postgres
    enabled
    [[ ! -e data/proxy/environment ]] || say haproxy
}

processes() {
    local names units name
    mapfile -t names < <(log_names)
    mapfile -t units < <(for name in "${names[@]}"; do unit_of "$name"; done)
    paste -d ' ' <(printf '%s\n' "${names[@]}") <(systemctl show --value --property MainPID "${units[@]}" | grep .) \
        <(systemctl show --value --property NRestarts "${units[@]}" | grep .)
}

id_of() { systemctl show --value --property MainPID "$(unit_of "$1")"; }

is_claimed() { systemctl is-active --quiet pacebus.target 'pacebus@*' pacebus-postgres.service; }

need_running() {
    is_claimed || fail "Pacebus does not run; start it with compose/up"
    up=$(systemctl show --value --property MainPID pacebus-watch.service)
}

is_up() { is_claimed; }

claim_data() {
    need_data
    ! is_claimed || fail "Pacebus runs; stop it with compose/stop"
    exec 9>>data/up.lock
    flock --timeout 1 9 || fail "processes of Pacebus are still stopping, or another command works; try again"
}

read_log() { journalctl --quiet --output=cat --unit "$(unit_of "$1")" --lines "$2" ${3:+--follow}; }

# Of the last start alone if it runs, else of the last two: what an earlier one complained of may be over.
recent_log() {
    local id unit
    unit=$(unit_of "$1")
    if ! systemctl is-active --quiet "$unit"; then
        # The last attempt may have failed without a word yet.
        journalctl --quiet --output=cat --unit "$unit" --lines 200 |
            awk '/^Starting / { earlier = last; last = "" } { last = last $0 "\n" } END { printf "%s%s", earlier, last }'
        return
    fi
    id=$(systemctl show --value --property InvocationID "$unit")
    journalctl --quiet --output=cat --lines 10000 "_SYSTEMD_INVOCATION_ID=$id" + "INVOCATION_ID=$id"
}

system_problem() {
    grep -aE '^[^ ]+: (Failed (at step|to) |(Main|Control) process exited|.* killed by the OOM killer)' | tail -n 1
}

state_without_process() {
    local state
    state=$(systemctl is-active "$(unit_of "$1")" || true)
    # It is so for a moment between two starts.
    if [[ $state == inactive ]]; then sleep 0.3 && state=$(systemctl is-active "$(unit_of "$1")" || true); fi
    case $state in
        inactive) say stopped ;;
        failed) say failed ;;
        *) say restarting ;;
    esac
}

failures() {
    systemctl is-failed --quiet pacebus-prepare.service || return 0
    say "pacebus-prepare failed: $(journalctl --quiet --output=cat --unit pacebus-prepare.service | grep -aE "$problem" | tail -n 1 | printable)"
}

request_restart() { systemctl restart "$(unit_of "$1")"; }

request_scale() {
    local number verb
    for number in {2..9}; do
        verb=disable
        if ((number <= $2)); then verb=enable; fi
        systemctl "$verb" --quiet --now "pacebus@$1-$number.service"
    done
    compose/unit urls
}
