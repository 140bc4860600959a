"""Runs the cases of the bus with the Python device: device_cases.py EXAMPLES.

It keeps one batch in flight, so it sends other batches than a device with a window: `oneByOne` of a case. A refusal that
it does not handle ends it. Prints each case that it does not pass.
"""

import importlib.util
import json
import pathlib
import sys

examples = pathlib.Path(sys.argv[1])
spec = importlib.util.spec_from_file_location("device", examples / "device.py")
device = importlib.util.module_from_spec(spec)
spec.loader.exec_module(device)


def half_seconds(until):
    return [step / 2 for step in range(int(until * 2) + 1)]


def send_stream(case):
    """Time, first item, items and whether an acknowledgement is asked for, of each batch."""
    items, sent, events = [], [], list(case["events"])
    sender, is_connected = device.SampleSender(items), False
    for time in half_seconds(case["until"]):
        while events and events[0]["at"] <= time:
            event = events.pop(0)
            if event["type"] == "append":
                items.extend({"c": number} for number in range(len(items), len(items) + event["count"]))
            elif event["type"] == "ack":
                try:
                    sender.receive_acknowledgement({k: event[k] for k in ("n", "e", "error") if k in event})
                except SystemExit:
                    return sent
            else:
                is_connected = event["type"] == "connect"
                sender.reconnect()
        while is_connected and (batch := sender.next_batch(time)):
            sent.append([time, batch["s"], len(batch["x"]), batch.get("a", 0)])
    return sent


def send_command(case):
    """The seconds in which one command is sent."""
    sender, sent, events = device.CommandSender([{"id": "1", "type": "start"}]), [], list(case["events"])
    is_connected, begin = False, 0
    for time in range(case.get("until", 30) + 1):
        while events and events[0]["at"] <= time:
            event = events.pop(0)
            if event["type"] == "reply":
                reply = {"id": "1", "ok": "error" not in event, "error": event.get("error")}
                try:
                    sender.receive_reply(reply, time)
                except SystemExit:
                    return sent
            else:
                is_connected, begin = event["type"] == "connect", time + event.get("delay", 0)
                sender.reconnect()
        if is_connected and time >= begin and not sender.accepted and sender.next_command(time):
            sent.append(time)
    return sent


failed = False
for name, send, key in [("streams", send_stream, "oneByOne"), ("repeated-requests", send_command, "sent")]:
    for case in json.loads((examples / f"{name}.json").read_text()):
        expected = case.get("oneByOne", case.get(key))
        if (sent := send(case)) != expected:
            failed = True
            print(f"{case['name']}: {json.dumps(sent)}, not {json.dumps(expected)}")
sys.exit(failed)
