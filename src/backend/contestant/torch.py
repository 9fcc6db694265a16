"""PyTorch as a contestant of cupilot: computes a task's graph over memory that another process owns, when it is asked to.

Reads a JSON object a line on descriptor 3, with descriptors of memory beside it, and answers each with one:
  hello    {device, uuid, benchmark}               -> {says}
  task     {tensors, operations}                   -> {source}
  map      {slots: [{slot, bytes, writable}]}      -> {}; a descriptor each
  run      {contestant, regions, digests, cold}    -> {event_us}
  rest     {}                                      -> {}; gives all memory back
An answer with `refused` says why this contestant has no time; `lost`: this process must be replaced."""
import ctypes
import hashlib
import json
import linecache
import os
import socket
import sys
import traceback
import types


class Refused(Exception):
    """str(): the reason."""


class Lost(Exception):
    """The CUDA context is of no use any more."""


# ---- memory ---------------------------------------------------------------------------------------------------------------

class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


class Driver:
    """The calls of libcuda that map memory of another process."""
    ON_DEVICE, FILE_DESCRIPTOR, READ, READ_WRITE = 1, 1, 1, 3

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise Refused(f"{name} answers {code}")

    def uuid(self, device):
        handle, raw = ctypes.c_int(), (ctypes.c_ubyte * 16)()
        self.call("cuDeviceGet", ctypes.byref(handle), ctypes.c_int(device))
        self.call("cuDeviceGetUuid", ctypes.byref(raw), handle)
        text = bytes(raw).hex()
        return "GPU-" + "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])

    def map(self, descriptor, size, writable, device):
        handle, address = ctypes.c_ulonglong(), ctypes.c_ulonglong()
        self.call("cuMemImportFromShareableHandle", ctypes.byref(handle), ctypes.c_void_p(descriptor),
                  ctypes.c_int(self.FILE_DESCRIPTOR))
        self.call("cuMemAddressReserve", ctypes.byref(address), ctypes.c_size_t(size), ctypes.c_size_t(0),
                  ctypes.c_ulonglong(0), ctypes.c_ulonglong(0))
        self.call("cuMemMap", address, ctypes.c_size_t(size), ctypes.c_size_t(0), handle, ctypes.c_ulonglong(0))
        access = Access(Location(self.ON_DEVICE, device), self.READ_WRITE if writable else self.READ)
        self.call("cuMemSetAccess", address, ctypes.c_size_t(size), ctypes.byref(access), ctypes.c_size_t(1))
        return handle, address, size

    def unmap(self, mapping):
        handle, address, size = mapping
        self.call("cuMemUnmap", address, ctypes.c_size_t(size))
        self.call("cuMemAddressFree", address, ctypes.c_size_t(size))
        self.call("cuMemRelease", handle)


class Bytes:
    """Device memory as torch.as_tensor takes it. torch wants it called writable; the mapping protects it all the same."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "strides": None,
                                         "version": 3}


DTYPES = {"fp64": "float64", "fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "e4m3": "float8_e4m3fn",
          "e5m2": "float8_e5m2", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "bool": "bool"}


# ---- the graph ------------------------------------------------------------------------------------------------------------

def numbers(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def same_name(kind):
    return lambda x, a: f"torch.{kind}({x[0]})"


def functional(kind, *names, **defaults):
    """A call of torch.nn.functional with attributes by name."""
    def text(x, a):
        words = [f"{name}={a.get(name, defaults.get(name))!r}" for name in names if name in a or name in defaults]
        return f"F.{kind}({', '.join([x[0], *words])})"
    return text


def scaled(kind):
    def text(x, a):
        other = x[1] if len(x) > 1 else repr(a.get("other", 0.0))
        alpha = f", alpha={a['alpha']!r}" if a.get("alpha", 1.0) != 1.0 else ""
        return f"torch.{kind}({x[0]}, {other}{alpha})"
    return text


def two(kind):
    """Of two tensors, or of one and a number."""
    return lambda x, a: f"torch.{kind}({x[0]}, {x[1] if len(x) > 1 else repr(a.get('other', 0.0))})"


def reduced(kind, *more, single=False):
    def text(x, a):
        words = [f"{name}={a[name]!r}" for name in more if name in a]
        dim = numbers(a.get("dim", []))
        if dim:
            words += [f"dim={dim[0] if single else tuple(dim)!r}", f"keepdim={bool(a.get('keepdim', 0))}"]
        elif a.get("keepdim", 0):
            raise Refused(f"{kind} over all dimensions that keeps them")
        return f"torch.{kind}({', '.join([x[0], *words])})"
    return text


def norm_of(p):
    def text(x, a):
        dim = numbers(a.get("dim", []))
        words = [f"dim={tuple(dim)!r}", f"keepdim={bool(a.get('keepdim', 0))}"] if dim else []
        return f"torch.linalg.vector_norm({', '.join([x[0], str(a.get('p', 2.0) if p is None else p), *words])})"
    return text


def convolution(rank, transposed):
    def text(x, a):
        x = x + ["None"] * (3 - len(x))
        padding = "'same'" if a.get("same", 0) else repr(a.get("padding", 0))
        words = [f"stride={a.get('stride', 1)!r}", f"padding={padding}"]
        if transposed:
            words.append(f"output_padding={a.get('output_padding', 0)!r}")
        words += [f"groups={a.get('groups', 1)!r}", f"dilation={a.get('dilation', 1)!r}"]
        return f"F.conv{'_transpose' if transposed else ''}{rank}d({', '.join(x + words)})"
    return text


def pool(kind, *names):
    def text(x, a):
        words = [f"kernel_size={a['kernel_size']!r}"] + [f"{name}={a[name]!r}" for name in names if name in a]
        if numbers(a.get("stride", [])):
            words.append(f"stride={a['stride']!r}")
        for name in ("ceil_mode", "count_include_pad"):
            if name in a:
                words.append(f"{name}={bool(a[name])}")
        return f"F.{kind}({', '.join([x[0], *words])})"
    return text


def loss(kind, inputs, *names):
    """`inputs`: how many come before the options; one more is the weight."""
    def text(x, a):
        words = [f"{name}={a[name]!r}" for name in names if name in a]
        if len(x) > inputs:
            words.append(f"weight={x[inputs]}")
        words.append(f"reduction={a.get('reduction', 'mean')!r}")
        return f"F.{kind}({', '.join(x[:inputs] + words)})"
    return text


def product(x, a):
    left, right = (f"{name}.mT" if a.get(flag, 0) else name for name, flag in zip(x, ("transpose_a", "transpose_b")))
    return f"torch.matmul({left}, {right})"


def gemm(x, a):
    """The plain product of the family's own operator, whose switches are the task's constants."""
    if any(a.get(name, 0) for name in ("HAS_C", "HAS_BIAS", "HAS_ALPHA", "ACT", "SCALE")):
        raise Refused("a gemm with C, bias, factors or an activation has no single call")
    one = "" if a.get("BATCHED", 0) else "[0]"
    left, right = (name + one + (".mT" if a.get(flag, 0) else "") for name, flag in zip(x, ("TRANS_A", "TRANS_B")))
    return f"torch.matmul({left}, {right})" + ("" if one == "" else ".unsqueeze(0)")


def addmm(x, a):
    left, right = (f"{name}.mT" if a.get(flag, 0) else name for name, flag in zip(x, ("transpose_a", "transpose_b")))
    return (f"(torch.addmm if {x[0]}.dim() == 2 else torch.baddbmm)({x[2]}, {left}, {right}, beta={a.get('beta', 1.0)},"
            f" alpha={a.get('alpha', 1.0)})")


def batch_norm_train(x, a):
    x = x + ["None"] * (5 - len(x))
    if x[3] == "None":
        return f"F.batch_norm({x[0]}, None, None, {x[1]}, {x[2]}, True, {a.get('momentum', 0.1)}, {a.get('eps', 1e-05)})"
    # The running statistics are updated in place, and are this operation's other outputs.
    return (f"(F.batch_norm({x[0]}, {x[3]}, {x[4]}, {x[1]}, {x[2]}, True, {a.get('momentum', 0.1)}, {a.get('eps', 1e-05)}),"
            f" {x[3]}, {x[4]})")


def over_last(kind):
    def text(x, a):
        x = x + ["None"] * (3 - len(x))
        more = f", {x[2]}" if kind == "layer_norm" else ""
        return f"F.{kind}({x[0]}, {x[0]}.shape[-{int(a.get('dims', 1))}:], {x[1]}{more}, {a.get('eps', 1e-05)})"
    return text


def attention(x, a):
    x = x + ["None"] * (4 - len(x))
    scale = a.get("scale", 0.0) or None
    return f"attention({x[0]}, {x[1]}, {x[2]}, {x[3]}, {bool(a.get('causal', 0))}, {scale})"


# PyTorch's fused kernels take tensors of four dimensions alone; those of three go as one batch, by views.
ATTENTION = """def attention(q, k, v, mask, causal, scale):
    if q.dim() != 3:
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale)
    mask = mask.unsqueeze(0) if mask is not None and mask.dim() == 3 else mask
    return F.scaled_dot_product_attention(q[None], k[None], v[None], mask, is_causal=causal, scale=scale)[0]


"""


def sliced(x, a):
    if a.get("length", 0):
        return f"{x[0]}.narrow({a.get('dim', 0)}, {a.get('start', 0)}, {a['length']})"
    return (f"torch.ops.aten.slice.Tensor({x[0]}, {a.get('dim', 0)}, {a.get('start', 0)},"
            f" {a.get('end', 2**63 - 1)}, {a.get('step', 1)})")


def clamped(x, a):
    low, high = (None if str(a.get(name, "inf")).lstrip("-") == "inf" else a[name] for name in ("low", "high"))
    return f"torch.clamp({x[0]}, {low}, {high})"


def dims(call):
    return lambda x, a: f"{x[0]}.{call}({numbers(a['dims'])!r})"


OPERATIONS = {name: same_name(name) for name in (
    "abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal square sin cos tan asin acos atan sinh cosh asinh"
    " acosh atanh tanh erf erfc floor ceil round trunc frac sign isnan isinf isfinite logical_not relu sigmoid selu").split()}
OPERATIONS |= {name: functional(name) for name in "relu6 hardsigmoid silu hardswish mish softsign tanhshrink".split()}
OPERATIONS |= {name: two(name) for name in (
    "eq ne lt le gt ge mul remainder fmod pow maximum minimum fmax fmin atan2 xlogy logaddexp copysign logical_and"
    " logical_or logical_xor").split()}
OPERATIONS |= {name: scaled(name) for name in ("add", "sub", "rsub")}
OPERATIONS |= {name: reduced(name) for name in ("sum", "mean", "amax", "amin", "any", "all", "logsumexp", "count_nonzero")}
OPERATIONS |= {name: reduced(name, single=True) for name in ("prod", "argmax", "argmin")}
OPERATIONS |= {name: reduced(name, "correction") for name in ("var", "std", "var_mean")}
OPERATIONS |= {f"{name}_dim": reduced(name, single=True) for name in ("max", "min")}
OPERATIONS |= {f"conv{rank}d": convolution(rank, False) for rank in (1, 2, 3)}
OPERATIONS |= {f"conv_transpose{rank}d": convolution(rank, True) for rank in (1, 2, 3)}
OPERATIONS |= {f"max_pool{rank}d": pool(f"max_pool{rank}d", "padding", "dilation") for rank in (1, 2, 3)}
OPERATIONS |= {f"avg_pool{rank}d": pool(f"avg_pool{rank}d", "padding") for rank in (1, 2, 3)}
OPERATIONS |= {f"adaptive_{kind}_pool{rank}d": functional(f"adaptive_{kind}_pool{rank}d", "output_size")
               for rank in (1, 2, 3) for kind in ("avg", "max")}
OPERATIONS |= {name: (lambda kind: lambda x, a: f"torch.{kind}({x[0]}, dim={a['dim']})")(name)
               for name in ("cumsum", "cumprod", "cummax", "cummin")}
OPERATIONS |= {name: (lambda kind: lambda x, a: f"F.{kind}({x[0]}, dim={a.get('dim', -1)})")(name)
               for name in ("softmax", "log_softmax", "softmin")}
OPERATIONS |= {
    "identity": lambda x, a: f"{x[0]}.clone()",
    "div": lambda x, a: "torch.div({}, {}{})".format(
        x[0], x[1] if len(x) > 1 else repr(a.get("other", 0.0)),
        f", rounding_mode={a['rounding_mode']!r}" if a.get("rounding_mode", "none") != "none" else ""),
    "clamp": clamped, "hardtanh": functional("hardtanh", "min_val", "max_val"), "gelu": functional("gelu", "approximate"),
    "elu": functional("elu", "alpha"), "celu": functional("celu", "alpha"),
    "leaky_relu": functional("leaky_relu", "negative_slope"), "softplus": functional("softplus", "beta", "threshold"),
    "softshrink": functional("softshrink", "lambd"), "hardshrink": functional("hardshrink", "lambd"),
    "log_sigmoid": lambda x, a: f"F.logsigmoid({x[0]})",
    "threshold": lambda x, a: f"F.threshold({x[0]}, {a['threshold']}, {a['value']})",
    "full_like": lambda x, a: f"torch.full_like({x[0]}, {a.get('value', 0.0)})",
    "where": lambda x, a: f"torch.where({x[0]}.bool(), {x[1]}, {x[2]})",
    "masked_fill": lambda x, a: f"{x[0]}.masked_fill({x[1]}.bool(), {a['value']})",
    "lerp": lambda x, a: f"torch.lerp({x[0]}, {x[1]}, {x[2] if len(x) > 2 else a.get('amount', 0.0)})",
    "addcmul": lambda x, a: f"torch.addcmul({', '.join(x)}, value={a.get('value', 1.0)})",
    "addcdiv": lambda x, a: f"torch.addcdiv({', '.join(x)}, value={a.get('value', 1.0)})",
    "prelu": lambda x, a: f"F.prelu({x[0]}, {x[1]})",
    "norm": norm_of(None), "norm_inf": norm_of("float('inf')"), "norm_minus_inf": norm_of("-float('inf')"),
    "matmul": product, "gemm": gemm, "addmm": addmm, "linear": lambda x, a: f"F.linear({', '.join(x)})",
    "einsum": lambda x, a: f"torch.einsum({a['equation']!r}, {', '.join(x)})",
    "batch_norm_train": batch_norm_train,
    "batch_norm": lambda x, a: f"F.batch_norm({', '.join(x)}, eps={a.get('eps', 1e-05)})",
    "instance_norm": lambda x, a: "F.instance_norm({0}, weight={1}, bias={2}, eps={eps})".format(
        *(x + ["None"] * (3 - len(x))), eps=a.get("eps", 1e-05)),
    "group_norm": lambda x, a: "F.group_norm({0}, {groups}, {1}, {2}, {eps})".format(
        *(x + ["None"] * (3 - len(x))), groups=a["groups"], eps=a.get("eps", 1e-05)),
    "layer_norm": over_last("layer_norm"), "rms_norm": over_last("rms_norm"),
    "normalize": functional("normalize", "p", "dim", "eps"), "attention": attention,
    "reshape": lambda x, a: f"{x[0]}.reshape({numbers(a['shape'])!r})",
    "flatten": lambda x, a: f"{x[0]}.flatten({a.get('start_dim', 0)}, {a.get('end_dim', -1)})",
    "unflatten": lambda x, a: f"{x[0]}.unflatten({a['dim']}, {numbers(a['shape'])!r})",
    "squeeze": lambda x, a: f"{x[0]}.squeeze({tuple(numbers(a['dim'])) if numbers(a.get('dim', [])) else ''})",
    "unsqueeze": lambda x, a: f"{x[0]}.unsqueeze({a['dim']})", "permute": dims("permute"), "flip": dims("flip"),
    "transpose": lambda x, a: f"{x[0]}.transpose({a.get('dim0', 0)}, {a.get('dim1', 1)})",
    "expand": lambda x, a: f"{x[0]}.expand_as({x[1]})" if len(x) > 1 else f"{x[0]}.expand({numbers(a['shape'])!r})",
    "repeat": lambda x, a: f"{x[0]}.repeat({numbers(a['repeats'])!r})", "slice": sliced,
    "select": lambda x, a: f"{x[0]}.select({a.get('dim', 0)}, {a['index']})",
    "unfold": lambda x, a: f"{x[0]}.unfold({a['dim']}, {a['size']}, {a.get('step', 1)})",
    "roll": lambda x, a: f"torch.roll({x[0]}, {numbers(a['shifts'])!r}, {numbers(a['dims'])!r})",
    "pad": lambda x, a: f"F.pad({x[0]}, {numbers(a['padding'])!r}, {a.get('mode', 'constant')!r}"
                        + (f", {a['value']})" if "value" in a else ")"),
    "tril": lambda x, a: f"torch.tril({x[0]}, {a.get('diagonal', 0)})",
    "triu": lambda x, a: f"torch.triu({x[0]}, {a.get('diagonal', 0)})",
    "cat": lambda x, a: f"torch.cat([{', '.join(x)}], {a.get('dim', 0)})",
    "stack": lambda x, a: f"torch.stack([{', '.join(x)}], {a.get('dim', 0)})",
    "gather": lambda x, a: f"torch.gather({x[0]}, {a['dim']}, {x[1]}.long())",
    "index_select": lambda x, a: f"torch.index_select({x[0]}, {a['dim']}, {x[1]})",
    "embedding": lambda x, a: f"F.embedding({x[1]}, {x[0]})",
    "mse_loss": loss("mse_loss", 2), "l1_loss": loss("l1_loss", 2), "smooth_l1_loss": loss("smooth_l1_loss", 2, "beta"),
    "huber_loss": loss("huber_loss", 2, "delta"), "binary_cross_entropy": loss("binary_cross_entropy", 2),
    "kl_div": lambda x, a: f"F.kl_div({x[0]}, {x[1]}, reduction={a.get('reduction', 'mean')!r},"
                           f" log_target={bool(a.get('log_target', 0))})",
    "hinge_embedding_loss": loss("hinge_embedding_loss", 2, "margin"), "soft_margin_loss": loss("soft_margin_loss", 2),
    "margin_ranking_loss": loss("margin_ranking_loss", 3, "margin"),
    "nll_loss": lambda x, a: loss("nll_loss", 2, "ignore_index")([x[0], f"{x[1]}.long()", *x[2:]], a),
    "cross_entropy": lambda x, a: loss("cross_entropy", 2, "ignore_index", "label_smoothing")(
        [x[0], f"{x[1]}.long()", *x[2:]], a),
    "cross_entropy_probabilities": loss("cross_entropy", 2, "label_smoothing"),
    "triplet_margin_loss": loss("triplet_margin_loss", 3, "margin", "p", "eps"),
    "cosine_similarity": lambda x, a: f"F.cosine_similarity({x[0]}, {x[1]}, {a.get('dim', 1)}, {a.get('eps', 1e-08)})",
    "pairwise_distance": lambda x, a: f"F.pairwise_distance({x[0]}, {x[1]}, {a.get('p', 2.0)}, {a.get('eps', 1e-06)})",
}
# Operations that give several values in PyTorch; words that stand for numbers which JSON lacks.
OF_SEVERAL = ("max_dim", "min_dim", "cummax", "cummin", "var_mean")
NUMBERS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


def source_of(task):
    """The graph as a Python function of its inputs, in the order of the task's tensors."""
    names = {tensor["name"]: f"t{i}" for i, tensor in enumerate(task["tensors"])}
    inputs = [names[tensor["name"]] for tensor in task["tensors"] if tensor["role"] != "out"]
    lines = []
    for operation in task["operations"]:
        kind = operation["kind"]
        if kind not in OPERATIONS:
            raise Refused(f"no words of PyTorch for the operator {kind}")
        for name in operation["outputs"]:
            names.setdefault(name, f"v{len(names)}")
        given = ["None" if name == "" else names[name] for name in operation["inputs"]]
        attributes = {key: NUMBERS.get(value, value) if isinstance(value, str) else value
                      for key, value in {**task.get("constants", {}), **operation["attributes"]}.items()}
        text = OPERATIONS[kind](given, attributes)
        if kind in OF_SEVERAL and len(operation["outputs"]) == 1:
            text += "[0]"
        lines.append(f"    {', '.join(names[name] for name in operation['outputs'])} = {text}")
    results = [names[tensor["name"]] for tensor in task["tensors"] if tensor["role"] in ("out", "in_out")]
    helpers = ATTENTION if any(operation["kind"] == "attention" for operation in task["operations"]) else ""
    return helpers + f"def graph({', '.join(inputs)}):\n" + "\n".join(lines) + f"\n    return {', '.join(results)},\n"


# ---- the contestant -------------------------------------------------------------------------------------------------------

class Contestant:
    WARM = 3  # launches before the first timed one: compiling, choosing algorithms, filling the allocator
    MODES = {"torch-compile": None, "torch-max-autotune": "max-autotune-no-cudagraphs"}

    def __init__(self):
        self.torch = self.driver = self.task = None
        self.tasks = 0
        self.device, self.slots, self.functions, self.flush = 0, {}, {}, None

    def hello(self, order):
        try:
            import torch
        except ImportError as error:
            raise Refused(f"{sys.executable} has no PyTorch: {error}")
        if not torch.cuda.is_available():
            raise Refused(f"PyTorch {torch.__version__} of {sys.executable} sees no CUDA device")
        self.torch, self.device = torch, order["device"]
        torch.cuda.set_device(self.device)
        torch.set_grad_enabled(False)
        torch.zeros(1, device="cuda")  # makes the context that memory is mapped in
        self.driver = Driver()
        uuid = self.driver.uuid(self.device)
        if uuid != order["uuid"]:
            raise Refused(f"PyTorch's device {self.device} is {uuid}, the judge's is {order['uuid']}")
        torch.backends.cudnn.benchmark = order["benchmark"]
        return {"says": "torch {}, CUDA {}, cuDNN {}, {}; cudnn.benchmark {}, TF32 in matmul {}, in cuDNN {}".format(
            torch.__version__, torch.version.cuda, torch.backends.cudnn.version(), torch.cuda.get_device_name(self.device),
            *("on" if flag else "off" for flag in (order["benchmark"], torch.backends.cuda.matmul.allow_tf32,
                                                    torch.backends.cudnn.allow_tf32)))}

    def set_task(self, order):
        self.rest({})
        source = source_of(order)
        self.tasks += 1
        module = types.ModuleType(f"cupilot_task_{self.tasks}")  # torch.compile asks for a function's module and source
        module.__dict__.update(torch=self.torch, F=self.torch.nn.functional, inf=NUMBERS["inf"], nan=NUMBERS["nan"])
        sys.modules[module.__name__] = module
        linecache.cache[module.__name__] = (len(source), None, source.splitlines(True), module.__name__)
        exec(compile(source, module.__name__, "exec"), module.__dict__)
        self.task = {**order, "graph": module.graph}
        return {"source": source}

    def map(self, order, descriptors):
        for slot, descriptor in zip(order["slots"], descriptors):
            self.slots[slot["slot"]] = self.driver.map(descriptor, slot["bytes"], slot["writable"], self.device)
        return {}

    def tensor(self, tensor, region):
        torch = self.torch
        _, address, _ = self.slots[region["slot"]]
        raw = torch.as_tensor(Bytes(address.value + region["offset"], region["bytes"]), device=f"cuda:{self.device}")
        return raw.view(getattr(torch, DTYPES[tensor["dtype"]])).as_strided(tensor["shape"], tensor["strides"])

    def same_content(self, flat, digest):
        """Whether the elements at these places are the judge's, by the SHA-256 of their bytes."""
        places = self.torch.tensor(digest["places"], device=f"cuda:{self.device}")
        found = flat[places].view(self.torch.uint8).cpu().tolist()
        return hashlib.sha256(bytes(found)).hexdigest() == digest["sha256"]

    def check_content(self, tensors, order):
        for digest in order["digests"]:
            tensor = tensors[digest["tensor"]]
            span = tensor.as_strided([digest["span"]], [1])
            if not self.same_content(span, digest):
                raise Refused(f"{self.task['tensors'][digest['tensor']]['name']} has other content here than in the judge")

    def converted(self, tensor):
        torch = self.torch
        layouts = {4: torch.channels_last, 5: torch.channels_last_3d}
        return tensor.contiguous(memory_format=layouts[tensor.dim()]) if tensor.dim() in layouts else tensor

    def function_of(self, name, inputs):
        """What is timed, and the inputs that it is given."""
        graph, mode = self.task["graph"], self.MODES
        if name in mode:
            if name not in self.functions:
                self.torch._dynamo.reset()
                self.functions[name] = self.torch.compile(graph, dynamic=False, mode=mode[name])
            return self.functions[name], inputs
        if not name.startswith("torch-channels-last"):
            return graph, inputs
        if name.endswith("-bare"):
            return graph, [self.converted(tensor) for tensor in inputs]
        return (lambda *given: tuple(result.contiguous() for result in graph(*map(self.converted, given)))), inputs

    def run(self, order):
        torch = self.torch
        tensors = [self.tensor(*pair) for pair in zip(self.task["tensors"], order["regions"])]
        roles = [tensor["role"] for tensor in self.task["tensors"]]
        self.check_content(tensors, order)
        function, given = self.function_of(order["contestant"],
                                           [tensor for tensor, role in zip(tensors, roles) if role != "out"])
        changed = [tensor for tensor, role in zip(tensors, roles) if role == "in_out"]
        before = [tensor.clone() for tensor in changed]

        def restore():
            for tensor, kept in zip(changed, before):
                tensor.copy_(kept)
        for _ in range(self.WARM if order["first"] else 0):
            function(*given)
            restore()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        if order["cold"]:
            self.clear_l2()
        start.record()
        results = function(*given)
        end.record()
        torch.cuda.synchronize()
        for tensor, result in zip([t for t, role in zip(tensors, roles) if role in ("out", "in_out")], results):
            if tensor.data_ptr() != result.data_ptr():
                tensor.copy_(result.reshape(tensor.shape))
        torch.cuda.synchronize()
        return {"event_us": start.elapsed_time(end) * 1e3}

    def clear_l2(self):
        """Reads what fills L2 with clean lines, then keeps the device busy while the host launches ahead."""
        if self.flush is None:
            size = max(4 * getattr(self.torch.cuda.get_device_properties(self.device), "L2_cache_size", 0), 64 << 20)
            self.flush = self.torch.zeros(size // 4, device=f"cuda:{self.device}")
        self.flush.sum()
        self.torch.cuda._sleep(200_000)

    def rest(self, _):
        self.task, self.functions = None, {}
        self.torch.cuda.synchronize()
        for mapping in self.slots.values():
            self.driver.unmap(mapping)
        self.slots, self.flush = {}, None
        self.torch.cuda.empty_cache()
        return {}


# ---- turns ----------------------------------------------------------------------------------------------------------------

def answer(contestant, order, descriptors):
    asked = order["ask"]
    try:
        if asked == "map":
            return contestant.map(order, descriptors)
        return {"hello": contestant.hello, "task": contestant.set_task, "run": contestant.run,
                "rest": contestant.rest}[asked](order)
    except Refused as refused:
        return {"refused": str(refused)}
    except Exception as error:  # of PyTorch: some leave a context of no use, and a new process costs seconds
        text = traceback.format_exception_only(type(error), error)[-1].strip()
        return {"refused": text[:600], "lost": "CUDA error" in text or asked in ("hello", "map", "rest")}


def close_all(descriptors):
    for descriptor in descriptors:
        os.close(descriptor)


def main():
    channel = socket.socket(fileno=3)
    contestant, text, descriptors = Contestant(), b"", []
    while True:
        data, more, _, _ = socket.recv_fds(channel, 1 << 20, 64)
        if not data:
            return
        text += data
        descriptors += more
        while b"\n" in text:
            line, text = text.split(b"\n", 1)
            said = answer(contestant, json.loads(line), descriptors)
            close_all(descriptors)
            descriptors = []
            channel.sendall(json.dumps(said).encode() + b"\n")


if __name__ == "__main__":
    main()
