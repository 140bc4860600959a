"""Runs a container of compose.yaml without Docker: container.py MODEL SERVICE FOLDER USER PROGRAMS [NAME=VALUE…] [ARGUMENT…]

MODEL is the output of `docker compose config --format json`. The command sees the volumes, secrets and environment of its
service, a root that nobody can write, /pacebus/compose and the executables in PROGRAMS. Volumes are in FOLDER/volumes.
The network is that of the machine, NAME=VALUE replaces a setting, and ARGUMENT is added to the command. Needs root and a
mount namespace of its own.
"""

import json
import os
import shutil
import subprocess
import sys

MODEL, NAME, FOLDER, USER, PROGRAMS = sys.argv[1:6]
model = json.load(open(MODEL))
service = model["services"][NAME]
repository = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
root = os.path.join(FOLDER, f"root-{os.getpid()}")
taken = {"data", "pacebus", "run", "tmp"}


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def bind(source, target, *options):
    path = root + target
    os.makedirs(path, exist_ok=True)
    mount("--bind", source, path)
    if options:
        mount("-o", "remount,bind," + ",".join(options), path)


os.makedirs(root)
mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root)
for entry in os.scandir("/"):
    if entry.is_symlink():
        os.symlink(os.readlink(entry), root + entry.path)
    elif entry.is_dir() and entry.name not in taken:
        os.mkdir(root + entry.path)
        mount("--rbind", entry.path, root + entry.path)
# As the Dockerfile makes them. Docker gives a new volume the mode of its folder in the image.
bind(repository + "/compose", "/pacebus/compose")
bind(PROGRAMS, "/programs")
os.symlink("/data" if NAME == "postgres" else "/tmp/data", root + "/pacebus/data")
os.mkdir(root + "/tmp")
mount("-t", "tmpfs", "-o", "mode=1777,size=64m", "tmpfs", root + "/tmp")
for volume in service.get("volumes", []):
    # A folder of the host, or a volume.
    source = os.path.join(FOLDER, "volumes", volume["source"])
    if volume["type"] == "volume":
        os.makedirs(source, exist_ok=True)
        os.chmod(source, 0o1777)
    bind(source, volume["target"], *(["ro"] if volume.get("read_only") else []))
for secret in service.get("secrets", []):
    path = root + secret["target"]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy(model["secrets"][secret["source"]]["file"], path)
    os.chown(path, int(USER), int(USER))
    os.chmod(path, 0o600)
if service.get("read_only"):
    mount("-o", "remount,ro", root)
settings = [text for text in sys.argv[6:] if "=" in text]
arguments = [text for text in sys.argv[6:] if "=" not in text]
environment = {**(service.get("environment") or {}), **dict(text.split("=", 1) for text in settings)}
os.chroot(root)
os.chdir("/pacebus")
os.umask(0o022)
drop = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", "--no-new-privs", "--bounding-set", "-all"]
os.execvpe(
    drop[0],
    [*drop, *(service.get("entrypoint") or ["compose/container"]), *(service.get("command") or []), *arguments],
    {"PATH": "/programs:/usr/local/bin:/usr/bin:/bin:/usr/sbin", **environment},
)
