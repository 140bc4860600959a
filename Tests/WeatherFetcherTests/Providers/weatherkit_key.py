"""Makes a key in Apple's format and verifies tokens with it, through openssl and independent of the service.

Usage: weatherkit_key.py make FILE
       weatherkit_key.py check FILE TOKEN    prints header and claims, or fails
"""

import base64
import json
import os
import subprocess
import sys
import tempfile


def decode(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def der_integer(data):
    data = data.lstrip(b"\0") or b"\0"
    if data[0] & 0x80:
        data = b"\0" + data
    return bytes([2, len(data)]) + data


def make(path):
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path],
        check=True,
        capture_output=True,
    )
    os.chmod(path, 0o600)


def check(path, token):
    head, claims, signature = token.split(".")
    raw = decode(signature)
    assert len(raw) == 64, "a signature is r and s of 32 bytes each"
    body = der_integer(raw[:32]) + der_integer(raw[32:])
    with tempfile.TemporaryDirectory() as folder:
        public, signed, der = (os.path.join(folder, name) for name in ("public.pem", "signed", "der"))
        subprocess.run(["openssl", "pkey", "-in", path, "-pubout", "-out", public], check=True)
        with open(signed, "wb") as file:
            file.write(f"{head}.{claims}".encode())
        with open(der, "wb") as file:
            file.write(bytes([0x30, len(body)]) + body)
        subprocess.run(
            ["openssl", "dgst", "-sha256", "-verify", public, "-signature", der, signed],
            check=True,
            capture_output=True,
        )
    print(json.dumps({"header": json.loads(decode(head)), "claims": json.loads(decode(claims))}))


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    check(sys.argv[2], sys.argv[3])
