# shellcheck shell=bash
# The broker's certificate and the authority that signs it, in data/tls. Sourced after common.sh.

# public_name ADDRESS: prints the host of the URL that devices connect to.
public_name() {
    local name
    name=$(certified_names "$1" | sed -n 1p)
    if [[ $name == *:* ]]; then say "[$name]"; else say "$name"; fi
}

# certified_names ADDRESS: prints all names of this machine as a listener on ADDRESS, the most likely first.
certified_names() {
    case $1 in
        0.0.0.0 | ::)
            # shellcheck disable=SC2046
            printf '%s\n' $(hostname -I)
            ;;
        *) say "$1" ;;
    esac
    hostname
    say localhost
}

# need_certificate ADDRESS: creates data/tls/server.crt for ADDRESS, unless one is valid for 400 more days, and
# data/tls/ca.crt, the authority that devices must trust. Fails if a new authority would be for an address of another machine.
need_certificate() {
    mkdir -p data/tls
    local name names=()
    for name in $(certified_names "$1"); do
        # Digits and dots are an IPv4 address, a colon means IPv6, all else is a name.
        if [[ $name =~ ^[0-9.]+$|: ]]; then names+=("IP:$name"); else names+=("DNS:$name"); fi
    done
    if ! vouches_for "${names[@]}"; then
        is_local "$1" || fail "'$1' is no address of this machine; change --listen (LISTEN)"
        make_authority "${names[@]}"
    fi
    {
        printf 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\n'
        printf 'subjectAltName=%s\n' "$(IFS=, && say "${names[*]}")"
    } >data/tls/server.ext.new
    if cmp -s data/tls/server.ext.new data/tls/server.ext && is_pair && is_lasting; then return; fi
    say "Creating a certificate for ${names[*]}"
    sign_certificate
}

# is_local ADDRESS: whether this machine can listen on the address or name.
is_local() {
    local address
    case $1 in 0.0.0.0 | ::) return ;; esac
    for address in $(getent ahosts "$1" | cut -d ' ' -f 1); do
        if [[ $address == 127.* || $address == ::1 || " $(hostname -I) " == *" $address "* ]]; then return; fi
    done
    return 1
}

# sign_certificate: puts a new certificate with the extensions in data/tls/server.ext.new in place, and its key.
sign_certificate() {
    # Apple's devices accept at most 825 days.
    make_key data/tls/server.key.new &&
        openssl req -new -key data/tls/server.key.new -subj "/CN=$(hostname)" |
        openssl x509 -req -CA data/tls/ca.crt -CAkey data/tls/ca.key -CAcreateserial -sha256 -days 800 \
            -extfile data/tls/server.ext.new -out data/tls/server.crt.new 2>/dev/null &&
        mv data/tls/server.key.new data/tls/server.key &&
        mv data/tls/server.crt.new data/tls/server.crt &&
        mv data/tls/server.ext.new data/tls/server.ext
}

# is_lasting: whether the certificate is valid for 400 more days.
is_lasting() { openssl x509 -in data/tls/server.crt -noout -checkend $((400 * 86400)) >/dev/null; }

# is_pair: whether the certificate and the key belong together.
is_pair() {
    local public
    public=$(openssl x509 -in data/tls/server.crt -noout -pubkey 2>/dev/null) &&
        [[ $public == "$(openssl pkey -in data/tls/server.key -pubout 2>/dev/null)" ]]
}

# vouches_for NAME…: whether the authority may sign for these names. One that is older than constraints may.
vouches_for() {
    local permitted wanted
    [[ -s data/tls/ca.crt ]] || return 1
    permitted=$(sed -n 's/^nameConstraints=critical,//p' data/tls/ca.conf)
    [[ $permitted ]] || return 0
    for wanted in $(constraints "$@"); do [[ ,$permitted, == *",$wanted,"* ]] || return 1; done
}

# constraints NAME…: prints what limits an authority to these names, so that a stolen key reads no other traffic of the phones
# that trust it. Without an address among them, none is allowed.
constraints() {
    local name permitted=()
    for name; do
        case $name in
            IP:*:*) permitted+=("permitted;$name/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff") ;;
            IP:*) permitted+=("permitted;$name/255.255.255.255") ;;
            *) permitted+=("permitted;$name") ;;
        esac
    done
    if [[ "$*" != *IP:* ]]; then permitted+=('excluded;IP:0.0.0.0/0.0.0.0' 'excluded;IP:::/::'); fi
    printf '%s\n' "${permitted[@]}"
}

# make_authority NAME…: for these names alone. The former authority is kept, and returns if it can sign for the names.
make_authority() {
    local permitted
    mapfile -t permitted < <(constraints "$@")
    rm -f data/tls/server.ext
    if [[ -s data/tls/ca.crt ]]; then
        exchange_authorities
        if [[ -s data/tls/ca.key ]] && vouches_for "$@"; then
            say "This machine's names have changed: devices must trust the former authority again" && return
        fi
        say "This machine's names have changed: devices must trust the new authority"
    fi
    say "Creating a certificate authority: data/tls/ca.crt and data/tls/ca.key"
    make_key data/tls/ca.key
    printf '%s\n' '[req]' 'distinguished_name=name' 'x509_extensions=authority' '[name]' '[authority]' \
        'basicConstraints=critical,CA:TRUE,pathlen:0' 'keyUsage=critical,keyCertSign,cRLSign' \
        'subjectKeyIdentifier=hash' "nameConstraints=critical,$(IFS=, && say "${permitted[*]}")" >data/tls/ca.conf
    openssl req -x509 -config data/tls/ca.conf -key data/tls/ca.key -sha256 -days 3650 \
        -subj "/CN=Pacebus on $(hostname)" -out data/tls/ca.crt.new
    mv data/tls/ca.crt.new data/tls/ca.crt
}

# exchange_authorities: the former authority, if there is one, and the present one change places.
exchange_authorities() {
    local part
    for part in key crt conf; do
        if [[ -e data/tls/ca.$part.1 ]]; then mv data/tls/ca.$part.1 data/tls/ca.$part.new; fi
        # The key may be kept elsewhere.
        if [[ -e data/tls/ca.$part ]]; then mv data/tls/ca.$part data/tls/ca.$part.1; fi
        if [[ -e data/tls/ca.$part.new ]]; then mv data/tls/ca.$part.new data/tls/ca.$part; fi
    done
}

# make_key FILE: creates a private key that its owner alone can read.
make_key() { (umask 077 && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null); }
