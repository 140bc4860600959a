"""MQTT over WebSocket with paho: websocket_client.py URL USER [ORIGIN [CA-FILE]], the password on standard input.

Subscribes to the user's topics, publishes a request of 100,000 bytes to them, and prints one line: `received COUNT` with the bytes
that came back, `refused REASON` for CONNACK, or `failed` without one.
"""

import ssl
import sys
import urllib.parse

import paho.mqtt.client as mqtt

url = urllib.parse.urlsplit(sys.argv[1])
user = sys.argv[2]
topic = f"pacebus/v1/u/{user}/request"
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, transport="websockets", protocol=mqtt.MQTTv5)
client.username_pw_set(user, sys.stdin.readline().strip())
headers = {"Origin": sys.argv[3]} if len(sys.argv) > 3 and sys.argv[3] else {}
client.ws_set_options(path=url.path, headers=lambda default: default | headers if headers else default)
if url.scheme == "wss":
    client.tls_set(ca_certs=sys.argv[4], tls_version=ssl.PROTOCOL_TLS_CLIENT)


def end(text):
    print(text, flush=True)
    client.disconnect()


def connected(client, userdata, flags, reason, properties):
    if reason.is_failure:
        end(f"refused {reason}")
    else:
        client.subscribe(topic, qos=1)


def subscribed(client, userdata, packet, reasons, properties):
    client.publish(topic, b"x" * 100_000, qos=1)


client.on_connect = connected
client.on_subscribe = subscribed
client.on_message = lambda client, userdata, message: end(f"received {len(message.payload)}")
try:
    client.connect(url.hostname, url.port, keepalive=20)
    client.loop_forever(retry_first_connection=False)
except Exception as error:
    end(f"failed {error}")
