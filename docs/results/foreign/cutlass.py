"""Plans and tasks of cutlass.cu, for gemms.py. A kernel takes its Params by value: fields at the offsets that a host's part of the same
instance printed, with the values that it printed at several sizes as expressions of them."""


def struct(size, *fields):
    return {"bytes": size, "fields": [{"at": at, "value": value if isinstance(value, (str, dict)) and not kind else {kind: value}}
                                      for at, kind, value in fields]}


def tile(name, of, kind, width, height, box, swizzle):
    bytes_ = 4 if kind == "fp32" else 2
    return {"name": name, "of": of, "type": kind, "dims": [width, height, 1], "pitch": ["%s * %d" % (width, bytes_), "%s * %s * %d" % (width, height, bytes_)],
            "box": box + [1], "swizzle": swizzle}


def warp_specialized(out, high, shared, swizzle):
    """A persistent kernel's launch: tiles of high x 128 x 64, clusters of two blocks along m, at most two clusters, along n first."""
    stage = (high + 128) * 64 * 2
    store = 128 * 32 * 4 if out == "fp32" else 64 * 32 * 2
    params = struct(1792, (4, "i32", "m"), (8, "i32", "n"), (12, "i32", "k"), (16, "i32", 1), (128, "", "map_a"), (384, "", "map_b"),
                    (640, "i32", stage), (644, "i32", high * 128), (648, "i32", 16384), (800, "f32", 1), (1152, "", "map_c"), (1408, "i32", store),
                    (1540, "i32", 4), (1544, "i32", 2), (1576, "i64", 1), (1592, "i64", 2), (1600, "i32", 1),
                    (1608, "i64", "2 * tm * tn"), (1624, "i32", "log2(2 * tm * tn)"), (1632, "i64", "tn"), (1648, "i32", "log2(tn)"),
                    (1656, "i64", "2 * tm * tn"), (1668, "i32", 1), (1672, "i32", "tm"), (1676, "i32", "tn"), (1680, "i32", 1),
                    (1684, "i32", 2), (1688, "i32", 1))
    maps = [tile("map_a", "a", "bf16", "k", "m", [64, high], 128), tile("map_b", "b", "bf16", "k", "n", [64, 64], 128),
            tile("map_c", "c", out, "n", "m", [32, high], swizzle)]
    return params, shared, {"let": {"tm": "cdiv(m, %d)" % (2 * high), "tn": "cdiv(n, 128)"}, "maps": maps}


def multistage():
    """Params of Gemm 64 x 64 x 32, three stages of cp.async: steps of iterators in bytes, as PredicatedTileAccessIterator and its epilogue take them."""
    def read(at, pointer):
        return [(at, "i64", "k"), (at + 8, "i64", "16 * k"), (at + 16, "i64", "64 - 16 * k"), (at + 24, "i64", 64), (at + 32, "", pointer)]

    def write(at):
        return [(at + 8 * i, "i64", "%d * n" % s) for i, s in enumerate((2, 8, 2, 2, 16, 64, 128, 32))]

    fields = [(0, "i32", "m"), (4, "i32", "n"), (8, "i32", "k"), (12, "i32", "cdiv(m, 64)"), (16, "i32", "cdiv(n, 64)"), (20, "i32", 1)]
    fields += read(32, "a") + [(72, "i64", "k")] + read(80, "b") + [(120, "i64", "k")] + write(128) + [(192, "", "c"), (200, "i64", "n")]
    fields += write(208) + [(272, "", "c"), (280, "i64", "n"), (288, "f32", 1), (336, "i32", "up(k, 32)")]
    return struct(368, *fields)


def add(product, rows, kernels):
    shapes = [["m", "k"], ["n", "k"], ["m", "n"]]
    text = ("r * in.k + k", "c * in.k + k", rows)
    sizes = ([512, 192, 832], [[64, 64, 96], [100, 72, 136], [300, 136, 200]], shapes)
    bf16 = product("cutlass_bf16", "bf16", *text, *sizes, precision="bf16")
    fp32 = product("cutlass_bf16_fp32", "bf16", *text, *sizes, precision="bf16", result="fp32")
    whole = ["k % 8 == 0", "n % 8 == 0"]
    for name, task, setup in (("pingpong", bf16, warp_specialized("bf16", 64, 82944, 64)), ("cooperative", fp32, warp_specialized("fp32", 128, 133120, 128))):
        params, shared, more = setup
        kernels.append(("cutlass_" + name, "cutlass/" + name, "device_kernel", task, [2, "min(2, tm * tn)"], [384], [params], shared,
                        whole + ["pow2(tm) == tm", "pow2(tn) == tn"], dict(more, cluster=[2])))
    kernels.append(("cutlass_multistage", "cutlass/multistage", "GemmIdentityThreadblockSwizzle", bf16, ["cdiv(m, 64)", "cdiv(n, 64)"], [128], [multistage()], 24576, whole + ["k > 64"]))
