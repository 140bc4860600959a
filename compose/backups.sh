# shellcheck shell=bash disable=SC2154
# Reads a backup into the folder $restored, for compose/restore, and for compose/backup to verify its files. Messages name the backup
# $file. Sourced after postgres.sh.

# unexpected FILE: prints the entries of a backup that compose/backup never writes, with their types and modes; nothing if
# all are regular files and folders with the names and modes of a backup.
unexpected() {
    local files name='[A-Za-z0-9_][A-Za-z0-9._-]*'
    # Owner, size, date and time.
    local numbers='[0-9]+\/[0-9]+ +[0-9]+ [^ ]+ [^ ]+'
    files=$(IFS='|' && say "${broker_files[*]}")
    # tar quotes odd names, which then match nothing.
    tar --list --gzip --verbose --numeric-owner --full-time --quoting-style=escape --file "$1" |
        sed -nE -e "/^drwx------ $numbers data\/((broker|secrets|tls)\/)?$/d" \
            -e "/^-rw------- $numbers data\/($name\.sqlite|postgres\.dump|broker\/($files)|(secrets|tls)\/$name)$/d" -e p
}

# unpack ARCHIVE: extracts it into $restored. Fails unless compose/backup wrote all its entries.
unpack() {
    local odd
    # The whole file is read before anything is extracted.
    odd=$(unexpected "$1" 2>/dev/null) || fail "$file is damaged or not a backup; use another one"
    [[ ! $odd ]] ||
        fail "$file holds an unexpected entry: $(printable <<<"${odd%%$'\n'*}"); remove it before a backup, or restore another file"
    tar --extract --gzip --no-same-owner --directory "$restored" --file "$1" data 2>/dev/null ||
        { name_full_disk && fail "$file is damaged or not a backup; use another one"; }
    [[ -s $restored/data/broker/passwords && -d $restored/data/secrets ]] || fail "$file is not a backup; use another one"
}

# unexpected_objects FILE: prints the entries of a dump that compose/backup never writes. dashboard had a store once.
unexpected_objects() {
    local schemas
    schemas=$(IFS='|' && say "${services[*]}")
    "$postgres_programs/pg_restore" --list "$1" |
        sed -nE -e '/^(;|$)/d' -e 's/^[0-9]+; [0-9]+ [0-9]+ //' -e "/^SCHEMA - ($schemas) ($schemas)$/d" \
            -e "/^(TABLE|TABLE DATA|SEQUENCE|SEQUENCE SET) ($schemas) [a-z_]+ ($schemas)$/d" \
            -e "/^CONSTRAINT ($schemas) [a-z_]+ [a-z_]+ ($schemas)$/d" -e p
}

# restore_postgres: makes data/postgres of data/postgres.dump, in the working directory.
restore_postgres() {
    need_packages postgresql
    local odd service schemas
    schemas=$(IFS='|' && say "${stored[*]}")
    mkdir -p data/log
    start_postgres >/dev/null
    odd=$(unexpected_objects data/postgres.dump 2>/dev/null) || fail "$file is damaged or not a backup; use another one"
    [[ ! $odd ]] || fail "$file holds an unexpected object: $(printable <<<"${odd%%$'\n'*}"); drop it before a backup, or restore another file"
    schemas=$("$postgres_programs/pg_restore" --list data/postgres.dump | sed -nE "s/^[^;]+; [^ ]+ [^ ]+ TABLE ($schemas) lease .*/\1/p")
    for service in $schemas; do
        say "Restoring $service"
        # Each schema as its service, whose role has access to nothing else.
        as_role "$service" pg_restore --dbname pacebus --schema "$service" --no-owner --no-privileges --exit-on-error \
            --single-transaction data/postgres.dump 2>data/log/errors ||
            fail "$file: PostgreSQL refuses $service: $(tail -n 1 data/log/errors)"
        # No write of an earlier replica counts.
        as_role "$service" psql --dbname pacebus --no-psqlrc --quiet --set ON_ERROR_STOP=1 \
            --command "$(free_leases "$service" epoch)" 2>data/log/errors ||
            fail "$file: PostgreSQL refuses $service: $(tail -n 1 data/log/errors)"
    done
    stop 60 postgres
    rm -r data/log data/postgres.dump
}
