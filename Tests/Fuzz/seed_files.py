"""Valid inputs of readers of files, settings and packets, for seeds.py."""

import base64
import gzip
import json
import struct
import zlib

from seed_values import ID, RECORD, START, command

GPX = """<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="a" xmlns:x="x"><trk><name>Run</name><type>running</type><trkseg>
<trkpt lat="47.1" lon="8.2"><ele>400.5</ele><time>2023-11-14T22:13:20Z</time><extensions><x:hr>120</x:hr>
<x:cad>80</x:cad><x:speed>3</x:speed><x:atemp>-3</x:atemp><x:course>12</x:course></extensions></trkpt>
<trkpt lat="47.1001" lon="8.2001"><ele>401</ele><time>2023-11-14T22:13:25.5+01:00</time></trkpt></trkseg>
<trkseg><trkpt lat="47.1" lon="8.2"><time>2023-11-14T23:14:00Z</time></trkpt></trkseg><extensions>
<x:TrackStatsExtension><x:Distance>1200</x:Distance><x:TimerTime>30</x:TimerTime><x:Ascent>3</x:Ascent>
<x:Descent>1</x:Descent></x:TrackStatsExtension></extensions></trk></gpx>
"""
POINT = """<Trackpoint><Time>2023-11-14T22:{}Z</Time><Position><LatitudeDegrees>47.1</LatitudeDegrees>
<LongitudeDegrees>8.2</LongitudeDegrees></Position><AltitudeMeters>400</AltitudeMeters><DistanceMeters>{}</DistanceMeters>
<HeartRateBpm><Value>120</Value></HeartRateBpm><Cadence>80</Cadence><Extensions><TPX><Speed>3</Speed>
<RunCadence>81</RunCadence><Watts>200</Watts></TPX></Extensions></Trackpoint>"""
LAP = """<Lap StartTime="2023-11-14T22:{}Z"><TotalTimeSeconds>60</TotalTimeSeconds><DistanceMeters>180</DistanceMeters>
<Calories>12</Calories><AverageHeartRateBpm><Value>130</Value></AverageHeartRateBpm>{}</Lap>"""


def tcx(*laps):
    return f"""<?xml version="1.0"?><TrainingCenterDatabase><Activities><Activity Sport="Running"><Id>a</Id>
{"".join(laps)}</Activity></Activities></TrainingCenterDatabase>"""


def track(*points):
    return f"<Track>{''.join(POINT.format(time, distance) for time, distance in points)}</Track>"


def chunk(columns, number=0, count=1):
    return json.dumps({"columns": columns, "n": number, "of": count, "revision": 7}, separators=(",", ":"))


SERIES = chunk(
    {
        "c": [1.7e9, 1700000001.5, 1.7e9 + 3],
        "d": [3.25, None, 4],
        "h": [120, 121, None],
        "v": [3, 3.1, None],
        "rr": [[0.5, 0.75], None, [1]],
        "w": [None, 200, 210.5],
    }
)
TRACK = chunk({"c": [1.7e9, 1.7e9 + 2], "la": [47.1, 47.1001], "lo": [8.2, 8.2001], "al": [400, None], "d": [0, 13.5]})
HEADER = {
    "user": "demo",
    "session": ID,
    "device": "watch",
    "beganAt": 1.7e9,
    "source": {"simulation": {"seed": 1, "rate": 1}},
    "joins": False,
}
QUEUE = "\n".join(
    [
        json.dumps(HEADER),
        json.dumps({"command": START}),
        '{"s":0,"x":[{"c":1.7e9,"h":120},{"c":1700000001,"d":3}]}',
        '{"locations":{"s":0,"x":[{"c":1.7e9,"la":47,"lo":8}]}}',
        '{"acknowledged":{"samples":1}}',
        json.dumps({"replied": ID}),
        '{"clock":1.5}',
        "",
    ]
)
SECTION = {
    "name": "A",
    "timer": {"type": "interval", "work": 40, "rest": 20, "rounds": 3},
    "items": [
        {
            "id": "squat",
            "name": "Squat",
            "exercise": "squat",
            "sets": [{"repetitions": 5, "weight": 100, "rest": 90}],
            "alternatives": [{"name": "Lunge", "exercise": "lunge"}],
        },
        {"name": "Plank", "sets": [{"time": 60}]},
    ],
}
DEFINITION = {
    "name": "Strength",
    "focus": ["strength"],
    "equipment": ["barbell"],
    "timer": {"type": "amrap", "cap": 600},
    "sections": [SECTION, {"items": [{"name": "Row"}]}],
}
LOG = f"""2023-11-14T22:13:20.123Z info session-engine: session started session={ID} user=demo name="a b"
{{"time":"2023-11-14T22:13:20.123Z","label":"exporter","level":"error","message":"a","metadata":{{"session":"{ID}"}}}}
"""


def field(text):
    return struct.pack(">H", len(text)) + text


def connect(level, flags, *fields, properties=b""):
    body = field(b"MQTT") + bytes([level, flags, 0, 30]) + properties + b"".join(map(field, fields))
    return bytes([0x10, len(body)]) + body


def fit():
    """An activity of a session, two timer events and some records; the reader adds the frame."""

    def definition(local, number, fields):
        return bytes([0x40 | local, 0, 0]) + struct.pack("<HB", number, len(fields)) + bytes(sum(fields, ()))

    start = 1_700_000_000 - 631_065_600
    body = definition(0, 20, [(253, 4, 0x86), (3, 1, 2), (5, 4, 0x86), (0, 4, 0x85), (1, 4, 0x85)])
    for second in range(6):
        body += struct.pack("<BIBIii", 0, start + second, 120, 300 * second, 10**8, 10**8)
    body += bytes([0x80 | 3]) + struct.pack("<IBIii", start + 9, 120, 300, 10**8, 10**8)
    body += definition(1, 21, [(253, 4, 0x86), (0, 1, 0), (1, 1, 0)])
    body += struct.pack("<BIBB", 1, start, 0, 0) + struct.pack("<BIBB", 1, start + 5, 0, 4)
    body += definition(2, 18, [(2, 4, 0x86), (7, 4, 0x86), (5, 1, 0), (29, 8, 7), (30, 8, 0x89), (31, 6, 0x84)])
    body += struct.pack("<BIIB8sdHHH", 2, start, 6_000, 1, b"Run\0\0\0\0\0", 1.5, 1, 2, 3)
    return body


def deflated(text):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = text.encode()
    return packer.compress(data) + packer.flush() + struct.pack("<II", zlib.crc32(data), len(data))


SEEDS = [
    ("recording", GPX),
    ("recording", tcx(LAP.format("13:20", track(("13:20", 0), ("13:30", 30))), LAP.format("14:20", ""))),
    ("recording", GPX[:600]),
    ("recording", gzip.compress(GPX.encode(), mtime=0)),
    ("fit", fit()),
    ("fitRecording", fit()),
    ("gzip", deflated("a" * 300 + GPX[:100])),
    ("gzip", gzip.compress(b"abc" * 50, mtime=0)),
    ("export", "\n".join([json.dumps(RECORD), SERIES, TRACK])),
    ("export", "\n".join(["", chunk({"c": [1.7e9, 1.7e9 + 1], "v": [3, 3]})])),
    ("queue", QUEUE),
    ("queue", QUEUE[:-10]),
    ("plan", json.dumps(DEFINITION)),
    ("plan", json.dumps({"revision": 3, "plans": [{"plan": "strength", "savedAt": 1.7e9, "definition": DEFINITION}]})),
    ("planFile", json.dumps(DEFINITION, indent=1)),
    ("planFile", '{"sections":[{"items":[{"name":"Row","set":1}]}]}'),
    ("planFile", '{"sections":\n[,'),
    ("secrets", "bearer abc.def\n"),
    ("secrets", "basic name:pass word\r\n"),
    ("logs", LOG),
    ("logs", '{"s":0,"x":[{"c":1.7e9,"h":120}],"a":1}'),
    ("settings", "postgres://exporter@db1:5433,[::1]/pacebus?target_session_attrs=primary"),
    ("settings", "postgresql://a@/pacebus?host=/run/postgresql&port=5433"),
    ("settings", "sqlite:./data/a.sqlite"),
    ("settings", "[2001:db8::1]:443"),
    ("settings", "::ffff:10.0.0.1"),
    ("settings", "00-3f,80,fe-ff"),
    ("settings", "https://app.example.org, *"),
    ("settings", "https://tiles.example.org/{z}/{x}/{y}.png (c) us"),
    ("settings", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("settings", "2016-12-31T23:59:60.9999999+01:00"),
    ("settings", "0123456789abcdef" * 4),
    ("settings", "exports/demo/2023-11-14-run-" + ID + ".fit"),
    ("connect", connect(4, 0xC2, b"page-1", b"demo", b"secret")),
    ("connect", connect(5, 0xC6, b"a", b"", b"t", b"b", properties=b"\x05\x11\0\0\0\x0a")[:60]),
    ("connect", connect(5, 2, b"a", properties=b"\0")),
    ("connect", "pacebus=" + base64.urlsafe_b64encode(bytes(range(40))).decode() + "; pacebus-browser=a"),
    (
        "connect",
        json.dumps({"id": "1f" * 16, "account": "demo", "password": "a", "loggedInAt": 1.7e9, "renewedAt": 1.7e9}),
    ),
    ("answers", '120\n{"reason":"TooManyRequests"}'),
    ("answers", 'Sun, 06 Nov 2044 08:49:37 GMT\n{"reason":"BadDeviceToken","timestamp":1}'),
    (
        "answers",
        '\n{"current":{"time":1.7e9,"interval":900,"temperature_2m":3.5,"apparent_temperature":1,'
        '"relative_humidity_2m":80,"wind_speed_10m":12,"weather_code":61}}',
    ),
    (
        "answers",
        '\n{"properties":{"timeseries":[{"time":"2023-11-14T22:00:00Z","data":{"instant":{"details":'
        '{"air_temperature":3,"relative_humidity":80,"wind_speed":2}},"next_1_hours":{"summary":'
        '{"symbol_code":"lightrainshowers_day"}}}}]}}',
    ),
    ("commands", json.dumps(command("start", 1.7e9, activity="traditionalStrengthTraining", definition=DEFINITION))),
]
