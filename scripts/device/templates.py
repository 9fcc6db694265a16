#!/usr/bin/env python3
"""Compiles many settings of the GEMM templates, checks each against fp64 and times it against cuBLASLt, on a GPU machine.

Needs torch, cupy, nvcc and NVRTC; run from the repository root. Prints a short table; everything goes to $OUT/templates.json.
  templates.py plan FILE [--together]   FILE: JSON list of jobs, see `main`; each runs in a process of its own, since a fault
                                        poisons the context, or all in one
"""
import ctypes, json, multiprocessing, os, random, re, subprocess, sys, time, traceback
from concurrent.futures import ProcessPoolExecutor

ROOT = os.path.abspath(os.environ.get("TEMPLATES_ROOT") or os.path.join(os.path.dirname(__file__), "..", ".."))
C_NAME = {"fp32": "float", "emulated": "float", "bf16x3": "float", "tf32": "float", "bf16": "bf16", "fp16": "fp16", "e4m3": "e4m3",
          "e5m2": "e5m2", "e4m3-promoted": "e4m3"}
BYTES = {dtype: {"float": 4, "bf16": 2, "fp16": 2, "e4m3": 1, "e5m2": 1}[name] for dtype, name in C_NAME.items()}
CLASSES = {"fp32_strict": ["fp32"], "fp32_emulated": ["emulated"], "bf16x3": ["bf16x3"], "tf32": ["tf32"], "bf16": ["bf16"],
           "fp16": ["fp16"], "fp8": ["e4m3", "e5m2"], "fp8_promoted": ["e4m3-promoted"]}
DEVICE = {"dev.shared": 232448, "dev.threads": 1024, "dev.registers": 65536, "dev.sms": 132, "dev.cc": 90}
TASK = {"TRANS_A": 0, "TRANS_B": 0, "BATCHED": 0, "HAS_C": 0, "HAS_BIAS": 0, "HAS_ALPHA": 0, "ACT": 0}


# --- tunables and their expressions -------------------------------------------------------------------------------------

def parse(template):
    text = open(f"{ROOT}/kernels/families/gemm/templates/{template}.cu").read()
    match = re.match(r"/\* cupilot tunable [12]\n(.*?)\n\*/\n", text, re.S)
    return json.loads(match.group(1)), text[match.end():]


LEVELS = [["||"], ["&&"], ["==", "!="], ["<=", ">=", "<", ">"], ["+", "-"], ["*", "/", "%"]]
FUNCTIONS = {"min": min, "max": max, "cdiv": lambda a, b: -(-a // b) if b else 0, "up": lambda a, b: -(-a // b) * b}


class Expression:
    """Evaluates the integer language of include/cupilot/parts/expr.hpp."""

    def __init__(self, text, names):
        self.tokens = re.findall(r"[A-Za-z_][\w.]*|\d+|\|\||&&|[=!<>]=|[-+*/%<>!?:(),]", str(text))
        self.at, self.names = 0, names

    def take(self, *wanted):
        if self.at < len(self.tokens) and self.tokens[self.at] in wanted:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def value(self):
        condition = self.level(0, True)
        if not self.take("?"):
            return condition
        yes = self.value()
        self.take(":")
        no = self.value()
        return yes if condition else no

    def level(self, depth, _):
        if depth == len(LEVELS):
            return self.atom()
        left = self.level(depth + 1, True)
        while operator := self.take(*LEVELS[depth]):
            right = self.level(depth + 1, True)
            if operator in "/%":
                left = 0 if right == 0 else (left // right if operator == "/" else left % right)
            else:
                left = {"||": lambda: int(bool(left or right)), "&&": lambda: int(bool(left and right)),
                        "==": lambda: int(left == right), "!=": lambda: int(left != right), "<=": lambda: int(left <= right),
                        ">=": lambda: int(left >= right), "<": lambda: int(left < right), ">": lambda: int(left > right),
                        "+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right}[operator]()
        return left

    def atom(self):
        if self.take("("):
            inner = self.value()
            self.take(")")
            return inner
        if self.take("!"):
            return int(not self.atom())
        token = self.tokens[self.at]
        self.at += 1
        if token.isdigit():
            return int(token)
        if token in FUNCTIONS:
            self.take("(")
            arguments = [self.value()]
            while self.take(","):
                arguments.append(self.value())
            self.take(")")
            return FUNCTIONS[token](*arguments)
        return self.names[token]


def evaluate(text, names):
    return Expression(text, names).value()


def constants_of(head, values, dtype, task):
    names = {name: parameter["plain"] for name, parameter in head["parameters"].items()}
    assert all(name in names for name in values), values
    names.update(values)
    return {**names, **TASK, **task}


def output_of(dtype):
    return "bf16" if BYTES[dtype] == 1 else dtype


def legal(head, constants, dtype):
    names = {**constants, **DEVICE, "elem.A": BYTES[dtype], "elem.B": BYTES[dtype], "elem.D": BYTES[output_of(dtype)],
             **{f"class.{name}": int(dtype in of) for name, of in CLASSES.items()}}
    return all(evaluate(text, names) for text in head["when"] + head["restrict"])


def serves(variant, shape):
    """Whether the plan is meant for this shape (batch, m, n, k), and has the shared memory for it."""
    head, _ = parse(variant["template"])
    dtype = variant["dtype"]
    names = {**constants_of(head, variant["values"], dtype, variant.get("task", {})), **DEVICE, **dict(zip(["batch", "m", "n", "k"], shape)),
             "elem.A": BYTES[dtype], "elem.B": BYTES[dtype], "elem.D": BYTES[output_of(dtype)]}
    if not all(evaluate(text, names) for text in head["plan"].get("require", [])):
        return False
    for name, text in head["plan"]["let"].items():
        names[name] = evaluate(text, names)
    return all(evaluate(launch.get("shared", 0), names) <= DEVICE["dev.shared"] for launch in head["plan"]["launches"])



def header(name):
    """Path of a device header: one that all families share, or one of gemm's own."""
    shared = f"{ROOT}/kernels/device/{name}"
    return shared if os.path.exists(shared) else f"{ROOT}/kernels/families/gemm/device/{name}"


def source_text(body, constants, dtype):
    text = open(f"{ROOT}/kernels/device/types.cuh").read()
    text += "".join(f"constexpr int {name} = {value};\n" for name, value in constants.items())
    text += "".join(f"using T_{name} = {C_NAME[dtype if name in 'AB' else output_of(dtype)]};\n" for name in ["A", "B", "C", "bias", "D"])
    return text + re.sub(r'#include "cupilot/(\w+\.cuh)"', lambda m: open(header(m.group(1))).read(), body)


# --- compiling ----------------------------------------------------------------------------------------------------------

def compile_text(text):
    """Returns (cubin or None, log, seconds) by NVRTC."""
    nvrtc = ctypes.CDLL("libnvrtc.so")
    program = ctypes.c_void_p()
    begin = time.time()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = [b"--gpu-architecture=sm_90a", b"--std=c++17", b"--ptxas-options=-v", b"--no-cache"]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if status != 0:
        return None, log.value.decode(), time.time() - begin
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    return cubin.raw, log.value.decode(), time.time() - begin


def compile_variant(variant):
    head, body = parse(variant["template"])
    constants = constants_of(head, variant["values"], variant["dtype"], variant.get("task", {}))
    cubin, log, seconds = compile_text(source_text(body, constants, variant["dtype"]))
    registers = re.findall(r"Used (\d+) registers", log)  # of each kernel
    spills = re.findall(r"(\d+) bytes spill stores", log)
    return {"cubin": cubin, "log": log, "seconds": seconds, "registers": max(map(int, registers), default=0),
            "spills": max(map(int, spills), default=0)}


# --- which settings -----------------------------------------------------------------------------------------------------

def neighbours(template, dtype, base, count, changes, seed, task=None, fixed=()):
    """`count` legal settings that differ from `base` in one to `changes` parameters; the base first."""
    head, _ = parse(template)
    rng = random.Random(seed)
    result, seen = [], set()
    for tries in range(200 * count):
        values = dict(base)
        for _ in range(rng.randint(1, changes) if tries else 0):
            name = rng.choice([p for p in head["parameters"] if p not in fixed])
            values[name] = rng.choice(head["parameters"][name]["domain"])
        constants = constants_of(head, values, dtype, task or {})
        key = tuple(sorted(constants.items()))
        if key in seen or not legal(head, constants, dtype):
            continue
        seen.add(key)
        result.append({"template": template, "dtype": dtype, "values": values, "task": task or {}})
        if len(result) == count:
            break
    return result


def anywhere(template, dtype, count, seed):
    """`count` legal settings drawn over the whole space, each with a random layout and epilogue."""
    head, _ = parse(template)
    rng = random.Random(seed)
    result = []
    for _ in range(200000):
        values = {name: rng.choice(p["domain"]) for name, p in head["parameters"].items()}
        task = {"TRANS_A": rng.randint(0, 1), "TRANS_B": rng.randint(0, 1), "BATCHED": rng.randint(0, 1), "HAS_C": rng.randint(0, 1),
                "HAS_BIAS": rng.randint(0, 1), "HAS_ALPHA": rng.randint(0, 1), "ACT": rng.randint(0, 5)}
        if legal(head, constants_of(head, values, dtype, task), dtype):
            result.append({"template": template, "dtype": dtype, "values": values, "task": task})
            if len(result) == count:
                break
    return result


# --- running ------------------------------------------------------------------------------------------------------------

def start_library():
    return subprocess.Popen(["nvcc", "-O1", "-shared", "-Xcompiler", "-fPIC", f"{ROOT}/scripts/device/templates_lt.cpp", "-o",
                             "/tmp/templates_lt.so", "-lcublasLt"], stderr=subprocess.PIPE, text=True)


def finish_library(building):
    _, errors = building.communicate()
    if building.returncode != 0:
        print("no cuBLASLt:", errors[-300:])


class LaunchConfig(ctypes.Structure):  # CUlaunchConfig
    _fields_ = [(name, ctypes.c_uint) for name in ["gx", "gy", "gz", "bx", "by", "bz", "shared"]] + [
        ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint)]


class LaunchAttribute(ctypes.Structure):  # CUlaunchAttribute
    _fields_ = [("id", ctypes.c_uint), ("padding", ctypes.c_uint), ("value", ctypes.c_uint * 16)]


CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION


class Launcher:
    """Launches a kernel with its arguments (numpy scalars or map bytes) on the default stream."""

    def __init__(self, function, grid, block, cluster, shared, arguments):
        side = lambda sides, i: sides[i] if i < len(sides) else 1
        self.function = ctypes.c_void_p(function)
        self.values = [a if isinstance(a, ctypes.Array) else (ctypes.c_char * a.nbytes).from_buffer_copy(a.tobytes()) for a in arguments]
        self.pointers = (ctypes.c_void_p * len(self.values))(*[ctypes.addressof(v) for v in self.values])
        self.attribute = LaunchAttribute(CLUSTER_DIMENSION, 0, (ctypes.c_uint * 16)(cluster, 1, 1))
        self.config = LaunchConfig(*[side(grid, i) for i in range(3)], *[side(block, i) for i in range(3)], shared, None,
                                   ctypes.addressof(self.attribute), 1 if cluster > 1 else 0)

    def __call__(self):
        status = DRIVER.cuLaunchKernelEx(ctypes.byref(self.config), self.function, self.pointers, None)
        assert status == 0, f"cuLaunchKernelEx: {status}"


def tensor_map(plan_map, address, names):
    """The 128 bytes of a tiled map with zero fill, as the plan describes it."""
    dims, pitch, box = ([evaluate(text, names) for text in plan_map[key]] for key in ["dims", "pitch", "box"])
    raw = (ctypes.c_char * 256)()
    at = -ctypes.addressof(raw) % 64
    encoded = (ctypes.c_char * 128).from_buffer(raw, at)
    rank = len(dims)
    element = {"i16": 1, "f32": 7}[plan_map["type"]]  # CUtensorMapDataType
    none, swizzle, promotion = 0, {0: 0, 32: 1, 64: 2, 128: 3}[plan_map.get("swizzle", 128)], 3
    status = DRIVER.cuTensorMapEncodeTiled(encoded, element, rank, ctypes.c_void_p(address), (ctypes.c_uint64 * rank)(*dims),
                                           (ctypes.c_uint64 * (rank - 1))(*pitch), (ctypes.c_uint32 * rank)(*box),
                                           (ctypes.c_uint32 * rank)(*[1] * rank), none, swizzle, promotion, none)
    assert status == 0, f"cuTensorMapEncodeTiled: {status} {dims} {pitch} {box}"
    return encoded


MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
DRIVER = None  # libcuda, opened by the first Runner


class Runner:
    def __init__(self, out):
        global DRIVER
        import cupy, torch
        DRIVER = ctypes.CDLL("libcuda.so.1")
        self.cupy, self.torch = cupy, torch
        self.out = out
        self.flush = torch.zeros(32 << 20, dtype=torch.int64, device="cuda")
        self.lt = self.open_library()
        self.data = {}

    def open_library(self):
        if not os.path.exists("/tmp/templates_lt.so"):
            return None
        library = ctypes.CDLL("/tmp/templates_lt.so")
        library.lt_open.restype = ctypes.c_void_p
        library.lt_run.argtypes = [ctypes.c_void_p, ctypes.c_int] + [ctypes.c_void_p] * 3
        library.lt_ways.argtypes = [ctypes.c_void_p]
        return library

    def type_of(self, dtype):
        return {"float": self.torch.float32, "bf16": self.torch.bfloat16, "fp16": self.torch.float16,
                "e4m3": self.torch.float8_e4m3fn, "e5m2": self.torch.float8_e5m2}[C_NAME[dtype]]

    def case(self, dtype, shape, task):
        """Inputs, fp64 result before the epilogue and its sum of magnitudes, cached by what they depend on."""
        torch = self.torch
        batch, m, n, k = shape
        key = (self.type_of(dtype), shape, task["TRANS_A"], task["TRANS_B"])
        if key in self.data:
            return self.data[key]
        generator = torch.Generator(device="cuda").manual_seed(hash(key[1:]) % 1000)
        draw = lambda *s: torch.randn(*s, generator=generator, device="cuda").to(key[0])
        a = draw(batch, k, m) if task["TRANS_A"] else draw(batch, m, k)
        b = draw(batch, n, k) if task["TRANS_B"] else draw(batch, k, n)
        out = self.type_of(output_of(dtype))
        c, bias = (torch.randn(*s, generator=generator, device="cuda").to(out) for s in ((batch, m, n), (n,)))
        wide_a = (a.float().transpose(1, 2) if task["TRANS_A"] else a.float()).double()
        wide_b = (b.float().transpose(1, 2) if task["TRANS_B"] else b.float()).double()
        self.data[key] = (a, b, c, bias, wide_a @ wide_b, wide_a.abs() @ wide_b.abs())
        return self.data[key]

    def launch_of(self, variant, shape, tensors, module):
        """A function that launches once, its output (poisoned, with guards), the counters."""
        import numpy as np
        torch = self.torch
        head, _ = parse(variant["template"])
        dtype = variant["dtype"]
        batch, m, n, k = shape
        task = {**TASK, **variant.get("task", {})}
        names = {**constants_of(head, variant["values"], dtype, task), **DEVICE, "m": m, "n": n, "k": k, "batch": batch,
                 "elem.A": BYTES[dtype], "elem.B": BYTES[dtype], "elem.D": BYTES[output_of(dtype)]}
        for name, text in head["plan"]["let"].items():
            names[name] = evaluate(text, names)
        a, b, c, bias = tensors
        guard = 4096
        storage = torch.full((2 * guard + batch * m * n,), float("nan"), dtype=self.type_of(output_of(dtype)), device="cuda")
        fill = lambda buffer: -1 if buffer.get("content", "scratch") == "scratch" else 0  # -1: NaN in every type
        buffers = {b["name"]: torch.full((-(-evaluate(b["bytes"], names) // 4),), fill(b), dtype=torch.int32, device="cuda")
                   for b in head["plan"].get("buffers", [])}
        arrived = buffers.get("arrived", torch.zeros(1, device="cuda"))
        owners = {"A": a, "B": b, "D": storage[guard:], "C?": c, "bias?": bias, **buffers}
        maps = {plan_map["name"]: tensor_map(plan_map, owners[plan_map["of"]].data_ptr(), names) for plan_map in head["plan"].get("maps", [])}
        def argument_of(argument):
            if isinstance(argument, dict):
                return np.int32(evaluate(argument["i32"], names))
            if argument in maps:
                return maps[argument]
            if argument in ("alpha", "beta"):
                return np.float32(ALPHA if argument == "alpha" else BETA)
            return np.uint64(owners[argument].data_ptr())
        launchers = []
        for launch in head["plan"]["launches"]:
            function = module.get_function(launch["entry"])
            shared = evaluate(launch.get("shared", 0), names)
            # Whatever the size: static shared memory may lift a smaller one over the 48 KiB that need no asking.
            status = DRIVER.cuFuncSetAttribute(ctypes.c_void_p(function.ptr), MAX_DYNAMIC_SHARED, shared)
            assert status == 0, f"cuFuncSetAttribute: {status}"
            grid, block = (tuple(evaluate(side, names) for side in launch[key]) for key in ["grid", "block"])
            cluster = evaluate((launch.get("cluster") or [1])[0], names)
            launchers.append(Launcher(function.ptr, grid, block, cluster, shared, [argument_of(a) for a in launch["args"]]))
        keep = (tensors, storage, buffers, launchers)
        def run(keep=keep):
            for launcher in keep[-1]:
                launcher()
        return run, storage[guard:guard + batch * m * n].view(batch, m, n), storage, arrived, guard

    def check(self, variant, shape, module):
        """'' when right, else what is wrong; and the worst error as a share of its bound."""
        torch = self.torch
        dtype = variant["dtype"]
        task = {**TASK, **variant.get("task", {})}
        a, b, c, bias, exact, magnitude = self.case(dtype, shape, task)
        run, output, storage, arrived, guard = self.launch_of(variant, shape, (a, b, c, bias), module)
        run()
        torch.cuda.synchronize()
        reference, size = exact, magnitude
        if task["HAS_ALPHA"]:
            reference, size = ALPHA * reference, abs(ALPHA) * size
        if task["HAS_C"]:
            reference, size = reference + BETA * c.double(), size + abs(BETA) * c.double().abs()
        if task["HAS_BIAS"]:
            reference, size = reference + bias.double(), size + bias.double().abs()
        F = torch.nn.functional
        reference = [lambda x: x, F.relu, F.gelu, F.silu, torch.tanh, torch.sigmoid][task["ACT"]](reference)
        u_out = {"float": 2**-24, "bf16": 2**-8, "fp16": 2**-11}[C_NAME[output_of(dtype)]]
        u_in = {"tf32": 2**-10, "emulated": 2**-22, "bf16x3": 2**-15}.get(dtype, 0.0)
        u_sum = 2**-24 if dtype == "fp32" else 2**-22
        # 8-bit products are added up with 13 fraction bits, by docs/formats/numerics.md.
        cut = 600 * 2**-24 * (min(shape[3], 128) if dtype == "e4m3-promoted" else shape[3]) if BYTES[dtype] == 1 else 0.0
        steepest = 1.2 if task["ACT"] > 1 else 1.0  # of the activation
        bound = (8 * (shape[3] + 2)**0.5 * u_sum + u_in + cut) * size * steepest + 2 * u_out * reference.abs() + 1e-5 * (task["ACT"] > 1) + 4e-8 * (dtype == "fp16") + 1e-30
        ratio = ((output.double() - reference).abs() / bound)
        bad = int((~(ratio <= 1)).sum())
        if bad:
            where = (~(ratio <= 1)).nonzero()[0].tolist()
            return f"{bad} of {ratio.numel()} wrong, first at {where}", float("inf")
        if not bool(storage[:guard].isnan().all()) or not bool(storage[storage.numel() - guard:].isnan().all()):
            return "guard zone written", float("inf")
        if int(arrived.abs().sum()) != 0:
            return "counters not restored", float("inf")
        return "", float(ratio.max())

    def time_rounds(self, contestants, rounds):
        """Milliseconds of each contestant in each round, cold L2, interleaved."""
        torch = self.torch
        samples = [[] for _ in contestants]
        for r in range(rounds):
            for i in range(len(contestants)):
                which = (i + r) % len(contestants)
                for _ in range(2):  # by reading: dirty lines would be written back at the contestant's cost
                    self.flush.max()
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                contestants[which]()
                end.record()
                end.synchronize()
                samples[which].append(begin.elapsed_time(end))
        return samples


ALPHA, BETA = 1.25, -0.5
# Emulations of fp32 compete with the library's fp32.
DTYPE_CODE = {"fp32": 0, "emulated": 0, "bf16x3": 0, "tf32": 1, "bf16": 2, "fp16": 3, "e4m3": 4, "e5m2": 5, "e4m3-promoted": 6}


def median(values):
    return sorted(values)[len(values) // 2]


def compete(runner, job, variants, modules):
    """Times every variant at one shape, then the best few against the library's first eight heuristics."""
    torch = runner.torch
    dtype, shape = job["dtype"], tuple(job["shape"])
    task = {**TASK, **job.get("task", {})}
    batch, m, n, k = shape
    flops = 2.0 * batch * m * n * k
    a, b, c, bias, exact, magnitude = runner.case(dtype, shape, task)
    rows = []
    for variant, module in zip(variants, modules):
        if module is None:
            continue
        if not serves(variant, shape):
            continue
        wrong, worst = runner.check(variant, shape, module)
        rows.append({"variant": variant, "wrong": wrong, "worst": worst})
        if not wrong:
            rows[-1]["run"], rows[-1]["output"] = runner.launch_of(variant, shape, (a, b, c, bias), module)[:2]
    right = [row for row in rows if not row["wrong"]]
    # A card that has idled runs faster for a while than one at its power limit: the first one would look better.
    until = time.time() + 0.25
    while right and time.time() < until:
        for row in right:
            row["run"]()
        torch.cuda.synchronize()
    for row, times in zip(right, runner.time_rounds([row["run"] for row in right], 3)):
        row["screen_ms"] = median(times)
    right.sort(key=lambda row: row["screen_ms"])
    library = []
    output = torch.empty(batch, m, n, dtype=runner.type_of(output_of(dtype)), device="cuda")
    if runner.lt:
        opened = runner.lt.lt_open(DTYPE_CODE[dtype], m, n, k, batch, task["TRANS_A"], task["TRANS_B"])
        if opened:
            library = [lambda w=w: runner.lt.lt_run(opened, w, a.data_ptr(), b.data_ptr(), output.data_ptr())
                       for w in range(runner.lt.lt_ways(opened))]
    finalists = right[:job.get("finalists", 6)]
    times = runner.time_rounds([row["run"] for row in finalists] + library, job.get("rounds", 15))
    for row, samples in zip(finalists, times):
        row["ms"] = median(samples)
        row["samples"] = samples
    theirs = times[len(finalists):]
    best = min(range(len(theirs)), key=lambda i: median(theirs[i])) if theirs else None
    # ||result - exact|| / ||exact||, of what the last round left; the exact result knows no epilogue.
    plain = not any(task[name] for name in ["HAS_ALPHA", "HAS_C", "HAS_BIAS", "ACT"])
    error = lambda result: float((result.double() - exact).norm() / exact.norm()) if plain else 0.0
    library_error = 0.0
    if best is not None:
        library[best]()
        library_error = error(output)
    for row in finalists:
        row["error"] = error(row["output"])
    print(f"\n== {job['name']}: {dtype} {shape} {job.get('task', {})}: {len(rows)} compiled, {len(right)} right")
    for row in [row for row in rows if row["wrong"]][:5]:
        print("  WRONG", row["wrong"], json.dumps(row["variant"]["values"]))
    if best is not None:
        print(f"  library best of {len(theirs)}: {median(theirs[best]):.4f} ms {flops / median(theirs[best]) / 1e9:.1f} TFLOP/s, "
              f"error {library_error:.2e}")
    for row in sorted(finalists, key=lambda row: row["ms"]):
        if best is not None:
            row["ratio"] = median([x / y for x, y in zip(theirs[best], row["samples"])])
        built = row["variant"]["built"]
        print(f"  {row['ms']:.4f} ms {flops / row['ms'] / 1e9:7.1f} TFLOP/s ratio {row.get('ratio', 0):.3f} error {row['error']:.2e} r{built['registers']} s{built['spills']}"
              f" {json.dumps(row['variant']['values']).replace(' ', '')}")
    for row in right:
        row.pop("run")
        row.pop("output")
    torch.cuda.empty_cache()
    return {"job": job, "flops": flops, "library_ms": [median(t) for t in theirs], "library_samples": theirs,
            "library_error": library_error, "rows": rows}


def prove(runner, job, variants, modules):
    """Checks every variant at every shape."""
    worst, failed = 0.0, []
    for variant, module in zip(variants, modules):
        if module is None:
            continue
        for shape in job["shapes"]:
            shape = tuple(shape) if variant["task"].get("BATCHED") or shape[0] == 1 else (1, *shape[1:])
            if not serves(variant, shape):
                continue
            wrong, ratio = runner.check(variant, shape, module)
            if wrong:
                failed.append({"variant": variant, "shape": shape, "wrong": wrong})
            else:
                worst = max(worst, ratio)
    print(f"\n== {job['name']}: {len(variants)} settings x {len(job['shapes'])} shapes, {len(failed)} wrong, worst error {worst:.3f} of bound")
    for failure in failed[:8]:
        print("  WRONG", failure["shape"], failure["wrong"], json.dumps(failure["variant"]["values"]).replace(" ", ""),
              json.dumps(failure["variant"]["task"]).replace(" ", ""))
    return {"job": job, "worst": worst, "failed": failed}


def repeat(runner, job, variants, modules):
    """Launches every variant `times` times on the same inputs, every second time with a cold L2. A fault of timing shows as launches
    whose result is not the first one's, which was checked."""
    torch, shape, rows = runner.torch, tuple(job["shape"]), []
    for variant, module in zip(variants, modules):
        if module is None:
            continue
        wrong, _ = runner.check(variant, shape, module)
        run, output = runner.launch_of(variant, shape, runner.case(job["dtype"], shape, {**TASK, **variant["task"]})[:4], module)[:2]
        run()
        first, odd = output.clone(), 0
        for i in range(job["times"]):
            output.fill_(float("nan"))
            if i % 2:
                runner.flush.max()
            run()
            odd += int(not torch.equal(output, first))
        rows.append({"values": variant["values"], "wrong": wrong, "launches": job["times"], "unlike_the_first": odd})
        print(f"  {job['name']}: {odd} of {job['times']} launches unlike the first {wrong} {json.dumps(variant['values'])}", flush=True)
    return {"job": job, "repeats": rows}


def variants_of(job):
    if job["kind"] == "prove":
        return anywhere(job["template"], job["dtype"], job["count"], job.get("seed", 1))
    if "variants" in job:
        return [{"template": v["template"], "dtype": job["dtype"], "values": v["values"], "task": job.get("task", {})} for v in job["variants"]]
    result = []
    for base in job["bases"]:
        result += neighbours(job["template"], job["dtype"], base, job["count"], job.get("changes", 3), job.get("seed", 1),
                             job.get("task"), job.get("fixed", ()))
    fitting = [variant for variant in result if serves(variant, job["shape"])]
    if len(fitting) < len(result):
        print(f"{job['name']}: {len(result) - len(fitting)} settings do not serve the shape")
    return fitting


def main():
    """Jobs: {"kind": "time", name, template, dtype, shape [batch, m, n, k], task, bases, count, changes}
    (or, in place of bases and so on, variants: [{template, values}]), {"kind": "prove", name, template, dtype, count, shapes} or
    {"kind": "repeat", name, dtype, shape, times, variants}. TEMPLATES_ROOT names another tree whose kernels/ are meant."""
    out = os.environ.get("OUT", "/tmp")
    jobs = json.load(open(sys.argv[2]))
    planned = [(job, variants_of(job)) for job in jobs]
    begin = time.time()
    building = start_library()
    everything = [variant for _, variants in planned for variant in variants]
    keys = [json.dumps([variant["template"], variant["dtype"], variant["values"], variant.get("task", {})], sort_keys=True) for variant in everything]
    distinct = {key: variant for key, variant in zip(keys, everything)}
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        by_key = dict(zip(distinct, pool.map(compile_variant, distinct.values(), chunksize=2)))
    built = [by_key[key] for key in keys]
    seconds = sorted(b["seconds"] for b in built)
    print(f"compiled {len(built)} in {time.time() - begin:.1f} s, median {seconds[len(seconds) // 2]:.2f} s each; "
          f"{sum(b['cubin'] is None for b in built)} failed, {sum(b['spills'] > 0 for b in built)} spill")
    for variant, b in zip(everything, built):
        variant["built"] = {"registers": b["registers"], "spills": b["spills"], "seconds": b["seconds"]}
        if b["cubin"] is None:
            print("FAILED", json.dumps(variant), b["log"][:400])
    finish_library(building)
    if "--compile-only" in sys.argv:
        return
    import cupy, torch  # before forking
    if "--together" in sys.argv:
        run_together(planned, built, out, begin)
        return
    results, at = [], 0
    for job, variants in planned:
        code = built[at:at + len(variants)]
        at += len(variants)
        child = multiprocessing.get_context("fork").Process(target=run_job, args=(job, variants, code, out))
        child.start()
        child.join(job.get("seconds", 90))
        if child.is_alive():
            child.kill()
            print("JOB TIMED OUT", job["name"])
        part = f"{out}/part.json"
        if os.path.exists(part):
            results.append(json.load(open(part)))
            os.remove(part)
        print(f"  [{time.time() - begin:.0f} s]", flush=True)
        json.dump(results, open(f"{out}/templates.json", "w"))


def run_together(planned, built, out, begin):
    """All jobs in one process, which saves a context each; a fault ends them all."""
    results, at = [], 0
    runner = Runner(out)
    for job, variants in planned:
        run_job(job, variants, built[at:at + len(variants)], out, runner)
        at += len(variants)
        if not os.path.exists(f"{out}/part.json"):
            break
        results.append(json.load(open(f"{out}/part.json")))
        os.remove(f"{out}/part.json")
        runner.data.clear()
        print(f"  [{time.time() - begin:.0f} s]", flush=True)
        json.dump(results, open(f"{out}/templates.json", "w"))


def run_job(job, variants, code, out, runner=None):
    try:
        runner = runner or Runner(out)
        modules = []
        for b in code:
            module = None
            if b["cubin"] is not None:
                module = runner.cupy.cuda.function.Module()
                module.load(b["cubin"])
            modules.append(module)
        result = {"time": compete, "prove": prove, "repeat": repeat}[job["kind"]](runner, job, variants, modules)
    except Exception:
        print("JOB FAILED", job["name"], traceback.format_exc()[-900:], flush=True)
        return
    json.dump(result, open(f"{out}/part.json", "w"))
    ranked = sorted((row for row in result.get("rows", []) if "ms" in row), key=lambda row: row["ms"])
    for place, row in enumerate(ranked[:job.get("dump", 0)]):
        path = f"/tmp/{job['name']}{place}.cubin"
        open(path, "wb").write(code[variants.index(row["variant"])]["cubin"])
        text = subprocess.run(["cuobjdump", "--dump-sass", path], capture_output=True, text=True).stdout
        open(f"{out}/{job['name']}{place}.sass", "w").write(text)


if __name__ == "__main__":
    main()
