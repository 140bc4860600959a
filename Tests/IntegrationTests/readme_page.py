"""Opens a page in Chromium and watches a workout: readme_page.py FOLDER URL ACCOUNT USER, the password on standard input.

FOLDER holds live.html. Prints what the page shows from a broker that refuses connections, after a wrong password, then with a heart rate.
"""

import functools
import http.server
import sys
import threading

from playwright.sync_api import sync_playwright

folder, url, account, user = sys.argv[1:5]
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
with sync_playwright() as playwright:
    # Chromium refuses its sandbox to root; the page is ours.
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page()
    page.on("pageerror", lambda error: print("error", error))
    address = f"http://127.0.0.1:{server.server_port}/live.html"

    # A broker with too many connections: code 3, with which the page retries.
    page.route_web_socket(
        "ws://busy/mqtt", lambda socket: socket.on_message(lambda _: (socket.send(b"\x20\x02\x00\x03"), socket.close()))
    )
    page.goto(address)
    page.get_by_label("URL").fill("ws://busy/mqtt")
    page.get_by_label("Account").fill(account)
    page.get_by_label("Password").fill("kept")
    page.get_by_role("button").click()
    page.locator("#status", has_text="refuses").wait_for()
    print(page.locator("#status").inner_text(), page.get_by_label("Password").input_value())

    page.goto(address)
    page.get_by_label("URL").fill(url)
    page.get_by_label("Account").fill(account)
    page.get_by_label("Who to watch").fill(user)
    for password in ["wrong", sys.stdin.readline().strip()]:
        page.get_by_label("Password").fill(password)
        page.get_by_role("button").click()
        shown = "Wrong account or password." if password == "wrong" else "Outdoor Running: active"
        page.get_by_text(shown).wait_for()
        print(shown)
    page.wait_for_function("document.getElementById('heart').textContent.endsWith(' bpm')")
    page.wait_for_function("document.getElementById('distance').textContent.endsWith(' km')")
    print("shown")
