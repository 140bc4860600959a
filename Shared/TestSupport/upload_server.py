"""A place that takes uploads, on a port of the loopback, as a test scripts it.

Usage: upload_server.py FOLDER

It writes its port to FOLDER/port, or takes the one that stands there, answers as FOLDER/script.json says, and adds a line for
each request to FOLDER/requests. What it takes it keeps: the file as FOLDER/stored-NUMBER and a line in FOLDER/stored, one
for each Idempotency-Key, also when it is started again on the same folder.

script.json is {"id": ..., "steps": [step, ...]}: each request takes a step, the last one stands for all that follow; a new
id begins anew. A step may have "kind", "status", "headers" and "known", the status for a key that is there already (409).
Kinds: answer; store-hang and store-close keep the file and then say nothing; store-half keeps it and closes the connection
in the answer; hang and close do not even read; cut closes the connection in the middle of the file; huge answers with
8 MiB; nonsense does not answer in HTTP. A status of 200 to 299 keeps the file, others do not.
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
    """The parts of a form by name, as Python's own parser of MIME reads them."""
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
            time.sleep(30)
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
        """Keeps the file unless its key is there already."""
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
        """Closes the connection at once: the other side sees a reset."""
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
        """Of a connection that was closed."""


port = 0
if os.path.exists(path("port")):
    with open(path("port")) as file:
        port = int(file.read())
server = Server(("127.0.0.1", port), Handler)
with open(path("port.new"), "w") as file:
    file.write(str(server.server_address[1]))
os.rename(path("port.new"), path("port"))
server.serve_forever()
