"""A complete Pacebus device: it records a workout, survives a crash and loses no sample.

    session=$(uuidgen)
    MQTT_PASSWORD=… python3 device.py 127.0.0.1 1883 ann "$session" watch-3f9a 60

It starts a run, measures one sample a second, ends the run after 60 of them and prints the finished workout. Kill it at
any moment and start it again with the same arguments: it continues. It needs paho-mqtt 2.

The README of the folder above has the rules. This device keeps them in the simplest way: one command and one batch at a
time. It exits on a refusal that repeating cannot cure, such as `stream_reused`, and keeps its queue.
"""

import argparse
import fcntl
import json
import os
import queue
import sys
import time
import uuid

import paho.mqtt.client as mqtt

# Seconds until a command without a reply, or a batch without an acknowledgement, is sent again.
REPEAT_INTERVAL = 5
# A batch waits twice as long after each repetition, up to this.
LONGEST_WAIT = 60
LONGEST_RETRY = 86400
BATCH_SIZE = 1000

# Takes the place of a topic in the inbox when a connection begins.
CONNECTED = ""


class QueueFile:
    """All items and commands of the workout, on disk before they are sent: one line of JSON for each."""

    def __init__(self, path):
        self.file = open(path, "a+")
        try:
            # Two processes would give the same number to different items.
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"{path} is in use: another process records this workout")
        self.file.seek(0)
        text = self.file.read()
        # A crash may leave a part of a line at the end. Its item was never sent, so nothing is lost.
        complete = text[: text.rfind("\n") + 1]
        self.file.truncate(len(complete))
        lines = [json.loads(line) for line in complete.splitlines()]
        self.items = [line for line in lines if "c" in line]
        self.commands = [line for line in lines if "id" in line]

    def add_item(self, **item):
        self._write(item)
        self.items.append(item)

    def add_command(self, **fields):
        # The id makes repetitions harmless: the server applies each id once.
        command = {"id": str(uuid.uuid4()), **fields}
        self._write(command)
        self.commands.append(command)

    def _write(self, line):
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def delete(self):
        os.remove(self.file.name)


class CommandSender:
    """Decides which command to send: one at a time, again and again until its reply."""

    def __init__(self, commands):
        self.commands = commands
        self.accepted = set()
        self.asked = None
        self.repeat_at = 0
        self.is_refused = False

    def next_command(self, now):
        pending = [command for command in self.commands if command["id"] not in self.accepted]
        # After the reply to the end, only the workout is missing. Another end makes the engine publish it again.
        pending = pending or self.commands[1:]
        if not pending or (pending[0]["id"] == self.asked and now < self.repeat_at):
            return None
        self.asked = pending[0]["id"]
        self.repeat_at = now + REPEAT_INTERVAL
        self.is_refused = False
        return pending[0]

    def receive_reply(self, reply, now):
        if reply["ok"]:
            self.accepted.add(reply["id"])
            return
        error = reply["error"]
        # While the user's other workout is unfinished, the start is repeated until that is over.
        if "retryAfter" not in error and error["code"] != "session_in_progress":
            sys.exit(error["message"])
        self.is_refused = True
        self.repeat_at = now + min(max(error.get("retryAfter", 0), REPEAT_INTERVAL), LONGEST_RETRY)

    def reconnect(self):
        # The command or its reply may be lost with the connection. What was refused has its time all the same.
        if not self.is_refused:
            self.asked = None


class SampleSender:
    """Decides which items to send: one batch, then the next after its acknowledgement."""

    def __init__(self, items):
        self.items = items
        # All items below this number are on the server's disk.
        self.acknowledged = 0
        # The end of the batch in flight; equal to `acknowledged` without one.
        self.sent = 0
        self.wait = REPEAT_INTERVAL
        self.repeat_at = 0
        self.epoch = None
        self.went_back_for = None

    def next_batch(self, now):
        is_in_flight = self.sent > self.acknowledged
        if self.acknowledged == len(self.items) or (is_in_flight and now < self.repeat_at):
            return None
        self.wait = min(2 * self.wait, LONGEST_WAIT) if is_in_flight else REPEAT_INTERVAL
        self.repeat_at = now + self.wait
        self.sent = min(len(self.items), self.acknowledged + BATCH_SIZE)
        # `a` asks for an acknowledgement at once: the next batch waits for it.
        return {"a": 1, "s": self.acknowledged, "x": self.items[self.acknowledged : self.sent]}

    def receive_acknowledgement(self, message):
        if "error" in message or message["n"] > len(self.items):
            sys.exit(f"refused: {message}")
        number = message["n"]
        # A new owner of the session may lack the batch in flight.
        is_new_owner = message.get("e") != self.epoch
        # An answer to a repeated batch may be lower than before: the server was restored from a backup.
        is_repeated = self.wait > REPEAT_INTERVAL
        # A number that comes again says that the batch there was lost. It is sent again once for each number.
        is_gap = number == self.acknowledged and number != self.went_back_for
        # Any other acknowledgement that does not advance is late.
        if number > self.acknowledged or is_new_owner or is_repeated or is_gap:
            if number <= self.acknowledged:
                self.went_back_for = number
            self.acknowledged = self.sent = number
        self.epoch = message.get("e")

    def reconnect(self):
        # The batch in flight may be lost with the connection.
        self.sent = self.acknowledged


class Device:
    def __init__(self, arguments):
        # Topics are lower case; uuidgen of a Mac writes capitals.
        session = arguments.session.lower()
        session_topic = f"pacebus/v1/{session[-2:]}/{arguments.user}/{session}"
        self.stream = f"samples/{arguments.device}"
        self.command_topic = f"{session_topic}/command"
        self.samples_topic = f"{session_topic}/{self.stream}"
        self.ack_topic = f"{session_topic}/{self.stream}/ack"
        self.workout_topic = f"{session_topic}/workout"
        # Viewers of the user see this address in commands, so it is not the MQTT client id.
        self.client = uuid.uuid4().hex
        self.replies_topic = f"pacebus/v1/u/{arguments.user}/replies/{self.client}"

        self.count = arguments.samples
        self.queue = QueueFile(f"{arguments.user}.{session}.{arguments.device}")
        self.commands = CommandSender(self.queue.commands)
        self.samples = SampleSender(self.queue.items)
        self.workout = {}
        # paho calls back in a thread of its own. All state belongs to the main thread, which reads this inbox.
        self.inbox = queue.SimpleQueue()
        self.broker = self.connect(arguments)

    def connect(self, arguments):
        # Without a client id, paho lets the broker choose one.
        broker = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        if "MQTT_PASSWORD" in os.environ:
            broker.username_pw_set(arguments.user, os.environ["MQTT_PASSWORD"])
        broker.on_connect = self.on_connect
        broker.on_message = self.on_message
        # Connects in the background, and again whenever the connection breaks.
        broker.connect_async(arguments.host, arguments.port)
        broker.loop_start()
        return broker

    def on_connect(self, broker, _userdata, _flags, reason, _properties):
        if reason.is_failure:
            print(f"connection refused: {reason}; trying again", file=sys.stderr)
            return
        broker.subscribe([(topic, 1) for topic in (self.ack_topic, self.workout_topic, self.replies_topic)])
        self.inbox.put((CONNECTED, None))

    def on_message(self, _broker, _userdata, message):
        # An empty payload clears a retained topic.
        self.inbox.put((message.topic, json.loads(message.payload or "{}")))

    def run(self):
        """Returns the finished workout once it holds every item."""
        if not self.queue.commands:
            self.queue.add_command(type="start", at=time.time(), activity="running", countdown=0)
        while self.workout.get("next", {}).get(self.stream, -1) < self.count:
            self.measure(time.time())
            if self.broker.is_connected():
                self.send(time.time())
            self.receive()
        self.broker.disconnect()
        # Only now are all items in the server's hands for good.
        self.queue.delete()
        return self.workout

    def measure(self, now):
        """Records an item each second, and the end after the last."""
        items = self.queue.items
        if len(items) < self.count and (not items or now >= items[-1]["c"] + 1):
            # A real device reads its sensors here: heart rate in bpm, and metres since the previous item.
            self.queue.add_item(c=now, h=120, d=2.8)
        if len(items) == self.count and len(self.queue.commands) == 1:
            # `streams` announces the items: the workout is complete when the server has as many.
            self.queue.add_command(type="end", at=now, streams={self.stream: self.count})

    def send(self, now):
        command = self.commands.next_command(now)
        if command:
            self.publish(self.command_topic, {**command, "client": self.client})
        # Items of an unknown session wait for 60 s and are then dropped. So the start goes first.
        batch = self.samples.next_batch(now) if self.commands.accepted else None
        if batch:
            self.publish(self.samples_topic, batch)

    def publish(self, topic, message):
        self.broker.publish(topic, json.dumps(message), qos=1)

    def receive(self):
        """Takes one message from the inbox, or returns after 0.1 s."""
        try:
            topic, message = self.inbox.get(timeout=0.1)
        except queue.Empty:
            return
        if topic == CONNECTED:
            self.commands.reconnect()
            self.samples.reconnect()
        elif topic == self.workout_topic:
            self.workout = message
        elif topic == self.ack_topic:
            self.samples.receive_acknowledgement(message)
        elif topic == self.replies_topic:
            self.commands.receive_reply(message, time.time())


def main():
    parser = argparse.ArgumentParser(description="Records a workout and sends it to Pacebus.")
    parser.add_argument("host", help="the broker's host")
    parser.add_argument("port", type=int, help="the broker's port, 1883 by default of compose/up")
    parser.add_argument("user", help="the account; its password is in MQTT_PASSWORD")
    parser.add_argument("session", help="a UUID, new for each workout")
    parser.add_argument("device", help="a name such as watch-3f9a, new for each queue")
    parser.add_argument("samples", type=int, help="how many samples to record, one a second")
    workout = Device(parser.parse_args()).run()
    print(f"{workout['distance']:.1f} m, average heart rate {workout['averageHeartRate']:.0f}")


if __name__ == "__main__":
    main()
