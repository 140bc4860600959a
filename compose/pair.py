#!/usr/bin/env python3
"""The waiting part of `compose/user pair`: leaves the device for the dashboard, shows the QR codes, and serves the
certificate of the authority that the phone has to trust. Reads the device's password from standard input."""

import argparse
import base64
import hashlib
import http.server
import ipaddress
import json
import os
import pathlib
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VALID = 300
# OpenSSL's codes for certificates that another authority, or none, has signed.
OTHER_ISSUER = {18, 19, 20, 21}
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Trust this Pacebus</title>
<body style="font: 1.1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: auto; padding: 1rem">
<h1>Trust this Pacebus</h1>
<p>This server signs its own certificate. Browsers accept it once the phone trusts the authority below.
The authority is valid for this server's names and addresses alone.</p>
<p><a href="/ca.crt">Download the certificate</a></p>
<p>Its SHA-256 fingerprint has to be the one in the terminal:<br><code style="overflow-wrap: anywhere">{fingerprint}</code></p>
<h2>iPhone, iPad</h2>
<ol>
<li>Open this page in Safari, tap the link above, then <em>Allow</em>.</li>
<li>Settings, <em>Profile Downloaded</em>, <em>Install</em>; compare the fingerprint under <em>More Details</em>.</li>
<li>Settings, General, About, <em>Certificate Trust Settings</em>: switch it on.</li>
</ol>
<h2>Android</h2>
<ol>
<li>Tap the link above, which downloads <code>pacebus-ca.crt</code>.</li>
<li>Settings, Security and privacy, More security settings, Encryption and credentials, <em>Install a certificate</em>,
<em>CA certificate</em>, <em>Install anyway</em>: choose the file. On some phones, search the settings for
<em>CA certificate</em>.</li>
<li>Use Chrome. In Firefox: Settings, About Firefox, tap the logo five times, then Settings, Secret Settings,
<em>Use third party CA certificates</em>.</li>
</ol>
<p>Then go back to the terminal and scan the second code.</p>
</body>
</html>
"""


def main():
    parser = argparse.ArgumentParser()
    for name in ["user", "device", "web", "folder", "authority"]:
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    token = secrets.token_hex(32)
    record = leave(arguments, token, sys.stdin.readline().strip())
    try:
        host = urllib.parse.urlsplit(arguments.web).hostname
        if is_own(arguments.web, arguments.authority):
            address = serve(host, pathlib.Path(arguments.authority).read_bytes())
            print("1. Trust this server on the phone, once: scan this code and follow the page.\n")
            show(f"http://{address}/ca")
            print(f"   SHA-256 fingerprint  {fingerprint(pathlib.Path(arguments.authority).read_text())}\n")
            print(f"2. Pair the phone as {arguments.user}'s {arguments.device}: scan this code within five minutes.\n")
        else:
            print(f"Pair the phone as {arguments.user}'s {arguments.device}: scan this code within five minutes.\n")
        show(f"{arguments.web}/pair#{token}")
        print("The link pairs the first browser that opens it, so keep it private. Ctrl-C revokes it.", flush=True)
        end = time.monotonic() + VALID
        # A dashboard removes the file when a browser has been paired.
        while record.exists():
            if time.monotonic() >= end:
                sys.exit(2)
            time.sleep(0.2)
    finally:
        record.unlink(missing_ok=True)


def leave(arguments, token, password):
    """Writes what only the token opens: the dashboard reads it as a cookie's content."""
    pairing = {"user": arguments.user, "device": arguments.device, "password": password, "until": time.time() + VALID}
    nonce = secrets.token_bytes(12)
    sealed = AESGCM(bytes.fromhex(token)).encrypt(nonce, json.dumps(pairing).encode(), b"pairing 1")
    folder = pathlib.Path(arguments.folder)
    folder.mkdir(mode=0o700, exist_ok=True)
    record = folder / hashlib.sha256(token.encode()).hexdigest()
    new = record.with_suffix(".new")
    new.write_bytes(base64.urlsafe_b64encode(nonce + sealed).rstrip(b"="))
    # The dashboard may run under an account of its own.
    os.chown(new, folder.stat().st_uid, folder.stat().st_gid)
    new.rename(record)
    return record


def is_own(url, authority):
    """Whether phones have to be told to trust the web server: this folder's authority signed its certificate."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https" or not os.path.exists(authority):
        return False
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority)
    try:
        with socket.create_connection((parts.hostname, parts.port or 443), 10) as connection:
            context.wrap_socket(connection, server_hostname=parts.hostname).close()
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in OTHER_ISSUER:
            return False
        sys.exit(f"The certificate of {url} is not valid: {error.verify_message}. Phones refuse it too.")
    except OSError as error:
        sys.exit(f"{url} does not answer: {error.strerror or error}. Is compose/up running?")
    return True


def fingerprint(certificate):
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).digest().hex(":").upper()


def serve(host, certificate):
    """Serves the page and the certificate on the web server's address, without TLS. They hold no secret."""
    page = PAGE.format(fingerprint=fingerprint(certificate.decode())).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self):
            files = {
                "/ca": (page, "text/html; charset=utf-8", None),
                "/ca.crt": (certificate, "application/x-x509-ca-cert", "attachment; filename=pacebus-ca.crt"),
            }
            if self.path not in files:
                return self.send_error(404)
            content, type, disposition = files[self.path]
            self.send_response(200)
            self.send_header("Content-Type", type)
            self.send_header("Content-Length", str(len(content)))
            if disposition:
                self.send_header("Content-Disposition", disposition)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    # On its own machine, Debian resolves a host's name to a loopback address, which no phone reaches.
    if ipaddress.ip_address(address[0]).is_loopback and host not in ("localhost", address[0]):
        address = ("::" if family == socket.AF_INET6 else "0.0.0.0",)

    class Server(http.server.ThreadingHTTPServer):
        address_family = family
        daemon_threads = True

    server = Server((address[0], 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"[{host}]:{server.server_port}" if ":" in host else f"{host}:{server.server_port}"


def show(link):
    """On standard input: an argument would show in the process list."""
    subprocess.run(["qrencode", "--type", "UTF8", "--level", "L"], input=link.encode(), check=True)
    print(f"   {link}\n", flush=True)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
