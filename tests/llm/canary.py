#!/usr/bin/env python3
"""Runs the program with a canary key against an endpoint that throws the key back in every writing, then looks for it in all that
the run and the build tree's tests left behind, and in the children's environments and command lines.

canary.py PROGRAM FOLDER BUILD: FOLDER is made anew; exit 1 names each place."""
import base64, glob, http.server, json, os, shutil, subprocess, sys, threading, time, urllib.parse

# Put together here, so that no file of the tests holds it.
KEY = "-".join(["sk", "Canary/7+Q" + chr(34), "z%~x", "0f3e9d5b71"])


def writings(key):
    raw = key.encode()
    found = {raw, raw[::-1], raw.hex().encode(), raw.hex().upper().encode(), json.dumps(key)[1:-1].encode()}
    for safe in ("", "/", "~", "/+~%"):
        quoted = urllib.parse.quote(key, safe=safe)
        found |= {quoted.encode(), quoted.lower().encode()}
    for before in range(3):  # what base64 of any text around it contains
        whole = base64.b64encode(b"\0" * before + raw)
        end = 8 * (before + len(raw)) // 6
        part = whole[before + 1 if before else 0:end]
        found |= {part, part.replace(b"+", b"-").replace(b"/", b"_")}
    return found


def said(text):
    return json.dumps({"model": text, "usage": {"prompt_tokens": 9, "completion_tokens": 9},
                       "choices": [{"finish_reason": "stop", "message": {"content": text}}]})


class Endpoint(http.server.BaseHTTPRequestHandler):
    count = 0
    keys = set()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        header = self.headers.get("Authorization", "") or self.headers.get("x-api-key", "")
        key = header.removeprefix("Bearer ")
        Endpoint.keys.add(key)
        texts = [w.decode("latin-1") for w in sorted(writings(key))]
        strategies = json.dumps({"strategies": [{"rationale": key, "uses": [{"technique": key}]}]})
        replies = [(500, "text/html", f"<p>{header}</p>"), (200, "application/json", said(strategies)),
                   (200, "application/json", said(" ".join(texts))),
                   (200, "application/json", said("```cuda\n// " + key + "\nextern \"C\" __global__ void k() {}\n```")),
                   (401, "application/json", json.dumps({"error": {"message": " ".join(texts), "code": key, "type": key}})),
                   (302, "text/plain", key), (200, "text/html", header), (400, "application/json", json.dumps({"error": key}))]
        status, kind, body = replies[Endpoint.count % len(replies)]
        Endpoint.count += 1
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("X-Request-Id", key)
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:1/" + urllib.parse.quote(key))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def children(pid):
    """All processes below pid."""
    below = {}
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = open(stat).read()
        except OSError:
            continue
        fields = text[text.rindex(")") + 2:].split()
        below.setdefault(int(fields[1]), []).append(int(text.split()[0]))
    todo, found = [pid], []
    while todo:
        more = below.get(todo.pop(), [])
        found += more
        todo += more
    return found


def becomes_another(pid, parent):
    """Between fork and exec a child is the program itself, its environment included: a moment, unless it stays so."""
    for _ in range(20):
        try:
            if open(f"/proc/{pid}/cmdline", "rb").read() != open(f"/proc/{parent}/cmdline", "rb").read():
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def watch(process, marks, places, seen):
    while process.poll() is None:
        for pid in [process.pid] + children(process.pid):
            # The program was given the key in its own environment; nobody else may see it, and nobody at all in a command.
            for name in ("cmdline",) if pid == process.pid else ("cmdline", "environ"):
                try:
                    same = open(f"/proc/{pid}/cmdline", "rb").read() == open(f"/proc/{process.pid}/cmdline", "rb").read()
                    data = open(f"/proc/{pid}/{name}", "rb").read()
                except OSError:
                    continue
                seen[0] += pid != process.pid
                found = any(mark in data for mark in marks)
                if found and not (same and name == "environ" and becomes_another(pid, process.pid)):
                    places.add(f"/proc/{pid}/{name}")
        time.sleep(0.03)


def run(program, folder, name, evaluations, key_source, extra, port, marks, places):
    models = {"endpoints": [{"name": "e", "url": f"http://127.0.0.1:{port}", "key": key_source, "retries": 1}],
              "models": [{"name": "m", "endpoint": "e", "model": "x", "stream": False, "output_tokens": 2000}],
              "roles": {"*": "m"}}
    config = f"{folder}/{name}.json"
    json.dump(models, open(config, "w"))
    seen = [0]
    with open(f"{folder}/{name}.out", "wb") as out:
        for words in (["evolve", "gemm", "m=32", "n=32", "k=32", "--device", "virtual:h200", "--evaluations", evaluations,
                       "--threads", "1", "--model-share", "1", "--models", config, "--run", f"{folder}/{name}"],
                      ["report", f"{folder}/{name}"], ["show", f"{folder}/{name}"], ["replay", f"{folder}/{name}"]):
            process = subprocess.Popen([program] + words, stdout=out, stderr=subprocess.STDOUT, cwd=folder,
                                       env=dict(os.environ, **extra))
            watch(process, marks, places, seen)
            if process.returncode != 0:
                sys.exit(f"canary: {' '.join(words)} ended with {process.returncode}: see {folder}/{name}.out")
    if " proposals, " + evaluations + " as the run made them\n" not in open(f"{folder}/{name}.out").read():
        sys.exit(f"canary: the replay is not the run: see {folder}/{name}.out")
    return seen[0]


def search(root, marks, places):
    """Objects and programs hold what sources say, and this file's key stands in no source."""
    for path, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in ("CMakeFiles", "_deps")]
        for file in files:
            name = os.path.join(path, file)
            if name.endswith((".o", ".a", ".ninja")) or os.path.islink(name) or not os.path.isfile(name):
                continue
            try:
                data = open(name, "rb").read(64 << 20)
            except OSError:  # a test beside this one took it away
                continue
            if not data.startswith(b"\x7fELF") and any(mark in data or mark in name.encode() for mark in marks):
                places.add(name)


def main():
    program, folder, build = sys.argv[1:4]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    marks, places = writings(KEY), set()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    seen = run(program, folder, "by_variable", "2", {"env": "CUPILOT_CANARY"}, {"CUPILOT_CANARY": KEY}, port, marks, places)
    with open(f"{folder}/key", "w") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(KEY + "\n")
    seen += run(program, folder, "by_file", "14", {"file": f"{folder}/key"}, {}, port, marks, places)
    os.remove(f"{folder}/key")
    search(build, marks, places)
    if Endpoint.keys != {KEY}:
        sys.exit("canary: the endpoint was not asked with the key, so nothing was tested")
    if Endpoint.count < 6 or seen == 0:
        sys.exit(f"canary: {Endpoint.count} requests and {seen} looks at children are too few to say anything")
    for place in sorted(places):
        print("canary: the key stands in", place)
    print(f"canary: {Endpoint.count} requests, {seen} looks at children, {len(marks)} writings: {len(places)} places")
    sys.exit(1 if places else 0)


main()
