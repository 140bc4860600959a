"""What the stores in PostgreSQL say, on the servers of the fourth argument: HOST:PORT, or several with commas."""

import collections
import glob
import os
import subprocess
import sys

from devices import password

SERVERS = sys.argv[4]
# One replica owns all shards, the others stand by.
SINGLE = ("weather-fetcher",)


def query(service, *statements):
    """The rows of each statement, run as the service's role."""
    url = f"postgresql://{service}@{SERVERS}/pacebus?target_session_attrs=read-write&connect_timeout=2"
    command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-F", " ", url]
    text = subprocess.run(
        command,
        input=";\n\\echo next\n".join(statements) + ";\n",
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PGPASSWORD": password(f"postgres-{service}")},
    ).stdout
    return [[line.split() for line in part.splitlines()] for part in text.split("next\n")]


def ports(process):
    """The local ports of a process' connections."""
    inodes = set()
    for file in glob.glob(f"/proc/{process}/fd/*"):
        try:
            inodes.add(os.readlink(file))
        except FileNotFoundError:
            pass
    lines = [line.split() for line in open("/proc/net/tcp").readlines()[1:]]
    return {int(line[1].split(":")[1], 16) for line in lines if f"socket:[{line[9]}]" in inodes}


class Leases:
    """Who owns a service's shards, by the database."""

    def __init__(self, service):
        leases, members = query(
            service,
            f'SELECT shard, coalesce(owner, 0), epoch FROM "{service}".lease',
            f'SELECT id, coalesce(client_port, 0) FROM "{service}".member LEFT JOIN pg_stat_activity ON pid = backend',
        )
        self.is_single = service in SINGLE
        self.owners = {int(shard): int(owner) for shard, owner, _ in leases}
        self.epochs = {int(shard): int(epoch) for shard, _, epoch in leases}
        self.members = {int(member): int(port) for member, port in members}

    def is_settled(self, replicas):
        counts = collections.Counter(self.owners.values())
        if self.is_single:
            return len(counts) == 1 and counts.keys() <= self.members.keys() and len(self.members) == replicas
        return (
            counts.keys() == self.members.keys()
            and len(counts) == replicas
            and max(counts.values()) - min(counts.values()) < replicas
        )

    def shards(self, process):
        own = ports(process)
        members = {member for member, port in self.members.items() if port in own}
        return {shard for shard, owner in self.owners.items() if owner in members}
