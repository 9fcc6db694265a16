#!/usr/bin/env python3
"""Records what PyTorch gives in fp64 for every operator of kernels/reference.

usage: operators.py OUT [--cases 20] [--seed 1] [--only NAME ...]

Draws attributes, shapes and contents of each operator, computes on the CUDA device (on the CPU where the operator is
not there), and writes OUT/GROUP.json, which tests/operators reads. Needs PyTorch; run from the repository's root.
"""
import argparse
import base64
import collections
import glob
import json
import os
import random
import struct
import subprocess
import sys
import traceback

import torch
import torch.nn.functional as F

SPECIALS = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-40, -1e-40, 1.4e-45, 1.0, -1.0, 0.5, 3e38, -3e38, 20.0]
T = collections.namedtuple("T", "shape kind")


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def content(rng, spec, special):
    """Values of one input. Kinds: f, p (positive), u (in [0, 1)), d (a distribution's terms), pm (-1 or 1), b, i<N>."""
    out = []
    for _ in range(count(spec.shape)):
        if spec.kind == "b":
            out.append(rng.randrange(2))
        elif spec.kind[0] == "i":
            out.append(rng.randrange(int(spec.kind[1:])))
        elif spec.kind == "pm":
            out.append(rng.choice((-1.0, 1.0)))
        elif spec.kind == "u":
            out.append(f32(rng.randrange(1 << 24) / float(1 << 24)))
        elif special and rng.random() < 0.35:
            value = f32(rng.choice(SPECIALS))
            out.append(abs(value) if spec.kind == "p" else value)
        else:
            value = f32(rng.gauss(0, 2))
            out.append(abs(value) + 0.25 if spec.kind == "p" else value)
    return [f32(v) if isinstance(v, float) else v for v in out]


# ---- drawing ---------------------------------------------------------------------------------------------------------
def shape(rng, most=16, low=1, high=4):
    while True:
        out = [rng.choice((1, 2, 2, 3, 4, 5, 7, 9, 12)) for _ in range(rng.randint(low, high))]
        if 1 < count(out) <= most:
            return out


def narrowed(rng, of):
    """A shape that broadcasts to `of`."""
    out = [1 if rng.random() < 0.3 else s for s in of]
    return out[rng.randrange(len(out)):] if rng.random() < 0.3 else out


def pair(rng, most=16):
    s = shape(rng, most)
    return (s, narrowed(rng, s)) if rng.random() < 0.7 else (narrowed(rng, s), s)


def eighth(rng, low, high):
    return rng.randint(int(low * 8), int(high * 8)) / 8.0


def some_dim(rng, rank):
    return rng.randrange(-rank, rank)


OPS = {}


def op(name, draw, call):
    OPS[name] = (draw, call)


def unary(name, call, **attrs):
    def draw(rng):
        return {k: v(rng) for k, v in attrs.items()}, [T(shape(rng), "f")]
    op(name, draw, lambda t, a: call(t[0], **a))


for name in ("abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal square sin cos tan asin acos atan sinh "
             "cosh asinh acosh atanh tanh erf erfc floor ceil round trunc frac sign isnan isinf isfinite logical_not relu "
             "sigmoid").split():
    unary(name, getattr(torch, name))
unary("identity", torch.clone)
for name in "relu6 hardsigmoid silu hardswish mish selu softsign tanhshrink".split():
    unary(name, getattr(F, name))
unary("log_sigmoid", F.logsigmoid)
unary("nan_to_num", torch.nan_to_num, nan=lambda r: eighth(r, -2, 2), posinf=lambda r: eighth(r, 2, 9),
      neginf=lambda r: eighth(r, -9, -2))
unary("hardtanh", F.hardtanh, min_val=lambda r: eighth(r, -3, -1), max_val=lambda r: eighth(r, 0, 3))
unary("gelu", F.gelu, approximate=lambda r: r.choice(("none", "tanh")))
unary("elu", torch.ops.aten.elu, alpha=lambda r: eighth(r, 0.5, 2), scale=lambda r: eighth(r, 0.5, 2),
      input_scale=lambda r: eighth(r, 0.5, 2))
unary("celu", F.celu, alpha=lambda r: eighth(r, 0.5, 3))
unary("leaky_relu", F.leaky_relu, negative_slope=lambda r: eighth(r, 0, 1))
unary("softplus", F.softplus, beta=lambda r: eighth(r, 0.5, 3), threshold=lambda r: eighth(r, 1, 20))
unary("softshrink", F.softshrink, lambd=lambda r: eighth(r, 0, 2))
unary("hardshrink", F.hardshrink, lambd=lambda r: eighth(r, 0, 2))
unary("threshold", F.threshold, threshold=lambda r: eighth(r, -2, 2), value=lambda r: eighth(r, -2, 2))
unary("full_like", lambda x, value: torch.full_like(x, value), value=lambda r: eighth(r, -2, 2))


def draw_clamp(rng):
    attrs = {}
    if rng.random() < 0.7:
        attrs["low"] = eighth(rng, -3, 0)
    if rng.random() < 0.7 or not attrs:
        attrs["high"] = eighth(rng, -1, 3)
    return attrs, [T(shape(rng), "f")]


op("clamp", draw_clamp, lambda t, a: torch.clamp(t[0], a.get("low"), a.get("high")))


def binary(name, call, kinds=("f", "f"), scalar=True, **attrs):
    def draw(rng):
        chosen = {k: v(rng) for k, v in attrs.items()}
        if scalar and rng.random() < 0.35:
            return dict(chosen, other=eighth(rng, -3, 3)), [T(shape(rng), kinds[0])]
        a, b = pair(rng)
        return chosen, [T(a, kinds[0]), T(b, kinds[1])]

    def run(t, a):
        rest = {k: v for k, v in a.items() if k != "other"}
        return call(t[0], t[1] if len(t) > 1 else a["other"], **rest)
    op(name, draw, run)


def over(call):
    """A function of tensors alone, called with a number."""
    return lambda x, y, **k: call(x, y if torch.is_tensor(y) else torch.full_like(x, y), **k)


for name in "add sub".split():
    binary(name, getattr(torch, name), alpha=lambda r: r.choice((1.0, eighth(r, -2, 2))))
binary("rsub", torch.rsub, alpha=lambda r: r.choice((1.0, eighth(r, -2, 2))))
binary("mul", torch.mul)
binary("div", lambda x, y, rounding_mode: torch.div(x, y, rounding_mode=None if rounding_mode == "none" else rounding_mode),
       rounding_mode=lambda r: r.choice(("none", "none", "trunc", "floor")))
for name in "remainder fmod pow xlogy".split():
    binary(name, getattr(torch, name))
for name in "maximum minimum fmax fmin copysign".split():
    binary(name, over(getattr(torch, name)))
for name in "atan2 logaddexp".split():
    binary(name, getattr(torch, name), scalar=False)
for name in "eq ne lt le gt ge".split():
    binary(name, getattr(torch, name))
for name in "logical_and logical_or logical_xor".split():
    binary(name, getattr(torch, name), scalar=False)


def draw_where(rng):
    s = shape(rng)
    return {}, [T(narrowed(rng, s), "b"), T(s, "f"), T(narrowed(rng, s), "f")]


op("where", draw_where, lambda t, a: torch.where(t[0], t[1], t[2]))


def draw_masked(rng):
    s = shape(rng)
    return {"value": rng.choice(("-inf", "inf", eighth(rng, -2, 2)))}, [T(s, "f"), T(narrowed(rng, s), "b")]


op("masked_fill", draw_masked, lambda t, a: t[0].masked_fill(t[1], float(a["value"])))


def draw_lerp(rng):
    s = shape(rng)
    if rng.random() < 0.5:
        return {"amount": eighth(rng, -1, 2)}, [T(s, "f"), T(narrowed(rng, s), "f")]
    return {}, [T(s, "f"), T(narrowed(rng, s), "f"), T(narrowed(rng, s), "f")]


op("lerp", draw_lerp, lambda t, a: torch.lerp(t[0], t[1], t[2] if len(t) > 2 else a["amount"]))
for name in ("addcmul", "addcdiv"):
    op(name, lambda rng: (lambda s: ({"value": eighth(rng, -2, 2)}, [T(s, "f"), T(narrowed(rng, s), "f"), T(narrowed(rng, s), "f")]))(shape(rng)),
       lambda t, a, call=getattr(torch, name): call(t[0], t[1], t[2], value=a["value"]))


def draw_dropout(rng):
    s = shape(rng)
    p = rng.choice((0.0, 0.25, 0.5, 0.75, 1.0))
    return {"p": p, "train": int(rng.random() < 0.8)}, [T(s, "f"), T(s if rng.random() < 0.7 else narrowed(rng, s), "u")]


def run_dropout(t, a):  # as _fused_dropout: x * mask * scale, with the mask of the given draw
    if not a["train"]:
        return t[0].clone()
    if a["p"] == 1.0:
        return t[0] * 0
    return t[0] * (t[1] < 1 - a["p"]).double() * (1 / (1 - a["p"]))


op("dropout", draw_dropout, run_dropout)


def channels_shape(rng, most=24, low=2, high=5):
    while True:
        s = [rng.randint(1, 4) for _ in range(rng.randint(low, high))]
        if 2 <= count(s) <= most:
            return s


op("prelu", lambda rng: (lambda s: ({}, [T(s, "f"), T([rng.choice((1, s[1]))], "f")]))(channels_shape(rng)),
   lambda t, a: F.prelu(t[0], t[1]))


# ---- layout ----------------------------------------------------------------------------------------------------------
def layout(name, draw, call):
    def drawn(rng):
        s = shape(rng, 24)
        attrs = draw(rng, s)
        return attrs, [T(attrs.pop("_x", s), "f")]
    op(name, drawn, lambda t, a: call(t[0], **a))


def factors(rng, n):
    out = []
    while n > 1 and len(out) < 3:
        f = rng.choice([k for k in range(1, n + 1) if n % k == 0])
        out.append(f)
        n //= f
    return out + [n]


def draw_reshape(rng, s):
    to = factors(rng, count(s))
    if rng.random() < 0.5:
        to[rng.randrange(len(to))] = -1
    return {"shape": to}


layout("reshape", draw_reshape, lambda x, shape: x.reshape(shape))


def draw_flatten(rng, s):
    a, b = sorted((rng.randrange(len(s)), rng.randrange(len(s))))
    return {"start_dim": a, "end_dim": b if rng.random() < 0.5 else b - len(s)}


layout("flatten", draw_flatten, lambda x, start_dim, end_dim: x.flatten(start_dim, end_dim))


def draw_unflatten(rng, s):
    d = some_dim(rng, len(s))
    to = factors(rng, s[d])
    if rng.random() < 0.5:
        to[rng.randrange(len(to))] = -1
    return {"dim": d, "shape": to}


layout("unflatten", draw_unflatten, lambda x, dim, shape: x.unflatten(dim, shape))
layout("squeeze", lambda rng, s: {} if rng.random() < 0.3 else {"dim": sorted(rng.sample(range(len(s)), rng.randint(1, len(s))))},
       lambda x, dim=None: x.squeeze() if dim is None else x.squeeze(dim))
layout("unsqueeze", lambda rng, s: {"dim": rng.randrange(-len(s) - 1, len(s) + 1)}, lambda x, dim: x.unsqueeze(dim))
layout("permute", lambda rng, s: {"dims": [d - (len(s) if rng.random() < 0.3 else 0) for d in rng.sample(range(len(s)), len(s))]},
       lambda x, dims: x.permute(dims))
layout("transpose", lambda rng, s: {"dim0": some_dim(rng, len(s)), "dim1": some_dim(rng, len(s))},
       lambda x, dim0, dim1: x.transpose(dim0, dim1))


def draw_expand(rng, s):
    x = [1 if rng.random() < 0.4 else v for v in s]
    return {"_x": x, "shape": ([rng.randint(1, 3)] if rng.random() < 0.4 else []) + [v if x[i] == 1 or rng.random() < 0.6 else -1 for i, v in enumerate(s)]}


layout("expand", draw_expand, lambda x, shape: x.expand(shape))
layout("repeat", lambda rng, s: {"repeats": [rng.randint(1, 2) for _ in range(len(s) + rng.randrange(2))]}, lambda x, repeats: x.repeat(repeats))


def draw_slice(rng, s):
    d = some_dim(rng, len(s))
    n = s[d]
    start, end = rng.randrange(n), n
    if rng.random() < 0.5:
        end = rng.randint(start + 1, n)
    attrs = {"dim": d, "start": start - (n if rng.random() < 0.3 else 0), "step": rng.randint(1, 3)}
    if end < n:
        attrs["end"] = end - (n if rng.random() < 0.3 else 0)
    return attrs


layout("slice", draw_slice, lambda x, dim, start, step, end=2**63 - 1: torch.ops.aten.slice(x, dim, start, end, step))
layout("select", lambda rng, s: (lambda d: {"dim": d, "index": some_dim(rng, s[d])})(some_dim(rng, len(s))), lambda x, dim, index: x.select(dim, index))


def draw_unfold(rng, s):
    d = some_dim(rng, len(s))
    return {"dim": d, "size": rng.randint(1, s[d]), "step": rng.randint(1, 3)}


layout("unfold", draw_unfold, lambda x, dim, size, step: x.unfold(dim, size, step))
layout("flip", lambda rng, s: {"dims": rng.sample(range(len(s)), rng.randint(1, len(s)))}, lambda x, dims: x.flip(dims))


def draw_roll(rng, s):
    dims = rng.sample(range(len(s)), rng.randint(1, len(s)))
    return {"dims": dims, "shifts": [rng.randint(-7, 7) for _ in dims]}


layout("roll", draw_roll, lambda x, dims, shifts: x.roll(shifts, dims))


def draw_pad(rng, s):
    mode = rng.choice(("constant", "constant", "reflect", "replicate", "circular"))
    if mode == "constant":
        n = rng.randint(1, len(s))
        padding = [rng.randint(0, 2) for _ in range(2 * n)]
        if rng.random() < 0.3 and s[-1] > 2:
            padding[0] = -1
        return {"padding": padding, "value": rng.choice((0.0, eighth(rng, -2, 2)))}
    n = rng.randint(1, 2)
    x = [rng.randint(1, 2), rng.randint(1, 2)] + [rng.randint(2, 4) for _ in range(n)]
    return {"_x": x, "mode": mode, "padding": [rng.randint(0, 1 if mode != "replicate" else 3) for _ in range(2 * n)]}


layout("pad", draw_pad, lambda x, padding, value=0.0, mode="constant": F.pad(x, padding, mode, value) if mode == "constant" else F.pad(x, padding, mode))


def draw_triangle(rng, s):
    return {"_x": [rng.randint(1, 2) for _ in range(rng.randrange(3))] + [rng.randint(1, 5), rng.randint(1, 5)], "diagonal": rng.randint(-3, 3)}


layout("tril", draw_triangle, lambda x, diagonal: x.tril(diagonal))
layout("triu", draw_triangle, lambda x, diagonal: x.triu(diagonal))


def draw_cat(rng):
    s = shape(rng, 12)
    d = some_dim(rng, len(s))
    shapes = []
    for _ in range(rng.randint(1, 4)):
        one = list(s)
        one[d] = rng.randint(1, 4)
        shapes.append(one)
    return {"dim": d}, [T(one, "f") for one in shapes]


op("cat", draw_cat, lambda t, a: torch.cat(t, a["dim"]))
op("stack", lambda rng: (lambda s: ({"dim": rng.randrange(-len(s) - 1, len(s) + 1)}, [T(s, "f") for _ in range(rng.randint(1, 4))]))(shape(rng, 12)),
   lambda t, a: torch.stack(t, a["dim"]))


def draw_gather(rng):
    s = shape(rng, 24)
    d = some_dim(rng, len(s))
    index = [rng.randint(1, v) for v in s]
    index[d] = rng.randint(1, 4)
    return {"dim": d}, [T(s, "f"), T(index, "i%d" % s[d])]


op("gather", draw_gather, lambda t, a: torch.gather(t[0], a["dim"], t[1]))


def draw_index_select(rng):
    s = shape(rng, 24)
    d = some_dim(rng, len(s))
    return {"dim": d}, [T(s, "f"), T([rng.randint(1, 5)], "i%d" % s[d])]


op("index_select", draw_index_select, lambda t, a: torch.index_select(t[0], a["dim"], t[1]))
op("embedding", lambda rng: (lambda n: ({}, [T([n, rng.randint(1, 5)], "f"), T(shape(rng, 8, 1, 2), "i%d" % n)]))(rng.randint(2, 6)),
   lambda t, a: F.embedding(t[1], t[0]))
op("full", lambda rng: ({"shape": shape(rng), "value": eighth(rng, -4, 4)}, []), lambda t, a: torch.full(a["shape"], a["value"], dtype=torch.float64))
op("arange", lambda rng: ({"shape": [rng.randint(1, 16)], "start": eighth(rng, -4, 4), "step": eighth(rng, -2, 2) or 1.0}, []),
   lambda t, a: torch.arange(a["shape"][0], dtype=torch.float64) * a["step"] + a["start"])


# ---- reductions ------------------------------------------------------------------------------------------------------
def reduction(name, call, one=False, needs=False, kind="f", **attrs):
    """`one`: over one dimension or all; `needs`: not over all without saying so."""
    def draw(rng):
        s = shape(rng, 24)
        out = {k: v(rng) for k, v in attrs.items()}
        if needs or rng.random() < 0.8:
            n = 1 if one else rng.randint(1, len(s))
            out["dim"] = [d - (len(s) if rng.random() < 0.3 else 0) for d in rng.sample(range(len(s)), n)]
            out["keepdim"] = rng.randrange(2)
        return out, [T(s, kind)]
    op(name, draw, lambda t, a: call(t[0], **a))


def each(call, **more):
    def run(x, dim=None, keepdim=0, **attrs):
        return call(x, dim=dim if dim else tuple(range(x.dim())), keepdim=bool(keepdim), **more, **attrs)
    return run


def alone(call):
    def run(x, dim=None, keepdim=0):
        return call(x) if dim is None else call(x, dim=dim[0], keepdim=bool(keepdim))
    return run


reduction("sum", each(torch.sum))
reduction("mean", each(torch.mean))
reduction("prod", alone(torch.prod), one=True)
reduction("amax", each(torch.amax))
reduction("amin", each(torch.amin))
reduction("max_dim", lambda x, dim, keepdim: list(torch.max(x, dim[0], bool(keepdim))), one=True, needs=True)
reduction("min_dim", lambda x, dim, keepdim: list(torch.min(x, dim[0], bool(keepdim))), one=True, needs=True)
reduction("argmax", alone(torch.argmax), one=True)
reduction("argmin", alone(torch.argmin), one=True)
reduction("any", each(torch.any))
reduction("all", each(torch.all))
reduction("count_nonzero", lambda x, dim=None, keepdim=0: torch.count_nonzero(x, dim) if not keepdim else torch.sum(x != 0, dim, keepdim=True))
reduction("var", each(torch.var), correction=lambda r: float(r.randrange(3)))
reduction("std", each(torch.std), correction=lambda r: float(r.randrange(3)))
reduction("var_mean", lambda x, **a: list(each(torch.var_mean)(x, **a)), correction=lambda r: float(r.randrange(2)))
reduction("norm", lambda x, p, dim=None, keepdim=0: torch.linalg.vector_norm(x, p, dim, bool(keepdim)),
          p=lambda r: r.choice((0.0, 1.0, 2.0, 2.0, 3.0, 1.5)))
reduction("norm_inf", lambda x, dim=None, keepdim=0: torch.linalg.vector_norm(x, float("inf"), dim, bool(keepdim)))
reduction("norm_minus_inf", lambda x, dim=None, keepdim=0: torch.linalg.vector_norm(x, float("-inf"), dim, bool(keepdim)))
reduction("logsumexp", lambda x, dim, keepdim: torch.logsumexp(x, dim, bool(keepdim)), needs=True)


def along(name, call):
    op(name, lambda rng: (lambda s: ({"dim": some_dim(rng, len(s))}, [T(s, "f")]))(shape(rng, 24)), lambda t, a: call(t[0], a["dim"]))


along("cumsum", torch.cumsum)
along("cumprod", torch.cumprod)
along("cummax", lambda x, dim: torch.cummax(x, dim).values)
along("cummin", lambda x, dim: torch.cummin(x, dim).values)
along("softmax", torch.softmax)
along("log_softmax", torch.log_softmax)
along("softmin", F.softmin)


def draw_attention(rng):
    batch = [rng.randint(1, 2) for _ in range(rng.randint(1, 2))]
    m, n, d, e = (rng.randint(1, 4) for _ in range(4))
    attrs, tensors = {}, [T(batch + [m, d], "f"), T(batch + [n, d], "f"), T(batch + [n, e], "f")]
    if rng.random() < 0.5:
        attrs["scale"] = eighth(rng, 0.125, 1)
    what = rng.randrange(4)
    if what == 0:
        attrs["causal"] = 1
    elif what < 3:
        mask = [m, n] if rng.random() < 0.5 else [1 if rng.random() < 0.5 else b for b in batch] + [m, n]
        tensors.append(T(mask, "b" if what == 1 else "f"))
        attrs["boolean_mask"] = int(what == 1)
    return attrs, tensors


op("attention", draw_attention, lambda t, a: F.scaled_dot_product_attention(t[0], t[1], t[2], t[3] if len(t) > 3 else None, 0.0, bool(a.get("causal", 0)), scale=a.get("scale")))


# ---- normalisation ---------------------------------------------------------------------------------------------------
def maybe(rng, spec):
    return spec if rng.random() < 0.6 else None


def trimmed(tensors):
    while tensors and tensors[-1] is None:
        tensors.pop()
    return tensors


def get(t, i):
    return t[i] if i < len(t) else None


def draw_batch_norm(rng):
    s = channels_shape(rng, 36)
    c = [s[1]]
    return {"eps": rng.choice((1e-5, 1e-3, 0.125))}, trimmed([T(s, "f"), T(c, "f"), T(c, "p"), maybe(rng, T(c, "f")), maybe(rng, T(c, "f"))])


op("batch_norm", draw_batch_norm, lambda t, a: F.batch_norm(t[0], t[1], t[2], get(t, 3), get(t, 4), False, 0.1, a["eps"]))


def draw_batch_norm_train(rng):
    while True:
        s = channels_shape(rng, 48)
        if count(s) // s[1] > 1:
            break
    c = [s[1]]
    running = rng.random() < 0.7
    return ({"eps": rng.choice((1e-5, 1e-3, 0.125)), "momentum": eighth(rng, 0, 1)},
            trimmed([T(s, "f"), maybe(rng, T(c, "f")), maybe(rng, T(c, "f"))] + ([T(c, "f"), T(c, "p")] if running else [])))


def run_batch_norm_train(t, a):
    mean, var = (get(t, 3), get(t, 4))
    if mean is None:
        return F.batch_norm(t[0], None, None, get(t, 1), get(t, 2), True, a["momentum"], a["eps"])
    mean, var = mean.clone(), var.clone()
    y = F.batch_norm(t[0], mean, var, get(t, 1), get(t, 2), True, a["momentum"], a["eps"])
    return [y, mean, var]


op("batch_norm_train", draw_batch_norm_train, run_batch_norm_train)


def draw_instance_norm(rng):
    while True:
        s = channels_shape(rng, 48, 3, 5)
        if count(s[2:]) > 1:
            break
    return {"eps": rng.choice((1e-5, 0.125))}, trimmed([T(s, "f"), maybe(rng, T([s[1]], "f")), maybe(rng, T([s[1]], "f"))])


op("instance_norm", draw_instance_norm, lambda t, a: F.instance_norm(t[0], None, None, get(t, 1), get(t, 2), True, 0.1, a["eps"]))


def draw_group_norm(rng):
    while True:
        s = channels_shape(rng, 48)
        s[1] *= rng.randint(1, 3)
        g = rng.choice([k for k in range(1, s[1] + 1) if s[1] % k == 0])
        if count(s) <= 64 and count(s) // s[0] // g > 1:
            break
    return {"groups": g, "eps": rng.choice((1e-5, 0.125))}, trimmed([T(s, "f"), maybe(rng, T([s[1]], "f")), maybe(rng, T([s[1]], "f"))])


op("group_norm", draw_group_norm, lambda t, a: F.group_norm(t[0], a["groups"], get(t, 1), get(t, 2), a["eps"]))


def draw_last(rng, more):
    s = shape(rng, 32)
    dims = rng.randint(1, len(s))
    return {"dims": dims, "eps": rng.choice((1e-5, 0.125))}, trimmed([T(s, "f")] + [maybe(rng, T(s[-dims:], "f")) for _ in range(more)])


op("layer_norm", lambda rng: draw_last(rng, 2), lambda t, a: F.layer_norm(t[0], t[0].shape[-a["dims"]:], get(t, 1), get(t, 2), a["eps"]))
op("rms_norm", lambda rng: draw_last(rng, 1), lambda t, a: F.rms_norm(t[0], t[0].shape[-a["dims"]:], get(t, 1), a["eps"]))
op("normalize", lambda rng: (lambda s: ({"p": rng.choice((1.0, 2.0, 2.0, 3.0)), "dim": some_dim(rng, len(s)), "eps": rng.choice((1e-12, 0.5))}, [T(s, "f")]))(shape(rng, 24)),
   lambda t, a: F.normalize(t[0], a["p"], a["dim"], a["eps"]))


# ---- windows ---------------------------------------------------------------------------------------------------------
def one_or_each(rng, values):
    return values[0] if len(set(values)) == 1 and rng.random() < 0.5 else values


def draw_conv(rank, transposed):
    def draw(rng):
        while True:
            g = rng.choice((1, 1, 2, 3))
            ins, outs = g * rng.randint(1, 2), g * rng.randint(1, 2)
            places = [rng.randint(2, 6 if rank < 3 else 4) for _ in range(rank)]
            k, s, p, d = ([rng.randint(low, high) for _ in range(rank)] for low, high in ((1, 3), (1, 3), (0, 2), (1, 2)))
            if transposed:
                more = [rng.randrange(max(s[i], d[i])) for i in range(rank)]
                result = [(places[i] - 1) * s[i] - 2 * p[i] + d[i] * (k[i] - 1) + more[i] + 1 for i in range(rank)]
            else:
                result = [(places[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 if places[i] + 2 * p[i] >= d[i] * (k[i] - 1) + 1 else 0 for i in range(rank)]
            n = rng.randint(1, 2)
            if min(result) >= 1 and n * outs * count(result) <= 90 and n * ins * count(places) <= 150:
                break
        attrs = {"stride": one_or_each(rng, s), "padding": one_or_each(rng, p), "dilation": one_or_each(rng, d), "groups": g}
        if transposed:
            attrs["output_padding"] = one_or_each(rng, more)
        elif rng.random() < 0.2 and n * outs * count(places) <= 120:
            attrs.update(stride=1, padding=0, same=1)
        weight = [ins, outs // g] + k if transposed else [outs, ins // g] + k
        return attrs, trimmed([T([n, ins] + places, "f"), T(weight, "f"), maybe(rng, T([outs], "f"))])
    return draw


for rank in (1, 2, 3):
    def run_conv(t, a, call=getattr(F, "conv%dd" % rank)):
        return call(t[0], t[1], get(t, 2), a["stride"], "same" if a.get("same") else a["padding"], a["dilation"], a["groups"])

    def run_transposed(t, a, call=getattr(F, "conv_transpose%dd" % rank)):
        return call(t[0], t[1], get(t, 2), a["stride"], a["padding"], a["output_padding"], a["groups"], a["dilation"])
    op("conv%dd" % rank, draw_conv(rank, False), run_conv)
    op("conv_transpose%dd" % rank, draw_conv(rank, True), run_transposed)


def draw_pool(rank, average):
    def draw(rng):
        while True:
            x = [rng.randint(1, 2), rng.randint(1, 2)] + [rng.randint(2, 7 if rank < 3 else 4) for _ in range(rank)]
            k = [rng.randint(1, 3) for _ in range(rank)]
            s = [rng.randint(1, 3) for _ in range(rank)]
            p = [rng.randint(0, v // 2) for v in k]
            d = [1 if average else rng.randint(1, 2) for _ in range(rank)]
            if count(x) <= 120 and all(x[2 + i] + 2 * p[i] >= d[i] * (k[i] - 1) + 1 for i in range(rank)):
                break
        attrs = {"kernel_size": one_or_each(rng, k), "padding": one_or_each(rng, p), "ceil_mode": rng.randrange(2)}
        if rng.random() < 0.8:
            attrs["stride"] = one_or_each(rng, s)
        if average:
            attrs["count_include_pad"] = rng.randrange(2)
            if rank > 1 and rng.random() < 0.2:
                attrs["divisor_override"] = rng.randint(1, 5)
        else:
            attrs["dilation"] = one_or_each(rng, d)
        return attrs, [T(x, "f")]
    return draw


def draw_adaptive(rank):
    def draw(rng):
        x = [rng.randint(1, 2), rng.randint(1, 2)] + [rng.randint(2, 7 if rank < 3 else 4) for _ in range(rank)]
        return {"output_size": [rng.randint(0 if rank > 1 else 1, 5) for _ in range(rank)]}, [T(x, "f")]
    return draw


for rank in (1, 2, 3):
    def run_max(t, a, call=getattr(F, "max_pool%dd" % rank)):
        return call(t[0], a["kernel_size"], a.get("stride", a["kernel_size"]), a["padding"], a["dilation"], bool(a["ceil_mode"]))

    def run_average(t, a, call=getattr(F, "avg_pool%dd" % rank), rank=rank):
        more = [a.get("divisor_override")] if rank > 1 else []
        return call(t[0], a["kernel_size"], a.get("stride", a["kernel_size"]), a["padding"], bool(a["ceil_mode"]), bool(a["count_include_pad"]), *more)

    def run_adaptive(t, a, call):
        return call(t[0], [v if v else None for v in a["output_size"]])
    op("max_pool%dd" % rank, draw_pool(rank, False), run_max)
    op("avg_pool%dd" % rank, draw_pool(rank, True), run_average)
    op("adaptive_avg_pool%dd" % rank, draw_adaptive(rank), lambda t, a, call=getattr(F, "adaptive_avg_pool%dd" % rank): run_adaptive(t, a, call))
    op("adaptive_max_pool%dd" % rank, draw_adaptive(rank), lambda t, a, call=getattr(F, "adaptive_max_pool%dd" % rank): run_adaptive(t, a, call))


# ---- losses ----------------------------------------------------------------------------------------------------------
def red(rng):
    return rng.choice(("mean", "sum", "none"))


def loss(name, call, kinds=("f", "f"), reductions=("mean", "sum", "none"), optional=(), **attrs):
    def draw(rng):
        s = shape(rng, 16)
        out = {k: v(rng) for k, v in attrs.items()}
        out["reduction"] = rng.choice(reductions)
        return out, trimmed([T(s, kind) for kind in kinds] + [maybe(rng, T(s, kind)) for kind in optional])
    op(name, draw, call)


loss("mse_loss", lambda t, a: F.mse_loss(*t, **a))
loss("l1_loss", lambda t, a: F.l1_loss(*t, **a))
loss("smooth_l1_loss", lambda t, a: F.smooth_l1_loss(*t, **a), beta=lambda r: eighth(r, 0.125, 2))
loss("huber_loss", lambda t, a: F.huber_loss(*t, **a), delta=lambda r: eighth(r, 0.125, 2))
loss("binary_cross_entropy", lambda t, a: F.binary_cross_entropy(t[0], t[1], get(t, 2), reduction=a["reduction"]), ("u", "u"), optional=("f",))
loss("binary_cross_entropy_with_logits", lambda t, a: F.binary_cross_entropy_with_logits(t[0], t[1], get(t, 2), reduction=a["reduction"], pos_weight=get(t, 3)),
     ("f", "u"), optional=("f", "p"))
loss("kl_div", lambda t, a: F.kl_div(t[0], t[1], reduction=a["reduction"], log_target=bool(a["log_target"])), ("f", "p"),
     ("mean", "batchmean", "sum", "none"), log_target=lambda r: r.randrange(2))
loss("hinge_embedding_loss", lambda t, a: F.hinge_embedding_loss(*t, **a), ("f", "pm"), margin=lambda r: eighth(r, 0, 2))
loss("margin_ranking_loss", lambda t, a: F.margin_ranking_loss(*t, **a), ("f", "f", "pm"), margin=lambda r: eighth(r, 0, 2))
loss("soft_margin_loss", lambda t, a: F.soft_margin_loss(*t, **a), ("f", "pm"))
loss("poisson_nll_loss", lambda t, a: F.poisson_nll_loss(t[0], t[1], bool(a["log_input"]), False, eps=a["eps"], reduction=a["reduction"]), ("p", "p"),
     log_input=lambda r: r.randrange(2), eps=lambda r: r.choice((1e-8, 0.125)))


def draw_classes(probabilities, smoothing):
    def draw(rng):
        while True:
            s = [rng.randint(1, 4), rng.randint(2, 6)] + [rng.randint(1, 3) for _ in range(rng.randrange(3))]
            if count(s) <= 48:
                break
        attrs = {"reduction": red(rng)}
        if smoothing and rng.random() < 0.5:
            attrs["label_smoothing"] = eighth(rng, 0.125, 1)
        if probabilities:
            target = T(s, "u")
        else:
            target = T([s[0]] + s[2:], "i%d" % s[1])
            if rng.random() < 0.4:
                attrs["ignore_index"] = rng.randrange(s[1])
        return attrs, trimmed([T(s, "f"), target, maybe(rng, T([s[1]], "p"))])
    return draw


op("nll_loss", draw_classes(False, False), lambda t, a: F.nll_loss(t[0], t[1], get(t, 2), ignore_index=a.get("ignore_index", -100), reduction=a["reduction"]))
for name, probabilities in (("cross_entropy", False), ("cross_entropy_probabilities", True)):
    op(name, draw_classes(probabilities, True),
       lambda t, a: F.cross_entropy(t[0], t[1], get(t, 2), ignore_index=a.get("ignore_index", -100), reduction=a["reduction"], label_smoothing=a.get("label_smoothing", 0.0)))


def draw_triplet(rng):
    s = shape(rng, 20, 2, 3)
    return ({"margin": eighth(rng, 0.125, 3), "p": rng.choice((1.0, 2.0, 2.0, 3.0)), "eps": rng.choice((1e-6, 0.125)), "swap": rng.randrange(2), "reduction": red(rng)},
            [T(s, "f") for _ in range(3)])


op("triplet_margin_loss", draw_triplet, lambda t, a: F.triplet_margin_loss(*t, margin=a["margin"], p=a["p"], eps=a["eps"], swap=bool(a["swap"]), reduction=a["reduction"]))
op("cosine_similarity", lambda rng: (lambda s: ({"dim": some_dim(rng, len(s)), "eps": rng.choice((1e-8, 0.5))}, [T(s, "f"), T(s, "f")]))(shape(rng, 24)),
   lambda t, a: F.cosine_similarity(t[0], t[1], a["dim"], a["eps"]))
op("pairwise_distance", lambda rng: (lambda s: ({"p": rng.choice((1.0, 2.0, 2.0, 3.0)), "eps": rng.choice((1e-6, 0.125))}, [T(s, "f"), T(s, "f")]))(shape(rng, 24)),
   lambda t, a: F.pairwise_distance(t[0], t[1], a["p"], a["eps"]))


# ---- products --------------------------------------------------------------------------------------------------------
def matmul_shapes(rng):
    m, n, k = (rng.randint(1, 5) for _ in range(3))
    batch = [rng.randint(1, 3) for _ in range(rng.randrange(3))]
    a, b = list(batch), narrowed(rng, batch) if batch else []
    if rng.random() < 0.3:
        a, b = b, a
    row, column = rng.random() < 0.85 or bool(a), rng.random() < 0.85 or bool(b)
    return (a + [m, k] if row else [k]), (b + [k, n] if column else [k])


def draw_matmul(rng):
    a, b = matmul_shapes(rng)
    attrs = {}
    if len(a) > 1 and rng.random() < 0.4:
        attrs["transpose_a"] = 1
        a[-1], a[-2] = a[-2], a[-1]
    if len(b) > 1 and rng.random() < 0.4:
        attrs["transpose_b"] = 1
        b[-1], b[-2] = b[-2], b[-1]
    return attrs, [T(a, "f"), T(b, "f")]


def turned(t, a):
    x, y = t[0], t[1]
    return x.transpose(-1, -2) if a.get("transpose_a") else x, y.transpose(-1, -2) if a.get("transpose_b") else y


op("matmul", draw_matmul, lambda t, a: torch.matmul(*turned(t, a)))


def draw_addmm(rng):
    b, m, n, k = (rng.randint(1, 4) for _ in range(4))
    batch = [b] if rng.random() < 0.5 else []
    c = batch + [m, n]
    return {"alpha": eighth(rng, -2, 2), "beta": rng.choice((0.0, 1.0, eighth(rng, -2, 2)))}, [T(batch + [m, k], "f"), T(batch + [k, n], "f"), T(c if batch else narrowed(rng, c), "f")]


op("addmm", draw_addmm, lambda t, a: (torch.baddbmm if t[0].dim() == 3 else torch.addmm)(t[2], t[0], t[1], beta=a["beta"], alpha=a["alpha"]))


def draw_linear(rng):
    n, k = rng.randint(1, 6), rng.randint(1, 6)
    return {}, trimmed([T(shape(rng, 8, 1, 3) + [k], "f") if rng.random() < 0.9 else T([k], "f"), T([n, k], "f"), maybe(rng, T([n], "f"))])


op("linear", draw_linear, lambda t, a: F.linear(t[0], t[1], get(t, 2)))
EQUATIONS = ["bijl,lk->bijk", "bclhn,bhcl,bclhp->bchpn", "bhzc,bchpn->bzhpn", "bclhn,bchpn,bhcl->bclhp", "ij,jk->ik", "bij,bjk->bik", "i,j->ij", "ij->ji",
             "ij->", "ii->i", "bhid,bhjd->bhij", "ij,ij->i", "ijk,k->ij", "ab,bc,cd->ad", "ij,kj->ki"]


def draw_einsum(rng):
    equation = rng.choice(EQUATIONS)
    sizes = {c: rng.randint(1, 3) for c in "abcdhijklnpzm"}
    return {"equation": equation}, [T([sizes[c] for c in part], "f") for part in equation.split("->")[0].split(",")]


op("einsum", draw_einsum, lambda t, a: torch.einsum(a["equation"], *t))


# ---- recording -------------------------------------------------------------------------------------------------------
def packed(values, letter):
    return base64.b64encode(struct.pack("<%d%s" % (len(values), letter), *values)).decode().rstrip("=")


def tensor_of(spec, values, device):
    if spec is None:
        return None
    types = {"b": torch.bool, "i": torch.int64}
    return torch.tensor(values, dtype=types.get(spec.kind[0], torch.float64)).reshape(spec.shape).to(device)


def results_of(name, specs, values, attrs, device):
    with torch.no_grad():
        out = OPS[name][1]([tensor_of(s, v, device) for s, v in zip(specs, values)], attrs)
    return [t.detach().cpu() for t in (out if isinstance(out, (list, tuple)) else [out])]


def output_json(t):
    flat = t.contiguous().reshape(-1).tolist()
    dims = list(t.shape) or [1]
    if t.dtype in (torch.bool, torch.int64):
        return [dims, [int(v) for v in flat]]
    assert t.dtype == torch.float64, t.dtype
    return [dims, packed(flat, "d")]


def input_json(spec, values):
    if spec is None:
        return None
    if spec.kind[0] in "bi":
        return [spec.shape, "bool" if spec.kind == "b" else "i64", values]
    return [spec.shape, "f32", packed(values, "f")]


def differ(a, b):
    return any(x.shape != y.shape or not torch.allclose(x.double(), y.double(), rtol=1e-9, atol=1e-300, equal_nan=True) for x, y in zip(a, b))


def record(name, cases, seed, notes):
    out, seen, places = [], set(), collections.Counter()
    tries = 0
    while len(out) < cases and tries < 40 * cases:
        rng = random.Random("%d/%s/%d" % (seed, name, tries))
        tries += 1
        attrs, specs = OPS[name][0](rng)
        key = json.dumps([attrs, [s and [s.shape, s.kind] for s in specs]], sort_keys=True)
        if key in seen:
            continue
        seen.add(key)
        values = [s and content(rng, s, len(out) % 3 == 2) for s in specs]
        results = {}
        for device in ("cuda", "cpu"):
            try:
                results[device] = results_of(name, specs, values, attrs, device)
            except Exception as e:  # noqa: BLE001
                notes.append("%s on %s %s: %s" % (name, device, key[:120], str(e).split("\n")[0][:160]))
        if not results:
            continue
        if len(results) == 2 and differ(results["cuda"], results["cpu"]):
            notes.append("%s: cuda and cpu differ %s" % (name, key[:160]))
        device = "cuda" if "cuda" in results else "cpu"
        chosen = results[device]
        if sum(t.numel() for t in chosen) > 400:
            continue
        places[device] += 1
        out.append({"attrs": attrs, "in": [input_json(s, v) for s, v in zip(specs, values)], "out": [output_json(t) for t in chosen]})
    return out, "cuda" if places["cuda"] else "cpu"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    head = {"pytorch": torch.__version__, "card": torch.cuda.get_device_name(0), "driver": driver, "script": "scripts/device/operators.py", "seed": args.seed}
    notes, total = [], 0
    groups = sorted(glob.glob("kernels/reference/*/operators.json"))
    for path in groups:
        lines = []
        for row in json.load(open(path))["operators"]:
            name = row["name"]
            if not row.get("rule") or (args.only and name not in args.only):
                continue
            if name not in OPS:
                notes.append(name + ": nothing draws it")
                continue
            try:
                cases, place = record(name, args.cases, args.seed, notes)
            except Exception:  # noqa: BLE001
                notes.append(name + ": " + traceback.format_exc().strip().replace("\n", " | ")[-400:])
                continue
            if len(cases) < args.cases:
                notes.append("%s: %d cases" % (name, len(cases)))
            total += len(cases)
            text = ",\n   ".join(json.dumps(c, separators=(",", ":")) for c in cases)
            lines.append('  {"name": %s, "on": "%s", "cases": [\n   %s]}' % (json.dumps(name), place, text))
        if not lines:
            continue
        group = os.path.basename(os.path.dirname(path))
        with open(os.path.join(args.out, group + ".json"), "w") as f:
            f.write('{"recorded": %s,\n "operators": [\n%s\n]}\n' % (json.dumps(head), ",\n".join(lines)))
    with open(os.path.join(args.out, "notes.txt"), "w") as f:
        f.write("\n".join(notes) + "\n")
    print("%d cases, %d notes" % (total, len(notes)))
    print("\n".join(notes[:60]))


if __name__ == "__main__":
    sys.exit(main())
