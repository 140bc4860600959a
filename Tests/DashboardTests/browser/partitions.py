"""Three brokers with a part of the accounts each: viewers and operators see the accounts of all."""

import zlib

import fixtures
from browser import DESKTOP, until
from world import PEOPLE, World, free_port, run


def partition(account):
    return zlib.crc32(account.encode()) % 3


class Partitions(World):
    """A world with three brokers."""

    def start_broker(self):
        super().start_broker()
        settings = (self.folder / "mosquitto.conf").read_text()
        self.brokers = [self.broker]
        for number in (2, 3):
            port = free_port()
            file = self.folder / f"mosquitto-{number}.conf"
            file.write_text(settings.replace(f"listener {self.broker.port} ", f"listener {port} "))
            self.brokers.append(self.run(["mosquitto", "-c", file], port, {}))

    def start_dashboard(self, settings):
        addresses = ",".join(f"127.0.0.1:{broker.port}" for broker in self.brokers)
        super().start_dashboard({"MQTT_URL": f"mqtt://_dashboard@{addresses}", **settings})

    def connect(self, port):
        self.publishers = [super(Partitions, self).connect(broker.port) for broker in self.brokers]
        return self.publishers[0]

    def clients_of(self, topic):
        levels = topic.split("/")
        return self.publishers if levels[2] in ("services", "rejected") else [self.publishers[partition(levels[3])]]

    def end(self):
        super().end()
        for publisher in self.publishers[1:]:
            publisher.loop_stop()


def publish(world):
    world.publish(fixtures.home(fixtures.now()))


def viewer(world, browser, faults):
    """Home and Live of a viewer, and a broker that is killed and returns."""
    far = next(user for user in PEOPLE if partition(user) != partition("coach"))
    publish(world)
    page = world.context(browser, "coach", **DESKTOP).new_page()
    faults.watch(page)
    page.goto(world.url)
    page.locator("main.drawn").wait_for()
    for user in PEOPLE:
        page.locator("main", has_text=user).wait_for()
    page.goto(f"{world.url}/live/{far}/{fixtures.session_of(far)}")
    page.locator("main.drawn").wait_for()
    faults.look(page, "live of another broker's account")
    broker = world.brokers[partition(far)]
    broker.kill()
    page.locator("#bar", has_text="Reconnecting").wait_for()
    broker.start()
    page.locator("#bar").wait_for(state="hidden")
    world.publish(fixtures.outdoor(far, fixtures.now()))
    page.locator("#signal", has_text="Live").wait_for()


def operator(world, browser, faults):
    """The operator's page counts the sessions of all brokers."""
    publish(world)
    page = world.context(browser, "_operator", **DESKTOP).new_page()
    faults.watch(page)
    page.goto(f"{world.url}/operator")
    until(page, f"() => document.querySelectorAll('#rows a').length === {len(PEOPLE)}")
    until(page, "() => [...document.querySelectorAll('#rows tr')].every((row) => /\\d/.test(row.cells[3].textContent))")


if __name__ == "__main__":
    run([viewer, operator], Partitions)
