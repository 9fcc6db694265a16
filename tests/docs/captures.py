"""Whether a terminal's text is the one a document shows."""
import difflib
import re

# What differs from run to run or machine to machine: durations, dates, versions of the kernel and the toolkit.
VOLATILE = [
    (r"\d{8}T\d{6}", "DATE"),
    (r"\b\d+(\.\d+)? s\b", "# s"),
    (r"landlock \d+", "landlock #"),
    (r"nvrtc \d+\.\d+", "nvrtc #"),
    (r"\s+", " "),
]


def settled(line):
    for pattern, stead in VOLATILE:
        line = re.sub(pattern, stead, line)
    return line.strip()


def pattern_of(shown):
    """A line `…` stands for any lines, `…` in a line for any text."""
    parts = []
    for line in shown:
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(part) for part in settled(line).split("…")) + r"\n")
    return "".join(parts)


def difference(shown, said):
    """Empty when `said` is what is shown, else where the two part."""
    settled_said = [settled(line) for line in said]
    if re.fullmatch(pattern_of(shown), "".join(line + "\n" for line in settled_said)):
        return ""
    return "\n".join(difflib.unified_diff([settled(line) for line in shown], settled_said, "shown", "said", lineterm="", n=0))


def form_of(lines):
    """The first words of the lines at the margin, repetitions and remarks aside: what a search prints, not what it finds."""
    words = [line.split()[0] for line in lines if line.strip() and not line.startswith(" ")]
    words = [word for word in words if word not in ("note:", "rejected:", "…")]
    return [word for at, word in enumerate(words) if at == 0 or words[at - 1] != word]
