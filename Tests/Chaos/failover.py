"""Lets the primary of two PostgreSQL servers fail while devices send:
failover.py SEED PORT SECONDS HOST:PORT,HOST:PORT COUNT.

Runs in the folder of an installation, after compose/chaos has started it, which kills and promotes servers on request. Prints
the gaps in the devices' acknowledgements, and writes data/met if no promise is broken.
"""

import os
import random
import subprocess
import sys
import time

from database import Leases, query
from devices import STREAMS, Devices, Gaps, clock, conclude, numbers, row

SEED, SECONDS, COUNT = int(sys.argv[1]), int(sys.argv[3]), int(sys.argv[5])
FINISH, LIMIT = 45, 60
REPLICAS = {"metrics-aggregator": 2, "route-builder": 1}


def ask(request):
    with open("data/run/failover.new", "w") as file:
        file.write(request)
    os.rename("data/run/failover.new", "data/run/failover")


def is_writable():
    try:
        query("metrics-aggregator", "UPDATE store SET version = version WHERE false; SELECT pg_current_xact_id()")
        return True
    except subprocess.CalledProcessError:
        return False


def is_settled():
    try:
        return all(Leases(service).is_settled(count) for service, count in REPLICAS.items())
    except subprocess.CalledProcessError:
        return False


def fail_over(devices, pause):
    """Returns when the primary was killed, its successor was writable and all shards had owners; the latter two may miss."""
    devices.run(pause)
    ask("fail")
    devices.run(LIMIT, until=lambda: not os.path.exists("data/run/failover"))
    failed = float(open("data/run/failed-at").read())
    if not devices.run(LIMIT, until=is_writable):
        return failed, None, None
    writable = time.time()
    if not devices.run(LIMIT, until=is_settled):
        return failed, writable, None
    devices.run(1)
    settled = time.time()
    ask("repair")
    devices.run(LIMIT, until=lambda: not os.path.exists("data/run/failover"))
    return failed, writable, settled


def main():
    print(f"seed {SEED}, {COUNT} failovers; repeat with --seed {SEED}", flush=True)
    begun, devices, chance = time.monotonic(), Devices(SEED, SECONDS), random.Random(SEED)
    times, flaws = [], []
    for number in range(1, COUNT + 1):
        if time.monotonic() > begun + SECONDS - FINISH:
            print(f"stopped after {number - 1} failovers: {SECONDS} s are over", flush=True)
            break
        failed, writable, settled = fail_over(devices, chance.uniform(2, 6))
        if not settled:
            flaws.append(
                f"after {LIMIT} s " + ("the shards have no owners" if writable else "the database is not writable")
            )
            break
        times.append((failed, writable, settled))
        print(
            f"{clock()} {number:3} writable after {writable - failed:.2f} s, "
            f"all shards owned after {settled - failed - 1:.2f} s",
            flush=True,
        )
    flaws += devices.finish()
    gaps = Gaps()
    found = [
        gaps.longest(number, kind, failed, settled)
        for failed, _, settled in times
        for number in numbers()
        for kind in STREAMS.values()
    ]
    print(f"\n{'seconds':28} {'faults':>6} {'values':>10} {'p50':>7} {'p99':>7} {'worst':>7}")
    row("kill → writable", len(times), [writable - failed for failed, writable, _ in times])
    row("last acknowledgement → next", len(times), found)
    conclude(devices, flaws)


if __name__ == "__main__":
    main()
