# shellcheck shell=bash disable=SC2154
# `compose/chaos fuzz`: libFuzzer on the readers of foreign and of stored bytes. Sourced by compose/chaos.

# The fuzzer, the committed inputs, and what runs write: inputs that reach new code, logs and findings.
fuzz_build=.build/fuzz fuzzer=.build/fuzz/debug/Fuzz
committed=Tests/Fuzz/corpus
fuzz_output=.build/chaos-fuzz
# Readers at once, and those that run, by process.
fuzz_width=2
declare -gA running=()

fuzz_usage() {
    cat <<'END_OF_USAGE'
usage: compose/chaos fuzz [--seconds N] [--reader NAME] [--seed N]

Feeds random inputs to each reader of foreign and of stored bytes, two readers at once. A reader begins with its committed
inputs and those that reached new code in earlier runs, and stops at its first finding: a trap, a value that changes when
written and read, 5 s for one input, or 1 GiB of memory. Prints how many inputs each reader tried, and how to repeat each
finding. Ends with status 1 after a finding.

Builds these sources with the sanitizer in .build/fuzz, which takes half an hour the first time. .build/chaos-fuzz has the
logs and findings. Tests/Fuzz/README.md says what to do with a finding.

  --seconds N     duration for each reader, 1 to 86400, default 600
  --reader NAME   one reader alone; its folder in Tests/Fuzz/corpus has the name
  --seed N        repeats a run, from the committed inputs alone; drawn at random by default
  --help          shows this
END_OF_USAGE
}

read_fuzz_arguments() {
    local name
    seconds=600 readers=() is_repeated=''
    # libFuzzer draws its own seed in place of 0.
    seed=$(($(od -An -tu4 -N4 /dev/urandom) % 999999999 + 1))
    for name in "$committed"/*/; do readers+=("$(basename "$name")"); done
    while (($#)); do
        case $1 in
            --seconds) number "$1" "${2-}" 1 86400 && seconds=$((10#$2)) && shift ;;
            --reader)
                [[ ${2-} =~ ^[a-zA-Z]+$ && -d $committed/$2 ]] ||
                    fail "unknown reader '${2-}'; available: ${readers[*]}"
                readers=("$2")
                shift
                ;;
            --seed) number "$1" "${2-}" 1 999999999 && seed=$((10#$2)) is_repeated=yes && shift ;;
            --help | -h) fuzz_usage && exit ;;
            *) fail "unknown argument '$1'; see compose/chaos fuzz --help" ;;
        esac
        shift
    done
}

# start_reader NAME: feeds a reader in the background.
start_reader() {
    local inputs=$fuzz_output/inputs/$1
    if [[ $is_repeated ]]; then rm -rf "$inputs"; fi
    mkdir -p "$inputs"
    # A backtrace of Swift takes minutes. Readers of files need no disk.
    READER=$1 SWIFT_BACKTRACE=enable=no TMPDIR=/dev/shm nice -n 15 "$fuzzer" -seed="$seed" -max_total_time="$seconds" \
        -dict=Tests/Fuzz/keys.dict -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
        -artifact_prefix="$fuzz_output/findings/$1-" "$inputs" "$committed/$1" >"$fuzz_output/log/$1.log" 2>&1 &
    running[$!]=$1
}

# await_reader: waits until a reader ends, prints its result and counts it.
await_reader() {
    local pid='' status=0 name log inputs finding
    wait -n -p pid "${!running[@]}" || status=$?
    [[ $pid ]] || return 0
    name=${running[$pid]}
    unset "running[$pid]"
    log=$fuzz_output/log/$name.log
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    finished=$((finished + 1)) total=$((total + ${inputs:-0}))
    finding=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    if ((status == 0)); then
        printf '[%2d/%d] %-16s %11d inputs\n' "$finished" "${#readers[@]}" "$name" "${inputs:-0}"
        return
    fi
    printf '[%2d/%d] %-16s %11d inputs, then a finding\n' "$finished" "${#readers[@]}" "$name" "${inputs:-0}"
    findings+=("$name:${finding:-$log}:$status")
}

# show_findings: prints the file of each finding, the reason, and the command that repeats it.
show_findings() {
    local entry name file reason
    for entry in "${findings[@]}"; do
        IFS=: read -r name file _ <<<"$entry"
        reason=$(grep -aE 'Fatal error|ERROR: libFuzzer' "$fuzz_output/log/$name.log" | head -n 1 | cut -c 1-300)
        printf '\n%s: %s\n' "$name" "$(printable <<<"${reason:-ended with status ${entry##*:}}")"
        if [[ $file == *.log ]]; then
            say "  log     $file"
        else
            say "  file    $file"
            say "  repeat  READER=$name SWIFT_BACKTRACE=enable=no $fuzzer -timeout=5 -rss_limit_mb=1024 $file"
        fi
    done
}

stop_readers() {
    trap '' INT TERM HUP
    if ((${#running[@]})); then kill "${!running[@]}" 2>/dev/null || true; fi
    wait
}

fuzz() {
    local seconds seed readers is_repeated
    local name finished=0 total=0 findings=()
    read_fuzz_arguments "$@"
    need_packages libmosquitto-dev libpq-dev libsqlite3-dev zlib1g-dev
    need_swift
    trap 'kill -INT $! 2>/dev/null; wait; exit 143' INT TERM HUP
    say "Building with the sanitizer; the first build takes about half an hour"
    # In the background, because bash would act on a signal only after the build.
    FUZZ=1 nice -n 15 swift build --sanitize=fuzzer --product Fuzz --scratch-path "$fuzz_build" &
    wait $!
    trap stop_readers EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    rm -rf "$fuzz_output"/{log,findings}
    mkdir -p "$fuzz_output"/{inputs,log,findings}
    say "Fuzzing ${#readers[@]} readers for $seconds s each, seed $seed"
    for name in "${readers[@]}"; do
        if ((${#running[@]} == fuzz_width)); then await_reader; fi
        start_reader "$name"
    done
    while ((${#running[@]})); do await_reader; done
    show_findings
    printf '\nreaders: %d, inputs: %d, findings: %d, seed: %d\n' "$finished" "$total" "${#findings[@]}" "$seed"
    ((${#findings[@]} == 0))
}
