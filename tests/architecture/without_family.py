#!/usr/bin/env python3
"""A checkout without one family's folder still configures, and nothing else names the family: without_family.py ROOT FAMILY

The family's own folder, its reference, tests, documents, examples and scripts alone may name it: one commit that only adds
files makes a family. The copy is configured and its kernels are embedded; that takes seconds."""
import json, os, re, shutil, subprocess, sys, tempfile

ROOT, FAMILY = sys.argv[1], sys.argv[2]
OWN = (f"kernels/families/{FAMILY}/", f"kernels/reference/{FAMILY}/")
# torch.py says operators by PyTorch's names, some of which are a family's too.
MAY_NAME = OWN + ("tests/", "docs/", "scripts/", "examples/", "bench/", "src/backend/contestant/torch.py")


def names():
    """The family, its templates and its techniques."""
    folder = f"{ROOT}/kernels/families/{FAMILY}"
    found = {FAMILY} | {os.path.splitext(name)[0] for name in os.listdir(f"{folder}/templates") if name.endswith(".cu")}
    return found | {one["name"] for one in json.load(open(f"{folder}/techniques.json"))["techniques"]}


def code_of(text):
    """Without comments, where examples of families stand."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def referring(files):
    pattern = re.compile(r"(?<!\w)(" + "|".join(sorted(names())) + r")(?!\w)")
    for path in files:
        if path.startswith(MAY_NAME) or path.endswith(".md"):
            continue
        text = code_of(open(os.path.join(ROOT, path), encoding="utf-8", errors="replace").read())
        for line in text.splitlines():
            if pattern.search(line):
                yield f"{path}: {line.strip()[:100]}"


def configured(files, copy):
    for path in files:
        if not path.startswith(OWN):
            os.makedirs(os.path.dirname(os.path.join(copy, path)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, path), os.path.join(copy, path), follow_symlinks=False)
    build = os.path.join(copy, "build")
    commands = [["cmake", "-G", "Ninja", "-S", copy, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DCUPILOT_BUILD_TESTS=OFF"],
                ["ninja", "-C", build, "src/kernel_files.cpp"]]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return f"{' '.join(command)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    embedded = open(os.path.join(build, "src/kernel_files.cpp"), errors="replace").read()
    return f"kernels of {FAMILY} are still embedded" if f"families/{FAMILY}/" in embedded else ""


def main():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
    files = [path for path in listed if os.path.isfile(os.path.join(ROOT, path))]
    faults = list(referring(files))
    with tempfile.TemporaryDirectory() as copy:
        fault = configured(files, copy)
    faults += [fault] if fault else []
    print("\n".join(faults) or f"without {FAMILY}: configured, and nothing names it")
    sys.exit(1 if faults else 0)


main()
