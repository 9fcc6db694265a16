"""User seconds that cupilot's public headers cost a file that includes them; run from the root of the repository."""
import json
import pathlib
import resource
import subprocess
import tempfile

REPEATS = 5


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True)
    return round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, 3)


def cost(compiler, headers):
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
        file.write("".join(f"#include <cupilot/{name}>\n" for name in headers) + "int main() {}\n")
        file.flush()
        command = [compiler, "-std=c++20", "-O2", "-Iinclude", "-c", file.name, "-o", "/dev/null"]
        return sorted(user_seconds(command) for _ in range(REPEATS))


everything = sorted(path.name for path in pathlib.Path("include/cupilot").glob("*.hpp"))
print(json.dumps({
    "command": "python3 bench/headers_cost.py",
    "unit": f"user seconds, {REPEATS} compiles each, ascending",
    "headers": len(everything),
    "costs": {compiler: {"all": cost(compiler, everything), "cupilot.hpp": cost(compiler, ["cupilot.hpp"])}
              for compiler in ("g++", "clang++-14")},
}, indent=1))
