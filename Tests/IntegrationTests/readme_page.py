"""Opens a page in Chromium and watches a workout: readme_page.py FOLDER PORT SITE ACCOUNT USER, the password on standard input.

FOLDER holds live.html, which is served on PORT. Prints what the page shows after a wrong password, then with a heart rate.
"""

import functools
import http.server
import sys
import threading

from playwright.sync_api import sync_playwright

folder, port, site, account, user = sys.argv[1:6]
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
with sync_playwright() as playwright:
    # Chromium refuses its sandbox to root; the page is ours.
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"])
    page = browser.new_page()
    page.on("pageerror", lambda error: print("error", error))
    address = f"http://127.0.0.1:{port}/live.html"
    page.goto(address)
    page.get_by_label("Site").fill(site)
    page.get_by_label("Account").fill(account)
    page.get_by_label("Who to watch").fill(user)
    for password in ["wrong", sys.stdin.readline().strip()]:
        page.get_by_label("Password").fill(password)
        page.get_by_role("button").click()
        shown = "Wrong account or password." if password == "wrong" else "Outdoor Running: active"
        page.get_by_text(shown).wait_for()
        print(shown)
    page.locator("#heart", has_text=" bpm").wait_for()
    page.locator("#distance", has_text=" km").wait_for()
    print("shown")
