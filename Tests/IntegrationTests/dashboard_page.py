"""A workout by the keyboard alone in Chromium: dashboard_page.py URL USER, the password on standard input.

Prints each state that the page shows.
"""

import sys

from playwright.sync_api import sync_playwright

url, user = sys.argv[1:3]
password = sys.stdin.readline().strip()


def tab_to(page, text):
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(document.activeElement.innerText ?? '').trim()") == text:
            return
    raise SystemExit(f"the Tab key does not reach {text}: {page.locator('body').inner_text()}")


def shown(page, selector, text):
    page.locator(selector).filter(has_text=text).first.wait_for(timeout=30000)
    print(text)


with sync_playwright() as playwright:
    # Chromium refuses its sandbox to root; the page is ours.
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"])
    page = browser.new_page()
    page.on("pageerror", lambda error: print("error", error))
    page.on("console", lambda message: print("console", message.text))
    page.goto(f"{url}/login")
    shown(page, "h1", "Log in")
    page.get_by_label("Name").fill(user)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")
    shown(page, "#start-new", "Start new")
    tab_to(page, "Start new")
    page.keyboard.press("Enter")
    tab_to(page, "Start")
    page.keyboard.press("Enter")
    shown(page, "h1", "Outdoor Running")
    shown(page, "#toggle", "Pause")
    page.locator("#toggle:enabled").wait_for(timeout=30000)
    tab_to(page, "Pause")
    page.keyboard.press("Enter")
    shown(page, "#status", "Paused")
    page.locator("#end:enabled").wait_for()
    page.reload()
    page.locator("#end:enabled").wait_for()
    tab_to(page, "End")
    page.keyboard.press("Enter")
    tab_to(page, "End and save")
    page.keyboard.press("Enter")
    page.wait_for_url("**/workout/**")
    page.locator("main.drawn").wait_for()
