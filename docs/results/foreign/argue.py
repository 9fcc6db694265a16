#!/usr/bin/env python3
"""Gives every survivor of injected.json a row with its reason.

  argue.py PTX_FOLDER... [--out survivors.csv] [--show]   KERNEL.ptx of each survivor in one of the folders: recipe.py's, `inject --pack`'s

A row names the rule that it falls under and the facts that were found in that kernel's PTX at that mutant: RULES below. loops.json has, a
kernel, the lines of loops that its own proof (`verify --json`, `unproved`) names as ones that no case turned a third time. What no rule
covers is argued by hand in argued.json. Lines are the text's, without its `// cupilot:` header."""
import argparse
import csv
import json
import os
import re
import sys

here = os.path.dirname(os.path.abspath(__file__))
LOOPS = ("first_round_only", "two_rounds_only", "drop_last_round")
RULES = {
    "loop": "the kernel's own proof names the loop under NOT PROVED: no case turned it a third time",
    "grid": "griddepcontrol orders this grid behind an earlier one or sets off a later one; the plan's launches end before the next begins",
    "empty": "no access that it could order stands on one side of it, up to the next barrier of the same reach, entry or end",
    "loads": "accesses on its two sides are loads, and race with nothing",
    "own": "each access on one side that conflicts is of the address that the thread itself uses on the other: same register and offset, made from the thread's number",
    "apart": "accesses on its two sides are of memory that the other side does not touch: other spaces, variables or parameters",
    "copies": "the kernel, or its path up to the wait, has no asynchronous copy that the wait could wait for",
    "fenced": "no other thread's access that conflicts stands between it and the next barrier, of a warp or wider, on either side",
    "hand": "argued singly: argued.json",
}


class Instruction:
    def __init__(self, line, text):
        self.line, self.text = line, text
        m = re.match(r"(?:@(!?%\w+|!?\w+)\s+)?([\w.:]+)\s*(.*)$", text, re.S)
        self.guard, self.opcode, rest = (m.group(1) or "", m.group(2), m.group(3)) if m else ("", text, "")
        self.operands = [o.strip() for o in re.split(r",(?![^\[{(]*[\]})])", rest.rstrip("; \t"))] if rest else []

    def is_(self, *starts):
        return self.opcode.startswith(starts)


def parse(path):
    """The instructions of a file's one kernel in order, the place that each label has, and lines of the header, which mutants do not count."""
    text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), open(path).read(), flags=re.S)
    all_, labels = [], {}
    header = len(re.match(r"(?:// cupilot:.*\n)*", text).group().split("\n")) - 1
    for number, row in enumerate(text.split("\n"), 1 - header):
        row = row.split("//")[0].strip()
        for part in re.split(r"(?<=[;{}:])\s+|(?<=;)(?=\S)", row):
            part = part.strip().strip("{}").strip()
            if re.fullmatch(r"[$\w]+:", part):
                labels[part[:-1]] = len(all_)
            elif part and not part.startswith((".", ")", "(")) and part.endswith(";") and re.match(r"@|[a-z]", part):
                all_.append(Instruction(number, part))
    return all_, labels


def ordering(one):
    return one.is_("bar.", "barrier", "fence", "membar", "cp.async.commit", "cp.async.wait", "cp.async.bulk.commit", "cp.async.bulk.wait",
                   "cp.async.mbarrier", "mbarrier.arrive", "mbarrier.expect", "mbarrier.complete", "mbarrier.try", "mbarrier.test", "wgmma.fence",
                   "wgmma.commit", "wgmma.wait", "griddepcontrol")


def touches(one):
    return one.is_("st.", "atom.", "red.", "cp.async.c", "cp.async.bulk.s", "cp.async.bulk.t", "cp.async.bulk.g", "ldmatrix", "stmatrix", "wmma.",
                   "wgmma.mma") and not one.is_("cp.async.commit") or one.is_("ld.") and ".param" not in one.opcode and ".const" not in one.opcode


def space(one):
    for name in ("shared", "global", "local"):
        if "." + name in one.opcode:
            return name
    return "shared" if one.is_("ldmatrix", "stmatrix") else "memory"


def writes(one):
    return not one.is_("ld", "wmma.load")


def reach(one):
    """How far a barrier orders: 3 a grid or cluster, 2 a block, 1 a warp, 0: no barrier."""
    if one.is_("bar.warp"):
        return 1
    if one.is_("barrier.cluster"):
        return 3
    if one.is_("bar.sync", "bar.red", "barrier.sync", "barrier.cta", "barrier.red"):
        return 2
    return 0


class Kernel:
    def __init__(self, path):
        self.all, self.labels = parse(path)
        self.given = {}
        for one in self.all:
            if one.operands and not one.is_("st.", "bra", "red."):
                for name in re.findall(r"%\w+", one.operands[0]):
                    self.given.setdefault(name, []).append(one)
        self.next = []
        for i, one in enumerate(self.all):
            to = [] if one.is_("ret", "exit") and not one.guard else [i + 1]
            if one.is_("bra"):
                target = self.labels.get(one.operands[-1])
                to = ([i + 1] if one.guard else []) + ([target] if target is not None else [])
            self.next.append([t for t in to if t < len(self.all)])
        self.back = [[] for _ in self.all]
        for i, to in enumerate(self.next):
            for t in to:
                self.back[t].append(i)

    def at(self, line, want):
        return next((i for i, one in enumerate(self.all) if want(one) and one.line == line), None)

    def side(self, place, forward, far):
        """Accesses that a path reaches from a place before a barrier that orders as far, and whether such a barrier ended every path."""
        step, seen, todo, met = (self.next if forward else self.back), set(), list((self.next if forward else self.back)[place]), []
        while todo:
            i = todo.pop()
            if i in seen:
                continue
            seen.add(i)
            if i == place or reach(self.all[i]) >= far:
                continue
            if touches(self.all[i]):
                met.append(self.all[i])
            todo += step[i]
        return met

    def roots(self, text, depth=0, seen=None):
        """Parameters, variables and special registers that an address is made of."""
        seen = seen if seen is not None else set()
        out = set(re.findall(r"(?<![%\w$])[A-Za-z_$][\w$]*", re.sub(r"%\w+(\.\w+)?", "", text)))
        for name in re.findall(r"%[\w.]+", text):
            if name.split(".")[0] in ("%tid", "%laneid", "%ctaid", "%ntid", "%nctaid", "%warpid"):
                out.add(name)
                continue
            if name in seen:
                continue
            seen.add(name)
            for giver in self.given.get(name, []):
                if depth < 40 and not (giver.is_("ld.") and ".param" not in giver.opcode):
                    out |= self.roots(" ".join(giver.operands[1:]), depth + 1, seen)
        return out

    def address(self, one):
        found = re.search(r"\[[^\]]*\]", one.text)
        return re.sub(r"\s", "", found.group()) if found else ""

    def memory(self, one):
        """What an access reaches: its space with the parameters or variables of the module that its address is made of."""
        named = {r for r in self.roots(self.address(one)) if not r.startswith("%") and not re.fullmatch(r"\d.*|0[fd]\w+", r)}
        return space(one), frozenset(named)

    def own(self, one):
        return bool({"%tid.x", "%tid.y", "%laneid"} & self.roots(self.address(one)))

    def conflict(self, a, b):
        """nullopt: the two cannot conflict, by the rule of that name; "": they may."""
        if not writes(a) and not writes(b):
            return "loads"
        (sa, na), (sb, nb) = self.memory(a), self.memory(b)
        if "memory" not in (sa, sb) and sa != sb:
            return "apart"
        if na and nb and not (na & nb):
            return "apart"
        if self.address(a) == self.address(b) != "" and self.own(a) and not a.is_("atom", "red"):
            return "own"
        return ""


def pairs(kernel, before, after):
    """The rule that all pairs fall under, and facts; None: one may conflict."""
    if not before or not after:
        return "empty", "before: %d accesses, after: %d" % (len(before), len(after))
    used = set()
    for a in before:
        for b in after:
            why = kernel.conflict(a, b)
            if not why:
                return None
            used.add(why)
    last = next(r for r in ("own", "apart", "loads") if r in used)
    lines = lambda side: " ".join(sorted({str(one.line) for one in side}, key=int)[:6])
    return last, "before: lines %s; after: lines %s" % (lines(before), lines(after))


def judge(m, kernel, loops):
    op, line = m["operator"], m["line"]
    if op in LOOPS:
        near = [x for x in loops.get(m["kernel"], []) if 0 <= x - line <= 6]
        return ("loop", "line %d of the proof's list" % near[0]) if near else None
    if op in ("drop_order", "order_early", "wait_less"):
        i = kernel.at(line, ordering)
    elif op == "order_late":
        j = kernel.at(line, touches)
        i = next((k for k in range(j, -1, -1) if ordering(kernel.all[k])), None)
    else:
        i = kernel.at(line, lambda one: True)
    if i is None:
        return None
    one = kernel.all[i]
    said = "%s (line %d)" % (one.opcode, one.line)
    if one.is_("griddepcontrol"):
        return "grid", said
    if one.is_("cp.async.wait", "cp.async.commit") and not any(k.is_("cp.async.c") and not k.is_("cp.async.commit") for k in kernel.all):
        return "copies", said + ": no cp.async in the kernel"
    far = reach(one) or 2
    before, after = kernel.side(i, False, far), kernel.side(i, True, far)
    if op == "order_early":
        j = next(k for k in range(i - 1, -1, -1) if touches(kernel.all[k]))
        before, said = [kernel.all[j]], said + " before " + kernel.all[j].opcode
    if op == "order_late":
        after, said = [kernel.all[j]], said + " behind " + kernel.all[j].opcode
    if op in ("drop_order", "order_early", "order_late") and reach(one):
        found = pairs(kernel, before, after)
        return found and (found[0], said + "; " + found[1])
    if op in ("relax_order", "narrow_scope") and touches(one):
        shared = [k for k in kernel.all if touches(k) and kernel.memory(k)[0] == space(one)]
        steps = {}
        for forward in (False, True):
            near = kernel.side(i, forward, 1)
            steps[forward] = [k for k in near if kernel.conflict(one, k) == ""]
        if not steps[False] and not steps[True]:
            return "fenced", said + ": no conflicting access before the next barrier on either side, of %d in %s" % (len(shared), space(one))
    return None


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folders", nargs="+")
    arguments.add_argument("--out", default=os.path.join(here, "survivors.csv"))
    arguments.add_argument("--show", action="store_true", help="print those that no rule covers, with their text")
    flags = arguments.parse_args()
    injected = json.load(open(os.path.join(here, "injected.json")))
    hand = json.load(open(os.path.join(here, "argued.json"))) if os.path.exists(os.path.join(here, "argued.json")) else {}
    loops = json.load(open(os.path.join(here, "loops.json")))
    kernels, rows, left = {}, [], []
    for m in injected["mutants"]:
        if m["fate"] != "survived":
            continue
        name = m["kernel"]
        if name not in kernels:
            path = next((p for p in (os.path.join(f, name + ".ptx") for f in flags.folders) if os.path.exists(p)), None)
            kernels[name] = Kernel(path) if path else None
        key = "%s %d %s %d" % (name, m["line"], m["operator"], m["site"])
        said = hand.get(key)
        found = ("hand", said) if said else kernels[name] and judge(m, kernels[name], loops)
        if not found:
            left.append(m)
            found = ("", "")
        rows.append([name, m["line"], m["operator"], m["site"], *found])
    with open(flags.out, "w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["kernel", "line", "operator", "site", "rule", "facts"])
        table.writerows(sorted(rows, key=lambda r: r[:4]))
    count = {}
    for row in rows:
        count[row[4]] = count.get(row[4], 0) + 1
    print(len(rows), "survivors:", ", ".join("%s %d" % one for one in sorted(count.items())))
    for m in left if flags.show else []:
        k = kernels[m["kernel"]]
        print("==", m["kernel"], m["line"], m["operator"], m["site"], "" if k else "no PTX")
        for one in (k.all if k else []):
            if abs(one.line - m["line"]) <= 10 and (touches(one) or ordering(one) or abs(one.line - m["line"]) < 1):
                print("   %d %s" % (one.line, one.text[:110]))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
