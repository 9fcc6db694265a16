"""Plans and tasks of ggml's CUDA backend, for recipe.py. Launches are ggml's own."""
import re

INT = {"check": {"kind": "bitwise"}}
ROW = "const long long row = i / in.cols * in.cols, c = i % in.cols; "
TOP = "real top = in.x(row); for (long long k = 1; k < in.cols; ++k) top = max_(top, in.x(row + k)); "
EXPS = "real sum = real(0.0); for (long long k = 0; k < in.cols; ++k) sum += exp_(in.x(row + k) - top); "
COUNT = "real(static_cast<double>(in.cols))"
SIGMOID = "(real(1.0) / (real(1.0) + exp_(real(0.0) - %s)))"


def total(what):
    return "real s = real(0.0); for (long long k = 0; k < in.cols; ++k) s += %s; " % what


def i32(*texts):
    return [{"i32": t} for t in texts]


def i64(*texts):
    return [{"i64": t} for t in texts]


def packed(divisor):
    """ggml's uint3 of a fast division."""
    shift = "log2(pow2(%s))" % divisor
    parts = ["4294967296 * (pow2(%s) - (%s)) / (%s) + 1" % ((divisor,) * 3), shift, divisor]
    return {"bytes": 12, "fields": [{"at": 4 * i, "value": {"i32": p if i else "(%s) %% 4294967296 >= 2147483648 ? (%s) %% 4294967296 - 4294967296 : (%s) %% 4294967296" % (p, p, p)}}
                                    for i, p in enumerate(parts)]}


def define(task, tensor, near, of):
    tasks, kernels = {}, []

    def kernel(module, entry, job, grid, block, args, shared=0, require=(), name=None):
        stem = name or re.sub(r"^_?Z?L?\d*", "", entry)
        kernels.append(("ggml_" + re.sub(r"\W+", "_", stem).strip("_"), "ggml/" + module, entry, job, grid, block, args, shared, require))

    def new(*words, **more):
        name, body = task(*words, **more)
        tasks["ggml_" + name] = dict(body, name="ggml_" + name)
        return "ggml_" + name

    def each(name, text, inputs=("x",), kind="fp32", length="4", fill=None, **more):
        fills = {"fill": fill} if fill else {}
        return new(name, "n", [tensor(t, "in", ["n"], kind, **fills) for t in inputs] + [tensor("y", "out", ["n"], kind, **near(length))],
                   [65536], [[256], [1000]], of("y", text), **more)

    def rows(name, text, inputs=("x",), length="cols", out=("rows", "cols"), kind="fp32", more_tensors=(), time=(64, 1024), checks=((3, 65), (2, 300)), **more):
        output = tensor("y", "out", list(out), kind, **(near(length) if kind == "fp32" else INT))
        return new(name, "rows cols+", [tensor(t, "in", ["rows", "cols"]) for t in inputs] + list(more_tensors) + [output],
                   list(time), [list(c) for c in checks], of("y", text), **more)

    n, blocks = i32("n"), ["cdiv(n, 256)"]
    # single elements
    half = "real(0.5) * in.x(i) * (real(1.0) + %s)"
    unary = {
        "gelu": half % "tanh_(real(0.79788456080286535588) * in.x(i) * (real(1.0) + real(0.044715) * in.x(i) * in.x(i)))",
        "gelu_erf": half % "erf_(in.x(i) * real(0.70710678118654752440))",
        "gelu_quick": "in.x(i) / (real(1.0) + exp_(real(-1.702) * in.x(i)))",
        "silu": "in.x(i) / (real(1.0) + exp_(real(0.0) - in.x(i)))",
        "tanh": "tanh_(in.x(i))",
        "sigmoid": SIGMOID % "in.x(i)",
        "hardswish": "in.x(i) * min_(real(1.0), max_(real(0.0), (in.x(i) + real(3.0)) / real(6.0)))",
        "relu": "max_(in.x(i), real(0.0))",
        "sqr": "in.x(i) * in.x(i)",
        "exp": "exp_(in.x(i))",
    }
    for word, text in unary.items():
        kernel("unary", r"15unary_op_kernel.*\dop_%sEfEEfE" % word, each(word, "return %s;" % text),
               blocks, [256], ["x", "y"] + n, name="unary_" + word)
    gated = {"relu": "max_(in.x(i), real(0.0))", "silu": unary["silu"], "gelu": unary["gelu"]}
    for word, text in gated.items():
        kernel("unary", r"unary_gated_op_kernel.*\dop_%sEfEEfE" % word, each("gated_" + word, "return (%s) * in.g(i);" % text, ("x", "g")),
               blocks, [256], ["x", "g", "y"] + i64("n", "n", "n", "n"), name="gated_" + word)
    slope = "(real(1.0) + in.x(i) * (real(1.0) - %s))" % (SIGMOID % "in.x(i)")
    kernel("unary", r"silu_back_kernelIf", each("silu_back", "return in.g(i) * %s * %s;" % (SIGMOID % "in.x(i)", slope), ("g", "x")),
           blocks, [256], ["g", "x", "y"] + n, name="silu_back")
    kernel("unary", r"leaky_relu_kernelIf", each("leaky_relu", "return max_(in.x(i), real(0.0)) + min_(in.x(i), real(0.0)) * real(0.125);"),
           blocks, [256], ["x", "y"] + n + [{"f32": 0.125}], name="leaky_relu")
    kernel("clamp", "op_clamp_kernelIf", each("clamp", "return min_(max_(in.x(i), real(-0.75)), real(0.5));"), blocks, [256],
           ["x", "y", {"f32": -0.75}, {"f32": 0.5}] + n, name="clamp")
    kernel("scale", "9scale_f32", each("scale", "return real(0.5) * in.x(i) + real(2.0);"), ["min(cdiv(n, 256), 2147483647)"], [256],
           ["x", "y", {"f32": 0.5}, {"f32": 2}] + i64("n"), name="scale")
    kernel("softcap", "11softcap_f32", each("softcap", "return tanh_(real(0.0625) * in.x(i)) * real(32.0);"), blocks, [256],
           ["x", "y", {"f32": 0.0625}, {"f32": 32}] + n, name="softcap")

    # optimizers: their numbers are a tensor
    numbers = tensor("p", "in", ["7"], fill={"kind": "uniform", "low": 0.1, "high": 0.9})
    state = [tensor(t, "in_out", ["n"], **near("8")) for t in ("x", "m", "v")]
    state[2]["fill"] = {"kind": "uniform", "low": 0.1, "high": 1}
    mean = "in.m(i) * in.p(1) + in.g(i) * (real(1.0) - in.p(1))"
    square = "in.v(i) * in.p(2) + in.g(i) * in.g(i) * (real(1.0) - in.p(2))"
    adam = new("adamw", "n", state + [tensor("g", "in", ["n"]), numbers], [65536], [[256], [1000]],
               of("x", "return in.x(i) * (real(1.0) - in.p(0) * in.p(4)) - in.p(0) * (%s) * in.p(5) / (sqrt_((%s) * in.p(6)) + in.p(3));" % (mean, square))
               + of("m", "return %s;" % mean) + of("v", "return %s;" % square))
    kernel("opt_step_adamw", "opt_step_adamw_f32", adam, blocks, [256], ["x", "g", "m", "v", "p"] + i64("n"), name="opt_step_adamw")
    sgd = new("sgd", "n", [tensor("x", "in_out", ["n"], **near("4")), tensor("g", "in", ["n"]), dict(numbers, shape=["2"])], [65536], [[256], [1000]],
              of("x", "return in.x(i) * (real(1.0) - in.p(0) * in.p(1)) - in.p(0) * in.g(i);"))
    kernel("opt_step_sgd", "opt_step_sgd_f32", sgd, blocks, [256], ["x", "g", "p"] + i64("n"), name="opt_step_sgd")

    # rows
    r, c = "rows", "cols"
    strides = i32(c) + i64(c, "rows * cols", "rows * cols")
    eps = [{"f32": 1e-5}]
    squares = total("in.x(row + k) * in.x(row + k)")
    mean = "real mean = real(0.0); for (long long k = 0; k < in.cols; ++k) mean += in.x(row + k); mean /= %s; " % COUNT
    normed = rows("norm", ROW + mean + total("(in.x(row + k) - mean) * (in.x(row + k) - mean)")
                  + "return (in.x(i) - mean) / sqrt_(s / %s + real(1e-5));" % COUNT, length="2*cols")
    rms = rows("rms_norm", ROW + squares + "return in.x(i) / sqrt_(s / %s + real(1e-5));" % COUNT, length="2*cols")
    scaled = rows("rms_norm_mul", ROW + squares + "return in.x(i) * in.w(c) / sqrt_(s / %s + real(1e-5));" % COUNT, length="2*cols",
                  more_tensors=[tensor("w", "in", ["cols"])])
    unit = rows("l2_norm", ROW + squares + "return in.x(i) / sqrt_(max_(s, real(1e-10)));", length="2*cols")
    none = {"bytes": 12, "fields": [{"at": 0, "value": {"i32": 0}}]}
    absent = ["none?"] + i64(0, 0, 0) + [none] * 4
    one = packed("1")
    for block, name in ((256, "256"), (1024, "1024")):
        shared = 128 if block > 32 else 0
        kernel("norm", "8norm_f32ILi%dE" % block if block == 1024 else "8norm_f32ILi32E", normed, [r], [block if block == 1024 else 32],
               ["x", "y"] + strides + eps, 256 if block == 1024 else 0, name="norm_" + ("1024" if block == 1024 else "32"))
        kernel("norm", "12rms_norm_f32ILi%dELb0ELb0E" % block, rms, [r], [block], ["x", "y"] + strides + eps + absent + absent, shared, name="rms_norm_" + name)
        kernel("norm", "12rms_norm_f32ILi%dELb1ELb0E" % block, scaled, [r], [block],
               ["x", "y"] + strides + eps + ["w"] + i64(0, 0, 0) + [packed("cols"), one, one, one] + absent, shared, name="rms_norm_mul_" + name)
    kernel("norm", "11l2_norm_f32ILi32E", unit, [r], [32], ["x", "y"] + strides + eps, name="l2_norm_32")
    kernel("norm", "11l2_norm_f32ILi1024E", unit, [r], [1024], ["x", "y"] + strides + eps, 128, name="l2_norm_1024")
    kernel("norm", "14group_norm_f32ILi1024E", normed, [r], [1024], ["x", "y"] + i32(c, "rows * cols") + eps, 256, name="group_norm_1024")
    kernel("norm", "14group_norm_f32ILi32E", normed, [r], [32], ["x", "y"] + i32(c, "rows * cols") + eps, name="group_norm_32")
    back = rows("rms_norm_back", ROW + "real q = real(0.0); real d = real(0.0); for (long long k = 0; k < in.cols; ++k) { q += in.x(row + k) * in.x(row + k); "
                "d += in.x(row + k) * in.g(row + k); } q = q / %s + real(1e-5); return (in.g(i) - in.x(i) * d / (q * %s)) / sqrt_(q);" % (COUNT, COUNT),
                ("g", "x"), length="4*cols")
    kernel("norm", "17rms_norm_back_f32ILi32E", back, [r], [32, 1], ["g", "x", "y", {"i32": c}] + eps, name="rms_norm_back_32")
    kernel("norm", "17rms_norm_back_f32ILi1024E", back, [r], [1024, 1], ["g", "x", "y", {"i32": c}] + eps, name="rms_norm_back_1024")
    summed = rows("sum_rows", total("in.x(i * in.cols + k)") + "return s;", out=("rows",))
    averaged = rows("mean_rows", total("in.x(i * in.cols + k)") + "return s / %s;" % COUNT, out=("rows",))
    kernel("sumrows", "15reduce_rows_f32ILb0E", summed, [r], [512], ["x", "y", {"i32": c}], name="sum_rows_512")
    kernel("mean", "15reduce_rows_f32ILb1E", averaged, [r], [128], ["x", "y", {"i32": c}], name="mean_rows_128")
    soft = rows("soft_max_back", ROW + total("in.f(row + k) * in.g(row + k)") + "return (in.g(i) - s) * in.f(i) * real(0.5);", ("g", "f"))
    kernel("softmax", "17soft_max_back_f32", soft, [r], [32], ["g", "f", "y", {"i32": c}, {"f32": 0.5}], name="soft_max_back")
    softmax = rows("soft_max", ROW + TOP + EXPS + "return exp_(in.x(i) - top) / sum;")
    params = {"bytes": 128, "fields": [{"at": at, "value": value} for at, value in
                                       [(0, {"i64": 1}), (8, {"i32": 1}), (16, {"i64": c}), (24, {"i64": r}), (32, {"i64": r}), (40, {"i64": c}), (48, {"i64": r}), (56, {"i64": 1}),
                                        (64, {"i64": 1}), (72, {"i64": 0}), (80, {"i64": 0}), (88, {"i64": 0}), (96, {"i64": 1}), (104, {"i64": 1}), (112, {"f32": 1}),
                                        (116, {"f32": 0}), (120, {"f32": 1}), (124, {"f32": 1})]]}
    kernel("softmax", "12soft_max_f32ILb1ELi0ELi0EfE", softmax, [r, 1, 1], ["min(pow2(max(cols, 32)), 1024)"], ["x", "none?", "none?", "y", params], "(cols + 32) * 4",
           ["cols <= 8192"], name="soft_max_shared")
    kernel("softmax", "12soft_max_f32ILb1ELi1024ELi1024EfE", softmax, [r, 1, 1], [1024], ["x", "none?", "none?", "y", params], (1024 + 32) * 4,
           ["cols == 1024"], name="soft_max_1024")
    labels = tensor("t", "in", ["rows", "cols"], fill={"kind": "unit_sum_rows"})
    loss = rows("cross_entropy", "const long long row = i * in.cols; " + TOP + EXPS + "const real l = log_(sum); real y = real(0.0); "
                "for (long long k = 0; k < in.cols; ++k) y += (in.x(row + k) - top - l) * in.t(row + k); return (real(0.0) - y) / real(static_cast<double>(in.rows));",
                out=("rows",), more_tensors=[labels], length="4*cols")
    slope = rows("cross_entropy_back", ROW + TOP + EXPS + "return (exp_(in.x(i) - top) / sum - in.t(i)) * in.d(0) / real(static_cast<double>(in.rows));",
                 more_tensors=[labels, tensor("d", "in", ["1"])], length="2*cols")
    for shared in (0, 1):
        bytes_ = "cols * 4" if shared else 0
        word = "shared" if shared else "global"
        kernel("cross_entropy_loss", "22cross_entropy_loss_f32ILb%dE" % shared, loss, [r], [32], ["x", "t", "y", {"i32": c}, {"i32": r}], bytes_, name="cross_entropy_" + word)
        kernel("cross_entropy_loss", "27cross_entropy_loss_back_f32ILb%dE" % shared, slope, [r], [32], ["d", "x", "t", "y", {"i32": c}], bytes_, name="cross_entropy_back_" + word)
    shape4 = i64(c, r, 1, 1)
    steps = i64(1, c, "rows * cols", "rows * cols")
    tame = lambda low: [tensor("x", "in", ["rows", "cols"], fill={"kind": "uniform", "low": low, "high": 1, "values": "range"})]
    scan = rows("cumsum", ROW + "real s = real(0.0); for (long long k = row; k <= i; ++k) s += in.x(k); return s;", (), more_tensors=tame(0))
    kernel("cumsum", "13cumsum_kernelIf", scan, [r, 1, 1], [256], ["x", "y"] + shape4 + steps + steps, "(256 + 8 + 2) * 4", name="cumsum_256")

    # places
    finite = {"fill": {"kind": "normal", "values": "finite"}}  # of lines without a finite number ggml's index is -1
    first = new("argmax", "rows cols", [tensor("x", "in", ["rows", "cols"], **finite), tensor("y", "out", ["rows"], "i32", check={"kind": "index_of", "of": "x"})], [64, 1024],
                [[3, 65], [2, 300]], of("y", "long long b = 0; for (long long k = 1; k < in.cols; ++k) if (in.x(i * in.cols + k) > in.x(i * in.cols + b)) b = k; "
                                        "return real(static_cast<double>(b));"))
    kernel("argmax", "10argmax_f32", first, [r], ["min(1024, cdiv(cols, 32) * 32)"], ["x", "y"] + i64(c), name="argmax")
    ints = {"fill": {"kind": "integers", "below": "3"}}
    equal = new("count_equal", "n+", [tensor("a", "in", ["n"], "i32", **ints), tensor("b", "in", ["n"], "i32", **ints), tensor("y", "in_out", ["1"], "i64", fill={"kind": "zeros"}, **INT)],
                [65536], [[1000]], of("y", "long long s = 0; for (long long k = 0; k < in.n; ++k) s += in.a(k) == in.b(k); return real(static_cast<double>(s + in.y(0)));"),
                precision="integer")
    kernel("count_equal", "11count_equalIiE", equal, ["cdiv(n, cdiv(n, 512))"], [32], ["a", "b", "y"] + i64("cdiv(n, 512)", "n"), name="count_equal")
    order = new("argsort", "rows cols", [tensor("x", "in", ["rows", "cols"], fill={"kind": "uniform", "low": 0, "high": 1, "values": "range"}),
                                           tensor("y", "out", ["rows", "cols"], "i32", **INT)], [8, 200], [[3, 65]],
                of("y", ROW + "for (long long a = 0; a < in.cols; ++a) { long long less = 0; for (long long k = 0; k < in.cols; ++k) "
                   "less += in.x(row + k) < in.x(row + a) || (in.x(row + k) == in.x(row + a) && k < a); if (less == c) return real(static_cast<double>(a)); } return real(0.0);"))
    kernel("argsort", "17k_argsort_f32_i32IL15ggml_sort_order0E", order, [r], ["pow2(cols)"], ["x", "y", {"i32": c}, {"i32": "pow2(cols)"}], "pow2(cols) * 4",
           ["cols <= 1024"], name="argsort_ascending")
    diagonal = rows("diag", "const long long a = i / in.cols % in.cols, b = i % in.cols; return a == b ? in.x(i / in.cols / in.cols * in.cols + b) : real(0.0);",
                    out=("rows", "cols", "cols"), length="1", time=(8, 64))
    kernel("diag", "11diag_kernelIf", diagonal, ["cdiv(rows * cols * cols, 256)"], [256], ["y", "x"] + i64(c, c, r, 1, "rows * cols * cols"), name="diag")
    square = lambda name, text: new(name, "n", [tensor("x", "in", ["n", "n"]), tensor("y", "out", ["n", "n"], **INT)], [64], [[3], [65]], of("y", text))
    lower = square("tri_lower", "return i % in.n < i / in.n ? in.x(i) : real(0.0);")
    upper = square("tri_upper_diag", "return i % in.n < i / in.n ? real(0.0) : in.x(i);")
    for job, entry in ((lower, "10tri_kernelIfLb1ELi0E"), (upper, "10tri_kernelIfLb0ELi0E")):
        kernel("tri", entry, job, ["n", 1, 1], [256], ["x", "y"] + i64("n", "n", 1, 1) + i64(1, "n", "n * n", "n * n") * 2, name=job[5:])
    place = i64(c, r, 1, 1) + i32(3, 1, 0, 0)
    rolled = rows("roll", "const long long a = (i / in.cols + in.rows - 1) % in.rows, b = (i % in.cols + in.cols - 3) % in.cols; return in.x(a * in.cols + b);", length="1")
    kernel("roll", "13roll_f32_cuda", rolled, ["cdiv(rows * cols, 256)"], [256], ["x", "y"] + place, 0, ["cols >= 3"], name="roll")
    padded = rows("pad", "const long long a = i / (in.cols + 5) - 1, b = i % (in.cols + 5) - 2; return a < 0 || a >= in.rows || b < 0 || b >= in.cols ? real(0.0) : in.x(a * in.cols + b);",
                  out=("rows + 2", "cols + 5"), length="1")
    kernel("pad", "7pad_f32", padded, ["cdiv(cols + 5, 256)", "rows + 2", 1], [256], ["x"] + i64(1, c, "rows * cols", "rows * cols") + ["y"] + i32(2, 3, 1, 1, 0, 0, 0, 0)
           + i32("cols + 5", "rows + 2", 1, 1) + [{"i8": 0}], name="pad")
    mirrored = rows("pad_reflect", "const long long a = i / (in.cols + 5), b = i % (in.cols + 5) - 2, e = b < 0 ? 0 - b : b < in.cols ? b : 2 * in.cols - 2 - b; return in.x(a * in.cols + e);",
                    out=("rows", "cols + 5"), length="1")
    kernel("pad_reflect_1d", "25pad_reflect_1d_kernel_f32", mirrored, ["rows * cdiv(cols + 5, 256)", 1, 1], [256],
           ["x", "y"] + i64("cols + 5", c) + [packed(r)] + i64(1, 1, 4, "cols * 4", "rows * cols * 4", "rows * cols * 4", 4, "(cols + 5) * 4", "rows * (cols + 5) * 4", "rows * (cols + 5) * 4")
           + i32(2, 3), 0, ["cols >= 4"], name="pad_reflect_1d")
    joined = new("concat", "rows a b", [tensor("x", "in", ["rows", "a"]), tensor("z", "in", ["rows", "b"]), tensor("y", "out", ["rows", "a + b"], **near("1"))], [64, 100, 300],
                 [[3, 5, 7]], of("y", "const long long w = in.a + in.b, q = i / w, c = i % w; return c < in.a ? in.x(q * in.a + c) : in.z(q * in.b + c - in.a);"))
    kernel("concat", "11concat_contIjLi0E", joined, ["cdiv(rows * (a + b), 256)"], [256], ["x", "z", "y"] + i64("a", r, 1, "a + b", r, 1), name="concat_columns")
    added = new("add_id", "rows used cols experts", [tensor("x", "in", ["rows", "used", "cols"]), tensor("w", "in", ["experts", "cols"]),
                                                      tensor("t", "in", ["rows", "used"], "i32", fill={"kind": "labels", "below": "experts"}),
                                                      tensor("y", "out", ["rows", "used", "cols"], **near("2"))], [16, 4, 300, 8], [[3, 2, 65, 5]],
                of("y", "return in.x(i) + in.w(in.t(i / in.cols) * in.cols + i % in.cols);"))
    kernel("add_id", "13add_id_kernel", added, ["used", r], ["min(cols, 768)"], ["x", "w", "t", "y"] + i64(c, "used", "cols * 4", "used * cols * 4", "cols * 4", "used * 4"), name="add_id")
    rows_of = lambda name, kind: new(name, "rows cols words", [tensor("w", "in", ["words", "cols"], kind), tensor("t", "in", ["rows"], "i32", fill={"kind": "labels", "below": "words"}),
                                                                tensor("y", "out", ["rows", "cols"], **INT)], [64, 1000, 100], [[3, 65, 5]],
                                     of("y", "return in.w(in.t(i / in.cols) * in.cols + i % in.cols);"), precision="fp32-strict" if kind == "fp32" else kind)
    for kind, letter, size in (("fp32", "f", 4), ("fp16", "6__half", 2)):
        width = "cols * %d" % size
        kernel("getrows", "16k_get_rows_floatI%sfE" % letter, rows_of("get_rows_" + kind, kind), [r, "cdiv(cols, 256)", 1], [256],
               ["w", "t", "y"] + i64(c, 1) + [one] + i64(c, "rows * cols", "rows * cols", width, "words * " + width, "words * " + width, 1, r, r), name="get_rows_" + kind)
    pooled = rows("pool_max", "const long long w = in.cols / 2, h = in.rows / 2, a = i / w % h * 2 * in.cols + i % w * 2; "
                  "return max_(max_(in.x(a), in.x(a + 1)), max_(in.x(a + in.cols), in.x(a + in.cols + 1)));", out=("rows / 2", "cols / 2"), length="1", checks=((4, 66), (2, 300)))
    kernel("pool2d", "18pool2d_nchw_kernelIffE", pooled, ["cdiv((rows / 2) * (cols / 2), 256)"], [256],
           i32(r, c, "rows / 2", "cols / 2", 2, 2, 2, 2, 0, 0, "(rows / 2) * (cols / 2)") + ["x", "y", {"i32": 0}], 0, ["rows >= 2", "cols >= 2"], name="pool_max_2x2")
    grown = rows("upscale", "const long long w = 2 * in.cols; return in.x(i / w / 2 * in.cols + i % w / 2);", out=("2 * rows", "2 * cols"), length="1")
    kernel("upscale", "11upscale_f32", grown, ["cdiv(4 * rows * cols, 256)"], [256], ["x", "y"] + i32(4, "cols * 4", "rows * cols * 4", "rows * cols * 4", "2 * cols", "2 * rows", 1, 1)
           + [{"f32": 2}, {"f32": 2}, {"f32": 1}, {"f32": 1}], name="upscale_nearest")
    windows = rows("im2col", "const long long k = i % 3, c = i / 3 % in.cols + k - 1, a = i / 3 / in.cols; return c < 0 || c >= in.cols ? real(0.0) : in.x(a * in.cols + c);",
                   out=("rows", "cols", "3"), length="1")
    kernel("im2col", "13im2col_kernelIfE", windows, [1, c, r], [3], ["x", "y"] + i64(1, c, 1, 1, c, 3, 1, c, c, r, 3, 3) + i32(1, 1, 1, 0, 1, 1), name="im2col_1x3")
    deep = new("conv_dw", "rows height width", [tensor("x", "in", ["rows", "height", "width"]), tensor("w", "in", ["rows", "3", "3"]), tensor("y", "out", ["rows", "height", "width"], **near("9"))],
               [16, 32, 40], [[3, 5, 7]], of("y", "const long long q = i / in.width / in.height, h = i / in.width % in.height, v = i % in.width; real s = real(0.0); for (int a = 0; a < 3; ++a) "
                                             "for (int b = 0; b < 3; ++b) if (h + a >= 1 && h + a <= in.height && v + b >= 1 && v + b <= in.width) "
                                             "s += in.x((q * in.height + h + a - 1) * in.width + v + b - 1) * in.w(q * 9 + a * 3 + b); return s;"))
    kernel("conv2d_dw", "16conv2d_dw_kernelIf11whcn_layoutE", deep, ["cdiv(rows * height * width, 256)"], [256],
           ["x", "w", "y"] + i32("width", "height", "width", "height", 3, 3, 1, 1, 1, 1, 1, 1, r, 1), name="conv2d_depthwise")
    spread = new("conv_transpose", "inner+ outer length", [tensor("w", "in", ["inner", "outer", "3"]), tensor("x", "in", ["inner", "length"]),
                                                           tensor("y", "out", ["outer", "2 * length + 1"], **near("3 * inner"))], [16, 16, 100], [[3, 5, 7]],
                 of("y", "const long long w = 2 * in.length + 1, o = i / w, t = i % w; real s = real(0.0); for (long long c = 0; c < in.inner; ++c) for (int k = 0; k < 3; ++k) "
                    "if (t >= k && (t - k) % 2 == 0 && (t - k) / 2 < in.length) s += in.w((c * in.outer + o) * 3 + k) * in.x(c * in.length + (t - k) / 2); return s;"))
    kernel("conv_transpose_1d", "24conv_transpose_1d_kernel", spread, ["cdiv(outer * (2 * length + 1), 256)"], [256],
           i32(2, 0, 1, "outer * (2 * length + 1)", 3, "outer", "inner", 1, "length", "inner", 1, 1, "2 * length + 1", "outer", 1, 1) + ["w", "x", "y"], name="conv_transpose_1d")
    walsh = lambda size: new("walsh_%d" % size, "rows", [tensor("x", "in", ["rows", str(size)]), tensor("y", "out", ["rows", str(size)], **near(str(size)))], [32], [[1], [5]],
                             of("y", "const long long k = i %% %d, b = i - k; real s = real(0.0); for (long long j = 0; j < %d; ++j) { long long p = j & k; for (int h = 8; h > 0; h /= 2) p ^= p >> h; "
                                "s += (p & 1) != 0 ? real(0.0) - in.x(b + j) : in.x(b + j); } return s * real(%g);" % (size, size, 0.125 if size == 64 else 0.0625)))
    for size in (64, 256):
        kernel("fwht", "9fwht_cudaILi%dE" % size, walsh(size), ["cdiv(rows, 4)"], [32, 4], ["x", "y"] + i64(r) + [{"f32": 0.125 if size == 64 else 0.0625}], name="walsh_%d" % size)
    channels = lambda tokens: new("ssm_conv_%s" % tokens, "groups steps", [tensor("x", "in", ["groups * 128", "steps + 3"]), tensor("w", "in", ["groups * 128", "4"]),
                                                                           tensor("y", "out", ["steps", "groups * 128"], **near("4"))], [4, 96 if tokens == "long" else 20],
                                  [[1, 64], [2, 96]] if tokens == "long" else [[1, 5], [2, 32]],
                                  of("y", "const long long d = in.groups * 128, t = i / d, q = i % d; real s = real(0.0); for (int j = 0; j < 4; ++j) "
                                     "s += in.x(q * (in.steps + 3) + t + j) * in.w(q * 4 + j); return s;"))
    sides = ["x", "w", "none?"] + i32(4, "(steps + 3) * 4", "groups * 128 * (steps + 3) * 4", 16) + ["y"] + i32(4, "groups * 512", "groups * 512 * steps") + i64("steps")
    kernel("ssm_conv", "12ssm_conv_f32ILb0ELm128ELm4E", channels("short"), [1, "groups"], [128], sides, name="ssm_conv")
    kernel("ssm_conv", "23ssm_conv_long_token_f32ILb0ELm128ELm4E", channels("long"), [1, "groups", "cdiv(steps, 32)"], [128], sides, "128 * 35 * 4", ["steps % 32 == 0"],
           name="ssm_conv_long")  # else it reads past the end of x: README.md
    return tasks, kernels
