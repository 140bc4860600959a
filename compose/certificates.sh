# shellcheck shell=bash
# The broker's certificate and the authority that signs it, in data/tls. Sourced after common.sh.

# public_name ADDRESS: what devices reach it by, as it stands in a URL.
public_name() {
    local name
    name=$(certified_names "$1" | sed -n 1p)
    if [[ $name == *:* ]]; then say "[$name]"; else say "$name"; fi
}

# certified_names ADDRESS: all that a device may call this machine when it listens there, the likeliest first.
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

# need_certificate ADDRESS: data/tls/server.crt for that address, good for more than a year from now, and
# data/tls/ca.crt, which devices have to trust for it.
need_certificate() {
    mkdir -p data/tls
    [[ -s data/tls/ca.crt ]] || make_authority
    local name names=()
    for name in $(certified_names "$1"); do
        # An address is digits and dots or has a colon; the rest are names.
        if [[ $name =~ ^[0-9.]+$|: ]]; then names+=("IP:$name"); else names+=("DNS:$name"); fi
    done
    {
        printf 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\n'
        printf 'subjectAltName=%s\n' "$(IFS=, && say "${names[*]}")"
    } >data/tls/server.ext.new
    if [[ -s data/tls/server.crt ]] && cmp -s data/tls/server.ext.new data/tls/server.ext &&
        openssl x509 -in data/tls/server.crt -noout -checkend $((400 * 86400)) >/dev/null; then
        return
    fi
    say "Making a certificate for ${names[*]}"
    make_key data/tls/server.key
    # Apple's devices take none for longer than 825 days.
    openssl req -new -key data/tls/server.key -subj "/CN=$(hostname)" |
        openssl x509 -req -CA data/tls/ca.crt -CAkey data/tls/ca.key -CAcreateserial -sha256 -days 800 \
            -extfile data/tls/server.ext.new -out data/tls/server.crt.new 2>/dev/null
    mv data/tls/server.crt.new data/tls/server.crt
    mv data/tls/server.ext.new data/tls/server.ext
}

make_authority() {
    say "Making a certificate authority: data/tls/ca.crt, and its key beside it"
    make_key data/tls/ca.key
    printf '%s\n' '[req]' 'distinguished_name=name' 'x509_extensions=authority' '[name]' '[authority]' \
        'basicConstraints=critical,CA:TRUE,pathlen:0' 'keyUsage=critical,keyCertSign,cRLSign' \
        'subjectKeyIdentifier=hash' >data/tls/ca.conf
    openssl req -x509 -config data/tls/ca.conf -key data/tls/ca.key -sha256 -days 3650 \
        -subj "/CN=Pacebus on $(hostname)" -out data/tls/ca.crt.new
    mv data/tls/ca.crt.new data/tls/ca.crt
}

# make_key FILE: for its owner's eyes alone.
make_key() { (umask 077 && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null); }
