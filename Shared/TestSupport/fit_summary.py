"""Prints what fitdecode reads in each FIT file as JSON. Tests compare it with the result of Pacebus's reader.

With --all it prints what fitdecode, fitparse and garmin-fit-sdk read in one file, by reader, and with --fields the fields
of its records as fitdecode and garmin-fit-sdk read them. It fails if a reader reports a wrong checksum or an error.

With --write it makes a file with garmin-fit-sdk: a run with a record each second, from the columns in JSON.
"""

import datetime
import json
import sys

import fitdecode


def plain(value):
    """The first value of an array; Unix seconds of a time."""
    if isinstance(value, (tuple, list)):
        value = next((element for element in value if element is not None), None)
    if not hasattr(value, "timestamp"):
        return value
    # fitparse returns UTC without a time zone.
    return value.replace(tzinfo=value.tzinfo or datetime.timezone.utc).timestamp()


def fields(frame, names):
    values = {}
    for name in names:
        # A developer field may repeat the name of a profile field, which comes first.
        found = [f for f in frame.fields if f.name == name and not isinstance(f.field, fitdecode.types.DevField)]
        value = plain(found[0].value) if found else None
        if value is not None:
            values[name] = value
    return values


SESSION = [
    "start_time",
    "total_elapsed_time",
    "total_timer_time",
    "total_distance",
    "total_calories",
    "avg_heart_rate",
    "max_heart_rate",
    "enhanced_avg_speed",
    "enhanced_max_speed",
    "avg_power",
    "max_power",
    "total_ascent",
    "total_descent",
]
LAP = ["start_time", "total_elapsed_time", "total_timer_time", "total_distance", "avg_heart_rate"]
RECORD = [
    "timestamp",
    "position_lat",
    "position_long",
    "enhanced_altitude",
    "heart_rate",
    "cadence",
    "fractional_cadence",
    "distance",
    "enhanced_speed",
    "power",
    "temperature",
]
SET = {
    "message_index": "index",
    "set_type": "kind",
    "start_time": "start",
    "timestamp": "end",
    "duration": "duration",
    "repetitions": "repetitions",
    "weight": "weight",
    "category": "category",
    "category_subtype": "number",
}
TITLE = {
    "message_index": "index",
    "exercise_category": "category",
    "exercise_name": "number",
    "wkt_step_name": "text",
}


def empty():
    return {"messages": 0, "sessions": [], "laps": [], "records": [], "timer": [], "sets": [], "titles": []}


def renamed(values, names):
    return {names[name]: value for name, value in values.items()}


def summary(path):
    result = empty()
    with fitdecode.FitReader(path, check_crc=fitdecode.CrcCheck.RAISE) as reader:
        for frame in reader:
            if not isinstance(frame, fitdecode.FitDataMessage):
                continue
            result["messages"] += 1
            if frame.name == "session":
                result["sessions"].append(fields(frame, SESSION))
            elif frame.name == "lap":
                result["laps"].append(fields(frame, LAP))
            elif frame.name == "record":
                result["records"].append(fields(frame, RECORD))
            elif frame.name == "event" and frame.get_value("event", fallback=None) == "timer":
                result["timer"].append([plain(frame.get_value("timestamp")), frame.get_value("event_type")])
            elif frame.name == "set":
                result["sets"].append(renamed(fields(frame, SET), SET))
            elif frame.name == "exercise_title":
                result["titles"].append(renamed(fields(frame, TITLE), TITLE))
    return result


def named(values, names):
    return {name: plain(values[name]) for name in names if plain(values.get(name)) is not None}


def add(result, kind, values):
    """Counts a message given as a dictionary and keeps the values that tests compare."""
    result["messages"] += 1
    if kind == "session":
        result["sessions"].append(named(values, SESSION))
    elif kind == "lap":
        result["laps"].append(named(values, LAP))
    elif kind == "record":
        result["records"].append(named(values, RECORD))
    elif kind == "event" and values.get("event") == "timer":
        result["timer"].append([plain(values["timestamp"]), values["event_type"]])
    elif kind == "set":
        result["sets"].append(renamed(named(values, SET), SET))
    elif kind == "exercise_title":
        result["titles"].append(renamed(named(values, TITLE), TITLE))


def fitparse_summary(path):
    import fitparse

    result = empty()
    with fitparse.FitFile(path, check_crc=True) as file:
        for message in file.get_messages():
            add(result, message.name, message.get_values())
    return result


def garmin_summary(path):
    import garmin_fit_sdk

    # The check reads the stream to its end.
    if not garmin_fit_sdk.Decoder(garmin_fit_sdk.Stream.from_file(path)).check_integrity():
        raise ValueError("garmin-fit-sdk finds no integrity")
    result = empty()

    def listener(number, values):
        add(result, KINDS.get(number), values)

    _, errors = garmin_fit_sdk.Decoder(garmin_fit_sdk.Stream.from_file(path)).read(mesg_listener=listener)
    if errors:
        raise ValueError(errors)
    return result


def fitdecode_fields(path):
    """The fields of each record; a developer's has no number."""
    records = []
    with fitdecode.FitReader(path, check_crc=fitdecode.CrcCheck.RAISE) as reader:
        for frame in reader:
            if isinstance(frame, fitdecode.FitDataMessage) and frame.name == "record":
                records.append(
                    [
                        field(f.name, None if isinstance(f.field, fitdecode.types.DevField) else f.def_num, f.value)
                        for f in frame.fields
                    ]
                )
    return records


def garmin_fields(path, numbers):
    import garmin_fit_sdk

    messages, errors = garmin_fit_sdk.Decoder(garmin_fit_sdk.Stream.from_file(path)).read()
    if errors:
        raise ValueError(errors)
    descriptions = {d["key"]: d["field_name"] for d in messages.get("field_description_mesgs", [])}
    records = []
    for message in messages["record_mesgs"]:
        found = [field(name, numbers.get(name), value) for name, value in message.items() if name != "developer_fields"]
        developer = message.get("developer_fields", {})
        records.append(found + [field(descriptions[key], None, value) for key, value in developer.items()])
    return records


def field(name, number, value):
    values = value if isinstance(value, (tuple, list)) else [value]
    # NaN counts as absent.
    numbers = [v for v in map(plain, values) if isinstance(v, (int, float)) and v == v]
    return {"name": str(name), "number": number, "values": numbers}


def write(path, start, columns, developer):
    """Columns are the profile's fields by name; a developer's fields have lists of values."""
    import garmin_fit_sdk

    time = start - garmin_fit_sdk.FIT_EPOCH_S
    creator = {"mesg_num": 207, "developer_data_index": 0, "application_id": list(range(16))}
    descriptions = {
        number: {
            "developer_data_id_mesg": creator,
            "field_description_mesg": {
                "mesg_num": 206,
                "developer_data_index": 0,
                "field_definition_number": number,
                # Numbers of 64 bits.
                "fit_base_type_id": 0x89,
                "field_name": name,
                "units": "",
            },
        }
        for number, name in enumerate(sorted(developer))
    }
    encoder = garmin_fit_sdk.Encoder(descriptions)
    encoder.on_mesg(0, {"type": 4, "manufacturer": 255, "time_created": time})
    if descriptions:
        encoder.on_mesg(207, creator)
    for description in descriptions.values():
        encoder.on_mesg(206, description["field_description_mesg"])
    count = max(map(len, [*columns.values(), *developer.values()]))
    for row in range(count):
        record = {"timestamp": time + row}
        # Whole numbers of JSON may have a point.
        record |= {name: int(v[row]) if v[row] == int(v[row]) else v[row] for name, v in columns.items()}
        record["developer_fields"] = {number: developer[name][row] for number, name in enumerate(sorted(developer))}
        encoder.on_mesg(20, record)
    encoder.on_mesg(
        18,
        {
            "timestamp": time + count,
            "start_time": time,
            "total_elapsed_time": count,
            "total_timer_time": count,
            "sport": 1,
        },
    )
    with open(path, "wb") as file:
        file.write(encoder.close())


KINDS = {18: "session", 19: "lap", 20: "record", 21: "event", 225: "set", 264: "exercise_title"}

if sys.argv[1] == "--all":
    path = sys.argv[2]
    print(
        json.dumps(
            {"fitdecode": summary(path), "fitparse": fitparse_summary(path), "garmin-fit-sdk": garmin_summary(path)}
        )
    )
elif sys.argv[1] == "--fields":
    path = sys.argv[2]
    decoded = fitdecode_fields(path)
    numbers = {f["name"]: f["number"] for record in decoded for f in record}
    print(json.dumps({"fitdecode": decoded, "garmin-fit-sdk": garmin_fields(path, numbers)}))
elif sys.argv[1] == "--write":
    write(sys.argv[2], **json.loads(sys.argv[3]))
else:
    print(json.dumps([summary(path) for path in sys.argv[1:]]))
