#!/usr/bin/env python3
"""Does what a document says: runs its commands, compares what they print with what it shows, finds its code in the files it
names. `run.py --bin FOLDER DOCUMENT...`; with --write, captures are replaced by what the commands print now.

A fenced block is one of these; the comment right above it carries the notes. Code spans that
start with `cupilot` or `make` must name commands, options and targets that exist.
  sh        commands; each must succeed, those of make are only read
  console   `$ command` and what it prints; `…` stands for what is left out
  others    code: with the note `file: NAME` it is saved for the commands below it, with `from: PATH` its lines must stand in
            that file of the tree; a bare `text` is a picture and goes unread
Notes of commands: `exit: N` how the last one ends; `form` compares only what kind of lines are printed; `set: --option VALUE`
or, for make, `set: NAME=VALUE` makes a search short enough for a test; `not run: WHY` checks only options and task.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import captures
import markdown

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Wrong(Exception):
    pass


def shell(command, folder, environment):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=300)
    return done.returncode, done.stdout.splitlines()


def commands_of(lines):
    """Commands of an sh block, continued lines joined, comments away."""
    text = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [line for line in (re.sub(r"(^|\s)# .*", "", each).strip() for each in text.split("\n")) if line]


def captures_of(lines):
    """[(command, shown lines)] of a console block."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
        else:
            raise Wrong("a console block starts with `$ command`")
    return found


class Runner:
    def __init__(self, program_folder, scratch):
        self.folder = scratch
        # Where make runs the tests, a make of ours is not its child.
        own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
        self.environment = dict(own, PATH=f"{program_folder}:{own['PATH']}", COLUMNS="100", CUPILOT_POOL="off")

    def run(self, command):
        return shell(command, self.folder, self.environment)

    def check_words(self, command):
        """The program must know the command and its options."""
        words = shlex.split(command)
        options = [word.split("=")[0] for word in words if word.startswith("--")]
        names = [word for word in words[1:3] if re.fullmatch("[a-z]+", word)]
        for length in range(len(names), 0, -1):
            status, text = self.run(" ".join(["cupilot", *names[:length], "--help"]))
            if status == 0:
                break
        else:
            raise Wrong(f"cupilot knows no such command: {command}")
        for option in options:
            if not re.search(re.escape(option) + r"\b", "\n".join(text)):
                raise Wrong(f"`cupilot {' '.join(names[:length])}` has no option {option}: {command}")

    def check_unopened(self, command):
        """All that can be told without the device: the options, and of a search the task too."""
        self.check_words(command)
        if command.startswith("cupilot evolve"):
            text = "\n".join(self.run(re.sub(r"--device \S+", "", command) + " --device none")[1])
            if "there is no device 'none'" not in text:
                raise Wrong(f"`{command}` fails before it opens a device:\n{text}")

    def prepared(self, command, notes):
        """The command to run: make's own where it only starts the program, which is here already."""
        if not command.startswith("make"):
            for option, value in re.findall(r"(--\S+) (\S+)", notes.get("set", "")):
                command = re.sub(rf"{option} \S+", f"{option} {value}", command)
            return command
        status, lines = shell(f"make -n {command[5:]} {notes.get('set', '')}", ROOT, self.environment)
        if status != 0:
            raise Wrong("\n".join(lines))
        return re.sub(r"^build/release/cli/", "", lines[-1]) if "form" in notes else "true"

    def check_command(self, command, notes, shown, expected_status):
        if "not run" in notes:
            return self.check_unopened(command)
        status, said = self.run(self.prepared(command, notes))
        if status != expected_status:
            raise Wrong(f"`{command}` ended with {status}, not {expected_status}:\n" + "\n".join(said))
        if shown is None:
            return
        if "form" in notes:
            if captures.form_of(shown) != captures.form_of(said):
                raise Wrong(f"`{command}` prints {captures.form_of(said)}, shown is {captures.form_of(shown)}")
        elif different := captures.difference(shown, said):
            raise Wrong(f"`{command}` prints something else:\n{different}")

    def check_commands(self, pairs, notes):
        for at, (command, shown) in enumerate(pairs):
            last = at + 1 == len(pairs)
            self.check_command(command, notes, shown, int(notes.get("exit", 0)) if last else 0)

    def check_code(self, block):
        if "file" in block.notes:
            path = self.folder / block.notes["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(block.lines) + "\n")
        elif "from" in block.notes:
            rest = iter(line.strip() for line in (ROOT / block.notes["from"]).read_text().split("\n"))
            for line in block.lines:
                if line.strip() != "…" and line.strip() not in rest:
                    raise Wrong(f"{block.notes['from']} has no line `{line.strip()}` after those above it")
        else:
            raise Wrong(f"nothing says what becomes of this {block.language or 'block without a language'}")

    def check(self, block):
        if block.language == "console":
            self.check_commands(captures_of(block.lines), block.notes)
        elif block.language == "sh":
            self.check_commands([(command, None) for command in commands_of(block.lines)], block.notes)
        elif block.language != "text" or block.notes:
            self.check_code(block)


def rewritten(runner, block):
    """A console block with what its commands print now; what is shown in part stays."""
    lines = []
    for command, shown in captures_of(block.lines):
        partial = any("…" in line for line in shown)
        said = runner.run(runner.prepared(command, dict(block.notes, set="")))[1]
        lines += [f"$ {command}", *(shown if partial else said)]
    return lines


def run_document(path, runner, write):
    text = path.read_text()
    faults, lines, shift = [], text.split("\n"), 0
    for block in markdown.blocks_of(text):
        try:
            if write and block.language == "console" and "not run" not in block.notes:
                now = rewritten(runner, block)
                first = block.line - 1 + shift
                lines[first : first + len(block.lines)] = now
                shift += len(now) - len(block.lines)
            else:
                runner.check(block)
        except (Wrong, OSError, subprocess.TimeoutExpired) as wrong:
            faults.append(f"{path}:{block.line}: {wrong}")
    for number, span in markdown.spans_of(text):
        try:
            if re.match(r"cupilot [a-z]", span):
                runner.check_words(span.replace("…", ""))
            if re.match(r"make [a-z]+$", span):
                runner.prepared(span, {})
        except (Wrong, ValueError) as wrong:
            faults.append(f"{path}:{number}: {wrong}")
    if write:
        path.write_text("\n".join(lines))
    return faults


def links(paths):
    """Links that lead nowhere."""
    return [f"{path}:{number}: {target} does not exist" for path in paths
            for number, target in markdown.links_of(path.read_text()) if not (path.parent / target).exists()]


def unmerged(paths):
    """Marks that a merge left."""
    return [f"{path}:{number}: a merge left {line[:7]}" for path in paths
            for number, line in enumerate(path.read_text().split("\n"), 1) if line.startswith(("<<<<<<< ", ">>>>>>> "))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="folder of the program cupilot; without it only links are followed")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("documents", nargs="+", type=pathlib.Path)
    given = parser.parse_args()
    documents = [document.resolve() for document in given.documents]
    faults = links(documents) + unmerged(documents)
    for document in documents if given.bin else []:
        with tempfile.TemporaryDirectory() as scratch:
            for name in ("tests", "examples", "docs"):
                (pathlib.Path(scratch) / name).symlink_to(ROOT / name)
            faults += run_document(document, Runner(os.path.abspath(given.bin), pathlib.Path(scratch)), given.write)
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
