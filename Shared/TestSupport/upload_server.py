"""A scripted upload server on a loopback port.

Usage: upload_server.py FOLDER

The server writes its port to FOLDER/port, or reuses the port in that file. It answers as FOLDER/script.json says and appends a
line per request to FOLDER/requests. It stores each accepted file as FOLDER/stored-NUMBER with a line in FOLDER/stored, once
per Idempotency-Key, also after a restart in the same folder.

script.json is {"id": ..., "steps": [step, ...]}. Each request takes one step; the last step repeats. A new id starts again. A
step may have "kind", "status", "headers" and "known", the status for a known key (409).

Kinds:
  answer       the default; a status of 200 to 299 stores the file
  store-hang   stores the file and sends no answer
  store-close  stores the file and closes the connection
  store-half   stores the file and closes the connection within the answer
  hang, close  read nothing
  cut          closes the connection within the file
  huge         answers with 8 MiB
  nonsense     answers with something other than HTTP
"""

import email.parser
import email.policy
import http.server
import json
import os
import socket
import struct
import sys
import threading
import time

FOLDER = sys.argv[1]
LOCK = threading.Lock()
STATE = {"id": None, "next": 0}


def path(name):
    return os.path.join(FOLDER, name)


def lines(name):
    if not os.path.exists(path(name)):
        return []
    with open(path(name)) as file:
        return [json.loads(line) for line in file]


def add_line(name, line):
    with open(path(name), "a") as file:
        file.write(json.dumps(line) + "\n")


def next_step():
    with LOCK:
        with open(path("script.json")) as file:
            script = json.load(file)
        if STATE["id"] != script["id"]:
            STATE.update(id=script["id"], next=0)
        step = script["steps"][min(STATE["next"], len(script["steps"]) - 1)]
        STATE["next"] += 1
        return step


def parts(content_type, body):
    """The parts of a form by name, read by Python's MIME parser."""
    head = b"Content-Type: " + content_type.encode() + b"\r\n\r\n"
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    defects = [repr(defect) for part in message.walk() for defect in part.defects]
    if not message.is_multipart() or defects:
        raise ValueError("not a form: " + ", ".join(defects))
    return {part.get_param("name", header="content-disposition"): part for part in message.iter_parts()}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        step = next_step()
        kind = step.get("kind", "answer")
        with LOCK:
            add_line("requests", {"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}})
        length = int(self.headers["Content-Length"])
        if kind == "hang":
            time.sleep(600)
        if kind == "cut":
            self.rfile.read(length // 2)
        if kind in ("hang", "close", "cut"):
            return self.hang_up()
        body = self.rfile.read(length)
        status = step.get("status", 200)
        if 200 <= status < 300:
            status = self.store(body, status, step.get("known", 409))
        if kind == "store-hang":
            time.sleep(600)
        if kind in ("store-hang", "store-close"):
            return self.hang_up()
        if kind == "nonsense":
            self.wfile.write(b"<html>It works!</html>\r\n\r\n")
            return self.hang_up()
        answer = json.dumps({"status": status, "authorization": self.headers.get("Authorization")}).encode()
        self.send_response(status)
        for name, value in step.get("headers", {}).items():
            self.send_header(name, value)
        if kind == "huge":
            answer += b" " * (8 << 20)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        try:
            if kind == "store-half":
                self.wfile.write(answer[: len(answer) // 2])
                return self.hang_up()
            self.wfile.write(answer)
        except OSError:
            self.close_connection = True

    def store(self, body, status, known):
        """Stores the file unless its key is known."""
        key = self.headers.get("Idempotency-Key")
        try:
            fields = parts(self.headers["Content-Type"], body)
            file = fields["file"]
            content = file.get_payload(decode=True)
            line = {
                "key": key,
                "filename": file.get_filename(),
                "type": file["Content-Type"],
                "name": fields["name"].get_content(),
                "external_id": fields["external_id"].get_content(),
            }
        except (KeyError, ValueError, LookupError) as error:
            self.log_error("%r", error)
            return 422
        with LOCK:
            stored = lines("stored")
            if key in [line["key"] for line in stored]:
                return known
            with open(path(f"stored-{len(stored)}"), "wb") as copy:
                copy.write(content)
            add_line("stored", line)
        return status

    def hang_up(self):
        """Closes the connection with a reset."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, format, *arguments):
        pass

    def log_error(self, format, *arguments):
        print(format % arguments, file=sys.stderr, flush=True)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        """Ignores errors of closed connections."""


port = 0
if os.path.exists(path("port")):
    with open(path("port")) as file:
        port = int(file.read())
server = Server(("127.0.0.1", port), Handler)
with open(path("port.new"), "w") as file:
    file.write(str(server.server_address[1]))
os.rename(path("port.new"), path("port"))
server.serve_forever()
