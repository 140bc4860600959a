"""A world with real services, whose executables are beside the dashboard's."""

import json
import os
import pathlib
import secrets
import subprocess

from world import World, free_port, wait

EXECUTABLES = pathlib.Path(os.environ["DASHBOARD"]).resolve().parent


class System(World):
    """A world in which nothing is played. `running` are its services by name."""

    def __init__(self, *services):
        self.services, self.running, self.devices = services, {}, []
        super().__init__()

    def start_broker(self):
        self.passwords |= {f"_{name}": secrets.token_hex(8) for name in self.services}
        super().start_broker()

    def start_dashboard(self, settings):
        for name in self.services:
            port = free_port()
            arguments = ["--store-url", f"sqlite:{self.folder}/{name}.sqlite", "--http-port", port]
            environment = {**self.environment(f"_{name}"), "EXPORT_FOLDER": f"{self.folder}/exports"}
            self.running[name] = self.run([EXECUTABLES / name, *arguments], port, environment)
        super().start_dashboard(settings)

    def renew(self):
        pass

    def answer(self, topic, press):
        pass

    def environment(self, account):
        file = self.folder / account
        file.touch(0o600)
        file.write_text(self.passwords[account])
        return {"MQTT_URL": f"mqtt://{account}@127.0.0.1:{self.broker.port}", "MQTT_PASSWORD_FILE": str(file)}

    def simulate(self, user, run):
        """A device that runs in the virtual run, and ends its session at the goal or on SIGINT."""
        command = [EXECUTABLES / "device", "simulate", "--virtual-run", run]
        with open(self.folder / f"device-{user}.log", "wb") as output:
            device = subprocess.Popen(
                [*command, "--queue-folder", self.folder / f"queue-{user}"],
                env={**os.environ, **self.environment(user)},
                stdout=output,
                stderr=output,
            )
        self.devices.append(device)
        return device

    def replay(self, user, recording, *arguments):
        """Plays the recording of a real device as the user's, and waits for the finished workout."""
        command = [EXECUTABLES / "device", "replay", recording, "--speed-up", "0", *arguments]
        environment = {**os.environ, **self.environment(user)}
        command += ["--queue-folder", self.folder / f"queue-{user}"]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)

    def pacebus(self, user, *arguments):
        """The output of a command on another device of the user."""
        environment = {**os.environ, **self.environment(user)}
        command = [EXECUTABLES / "pacebus", *arguments]
        return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    def newest_workout(self, user):
        """The retained record of the user's last workout, if it is finished."""
        found = []
        client = self.connect(self.broker.port)
        # Messages of pages come too.
        client.on_message = lambda _, __, message: (
            found.append(json.loads(message.payload))
            if message.payload and message.topic.endswith("/workout")
            else None
        )
        client.subscribe(f"pacebus/v1/+/{user}/+/workout")
        wait(lambda: found, "a workout is retained")
        client.loop_stop()
        return max(found, key=lambda workout: workout["startedAt"])

    def __exit__(self, failed, *_):
        for device in self.devices:
            device.terminate()
            device.wait(20)
        super().__exit__()
        for log in sorted(self.folder.glob("*.log")) if failed else []:
            print(f"== {log.name}", *log.read_text(errors="replace").splitlines()[-15:], sep="\n")
