"""Plans and tasks of further kernels of llm.c's dev/cuda, for recipe.py. Launches are llm.c's own."""
import re

BITS = {"check": {"kind": "bitwise"}}


def i32(*texts):
    return [{"i32": t} for t in texts]


def define(task, tensor, near, of):
    tasks, kernels = {}, []

    def kernel_row(module, entry, job, grid, block, args, shared=0, require=()):
        return ("llmc_" + re.sub(r"\W+", "_", module + "_" + re.sub(r"^\d+", "", entry)), "llmc/dev_cuda_" + module, entry, job, grid, block, args, shared, require)

    def kernel(*words):
        kernels.append(kernel_row(*words))

    def new(*words, **more):
        name, body = task(*words, **more)
        tasks["llmc_" + name] = dict(body, name="llmc_" + name)
        return "llmc_" + name

    bf = "bf16"
    flat = lambda kind, *names: [tensor(t, "in", ["n"], kind) for t in names]
    # d gelu(x) / dx
    inner = "const real x = in.x(i), u = real(0.79788456080286535588) * (x + real(0.044715) * x * x * x), t = tanh_(u); "
    slope = "real(0.5) * (real(1.0) + t) + real(0.5) * x * (real(1.0) - t * t) * real(0.79788456080286535588) * (real(1.0) + real(0.134145) * x * x)"
    back = new("gelu_backward", "n", flat(bf, "x", "d") + [tensor("y", "out", ["n"], bf, **near("8"))], [65536], [[256], [1000]],
               of("y", inner + "return (%s) * in.d(i);" % slope))
    kernel("gelu_backward", "14gelu_backward1", back, ["cdiv(n, 128)"], [128], ["y", "x", "d"] + i32("n"))
    kernel("gelu_backward", "14gelu_backward2", back, ["cdiv(n, 1024)"], [128], ["y", "x", "d"] + i32("n"), 0, ["n % 8 == 0"])

    # AdamW with the defaults of its test: 1e-3, 0.9, 0.999, 1e-8, 0
    state = [tensor(t, "in_out", ["n"], **near("8")) for t in ("x", "m", "v")]
    state[2]["fill"] = {"kind": "uniform", "low": 0.1, "high": 1}
    m = "real(0.875) * in.m(i) + real(0.125) * in.g(i)"
    v = "real(0.984375) * in.v(i) + real(0.015625) * in.g(i) * in.g(i)"
    tail = ([65536], [[256], [1000]],
            of("x", "return in.x(i) - real(0.0078125) * ((%s) / real(0.5) / (sqrt_((%s) / real(0.25)) + real(0.0009765625)) + real(0.015625) * in.x(i));" % (m, v))
            + of("m", "return %s;" % m) + of("v", "return %s;" % v))
    adam = new("adamw", "n", [dict(s) for s in state] + flat("fp32", "g"), *tail)
    state[1]["fill"] = {"kind": "uniform", "low": -1, "high": 1, "values": "range"}  # kernel 2 interpolates: an infinity gives NaN
    tame = tensor("g", "in", ["n"], fill=state[1]["fill"])
    calm = new("adamw_finite", "n", [state[0], state[1], dict(state[2], fill={"kind": "uniform", "low": 0.1, "high": 1, "values": "range"}), tame], *tail)
    numbers = [{"f32": f} for f in (0.0078125, 0.875, 0.984375, 0.5, 0.25, 0.0009765625, 0.015625)]
    for k in (1, 2):
        kernel("adamw", "13adamw_kernel%d" % k, adam if k == 1 else calm, ["cdiv(n, 512)"], [512], ["x", "g", "m", "v", {"i64": "n"}] + numbers)

    # gradients
    spread = new("crossentropy_softmax_backward", "rows cols", [tensor("d", "in", ["rows"]), tensor("p", "in", ["rows", "cols"]), tensor("t", "in", ["rows"], "i32", fill={"kind": "labels", "below": "cols"}),
                                                                tensor("y", "in_out", ["rows", "cols"], **near("4"))], [64, 500], [[3, 65]],
                 of("y", "const long long r = i / in.cols; return in.y(i) + (in.p(i) - real(in.t(r) == i % in.cols ? 1.0 : 0.0)) * in.d(r);"))
    kernel("crossentropy_softmax_backward", "37crossentropy_softmax_backward_kernel1", spread, ["cdiv(rows * cols, 256)"], [256], ["y", "d", "p", "t"] + i32(1, "rows", "cols"))
    table = new("encoder_backward", "rows+ steps+ cols words", [tensor("d", "in", ["rows", "steps", "cols"]), tensor("t", "in", ["rows", "steps"], "i32", fill={"kind": "labels", "below": "words"}),
                                                                tensor("w", "in_out", ["words", "cols"], **near("rows * steps + 2")), tensor("p", "in_out", ["steps", "cols"], **near("rows + 2"))],
                [4, 32, 256, 50], [[2, 3, 64, 5]],
                of("w", "const long long v = i / in.cols, c = i % in.cols; real s = in.w(i); for (long long k = 0; k < in.rows * in.steps; ++k) if (in.t(k) == v) s += in.d(k * in.cols + c); return s;")
                + of("p", "real s = in.p(i); for (long long r = 0; r < in.rows; ++r) s += in.d(r * in.steps * in.cols + i); return s;"))
    sizes = i32("rows", "steps", "cols")
    kernel("encoder_backward", "24encoder_backward_kernel1", table, ["cdiv(rows * steps * cols, 256)"], [256], ["w", "p", "d", "t"] + sizes)
    kernel("encoder_backward", "24encoder_backward_kernel2", table, ["cdiv(cols, 256)"], [256], ["w", "p", "d", "t"] + sizes)

    # residual and layer normalization in one; what is normalized is the sum as stored
    even = {"fill": {"kind": "uniform", "low": -1, "high": 1, "values": "range"}}  # sums of a line are of one magnitude
    sides = [tensor(t, "in", ["rows", "cols"], bf, **even) for t in "ab"] + [tensor(t, "in", ["cols"], bf, **even) for t in ("w", "o")]
    outs = [tensor(t, "out", ["rows", "cols"], bf) for t in ("s", "y")]
    for tensor_ in outs:
        tensor_.pop("check", None)
    fused = "llmc_fused_residual"
    shape = lambda rows, cols: {"sizes": {"rows": rows, "cols": cols}}
    tasks[fused] = {"cupilot_task": 2, "name": fused, "axes": [{"name": "rows", "kind": "free"}, {"name": "cols", "kind": "free"}], "tensors": sides + outs, "precision": bf,
                    "operations": [{"name": "add", "op": "add", "in": ["a", "b"], "out": ["s"]}, {"name": "norm", "op": "layer_norm", "in": ["s", "w", "o"], "out": ["y"], "attrs": {"eps": 1e-5}}],
                    "time_shapes": [shape(64, 768)], "check_shapes": [shape(5, 64), shape(3, 256)]}
    args = ["s", "y", "mean", "rstd", "a", "b", "w", "o"] + i32("rows", "cols")
    kept = {"buffers": [{"name": n, "bytes": "rows * 2"} for n in ("mean", "rstd")]}
    name = "30fused_residual_forward_kernel"
    depth = "max(1, 4 / max(1, cols / 256))"
    residual = lambda *words: kernels.append(kernel_row("fused_residual_forward", *words) + (kept,))
    residual("23fused_residual_forward2", fused, ["cdiv(rows, 128)"], [128], args)
    residual("23fused_residual_forward3", fused, ["cdiv(rows, 4)"], [32, 4], args)
    residual(name + "4", fused, ["cdiv(rows, 4)"], [32, 4], args, 0, ["cols % 256 == 0"])
    residual(name + "5", fused, ["cdiv(rows, 4)"], [32, 4], args, "6 * cols * 2", ["cols % 8 == 0"])
    residual(name + "6", fused, ["dev.sms * 8"], [32, "max(1, 4 / %s)" % depth, depth], args, "(2 + %s) * cols * 2 + 256 * %s" % (depth, depth), ["cols % 8 == 0"])

    # products
    linear = new("linear", "m n k+", [tensor("x", "in", ["m", "k"]), tensor("w", "in", ["n", "k"]), tensor("b", "in", ["n"]), tensor("y", "out", ["m", "n"], **near("k + 1"))],
                 [128, 256, 96], [[3, 5, 7], [128, 128, 32]],
                 of("y", "const long long r = i / in.n, c = i % in.n; real s = in.b(c); for (long long k = 0; k < in.k; ++k) s += in.x(r * in.k + k) * in.w(c * in.k + k); return s;"))
    kernel("matmul_forward", "22matmul_forward_kernel1", linear, ["cdiv(m, 16)", "cdiv(n, 16)"], [16, 16], ["y", "x", "w", "b"] + i32("m", "k", "n"))
    kernel("matmul_forward", "22matmul_forward_kernel4", linear, ["m / 128", "n / 128"], [16, 16], ["y", "x", "w", "b"] + i32("k", "n"), 0,
           ["m % 128 == 0", "n % 128 == 0", "k % 32 == 0", "m >= 128", "n >= 128"])
    biased = new("add_bias", "rows cols", [tensor("b", "in", ["cols"]), tensor("y", "in_out", ["rows", "cols"], **near("2"))], [64, 500], [[3, 65]], of("y", "return in.y(i) + in.b(i % in.cols);"))
    kernel("matmul_forward", "8add_bias", biased, ["cdiv(rows * cols, 256)"], [256], ["y", "b"] + i32(1, "rows", "cols"))

    # attention
    heads = "batch heads steps width+"
    three = [tensor("x", "in", ["batch", "steps", "3", "heads", "width"])]
    into = [tensor(t, "out", ["batch", "heads", "steps", "width"], **BITS) for t in "qkv"]
    part = ("const long long w = i %% in.width, t = i / in.width %% in.steps, h = i / in.width / in.steps %% in.heads, b = i / in.width / in.steps / in.heads; "
            "return in.x((((b * in.steps + t) * 3 + %d) * in.heads + h) * in.width + w);")
    split = new("split_heads", heads.strip("+"), three + into, [2, 4, 64, 32], [[1, 2, 3, 5]], "".join(of(t, part % k) for k, t in enumerate("qkv")))
    places = i32("batch", "steps", "heads", "width")
    everything = ["cdiv(batch * heads * steps * width, 256)"]
    kernel("attention_forward", "14permute_kernelP", split, everything, [256], ["q", "k", "v", "x"] + places)
    joined = new("join_heads", heads.strip("+"), [tensor("x", "in", ["batch", "heads", "steps", "width"]), tensor("y", "out", ["batch", "steps", "heads", "width"], **BITS)], [2, 4, 64, 32], [[1, 2, 3, 5]],
                 of("y", "const long long w = i % in.width, h = i / in.width % in.heads, t = i / in.width / in.heads % in.steps, b = i / in.width / in.heads / in.steps; "
                    "return in.x(((b * in.heads + h) * in.steps + t) * in.width + w);"))
    kernel("attention_forward", "16unpermute_kernelP", joined, everything, [256], ["x", "y"] + places)
    lower = "const long long t = i / in.steps % in.steps, u = i % in.steps; "
    scores = ["batch", "heads", "steps", "steps"]
    dots = new("query_key", heads, three + [tensor("y", "out", scores, **near("width"))], [2, 4, 32, 32], [[1, 2, 3, 5]],
               of("y", lower + "if (u > t) return real(-1.0) / real(0.0); const long long h = i / in.steps / in.steps % in.heads, b = i / in.steps / in.steps / in.heads; real s = real(0.0); "
                  "for (long long w = 0; w < in.width; ++w) s += in.x((((b * in.steps + t) * 3) * in.heads + h) * in.width + w) * in.x((((b * in.steps + u) * 3 + 1) * in.heads + h) * in.width + w); "
                  "return s / sqrt_(real(static_cast<double>(in.width)));"))
    kernel("attention_forward", "27attention_query_key_kernel1", dots, ["cdiv(batch * heads * steps * steps, 256)"], [256], ["y", "x"] + i32("batch", "steps", "heads * width", "heads"))
    row = "const long long row = i - u; real top = in.x(row); for (long long k = 1; k <= t; ++k) top = max_(top, in.x(row + k)); real sum = real(0.0); for (long long k = 0; k <= t; ++k) "
    causal = new("causal_softmax", "batch heads steps+", [tensor("x", "in", scores), tensor("y", "out", scores, **near("steps"))], [2, 4, 64], [[1, 2, 5]],
                 of("y", lower + "if (u > t) return real(0.0); " + row + "sum += exp_(in.x(row + k) - top); return exp_(in.x(i) - top) / sum;"))
    kernel("attention_forward", "25attention_softmax_kernel1", causal, ["cdiv(batch * heads * steps, 256)"], [256], ["y", "x"] + i32("batch", "steps", "heads"))
    warm = new("causal_softmax_scaled", "batch heads steps+", [tensor("x", "in", scores), tensor("y", "in_out", scores, **near("steps"))], [2, 4, 64], [[1, 2, 8]],
               of("y", lower + "if (u > t) return in.y(i); " + row + "sum += exp_((in.x(row + k) - top) * real(0.25)); return exp_((in.x(i) - top) * real(0.25)) / sum;"))
    kernel("attention_forward", "23softmax_forward_kernel5", warm, ["cdiv(batch * heads * steps * 32, 256)"], [256], ["y", {"f32": 0.25}, "x"] + i32("batch * heads", "steps"), 0, ["steps % 4 == 0"])
    values = new("attention_values", "batch heads steps+ width", [tensor("p", "in", scores), tensor("x", "in", ["batch", "steps", "3", "heads", "width"]),
                                                                  tensor("y", "out", ["batch", "steps", "heads", "width"], **near("steps"))], [2, 4, 32, 32], [[1, 2, 3, 5]],
                 of("y", "const long long w = i % in.width, h = i / in.width % in.heads, t = i / in.width / in.heads % in.steps, b = i / in.width / in.heads / in.steps; real s = real(0.0); "
                    "for (long long u = 0; u <= t; ++u) s += in.p(((b * in.heads + h) * in.steps + t) * in.steps + u) * in.x((((b * in.steps + u) * 3 + 2) * in.heads + h) * in.width + w); return s;"))
    kernel("attention_forward", "23attention_value_kernel1", values, ["cdiv(batch * heads * steps, 256)"], [256], ["y", "p", "x"] + i32("batch", "steps", "heads * width", "heads"))
    masked = new("causal_scale", "batch heads steps", [tensor("y", "in_out", scores, **near("2"))], [2, 4, 64], [[1, 2, 5]],
                 of("y", lower + "return u > t ? real(-1.0) / real(0.0) : in.y(i) * real(0.25);"))
    kernel("attention_forward", "12scale_kernel", masked, ["cdiv(batch * heads * steps * steps, 256)"], [256], ["y", {"f32": 0.25}] + i32("batch", "heads", "steps"))

    # the classifier: losses and gradients of logits in one
    top = "const long long row = %s; real top = in.x(row); for (long long k = 1; k < in.cols; ++k) top = max_(top, in.x(row + k)); real sum = real(0.0); for (long long k = 0; k < in.cols; ++k) sum += exp_(in.x(row + k) - top); "
    near_one = {"fill": {"kind": "uniform", "low": -20, "high": 20, "values": "range"}}  # a probability of 0 has no logarithm
    of_all = [tensor("x", "in", ["rows", "cols"], **near_one), tensor("d", "in", ["rows"]), tensor("t", "in", ["rows"], "i32", fill={"kind": "labels", "below": "cols"})]
    grads = [tensor("g", "out", ["rows", "cols"], **near("cols + 2")), tensor("y", "out", ["rows"], **near("cols + 2"))]
    classed = new("classifier", "rows cols+", of_all + grads, [64, 1000], [[3, 64], [2, 1320]],
                  of("g", top % "i / in.cols * in.cols" + "const long long r = i / in.cols; return (exp_(in.x(i) - top) / sum - real(in.t(r) == i % in.cols ? 1.0 : 0.0)) * in.d(r);")
                  + of("y", top % "i * in.cols" + "return log_(sum) + top - in.x(row + in.t(i));"))
    rest = ["x", "d", "t"] + i32(1, "rows", "cols", "cols")
    kernel("classifier_fused", "24fused_classifier_kernel1", classed, ["cdiv(rows, 4)"], [128], ["g", "y"] + rest)
    for k, block, whole in ((2, 128, ["cols % 4 == 0"]), (3, 128, []), (4, 128, ["cols % 4 == 0"])):
        kernel("classifier_fused", "24fused_classifier_kernel%d" % k, classed, ["rows"], [block], ["g", "y", "none?"] + rest, 0, whole)
    kernel("classifier_fused", "24fused_classifier_kernel5ILb1ELb0E", classed, ["rows"], [1024], ["g", "y", "none?"] + rest, 0, ["cols % 4 == 0"])
    return tasks, kernels
