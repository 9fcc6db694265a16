"""The fenced blocks, code spans and links of a Markdown text, with their lines."""
import dataclasses
import re


@dataclasses.dataclass
class Block:
    language: str
    lines: list
    line: int  # of its first line of text, from 1
    notes: dict  # of the comment right above it: <!-- key: value; key -->


def notes_of(comment):
    """{"form": "", "exit": "8"} from "form; exit: 8"."""
    pairs = (note.partition(":") for note in comment.split(";"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def blocks_of(text):
    found, notes, lines = [], {}, text.split("\n")
    at = 0
    while at < len(lines):
        fence = re.match(r"```(\S*)$", lines[at])
        comment = re.match(r"<!-- (.*) -->$", lines[at])
        if fence:
            end = lines.index("```", at + 1)
            found.append(Block(fence[1], lines[at + 1 : end], at + 2, notes))
            at = end
        if comment:
            notes = notes_of(comment[1])
        elif lines[at].strip():
            notes = {}
        at += 1
    return found


def prose_of(text):
    """(line, text) of what stands outside of fenced blocks."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def spans_of(text):
    """(line, code) of every `code span` outside of fenced blocks."""
    for number, line in prose_of(text):
        for span in re.findall(r"`([^`]+)`", line):
            yield number, span.replace("\\|", "|")


def links_of(text):
    """(line, target) of every link to a file beside the text."""
    for number, line in prose_of(text):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
            if "://" not in target:
                yield number, target
