#!/usr/bin/env python3
"""Tests scripts/suites/check and scripts/suites/kernelbench by modules whose graphs a stand-in of PyTorch exports."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ROOT / "scripts/suites/check"

# Exports what a model says of itself: inputs by name with their kind, nodes, outputs.
TORCH = """
import contextlib, sys, types
__version__ = "stand-in"

class Node:
    def __init__(self, op, name, target=None, args=(), kwargs=None, val=None):
        self.op, self.name, self.target, self.args, self.kwargs = op, name, target, args, kwargs or {}
        self.meta = {"val": val}

def export_(model, inputs, strict):
    assert strict is False and len(inputs) == sum(kind == "x" for _, kind, _ in model.inputs)
    signature, nodes = types.SimpleNamespace(inputs_to_parameters={}, inputs_to_buffers={}, buffers_to_mutate={}, input_specs=[]), {}
    for name, kind, value in model.inputs:
        constant = isinstance(value, float)
        nodes[name] = Node("placeholder", name, val=None if constant else value)
        if kind == "p":
            signature.inputs_to_parameters[name] = name
        if kind == "b":
            signature.inputs_to_buffers[name] = name
        arg = types.SimpleNamespace(name=name, **({"value": value} if constant else {}))
        signature.input_specs.append(types.SimpleNamespace(arg=arg))
    read = lambda one: nodes.get(one[1:], one) if isinstance(one, str) else one
    for name, target, args, val in model.nodes:
        function = types.SimpleNamespace(__name__=target)
        nodes[name] = Node("call_function", name, function, tuple(map(read, args)), {}, val)
    outputs = Node("output", "output", args=([nodes[one] for one in model.outputs],))
    return types.SimpleNamespace(graph_signature=signature, graph=types.SimpleNamespace(nodes=[*nodes.values(), outputs]))

fx = types.SimpleNamespace(Node=Node)
export = types.SimpleNamespace(export=export_)
subclasses = types.ModuleType("torch._subclasses")
fake = types.ModuleType("torch._subclasses.fake_tensor")
fake.FakeTensorMode = lambda allow_non_fake_inputs: contextlib.nullcontext()
sys.modules["torch._subclasses"], sys.modules["torch._subclasses.fake_tensor"] = subclasses, fake
"""

MODULE = """
import types
def tensor(dtype, *shape):
    return types.SimpleNamespace(dtype="torch." + dtype, shape=shape)
class Model:
    def __init__(self, *init):
        self.inputs, self.nodes, self.outputs = {inputs}, {nodes}, {outputs}
def get_init_inputs():
    return []
def get_inputs():
    return [value for _, kind, value in Model().inputs if kind == "x"]
"""


def f32(*shape):
    return f"tensor('float32', {', '.join(map(str, shape))},)"


def product(m):
    return {"inputs": f"[('a', 'x', {f32(m, 4096)}), ('b', 'x', {f32(4096, 4096)})]",
            "nodes": f"[('matmul', 'matmul.default', ('%a', '%b'), {f32(m, 4096)})]", "outputs": "['matmul']"}


def scaled(factor):
    return {"inputs": f"[('a', 'x', {f32(65536, 16384)}), ('s', 'x', {factor})]",
            "nodes": f"[('mul', 'mul.Tensor', ('%a', {factor}), {f32(65536, 16384)})]", "outputs": "['mul']"}


def convolution(kernel):
    places = 1025 - kernel
    return {"inputs": f"[('p_conv2d_weight', 'p', {f32(128, 16, kernel, kernel)}), ('x', 'x', {f32(16, 16, 1024, 1024)})]",
            "nodes": f"[('conv2d', 'conv2d.default', ('%x', '%p_conv2d_weight'), {f32(16, 128, places, places)})]",
            "outputs": "['conv2d']"}


def batch_norm(places):
    channels = f32(64)
    whole = f32(64, 64, places, places)
    return {"inputs": f"[('p_bn_weight', 'p', {channels}), ('p_bn_bias', 'p', {channels}), ('b_bn_running_mean', 'b', {channels}), "
                      f"('b_bn_running_var', 'b', {channels}), ('b_bn_num_batches_tracked', 'b', tensor('int64')), ('x', 'x', {whole})]",
            "nodes": "[('add_', 'add_.Tensor', ('%b_bn_num_batches_tracked', 1), tensor('int64')), ('batch_norm', 'batch_norm.default', "
                     "('%x', '%p_bn_weight', '%p_bn_bias', '%b_bn_running_mean', '%b_bn_running_var', True, 0.1, 1e-05, False), "
                     f"{whole})]", "outputs": "['batch_norm']"}


SAME = {"1_Square_matrix_multiplication_": product(4096), "5_Matrix_scalar_multiplication": scaled(3.14),
        "33_BatchNorm": batch_norm(512), "63_conv_standard_2D__square_input__square_kernel": convolution(3)}


class Check(unittest.TestCase):
    def checked(self, modules, torch=TORCH, keep=None):
        """Runs the script over a checkout of these modules."""
        with tempfile.TemporaryDirectory() as folder:
            level = pathlib.Path(folder, "checkout/KernelBench/level1")
            level.mkdir(parents=True)
            for name, graph in modules.items():
                (level / f"{name}.py").write_text(MODULE.format(**graph) if isinstance(graph, dict) else graph)
            stand_in = pathlib.Path(folder, "modules/torch")
            stand_in.mkdir(parents=True)
            (stand_in / "__init__.py").write_text(torch)
            graphs = pathlib.Path(folder, "graphs.jsonl")
            ran = subprocess.run([sys.executable, CHECK, f"{folder}/checkout", "--graphs", graphs], capture_output=True, text=True,
                                 env={**os.environ, "PYTHONPATH": str(stand_in.parent), "PYTHONDONTWRITEBYTECODE": "1"})
            if keep is not None and graphs.exists():
                keep.extend(json.loads(line) for line in graphs.read_text().splitlines())
            return ran

    def told(self, ran, name):
        return [line for line in ran.stdout.splitlines() if line.startswith((f"{name}:", f"{name}."))]

    def test_rows_that_agree_are_not_told(self):
        graphs = []
        ran = self.checked(SAME, keep=graphs)
        self.assertEqual(ran.returncode, 1, ran.stderr)  # of 96 rows there is no module
        self.assertIn(f"100 rows compared with PyTorch stand-in: {100 - len(SAME)} differ", ran.stdout)
        for name in ("1", "5", "33", "63"):
            self.assertEqual(self.told(ran, name), [])
        self.assertIn("exported null", self.told(ran, "2")[0])
        self.assertEqual([graph["id"] for graph in graphs], [1, 5, 33, 63])
        self.assertEqual(graphs[1]["inputs"], {"a": ["float32", [65536, 16384]], "s": "3.14"})
        self.assertEqual(graphs[3]["parameters"], ["p_conv2d_weight"])

    def test_each_difference_is_told(self):
        for name, other in {"1_Square_matrix_multiplication_": product(4095), "5_Matrix_scalar_multiplication": scaled(3.25),
                            "33_BatchNorm": batch_norm(511), "63_conv_standard_2D__square_input__square_kernel": convolution(5)}.items():
            ran = self.checked({**SAME, name: other})
            with self.subTest(name):
                told = self.told(ran, name.split("_")[0])
                self.assertTrue(told, ran.stdout + ran.stderr)
                self.assertIn("ours ", told[0])
                self.assertIn(f"{101 - len(SAME)} differ", ran.stdout)

    def test_a_module_that_cannot_be_exported_is_told(self):
        ran = self.checked({**SAME, "2_Broken": "raise ValueError('no module')"})
        self.assertEqual(ran.returncode, 1)
        self.assertIn("2_Broken.py: not exported: ValueError: no module", ran.stdout)

    def test_what_is_missing_is_said_with_a_next_step(self):
        without = self.checked(SAME, torch="raise ImportError('none')")
        self.assertNotEqual(without.returncode, 0)
        self.assertIn("has no PyTorch", without.stderr)
        empty = self.checked({})
        self.assertIn("no modules in", empty.stderr)
        self.assertIn("next: name a checkout of KernelBench", empty.stderr)


if __name__ == "__main__":
    unittest.main()
