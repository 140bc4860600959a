"""Validates payloads against Shared/Bus/asyncapi.yaml, and the document against AsyncAPI's schema.

usage: asyncapi_check.py asyncapi.yaml samples

Each line of the samples is {"channel": name, "payload": …}. Prints one JSON object:
  document  the document's errors; null if SCHEMAS_DIR (with asyncapi-3.0.0.json) is not set
  payloads  the validation errors of each line's payload
  undescribed  the keys of each line's payload that the document does not define
  channels  [{"name", "address", "qos": [allowed], "retain", "from", "to", "patterns": {parameter: regular expression}, "described"}]
"""

import json
import os
import re
import sys

import jsonschema
import yaml


def problems(schema, instance):
    validator = jsonschema.Draft7Validator(schema)
    return [f"/{'/'.join(map(str, e.absolute_path))}: {e.message[:300]}" for e in validator.iter_errors(instance)]


def document_problems(document):
    folder = os.environ.get("SCHEMAS_DIR")
    if not folder:
        return None
    with open(os.path.join(folder, "asyncapi-3.0.0.json")) as file:
        return problems(json.load(file), document)


def resolve(document, node):
    while "$ref" in node:
        target = document
        for key in node["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        node = target
    return node


def channel(document, name):
    node = document["channels"][name]
    operations = [o for o in document["operations"].values() if o["channel"]["$ref"] == f"#/channels/{name}"]
    assert len(operations) == 1, f"{name} has {len(operations)} operations"
    binding = operations[0]["bindings"]["mqtt"]
    parameters = {key: resolve(document, value)["x-pattern"] for key, value in node.get("parameters", {}).items()}
    named = set(re.findall(r"\{(\w+)\}", node["address"]))
    assert named == set(parameters), f"{name} names {named} and describes {set(parameters)}"
    return {
        "name": name,
        "address": node["address"],
        "qos": operations[0].get("x-qos", [binding["qos"]]),
        "retain": binding["retain"],
        "from": parties(operations[0]["x-from"]),
        "to": parties(operations[0]["x-to"]),
        "patterns": parameters,
        "described": payload_schema(document, name) is not None,
    }


def parties(value):
    """Services and clients; none for topics of no user's, where a text says who."""
    return value if isinstance(value, list) else []


def payload_schema(document, name):
    (message,) = document["channels"][name]["messages"].values()
    return resolve(document, message).get("payload")


def payload_problems(document, line):
    sample = json.loads(line)
    # The references in a payload's schema point into the document.
    schema = {"allOf": [payload_schema(document, sample["channel"])], "components": document["components"]}
    found = problems(schema, sample["payload"])
    return [f"{sample['channel']} {problem} in {line[:500]}" for problem in found]


def parts(document, schema):
    """A schema and all schemas that it is composed of."""
    schema = resolve(document, schema)
    yield schema
    for key in ["allOf", "anyOf", "oneOf"]:
        for part in schema.get(key, []):
            yield from parts(document, part)


def undescribed(document, schema, instance, place=""):
    """The keys of an instance that no part of its schema defines, outermost first."""
    schemas = list(parts(document, schema))
    if isinstance(instance, dict):
        others = [part["additionalProperties"] for part in schemas if "additionalProperties" in part]
        for key, value in instance.items():
            known = [part["properties"][key] for part in schemas if key in part.get("properties", {})] or others
            if known:
                yield from undescribed(document, {"allOf": known}, value, f"{place}/{key}")
            else:
                yield f"{place}/{key}"
    elif isinstance(instance, list):
        items = [part["items"] for part in schemas if isinstance(part.get("items"), dict)]
        for value in instance:
            yield from undescribed(document, {"allOf": items}, value, f"{place}/*")


def undescribed_keys(document, line):
    sample = json.loads(line)
    schema = payload_schema(document, sample["channel"])
    return sorted({sample["channel"] + place for place in undescribed(document, schema, sample["payload"])})


def main():
    with open(sys.argv[1]) as file:
        document = yaml.safe_load(file)
    with open(sys.argv[2]) as file:
        lines = list(file)
    print(
        json.dumps(
            {
                "document": document_problems(document),
                "payloads": [payload_problems(document, line) for line in lines],
                "undescribed": [undescribed_keys(document, line) for line in lines],
                "channels": [channel(document, name) for name in document["channels"]],
            }
        )
    )


main()
