#!/usr/bin/env python3
"""Writes valid inputs into a folder for each reader: FOLDER/READER/NUMBER."""

import pathlib
import sys

import seed_files
import seed_payloads
import seed_records

if __name__ == "__main__":
    counts = {}
    for reader, payload in seed_payloads.SEEDS + seed_files.SEEDS + seed_records.SEEDS:
        counts[reader] = counts.get(reader, 0) + 1
        folder = pathlib.Path(sys.argv[1]) / reader
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{counts[reader]:02}").write_bytes(payload if isinstance(payload, bytes) else payload.encode())
