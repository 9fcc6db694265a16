#!/usr/bin/env python3
"""Joins reports of bench/replay into one, with a reason for every launch that is not equal:
replay_reasons.py OUT.json COMMAND REPLAY.json..."""
import json
import re
import sys

# By kernel; the first that fits. Names are those of tests/ptx.
REASONS = [
    (r"splitk$", "sums by unordered atomics of floats"),
    (r"approximation|softmax|reference", "approximate functions (ex2, lg2, sin, cos, tanh, rsqrt): other bits within the published error"),
    (r"k$", "indices handed out by an unordered atomic"),
    (r"unwritten|uninitialised_shared|unwaited_bulk|phases|gemm|one$", "a fault put there on purpose: the device shows what the interpreter refuses or runs late"),
    (r"program\d+$", ""),
    (r"run$", "m8n8k4 into fp16, see tensor-rounding-h200.json, or memory that nobody wrote"),
]


def is_nan(value):
    wide = value & 0x7FFFFFFFFFFFFFFF > 0x7FF0000000000000
    single = value >> 32 == 0 and value & 0x7FFFFFFF > 0x7F800000
    half = value >> 16 == 0 and (value & 0x7FFF) > 0x7C00
    return wide or single or half


def reason_of(result):
    if "218" in result.get("error", ""):
        return "ptxas refuses the form; the interpreter takes it"
    if result["entry"] == "run" and result.get("bytes") == 128:
        return "alloca: the test compared addresses, and a device's stack grows down"
    for pattern, reason in REASONS:
        if not re.match(pattern, result["entry"]):
            continue
        if reason:
            return reason
        both = all(is_nan(int(got, 16)) and is_nan(int(want, 16)) for _, _, got, want in result["words"])
        return "which of several NaNs, or whose payload, goes on" if both else "not looked into one by one; ptxas's own choices where it combines or reorders instructions are among them"
    return "unexplained"


def main():
    out, command, *paths = sys.argv[1:]
    launches, reasons = [], {}
    for path in paths:
        for result in json.load(open(path))["results"]:
            row = {"kernel": result["entry"], "equal": result.get("differ", 1) == 0}
            row |= {key: result[key] for key in ("bytes", "differ", "error") if key in result}
            if not row["equal"]:
                row["reason"] = reason_of(result)
                row["words"] = result.get("words", [])[:3]
                reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
            launches.append(row)
    equal = sum(row["equal"] for row in launches)
    head = {"command": command, "device": "NVIDIA H200, driver 580.159.04", "launches": len(launches), "equal": equal, "different": reasons}
    rows = ",\n".join(json.dumps(row) for row in launches)
    with open(out, "w") as file:
        file.write(json.dumps(head, indent=1)[:-2] + ',\n "results": [\n' + rows + "\n]}\n")
    print(json.dumps(head, indent=1))


main()
