"""A stream of a page: kept in IndexedDB, sent until it is acknowledged, also by the next page, and by one page at a time."""

import json

import fixtures
from browser import PHONE, close, close_all, until
from world import run, wait

SESSION = fixtures.session_of("anna")
OPEN = """async ([session]) => {
    const {Bus} = await import('/assets/bus.js');
    const {openStream} = await import('/assets/stream.js');
    window.stream = await openStream(new Bus({user: 'anna'}), {session, kind: 'locations', device: 'phone'});
}"""
APPEND = """async ([first, count]) => {
    for (let c = first; c < first + count; c++) await window.stream.append({c, la: 52 + c / 1e5, lo: 13});
}"""


class Receiver:
    """A route-builder that keeps locations."""

    def __init__(self, world):
        self.world, self.items, self.is_up = world, [], True
        self.topic = f"pacebus/v1/{SESSION[-2:]}/anna/{SESSION}/locations/phone"
        self.client = world.connect(world.broker.port)
        self.client.on_message = self.receive
        self.client.on_connect = lambda client, *_: client.subscribe(self.topic)
        self.client.reconnect()

    def receive(self, client, _, message):
        if not self.is_up or message.topic != self.topic:
            return
        batch = json.loads(message.payload)
        if batch["s"] <= len(self.items):
            self.items += batch["x"][len(self.items) - batch["s"] :]
        client.publish(f"{self.topic}/ack", json.dumps({"n": len(self.items), "e": 1, "now": fixtures.now()}))

    def has(self, count):
        wait(lambda: len(self.items) == count, f"{count} items arrive, not {len(self.items)}")
        if [item["c"] for item in self.items] != list(range(count)):
            raise SystemExit("items are missing, twice or out of order")


def acknowledged(page, count):
    until(page, "count => window.stream.acknowledged === count", count)


def reloads_and_tabs(world, browser, faults):
    """Items outlast a reload and a closed page; a second tab gets none of it."""
    receiver = Receiver(world)
    context = world.context(browser, "anna", **PHONE)
    page = context.new_page()
    faults.watch(page)
    page.goto(world.url)
    page.locator("main.drawn").wait_for()
    page.evaluate(OPEN, [SESSION])
    page.evaluate(APPEND, [0, 20])
    receiver.has(20)
    acknowledged(page, 20)
    other = context.new_page()
    other.goto(world.url)
    other.locator("main.drawn").wait_for()
    refusal = other.evaluate(f"args => ({OPEN})(args).then(() => '', error => error.message)", [SESSION])
    faults.expect("another tab" in refusal, f"a second tab has the stream too: {refusal}")
    close(other)
    # The service is away, and the page ends with items that nobody has.
    receiver.is_up = False
    page.evaluate(APPEND, [20, 30])
    close(page)
    receiver.is_up = True
    page = context.new_page()
    faults.watch(page)
    page.goto(world.url)
    page.locator("main.drawn").wait_for()
    page.evaluate(OPEN, [SESSION])
    receiver.has(50)
    acknowledged(page, 50)
    # Without a network items are kept, and go out when it is back.
    context.set_offline(True)
    page.evaluate(APPEND, [50, 10])
    faults.expect(len(receiver.items) == 50, "items arrived without a network")
    world.broker.kill()
    world.broker.start()
    context.set_offline(False)
    receiver.has(60)
    acknowledged(page, 60)
    page.evaluate("() => window.stream.remove()")
    page.evaluate(OPEN.replace("'phone'", "'phone-2'"), [SESSION])
    close_all(context)


def largest(world, browser, faults):
    """36,000 locations, ten hours, are kept without a network and go out afterwards."""
    receiver = Receiver(world)
    context = world.context(browser, "anna", **PHONE)
    page = context.new_page()
    page.goto(world.url)
    page.locator("main.drawn").wait_for()
    page.evaluate(OPEN, [SESSION])
    receiver.is_up = False
    page.evaluate(
        """async () => {
            const items = Array.from({length: 36_000}, (_, c) => ({c, la: 52 + c / 1e5, lo: 13, al: 30, v: 3.1}));
            await Promise.all(items.map((item) => window.stream.append(item)));
        }"""
    )
    page.reload()
    page.locator("main.drawn").wait_for()
    receiver.is_up = True
    page.evaluate(OPEN, [SESSION])
    receiver.has(36_000)
    acknowledged(page, 36_000)
    close_all(context)


if __name__ == "__main__":
    run([reloads_and_tabs, largest])
