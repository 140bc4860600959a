"""Uploads recorded runs of an hour as FIT files for several users, and prints how long it takes until all are workouts."""

import argparse
import base64
import json
import math
import struct
import threading
import time
import uuid

import paho.mqtt.client as paho

PART = 128 * 1024
# Of a user at a time: importer takes 20.
OPEN = 12
# Seconds without an acknowledgement.
STALL = 10
FIT_EPOCH = 631_065_600
# Global message, fields (number, size, base type) and their format.
FILE_ID = 0, [(0, 1, 0), (1, 2, 0x84), (4, 4, 0x86)], "<BHI"
RECORD = 20, [(253, 4, 0x86), (0, 4, 0x85), (1, 4, 0x85), (2, 2, 0x84), (3, 1, 2), (5, 4, 0x86)], "<IiiHBI"
SESSION = 18, [(253, 4, 0x86), (2, 4, 0x86), (5, 1, 0), (7, 4, 0x86), (8, 4, 0x86), (9, 4, 0x86)], "<IIBIII"
CRC = [0, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00, 0x2800, 0xE401, 0xA001, 0x6C00, 0x7800, 0xB401, 0x5000, 0x9C01]
CRC += [0x8801, 0x4400]


def crc(data):
    value = 0
    for byte in data:
        for nibble in (byte & 15, byte >> 4):
            value = ((value >> 4) & 0xFFF) ^ CRC[value & 15] ^ CRC[nibble]
    return value


def definition(local, message):
    number, fields, _ = message
    return struct.pack("<BBBHB", 0x40 | local, 0, 0, number, len(fields)) + b"".join(
        struct.pack("BBB", *f) for f in fields
    )


def fit(start, seconds=3600):
    """A run along a circle as a FIT file, a record each second."""
    start -= FIT_EPOCH
    data = definition(0, FILE_ID) + struct.pack("<B" + FILE_ID[2][1:], 0, 4, 255, start) + definition(1, RECORD)
    scale = 2**31 / 180
    for second in range(seconds + 1):
        angle = second * 3 / 1000
        place = round((52 + math.sin(angle) * 0.009) * scale), round((13 + math.cos(angle) * 0.0146) * scale)
        rate = round(140 + 20 * math.sin(second / 300))
        values = start + second, *place, round((40 + 500) * 5), rate, second * 300
        data += struct.pack("<B" + RECORD[2][1:], 1, *values)
    data += definition(2, SESSION)
    totals = start + seconds, start, 1, seconds * 1000, seconds * 1000, seconds * 300
    data += struct.pack("<B" + SESSION[2][1:], 2, *totals)
    head = struct.pack("<BBHI4s", 14, 0x20, 2100, len(data), b".FIT")
    head += struct.pack("<H", crc(head))
    return head + data + struct.pack("<H", crc(data))


class Upload:
    def __init__(self, user, content):
        self.user, self.content, self.id, self.acknowledged = user, content, str(uuid.uuid4()), 0
        self.of = -(-len(content) // PART)
        self.due = 0

    def parts(self):
        for n in range(self.acknowledged, self.of):
            x = base64.b64encode(self.content[n * PART : (n + 1) * PART]).decode()
            yield {"n": n, "of": self.of, "name": f"{self.id}.fit", "bytes": len(self.content), "x": x}


class Uploads:
    def __init__(self, port, uploads):
        self.waiting, self.open, self.lock = uploads, {}, threading.Lock()
        self.done, self.refused = 0, []
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
        self.client.on_message = self.receive
        self.client.connect("127.0.0.1", port)
        for filter in ("pacebus/v1/u/+/imports/+", "pacebus/v1/u/+/imports/+/parts/ack"):
            self.client.subscribe(filter, 1)
        self.client.loop_start()

    def receive(self, _, __, message):
        levels, payload = message.topic.split("/"), json.loads(message.payload or b"null")
        with self.lock:
            upload = self.open.get(levels[5])
            if not upload or not payload:
                return
            if levels[-1] == "ack":
                upload.acknowledged = payload["n"]
                upload.due = time.monotonic() + payload.get("error", {}).get("retryAfter", STALL)
            elif payload["status"] in ("done", "refused", "asking"):
                del self.open[levels[5]]
                self.done += payload["status"] == "done"
                if payload["status"] != "done":
                    self.refused.append(payload.get("reason"))

    def run(self):
        while self.waiting or self.open:
            with self.lock:
                for upload in [*self.waiting]:
                    if sum(other.user == upload.user for other in self.open.values()) < OPEN:
                        self.waiting.remove(upload)
                        self.open[upload.id] = upload
                due = [
                    each for each in self.open.values() if each.due <= time.monotonic() and each.acknowledged < each.of
                ]
            for upload in due:
                upload.due = time.monotonic() + STALL
                for part in upload.parts():
                    self.client.publish(f"pacebus/v1/u/{upload.user}/imports/{upload.id}/parts", json.dumps(part))
            time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--users", type=int, default=10)
    options = parser.parse_args()
    first = int(time.time()) // 86_400 * 86_400 - 86_400 * (options.files // options.users + 2)
    uploads = [
        Upload(
            f"import-{number % options.users}", fit(first + number // options.users * 86_400 + number % options.users)
        )
        for number in range(options.files)
    ]
    uploads = Uploads(options.port, uploads)
    begun = time.monotonic()
    print("begun=1", flush=True)
    uploads.run()
    seconds = time.monotonic() - begun
    print(
        f"files={uploads.done} seconds={seconds:.1f} minute={uploads.done / seconds * 60:.0f} lost={len(uploads.refused)}"
    )
    for reason in uploads.refused[:5]:
        print(reason)


if __name__ == "__main__":
    main()
