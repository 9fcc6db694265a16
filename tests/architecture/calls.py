#!/usr/bin/env python3
"""Holds the calls between the folders of src/ to rooms.txt: calls.py ROOMS LIBRARIES

ROOMS is the table; LIBRARIES the folder of the built archives libcupilot_NAME.a. An archive calls another where one of its
undefined symbols is defined there. Public headers declare functions of many rooms, so includes alone do not show calls."""
import glob
import os
import subprocess
import sys


def read_table(path):
    """Folder of src/ -> folders that one of its rooms may use."""
    table = {}
    for line in open(path):
        if line.startswith("#") or ":" not in line:
            continue
        room, uses = line.split(":")
        table.setdefault(room.split("/")[0], set()).update(use.split("/")[0] for use in uses.split())
    return table


def symbols(archive):
    """Defined and undefined external symbols, weak ones aside."""
    defined, undefined = set(), set()
    for line in subprocess.run(["nm", archive], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "TDBR":
            defined.add(words[2])
        elif len(words) == 2 and words[0] == "U":
            undefined.add(words[1])
    return defined, undefined


def main():
    table = read_table(sys.argv[1])
    archives = {}
    for path in glob.glob(os.path.join(sys.argv[2], "libcupilot_*.a")):
        name = os.path.basename(path)[len("libcupilot_"):-2]
        if name in table:
            archives[name] = symbols(path)
    missing = set(table) - set(archives)
    if missing:
        sys.exit(f"no archive of {sorted(missing)} in {sys.argv[2]}")
    owner = {symbol: name for name, (defined, _) in archives.items() for symbol in defined}
    wrong = 0
    for name, (_, undefined) in sorted(archives.items()):
        for symbol in sorted(undefined):
            target = owner.get(symbol)
            if target and target != name and target not in table[name]:
                text = subprocess.run(["c++filt", symbol], capture_output=True, text=True).stdout.strip()
                print(f"{name} calls {text} of {target}, which rooms.txt does not list")
                wrong += 1
    sys.exit(1 if wrong else 0)


main()
