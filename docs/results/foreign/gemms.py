"""Plans and tasks of DeepGEMM's bf16 kernel and of CuTe's tutorials, for recipe.py. Launches are their own."""
import cutlass


def define(task, tensor, near, of):
    tasks, kernels = {}, []

    def new(*words, **more):
        name, body = task(*words, **more)
        body = dict(body, work={"flops": "2*m*n*k", "matmul_like": "a product of matrices"})
        tasks[name] = body
        return name

    def product(name, kind, a, b, out, times, checks, shapes, fill=None, **more):
        """out: where element i lies as (row, column); shapes of a, b and c."""
        check = near("k")
        check["check"].update(more.pop("check", {}))
        result = more.pop("result", kind)
        return new(name, "m n k+", [tensor(t, "in", s, kind, **({"fill": fill} if fill else {})) for t, s in zip("ab", shapes)] + [tensor("c", "out", shapes[2], result, **check)], times, checks,
                   of("c", "const long long r = %s, c = %s; real s = real(0.0); for (long long k = 0; k < in.k; ++k) s += in.a(%s) * in.b(%s); return s;" % (out[0], out[1], a, b)), **more)

    rows, columns = ("i / in.n", "i % in.n"), ("i % in.m", "i / in.m")
    sizes = {"bytes": 12, "fields": [{"at": 4 * i, "value": {"i32": s}} for i, s in enumerate("mnk")]}
    empty = {"bytes": 1, "fields": []}
    lead = lambda size: {"bytes": 4, "fields": [{"at": 0, "value": {"i32": size}}]}
    whole = ["m % 128 == 0", "n % 128 == 0"]
    floats = {"nt": product("cute_nt", "fp32", "k * in.m + r", "k * in.n + c", columns, [256, 128, 64], [[128, 128, 8], [128, 256, 24]], [["k", "m"], ["k", "n"], ["n", "m"]]),
              "tn": product("cute_tn", "fp32", "r * in.k + k", "c * in.k + k", columns, [256, 128, 64], [[128, 128, 8], [128, 256, 24]], [["m", "k"], ["n", "k"], ["n", "m"]])}
    for step in (1, 2):
        for way, leads in (("nt", ("m", "n")), ("tn", ("k", "k"))):
            entry = r"gemm_device.*ILi8EEEEEEfNS1_IJ%s" % ("NS3_ILi1EEEi" if way == "nt" else "iNS3_ILi1E")
            args = [sizes, empty, "a", lead(leads[0]), empty, empty, "b", lead(leads[1]), empty, empty, "c", lead("m"), empty, empty, {"f32": 1}, {"f32": 0}]
            kernels.append(("cute_sgemm_%d_%s" % (step, way), "cute/sgemm_%d" % step, entry, floats[way], ["m / 128", "n / 128"], [256], args, 0, whole + ["k % 8 == 0"]))
    halves = product("cute_half_tn", "fp16", "r * in.k + k", "c * in.k + k", columns, [256, 128, 256], [[128, 128, 64], [128, 256, 320]], [["m", "k"], ["n", "k"], ["n", "m"]],
                     precision="fp16", check={"arithmetic": "fp16", "length": "cdiv(k, 16)"},
                     fill={"kind": "uniform", "low": -1, "high": 1, "values": "range"})  # it adds in halves
    kernels.append(("cute_sgemm_sm80", "cute/sgemm_sm80", r"gemm_device.*half_t", halves, ["m / 128", "n / 128"], [128],
                    [sizes, empty, "a", lead("k"), empty, empty, empty, "b", lead("k"), empty, empty, empty, "c", lead("m"), empty, empty, {"i16": 15360}, {"i16": 0}], 98304,
                    whole + ["k % 64 == 0", "k >= 192"]))
    deep = product("deepgemm_bf16", "bf16", "r * in.k + k", "c * in.k + k", rows, [256, 192, 832], [[64, 64, 64], [100, 72, 136]], [["m", "k"], ["n", "k"], ["m", "n"]], precision="bf16")
    tiles = [{"name": "map_" + t, "of": t, "type": "bf16", "dims": [w, h], "pitch": [w + " * 2"], "box": [64, 64], "swizzle": 128} for t, w, h in (("a", "k", "m"), ("b", "k", "n"), ("c", "n", "m"))]
    kernels.append(("deepgemm_bf16", "deepgemm/bf16", "sm90_bf16_gemm_impl", deep, [4], [256],
                    ["none?", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}, "map_a", "map_b", "map_c"], 73792, ["k % 8 == 0", "n % 8 == 0"], {"maps": tiles}))
    cutlass.add(product, rows, kernels)
    return tasks, kernels
