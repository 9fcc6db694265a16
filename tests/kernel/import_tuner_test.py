#!/usr/bin/env python3
"""Tests scripts/import-tuner: lists become a tunable; each mistake is told by place, reason and next step.

import_tuner_test.py [--write]: --write replaces the golden answers tests/data/mistakes/import_tuner.txt."""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/import-tuner"
GOLDEN = ROOT / "tests/data/mistakes/import_tuner.txt"
loader = importlib.machinery.SourceFileLoader("import_tuner", str(SCRIPT))
sys.dont_write_bytecode = True
tuner = importlib.util.module_from_spec(importlib.util.spec_from_loader("import_tuner", loader))
loader.exec_module(tuner)

KERNEL = """// Adds two vectors.
extern "C" __global__ void __launch_bounds__(block_size_x)
    vector_add(float* __restrict__ c, const float* a /* first */, const float* b, float scale, int n, long long stride) {
  if constexpr (use_shared) __syncthreads();
  for (int i = 0; i < items; ++i) c[i] = a[i] + scale * b[i];
}
"""

LISTS = {
    "json": """{
  "kernel_name": "vector_add",
  "tune_params": {"block_size_x": [64, 128, 256], "items": [1, 2, 4], "use_shared": [true, false]},
  "restrictions": ["block_size_x*items<=1024", "not use_shared or items > 1"],
  "problem_size": ["n"],
  "grid_div_x": ["block_size_x", "items"],
  "smem_args": {"size": "block_size_x * 4 if use_shared else 0"}
}""",
    "script": """from collections import OrderedDict
# How the kernel may vary.
kernel_name = 'vector_add'
tune_params = OrderedDict()
tune_params["block_size_x"] = [64, 128,
                               256]  # threads
tune_params["items"] = (1, 2, 4,)
tune_params["use_shared"] = [True, False]
restrictions = ["block_size_x*items<=1024",
                'not use_shared or items > 1']
problem_size = "n"
grid_div_x = ["block_size_x", "items"]
smem_args = dict()
smem_args["size"] = "block_size_x * 4 if use_shared else 0"
""",
    "shared": """{
  "General": {"FormatVersion": 1},
  "ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "block_size_x", "Type": "int", "Values": "[64, 128, 256]"},
      {"Name": "items", "Type": "int", "Values": "[1, 2, 4]"},
      {"Name": "use_shared", "Type": "bool", "Values": "[True, False]"}
    ],
    "Conditions": [{"Parameters": ["block_size_x", "items"], "Expression": "block_size_x*items<=1024"},
                   {"Parameters": ["use_shared", "items"], "Expression": "not use_shared or items > 1"}]
  },
  "KernelSpecification": {
    "Language": "CUDA", "KernelName": "vector_add", "KernelFile": "vector_add.cu",
    "LocalSize": {"X": "block_size_x"}, "GlobalSize": {"X": "n // (block_size_x * items)"},
    "SharedMemory": 0
  }
}""",
}

# A condition in Python and as an expression of docs/formats/expr.md.
CONDITIONS = [
    ("a*b<=1024", "a * b <= 1024"),
    ("4 <= a <= 5", "4 <= a && a <= 5"),
    ("a // b == 1 and a % b == 2", "a / b == 1 && a % b == 2"),
    ("not a == b", "!(a == b)"),
    ("a == b or (a > 5 and b in [2, 4, 8])", "a == b || a > 5 && (b == 2 || b == 4 || b == 8)"),
    ("a not in (6, 7)", "!(a == 6 || a == 7)"),
    ("(a if b > 4 else b) * 2 == 8", "(b > 4 ? a : b) * 2 == 8"),
    ("max(a, b, 9) - min(a, b) == 5", "max(max(a, b), 9) - min(a, b) == 5"),
    ("a - (b - 1) == 3", "a - (b - 1) == 3"),
    ("-(-a) == a", "-(-a) == a"),
    ("(a + b) * (a - b) == 20", "(a + b) * (a - b) == 20"),
    ("(a == 6) == True", "a == 6 == 1"),
    ("a != b != a", "a != b && b != a"),
]

# List or kernel, a text in it, and its replacement.
MISTAKES = [
    ("json", "\"kernel_name\"", "\"kernel\""),
    ("json", "\"vector_add\"", "\"vector_sub\""),
    ("json", "\"block_size_x\": [64", "\"block size\": [64"),
    ("json", "[64, 128, 256]", "[]"),
    ("json", "[64, 128, 256]", "\"64:256\""),
    ("json", "[64, 128, 256]", "[64, 18446744073709551615]"),
    ("json", "[64, 128, 256]", "[64, 1.5]"),
    ("json", "[64, 128, 256]", "[\"small\", \"large\"]"),
    ("json", "[64, 128, 256]", "[64, 64]"),
    ("json", "block_size_x*items<=1024", "block_size_x*item<=1024"),
    ("json", "block_size_x*items<=1024", "block_size_x/items>=8"),
    ("json", "block_size_x*items<=1024", "block_size_x**2<=1024"),
    ("json", "block_size_x*items<=1024", "items & 1 == 0"),
    ("json", "block_size_x*items<=1024", "items <= 2.5"),
    ("json", "block_size_x*items<=1024", "lambda p: p['items'] > 1"),
    ("json", "block_size_x*items<=1024", "p['items'] > 1"),
    ("json", "block_size_x*items<=1024", "math.log2(items) < 3"),
    ("json", "block_size_x*items<=1024", "len(items) < 3"),
    ("json", "block_size_x*items<=1024", "(block_size_x*items<=1024"),
    ("json", "block_size_x*items<=1024", "block_size_x*items<="),
    ("json", "block_size_x*items<=1024", "items in range(4)"),
    ("json", "\"block_size_x*items<=1024\"", "1024"),
    ("json", "\"problem_size\": [\"n\"]", "\"problem_size\": [4096]"),
    ("json", "\"problem_size\": [\"n\"],", ""),
    ("json", "\"problem_size\": [\"n\"]", "\"problem_size\": [\"n\"], \"block_size_names\": [\"threads\"]"),
    ("json", "\"grid_div_x\": [", "\"grid_div_y\": [1], \"grid_div_x\": ["),
    ("json", "[\"block_size_x\", \"items\"]", "\"block_size_x\""),
    ("json", "\"smem_args\"", "\"cmem_args\""),
    ("script", "= (1, 2, 4,)", "= [2**i for i in range(3)]"),
    ("script", "tune_params = OrderedDict()\n", ""),
    ("script", "kernel_name = 'vector_add'", "print('tuning')"),
    ("shared", "\"Type\": \"bool\"", "\"Type\": \"string\""),
    ("shared", "\"[1, 2, 4]\"", "\"range(4)\""),
    ("shared", "\"Language\": \"CUDA\"", "\"Language\": \"OpenCL\""),
    ("shared", "\"X\": \"block_size_x\"", "\"X\": \"threads\""),
    ("kernel", "if constexpr (use_shared) __syncthreads();", "\n#if use_shared\n__syncthreads();\n#endif"),
    ("kernel", "float scale", "float4 scale"),
    ("kernel", "const float* b", "const float** b"),
    ("kernel", "vector_add(", "vector_add"),
    ("script", "[True, False]", "[True, False"),
]


def imported(text, kernel=KERNEL, name="", problem=()):
    """Header and kernel of the tunable."""
    made = tuner.tunable(text, "list", kernel, "vectors", name, problem)
    start, rest = made.split("\n", 1)
    assert start == "/* cupilot tunable 1"
    header, own = rest.split("\n*/\n", 1)
    return json.loads(header), own


class Lists(unittest.TestCase):
    def test_three_forms_make_one_tunable(self):
        for form, text in LISTS.items():
            with self.subTest(form):
                header, own = imported(text)
                self.assertEqual(own, KERNEL)
                self.assertEqual((header["name"], header["family"], header["summary"]), ("vector_add", "vectors", "from list"))
                self.assertEqual(header["parameters"], {"block_size_x": {"domain": [64, 128, 256]}, "items": {"domain": [1, 2, 4]},
                                                        "use_shared": {"domain": [1, 0]}})
                self.assertEqual(header["restrict"], ["block_size_x * items <= 1024", "!use_shared || items > 1"])
                [launch] = header["plan"]["launches"]
                self.assertEqual(launch["entry"], "vector_add")
                self.assertEqual(launch["args"], ["c", "a", "b", "scale", {"i32": "n"}, {"i64": "stride"}])
                if form == "shared":
                    self.assertEqual(launch["grid"], ["n / (block_size_x * items)"])
                    self.assertEqual(launch["block"], ["block_size_x"])
                    self.assertNotIn("shared", launch)
                else:
                    self.assertEqual(launch["grid"], ["cdiv(n, block_size_x * items)"])
                    self.assertEqual(launch["block"], ["block_size_x", "1", "1"])
                    self.assertEqual(launch["shared"], "use_shared ? block_size_x * 4 : 0")

    def test_given_sizes_replace_numbers(self):
        header, _ = imported(LISTS["json"].replace('["n"]', "[4096, 4096]"), name="Own", problem=["n", "2*m"])
        self.assertEqual(header["name"], "own")
        self.assertEqual(header["plan"]["launches"][0]["grid"], ["cdiv(n, block_size_x * items)", "2*m"])

    def test_opencl_sizes_count_threads(self):
        text = LISTS["shared"].replace('"Language"', '"GlobalSizeType": "OpenCL", "Language"')
        self.assertEqual(imported(text)[0]["plan"]["launches"][0]["grid"], ["cdiv(n / (block_size_x * items), block_size_x)"])

    def test_conditions_keep_their_meaning(self):
        for python, ours in CONDITIONS:
            with self.subTest(python):
                self.assertEqual(tuner.expression(python, "here"), ours)

    def test_mistakes(self):
        answers = ""
        for where, good, bad in MISTAKES:
            texts = {**LISTS, "kernel": KERNEL}
            self.assertIn(good, texts[where])
            texts[where] = texts[where].replace(good, bad, 1)
            with self.subTest(f"{good} => {bad}"), self.assertRaises(tuner.Untranslated) as caught:
                imported(texts["json" if where == "kernel" else where], texts["kernel"])
            answers += f"{good}\n=> {bad or '(nothing)'}\n   {caught.exception}\n   next: {caught.exception.hint}\n\n"
        if "--write" in sys.argv:
            GOLDEN.write_text(answers)
        self.assertEqual(answers, GOLDEN.read_text())

    def test_program(self):
        with tempfile.TemporaryDirectory() as folder:
            files = {name: pathlib.Path(folder) / name for name in ("list.py", "k.cu", "out.cu")}
            files["list.py"].write_text(LISTS["script"])
            files["k.cu"].write_text(KERNEL)

            def run(*arguments):
                done = subprocess.run([SCRIPT, *arguments], cwd=folder, capture_output=True, text=True)
                return done.returncode, done.stdout + done.stderr

            self.assertEqual(run("list.py", "--kernel", "k.cu", "--family", "f", "--out", "out.cu")[0], 0)
            self.assertIn('"family": "f"', files["out.cu"].read_text())
            status, text = run("list.py", "--kernel", "k.cu", "--family", "f", "--out", "k.cu")
            self.assertEqual(status, 2)
            self.assertIn("k.cu: is there already", text)
            self.assertEqual(files["k.cu"].read_text(), KERNEL)
            status, text = run("none.json", "--kernel", "k.cu", "--family", "f")
            self.assertEqual(status, 2)
            self.assertIn("none.json", text)
            self.assertEqual(run("list.py", "--kernel", "k.cu")[0], 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
