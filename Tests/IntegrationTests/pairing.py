"""Pairs a browser by the codes that `compose/user pair` shows: pairing.py FOLDER NAME.

FOLDER holds an installation that runs. Prints what the pages show, and how the command ended.
"""

import hashlib
import os
import pathlib
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

from playwright.sync_api import sync_playwright

folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
command = subprocess.Popen(
    [folder / "compose/user", "pair", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
)


def read_codes():
    """The command's lines up to the last code, and the content of each code, as a phone's camera reads it."""
    lines, codes, drawn = [], [], []
    for line in command.stdout:
        lines.append(line.rstrip("\n"))
        if set(lines[-1]) & set("█▀▄"):
            drawn.append(lines[-1])
        elif drawn:
            codes.append(scan(drawn))
            drawn = []
        if line.startswith("The link pairs"):
            return lines, codes
    sys.exit("\n".join(lines))


def scan(lines):
    """Draws the half blocks of a terminal with light text as a picture, and reads it."""
    halves = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}
    width = max(map(len, lines))
    rows = [[halves[character][half] for character in line.ljust(width)] for line in lines for half in (0, 1)]
    scale = 6
    pixels = b"".join(bytes(255 * value for value in row for _ in range(scale)) for row in rows for _ in range(scale))
    picture = folder / "code.pgm"
    picture.write_bytes(b"P5 %d %d 255\n" % (width * scale, len(rows) * scale) + pixels)
    return subprocess.run(
        ["zbarimg", "--nodbus", "--quiet", "--raw", picture], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


lines, (trust, pair) = read_codes()
fingerprint = re.search(r"fingerprint  ([0-9A-F:]+)", "\n".join(lines)).group(1)
with urllib.request.urlopen(trust) as answer:
    print("the page has the fingerprint:", fingerprint in answer.read().decode())
with urllib.request.urlopen(trust.removesuffix("/ca") + "/ca.crt") as answer:
    certificate = answer.read().decode()
    print(answer.headers["Content-Type"])
der = ssl.PEM_cert_to_DER_cert(certificate)
print("the certificate has it:", hashlib.sha256(der).digest().hex(":").upper() == fingerprint)
try:
    urllib.request.urlopen(trust.removesuffix("/ca") + "/data/secrets/_operator")
except urllib.error.HTTPError as error:
    print("other files:", error.code)
context = ssl.create_default_context(cadata=certificate)
with urllib.request.urlopen(pair.partition("#")[0], context=context) as answer:
    print("the dashboard's certificate is trusted:", answer.status)
token = pair.partition("#")[2]
arguments = subprocess.run(["ps", "-eo", "args"], check=True, stdout=subprocess.PIPE, text=True).stdout
print("the token is an argument:", token in arguments)
record = folder / "data/run/pairings" / hashlib.sha256(token.encode()).hexdigest()
print("the file's mode:", oct(record.stat().st_mode & 0o777), oct(record.parent.stat().st_mode & 0o777))
with sync_playwright() as playwright:
    # Chromium refuses its sandbox to root; the page is ours.
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"])
    phone = browser.new_context(ignore_https_errors=True, viewport={"width": 390, "height": 844})
    page = phone.new_page()
    page.goto(pair)
    page.get_by_role("heading", name=f"Record as {name}?").wait_for()
    print("the address keeps the token:", token in page.url)
    if screenshots := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{screenshots}/pair.png")
    page.get_by_role("button", name="Pair").click()
    page.get_by_text("Paired.").wait_for()
    if screenshots:
        page.screenshot(path=f"{screenshots}/paired.png")
    output, _ = command.communicate(timeout=30)
    print(re.sub("phone-[0-9a-f]{8}", "phone-…", output.strip()), command.returncode)
    page.get_by_role("link", name="Open Pacebus").click()
    page.locator("#who", has_text=name).wait_for(state="attached")
    device = re.search("phone-[0-9a-f]{8}", output).group()
    names = page.evaluate("name => localStorage.getItem(`pacebus.devices.${name}`)", name)
    print("records as:", names.replace(device, "the device"))
    print("logged in as:", page.evaluate("fetch('/me').then((answer) => answer.json())")["user"])
    other = browser.new_context(ignore_https_errors=True).new_page()
    other.goto(pair)
    print(other.get_by_role("alert").inner_text())
    subprocess.run([folder / "compose/user", "device", "revoke", name, device], check=True)
    page.get_by_role("heading", name="Log in to Pacebus").wait_for()
    print("revoked")
