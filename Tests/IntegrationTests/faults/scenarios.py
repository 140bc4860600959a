"""Faults of the dashboard with real processes: scenarios.py SCENARIO EXECUTABLES WEB_FOLDER [SEED]."""

import concurrent.futures
import contextlib
import json
import random
import subprocess
import threading
import time
import uuid

from network import Bus, Proxy, mqtt_connect
from viewers import viewers_that_stop_reading
from world import Person, metric, run, wait


def check_end(bus, session, press, where, count=1):
    """Ended once, at the press, with one reply."""
    wait(lambda: any("endedAt" in state for state in bus.of(session, "state")), f"{where}: {session} ends")
    ends = {state["endedAt"] for state in bus.of(session, "state") if "endedAt" in state}
    assert len(ends) == 1 and abs(min(ends) - press["at"]) < 0.1, (where, ends, press)
    commands = {(command["id"], command["at"]) for command in bus.of(session, "command") if command["type"] == "end"}
    assert len(commands) <= 1, (where, commands)
    replies = {(reply["ok"], reply.get("revision"), reply.get("at")) for reply in bus.replies(press["id"])}
    assert len(replies) <= 1 and all(ok for ok, *_ in replies), (where, replies)


def killed_and_stopped(world):
    """A process and a moment are drawn: each process is killed and stopped once, then twice any."""
    draw = random.Random(world.seed)
    world.start_broker()
    bus = Bus(world)
    victims = {
        "broker": world.broker,
        "engine": world.start_service("session-engine"),
        "dashboard": world.start_dashboard(),
    }
    person = Person(victims["dashboard"]).logged_in()
    every = [(victim, fault) for victim in victims for fault in ("kill", "freeze")]
    faults = draw.sample(every, len(every)) + [draw.choice(every) for _ in range(2)]
    for victim, fault in faults:
        session, process = person.start(), victims[victim]
        wait(lambda: bus.of(session, "state"), "the session begins")
        moment = draw.choice(["before", "sent", "command", "reply"])
        where = f"seed {world.seed}: {fault} {victim} at {moment}"
        seen = len(bus.messages)

        def hit():
            topic = {"command": f"{session}/command", "reply": "/replies/"}.get(moment)
            with contextlib.suppress(AssertionError):
                wait(lambda: not topic or any(topic in name for name, _ in bus.messages[seen:]), moment, 1)
            process.kill() if fault == "kill" else process.freeze()

        def heal(*_):
            thread.join()
            if fault == "freeze":
                process.thaw()
            elif process.process.poll() is not None:
                process.start()

        thread = threading.Thread(target=hit)
        thread.start()
        if moment == "before":
            thread.join()
        press, reply = person.press("end", session, timeout=0.7, between=heal)
        heal()
        assert reply["ok"] and reply["id"] == press["id"], (where, reply)
        check_end(bus, session, press, where)
    wait(lambda: metric(victims["dashboard"], "pending_presses") == 0, "nothing is pending")
    bus.close()


def account_at_its_limit(world):
    """An account has 50 connections: no login ends, a wrong password is wrong, and a press waits."""
    world.start_broker_with_accounts(["anna"])
    world.start_service("session-engine")
    dashboard = world.start_dashboard()
    anna = Person(dashboard, "anna", world.passwords["anna"]).logged_in()
    session = anna.start()
    dashboard.kill()
    others = []

    def fill():
        """Connects until the broker refuses."""
        while True:
            other, answer = mqtt_connect(world.port, "anna", world.passwords["anna"])
            if other.fileno() < 0:
                assert answer == b"", answer
                return len(others) == 50
            others.append(other)

    assert wait(fill, "50 connections")
    attempts = world.broker.text().count("New connection")
    dashboard.start()
    # The first use after a start asks the broker again about password and rights.
    wait(lambda: anna.send("GET", "/").status == 200, "the login is loaded")
    wait(lambda: world.broker.text().count("New connection") > attempts + 1, "the broker was asked")
    path = f"/live/anna/{session}/commands"
    press = {"id": str(uuid.uuid4()), "type": "end", "at": time.time()}
    assert anna.post(path, press).status == 202
    assert Person(dashboard, "anna", "wrong").log_in().status == 401
    assert Person(dashboard, "anna", world.passwords["anna"]).log_in().status == 503
    assert metric(dashboard, "logins") == 1 and "no longer valid" not in dashboard.text(), dashboard.text()
    for other in others:
        other.close()
    reply = wait(lambda: (answer := anna.post(path, press)).status == 200 and answer.body, "the press is answered")
    assert abs(json.loads(reply)["reply"]["at"] - press["at"]) < 0.001
    assert Person(dashboard, "anna", world.passwords["anna"]).logged_in()


def full_disk(world):
    """Nothing is acknowledged that is not stored, pages say so, and all works again once there is room."""
    disk = world.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], stderr=subprocess.DEVNULL).returncode:
        return print("the dashboard on a full disk: skipped, mounting a small disk needs root")
    try:
        world.start_broker()
        bus, _, dashboard = Bus(world), world.start_service("session-engine"), world.start_dashboard(store=disk)
        anna, ben = Person(dashboard).logged_in(), Person(dashboard, "ben")
        session = anna.start()
        with open(disk / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
            while filler.write(bytes(4096)):
                pass
        path, press = f"/live/anna/{session}/commands", {"id": str(uuid.uuid4()), "type": "end", "at": time.time()}
        for _ in range(2):
            answer = anna.post(path, press)
            assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer.status
        answer = ben.log_in()
        assert answer.status == 503 and "Retry-After" in answer.headers and not ben.cookies
        assert b"The login cannot be stored now" in answer.body
        assert anna.send("GET", f"/live/anna/{session}").status == 200
        assert "commit failed, retrying" in dashboard.text()
        assert not [command for command in bus.of(session, "command") if command["type"] == "end"]
        (disk / "filler").unlink()
        reply = wait(lambda: (answer := anna.post(path, press)).status == 200 and answer.body, "the press is answered")
        check_end(bus, session, press, "full disk")
        assert json.loads(reply)["reply"]["ok"] and ben.logged_in()
        # What was acknowledged is on disk.
        dashboard.kill()
        dashboard.start()
        wait(lambda: ben.send("GET", "/").status == 200, "the login is loaded")
        assert anna.post(path, press).body == reply and metric(dashboard, "pending_presses") == 0
        bus.close()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def silent_broker(world):
    """A network that swallows what the broker sends, or everything: streams say it within 20 s, and a press is kept."""
    world.start_broker_with_accounts(["anna1", "anna2"])
    world.start_service("session-engine")

    def swallow(*directions):
        proxy = Proxy(world.port)
        dashboard = world.start_dashboard(f"dashboard-{len(directions)}", broker=proxy.port)
        user = f"anna{len(directions)}"
        person = Person(dashboard, user, world.passwords[user]).logged_in()
        session, stream = person.start(), person.stream("/events")
        wait(lambda: [event["connected"] for event in stream.of("bus")] == [True], "the stream begins")
        begun = time.monotonic()
        proxy.swallow(*directions)
        path = f"/live/{person.user}/{session}/commands"
        press = {"id": str(uuid.uuid4()), "type": "end", "at": time.time()}
        assert person.post(path, press).status == 202
        away = wait(lambda: [event for event in stream.of("bus") if not event["connected"]], "the loss")
        assert time.monotonic() - begun < 30, time.monotonic() - begun
        assert time.time() - 3 < away[0]["since"] <= time.time()
        proxy.swallow()
        reply = wait(
            lambda: (answer := person.post(path, press)).status == 200 and answer.body, "the press is answered"
        )
        assert abs(json.loads(reply)["reply"]["at"] - press["at"]) < 0.001
        wait(lambda: stream.of("bus")[-1]["connected"], "the connection returns")
        wait(lambda: metric(dashboard, "pending_presses") == 0, "nothing is pending")

    with concurrent.futures.ThreadPoolExecutor() as threads:
        for case in [threads.submit(swallow, "down"), threads.submit(swallow, "up", "down")]:
            case.result()


SCENARIOS = [killed_and_stopped, account_at_its_limit, full_disk, silent_broker, viewers_that_stop_reading]

if __name__ == "__main__":
    run(SCENARIOS)
