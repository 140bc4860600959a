#!/usr/bin/env bash
# Compares a branch with the file lists in Shared/README.md. `Tests/adding.sh --help` explains the options.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    cat <<'END'
usage: Tests/adding.sh WHAT [BRANCH [BASE]]

Prints the changes of BRANCH (default HEAD) since it left BASE (default main), and fails if it changes a file that
Shared/README.md does not list for adding WHAT: quantity, sport, target, weather-provider, service or page. The lists
are the fenced blocks "files WHAT". Each line begins with a path; `*` matches any characters, and `+` allows new files
only.
END
}

fail() {
    printf 'Tests/adding.sh: %s\n' "$*" >&2
    exit 1
}

main() {
    case ${1-} in
        --help | -h) usage && exit ;;
        '') fail "missing WHAT; see Tests/adding.sh --help" ;;
    esac
    local what=$1 branch=${2-HEAD} base=${3-main} patterns=() unlisted=() status file pattern
    mapfile -t patterns < <(
        awk -v open="\`\`\`files $what" '$0 == open { on = 1; next } /^```/ { on = 0 } on { print $1 }' Shared/README.md
    )
    ((${#patterns[@]})) || fail "Shared/README.md has no list for '$what'; see Tests/adding.sh --help"
    for pattern in "${patterns[@]}"; do
        [[ $pattern == *'*'* || -e $pattern ]] || fail "Shared/README.md lists '$pattern' for '$what', which does not exist"
    done
    git diff --stat "$base...$branch"
    while IFS=$'\t' read -r status file; do
        for pattern in "${patterns[@]}"; do
            # shellcheck disable=SC2053
            if [[ $file == $pattern || ($status == A && +$file == $pattern) ]]; then continue 2; fi
        done
        unlisted+=("$file")
    done < <(git diff --name-status --no-renames "$base...$branch")
    ((!${#unlisted[@]})) || fail "not listed for '$what': ${unlisted[*]}"
}

main "$@"
