#!/usr/bin/env python3
"""Gives kernels of public projects a plan and a task, so that `cupilot verify` can judge them.

  recipe.py PTX_FOLDER OUT [--relative]   writes OUT/NAME.ptx, one kernel each, with its header, and OUT/tasks/

PTX_FOLDER holds nvcc's output: FOLDER/llmc/dev_cuda_softmax_forward.ptx of dev/cuda/softmax_forward.cu, by
`nvcc -ptx -arch=sm_90a -O3 -std=c++17 -lineinfo -w -Illmc -Idev/cuda -DNDEBUG`; FOLDER/samples/0_Introduction_vectorAdd_vectorAdd.ptx of
cuda-samples' Samples/0_Introduction/vectorAdd/vectorAdd.cu, with `-ICommon`; FOLDER/cub/cub.ptx of cub.cu, with CCCL's folders.
Commits: README.md. Plans are the launchers' own."""
import json
import os
import re
import sys

import cub
import gemms
import ggml
import llmc as further
import samples

F, S, G, B = "cdiv(n, 256)", "fp32", "cdiv(rows, 128)", "bf16"


def tensor(name, role, shape, kind=S, **more):
    return dict({"name": name, "role": role, "type": kind, "shape": shape}, **more)


def near(length):
    return {"check": {"kind": "within", "length": length}}


def task(name, axes, tensors, time, checks, reference, **more):
    free = [{"name": a.strip("+"), "kind": "reduced" if "+" in a else "free"} for a in axes.split()]
    names = [a["name"] for a in free]
    shape = lambda numbers: {"sizes": dict(zip(names, numbers))}
    return name, dict({"cupilot_task": 1, "name": name, "axes": free, "tensors": tensors, "precision": "fp32-strict",
                       "time_shapes": [shape(time)], "check_shapes": [shape(c) for c in checks],
                       "work": {"flops": "*".join(names)}, "reference_text": reference}, **more)


def one(name, inputs, text, kind=S, fill=None):
    """y[i] of inputs at i."""
    fills = {"fill": fill} if fill else {}
    tensors = [tensor(i, "in", ["n"], kind, **fills) for i in inputs]
    return task(name, "n", tensors + [tensor("y", "out", ["n"], kind, **near("4"))], [65536], [[256], [1000]],
                "__device__ real reference_y(const Inputs& in, long long i) { return %s; }" % text)


ROWS = "const long long row = i / in.cols * in.cols; "
MEAN = ("real mean = real(0.0); for (long long c = 0; c < in.cols; ++c) mean += in.x(%s + c); "
        "mean /= real(static_cast<double>(in.cols)); ")
DEVIATION = (MEAN + "real squares = real(0.0); for (long long c = 0; c < in.cols; ++c) squares += (in.x(%s + c) - mean) * "
             "(in.x(%s + c) - mean); const real rstd = real(1.0) / sqrt_(squares / real(static_cast<double>(in.cols)) + real(1e-5)); ")


def of(out, text, kind="real"):
    return "__device__ real reference_%s(const Inputs& in, long long i) { %s }\n" % (out, text)


def layernorm(name, kind):
    return task(name, "rows cols+", [tensor("x", "in", ["rows", "cols"], kind), tensor("w", "in", ["cols"], kind),
                                     tensor("b", "in", ["cols"], kind), tensor("y", "out", ["rows", "cols"], kind, **near("2*cols")),
                                     tensor("mu", "out", ["rows"], kind, **near("cols")),
                                     tensor("rstd", "out", ["rows"], kind, **near("2*cols"))],
                [64, 768], [[3, 64], [5, 160]],
                of("y", ROWS + DEVIATION % (("row",) * 3) + "return (in.x(i) - mean) * rstd * in.w(i - row) + in.b(i - row);")
                + of("mu", MEAN % "i * in.cols" + "return mean;")
                + of("rstd", DEVIATION % (("i * in.cols",) * 3) + "return rstd;"))


GELU = "real(0.5) * in.x(i) * (real(1.0) + tanh_(real(0.7978845608028654) * (in.x(i) + real(0.044715) * in.x(i) * in.x(i) * in.x(i))))"
SOFTMAX = (ROWS + "real top = in.x(row); for (long long c = 1; c < in.cols; ++c) top = max_(top, in.x(row + c)); real sum = real(0.0); "
           "for (long long c = 0; c < in.cols; ++c) sum += exp_(in.x(row + c) - top); return exp_(in.x(i) - top) / sum;")
LABELS = {"fill": {"kind": "labels", "below": "cols"}}

TASKS = dict([
    one("gelu_tanh", ["x"], GELU, B),
    one("add2", ["x", "z"], "in.x(i) + in.z(i)", B),
    task("softmax_rows", "rows cols+", [tensor("x", "in", ["rows", "cols"]), tensor("y", "out", ["rows", "cols"], **near("cols"))],
         [64, 512], [[3, 65], [2, 300]], of("y", SOFTMAX)),
    layernorm("layernorm_stats", S),
    task("crossentropy", "rows cols+", [tensor("x", "in", ["rows", "cols"], fill={"kind": "uniform", "low": 0.01, "high": 1}),
                                        tensor("t", "in", ["rows"], "i32", **LABELS), tensor("y", "out", ["rows"], **near("2"))],
         [256, 512], [[3, 65]], of("y", "return real(0.0) - log_(in.x(i * in.cols + in.t(i)));")),
    task("encoder", "rows steps cols words", [tensor("t", "in", ["rows", "steps"], "i32", fill={"kind": "labels", "below": "words"}),
                                              tensor("w", "in", ["words", "cols"], B), tensor("p", "in", ["steps", "cols"], B),
                                              tensor("y", "out", ["rows", "steps", "cols"], B, **near("2"))],
         [4, 64, 768, 100], [[2, 3, 64, 5]],
         of("y", "const long long at = i / in.cols, c = i % in.cols; return in.w(in.t(at) * in.cols + c) + in.p(at % in.steps * in.cols + c);")),
    task("permute4", "a b c d", [tensor("x", "in", ["a", "b", "c", "d"]),
                                 tensor("y", "out", ["d", "c", "a", "b"], check={"kind": "bitwise"})],
         [24, 42, 20, 32], [[2, 3, 4, 5]],
         of("y", "const long long b = i % in.b, a = i / in.b % in.a, c = i / in.b / in.a % in.c, d = i / in.b / in.a / in.c; "
            "return in.x(((a * in.b + b) * in.c + c) * in.d + d);")),
    task("mean_rows", "rows cols+", [tensor("x", "in", ["rows", "cols"]), tensor("y", "out", ["rows"], **near("cols"))],
         [64, 768], [[3, 65]], of("y", MEAN % "i * in.cols" + "return mean;")),
    task("bias_grad", "rows cols", [tensor("x", "in", ["rows", "cols"], B), tensor("y", "in_out", ["cols"], B, **near("rows + 2"))],
         [512, 256], [[8, 256]],
         of("y", "real sum = real(0.0); for (long long r = 0; r < in.rows; ++r) sum += in.x(r * in.cols + i); return in.y(i) + sum;")),
    task("square_sum", "n+", [tensor("x", "in", ["n"], B), tensor("y", "in_out", ["1"], S, **near("n + 1"))], [65536], [[1000]],
         of("y", "real sum = in.y(0); for (long long k = 0; k < in.n; ++k) sum += in.x(k) * in.x(k); return sum;")),
    task("scan_rows", "rows", [tensor("x", "in", ["rows", "1024"], "i32"), tensor("y", "out", ["rows", "1024"], "i32", check={"kind": "bitwise"})],
         [64], [[3]], of("y", "long long s = 0; for (long long k = i / 1024 * 1024; k <= i; ++k) s += in.x(k); return real(static_cast<double>(static_cast<int>(s)));")),
])
N, RC = {"i32": "n"}, [{"i32": "rows"}, {"i32": "cols"}]
BTC = [{"i32": 1}, {"i32": "rows"}, {"i32": "cols"}]
ENC = [{"i32": "rows"}, {"i32": "steps"}, {"i32": "cols"}]


# name, module, entry (pattern), task, grid, block, args, shared bytes, require
def llmc(module, entry, job, grid, block, args, shared=0, require=()):
    return "llmc_" + re.sub(r"\W+", "_", module + "_" + re.sub(r"^_Z\d+|P.*$", "", entry)), "llmc/dev_cuda_%s" % module, entry, job, grid, block, args, shared, require


LN = ["y", "mu", "rstd", "x", "w", "b"] + RC
KERNELS = [
    llmc("gelu_forward", "gelu_forward_kernel1", "gelu_tanh", [F], [256], ["y", "x", N]),
    llmc("gelu_forward", "gelu_forward_kernel2", "gelu_tanh", ["cdiv(n, 2048)"], [256], ["y", "x", N], 0, ["n % 8 == 0"]),
    llmc("residual_forward", "residual_forward_kernel1", "add2", [F], [256], ["y", "x", "z", N]),
    llmc("residual_forward", "residual_forward_kernel2", "add2", ["cdiv(n, 2048)"], [256], ["y", "x", "z", N], 0, ["n % 8 == 0"]),
    llmc("softmax_forward", "softmax_forward_kernel1", "softmax_rows", [G], [128], ["y", "x"] + RC),
    llmc("softmax_forward", "softmax_forward_kernel2", "softmax_rows", ["rows"], [128], ["y", "x"] + RC, 512),
    llmc("softmax_forward", "softmax_forward_kernel3", "softmax_rows", ["rows"], [32], ["y", "x"] + RC, 128),
    llmc("softmax_forward", "softmax_forward_kernel4", "softmax_rows", ["rows"], [128], ["y", "x"] + RC, 16),
    llmc("softmax_forward", "softmax_forward_online_kernel1", "softmax_rows", [G], [128], ["y", "x"] + RC),
    llmc("softmax_forward", "softmax_forward_online_kernel2", "softmax_rows", ["cdiv(rows, 4)"], [128], ["y", "x"] + RC),
    llmc("softmax_forward", "softmax_forward_kernel7", "softmax_rows", ["rows"], [128], ["y", "x"] + RC, 32),
    llmc("softmax_forward", "softmax_forward_online_kernel8", "softmax_rows", ["cdiv(rows, 4)"], [128], ["y", "x"] + RC),
    llmc("layernorm_forward", "layernorm_forward_kernel1", "layernorm_stats", [G], [128], LN),
    llmc("layernorm_forward", "layernorm_forward_kernel3", "layernorm_stats", ["cdiv(rows, 4)"], [128], LN),
    llmc("layernorm_forward", "layernorm_forward_kernel4", "layernorm_stats", ["cdiv(rows, 4)"], [128], LN),
    llmc("layernorm_forward", "layernorm_forward_kernel5", "layernorm_stats", ["rows"], [128], LN),
    llmc("layernorm_forward", "layernorm_forward_kernel6", "layernorm_stats", ["cdiv(rows, 4)"], [32, 4], LN, "6 * cols * 4", ["cols % 4 == 0"]),
    llmc("layernorm_forward", "mean_kernel", "mean_rows", ["rows"], [128], ["y", "x"] + RC + [{"i32": 128}], 512),
    llmc("crossentropy_forward", "crossentropy_forward_kernel1", "crossentropy", [G], [128], ["y", "x", "t"] + BTC),
    llmc("encoder_forward", "encoder_forward_kernel1", "encoder", ["cdiv(rows * steps, 256)"], [256], ["y", "t", "w", "p"] + ENC),
    llmc("encoder_forward", "encoder_forward_kernel2", "encoder", ["cdiv(rows * steps * cols, 256)"], [256], ["y", "t", "w", "p"] + ENC),
    llmc("encoder_forward", "encoder_forward_kernel3", "encoder", ["cdiv(rows * steps * cols, 2048)"], [256], ["y", "t", "w", "p"] + ENC, 0, ["cols % 8 == 0"]),
    llmc("permute", "permute_kernel", "permute4", ["cdiv(a * b * c * d, 256)"], [256], ["x", "y", {"i32": "a"}, {"i32": "b"}, {"i32": "c"}, {"i32": "d"}]),
    llmc("matmul_backward_bias", "matmul_backward_bias_kernel1", "bias_grad", ["cols"], [256], ["y", "x"] + BTC, 1024),
    llmc("matmul_backward_bias", "matmul_backward_bias_kernel2", "bias_grad", ["cdiv(cols * 32, 256)"], [256], ["y", "x"] + BTC),
    llmc("matmul_backward_bias", "matmul_backward_bias_kernel3", "bias_grad", ["cols"], [256], ["y", "x"] + BTC),
    llmc("matmul_backward_bias", "matmul_backward_bias_kernel4", "bias_grad", ["cols / 32"], [256], ["y", "x"] + BTC, 1024, ["cols % 32 == 0"]),
    llmc("matmul_backward_bias", "matmul_backward_bias_kernel8I13__nv_bfloat16", "bias_grad", ["cdiv(cols, 64)"], [4, 8, 16], ["y", "x"] + BTC + [{"i8": 0}], 0, ["cols % 64 == 0"]),
    llmc("global_norm", "norm_kernel1", "square_sum", [4], [256], ["y", "x", {"i64": "n"}]),
    llmc("global_norm", "norm_kernel2", "square_sum", [4], [256], ["y", "x", {"i64": "n"}]),
    llmc("global_norm", "norm_kernel3", "square_sum", [4], [256], ["y", "x", {"i64": "n"}]),
]


def functions(text):
    """Offsets of each top-level function: (begin, end, is entry, name)."""
    for m in re.finditer(r"^(?:\.visible |\.weak )?\.(entry|func)\b[^;{]*?(\w+)\s*\(", text, re.M):
        depth, i = 0, text.find("{", m.start())
        semicolon = text.find(";", m.start())
        if 0 <= semicolon < i and text.find(")", m.start()) < semicolon:
            continue
        while True:
            depth += {"{": 1, "}": -1}.get(text[i], 0)
            i += 1
            if depth == 0:
                break
        yield m.start(), i, m.group(1) == "entry", m.group(2)


def alone(text, pattern):
    found = [f for f in functions(text) if f[2]]
    wanted = [f for f in found if re.search(pattern + ("" if pattern[-1] == "$" else r"(?![0-9])"), f[3])]
    if len(wanted) != 1:
        raise SystemExit("%s: %s" % (pattern, [f[3] for f in wanted or found]))
    for begin, end, _, name in reversed(found):
        if name != wanted[0][3]:
            text = text[:begin] + text[end:]
    return wanted[0][3], text


def main():
    source, out = sys.argv[1:3]
    relative = "--relative" in sys.argv
    os.makedirs(out + "/tasks", exist_ok=True)
    for module in (samples, cub, ggml, further, gemms):
        tasks, kernels = module.define(task, tensor, near, of)
        TASKS.update(tasks)
        KERNELS.extend(kernels)
    for name, body in TASKS.items():
        with open("%s/tasks/%s.json" % (out, name), "w") as file:
            json.dump(body, file, indent=1)
    for name, module, pattern, job, grid, block, args, shared, require, *more in KERNELS:
        path = "%s/%s.ptx" % (source, module)
        if not os.path.exists(path):
            print("missing", path)
            continue
        try:
            entry, text = alone(open(path).read(), pattern)
        except SystemExit as none:
            print("no kernel", name, none)
            continue
        if name.startswith("deepgemm"):  # its last store is not waited for: README.md
            text = re.sub(r"\bret;", "cp.async.bulk.wait_group.read 0;\n\tret;", text)
        launch = {"entry": entry, "grid": grid, "block": block, "args": args}
        if shared:
            launch["shared"] = shared
        plan = dict(more[0]) if more else {}
        if "cluster" in plan:
            launch["cluster"] = plan.pop("cluster")
        plan["launches"] = [launch]
        if require:
            plan["require"] = list(require)
        with open("%s/%s.ptx" % (out, name), "w") as file:
            file.write("// cupilot: %s\n// cupilot: %s\n%s" % (json.dumps({"task": ["tasks/%s.json" % job] if relative else [os.path.abspath("%s/tasks/%s.json" % (out, job))]}),
                                                               json.dumps({"plan": plan}), text))
    print(len(KERNELS), "kernels")


if __name__ == "__main__":
    main()
