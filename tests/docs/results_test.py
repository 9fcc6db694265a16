#!/usr/bin/env python3
"""Every file under docs/results is named by a row of its README, or by the README of a folder that a row names."""
import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2] / "docs/results"


def expanded(name):
    """peaks-{1,2}.json as two names."""
    match = re.search(r"\{([^{}]*)\}", name)
    if not match:
        return [name]
    return [whole for one in match[1].split(",") for whole in expanded(name[: match.start()] + one.strip() + name[match.end() :])]


def names_of(text):
    """Patterns of files in code spans and links; `-6` and `b.json` behind `folder/a-5.json` have its folder and stem."""
    found, last = [], ""
    for span, link in re.findall(r"`([^`\n]+)`|\]\(([^)\s]+)\)", text):
        if link:
            found.append(link)
            continue
        found += re.findall(r"docs/results/(\S+)", span)  # of a command
        name = span
        if re.fullmatch(r"-\w+", name):
            name = re.sub(r"-\w+(\.\w+)$", name + r"\1", last)
        if " " in name or not re.search(r"\.(cu|json|md|py|txt|xz)$|\*$|/$", name):
            continue
        found += expanded(name)
        if "/" in last:
            found += expanded(last.rpartition("/")[0] + "/" + name)
        if "/" in name or "/" not in last:
            last = name
    return found


def main():
    named = names_of((ROOT / "README.md").read_text())
    for folder in sorted({name.rpartition("/")[0] for name in named if re.fullmatch(r"[\w-]+/README.md", name)}):
        named += [f"{folder}/{name}" for name in names_of((ROOT / folder / "README.md").read_text())]
    files = sorted(str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file())
    unnamed = [file for file in files if file != "README.md" and not any(fnmatch.fnmatch(file, name) for name in named)]
    for file in unnamed:
        print(f"docs/results/{file}: no row of docs/results/README.md names it")
    sys.exit(1 if unnamed else 0)


main()
