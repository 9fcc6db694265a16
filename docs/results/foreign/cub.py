"""Plans and tasks of cub.cu, for recipe.py."""

INT = {"check": {"kind": "bitwise"}}


def define(task, tensor, near, of):
    tasks, kernels = {}, []

    def new(name, kind, text, length="4", columns="512", out_columns=None, time=64, fill=None):
        whole = kind == "i32"
        fills = {"fill": fill} if fill else {}
        named, body = task(name, "rows", [tensor("x", "in", ["rows", columns], kind, **fills),
                                          tensor("y", "out", ["rows", out_columns] if out_columns else ["rows"], kind, **(INT if whole else near(length)))],
                           [time], [[1], [5]], of("y", text), precision={"fp64": "fp64", "i32": "integer"}.get(kind, "fp32-strict"))
        tasks[named] = body
        return named

    def kernel(entry, job, block=128, grid="rows"):
        kernels.append(("cub_" + entry, "cub/cub", "^%s$" % entry, job, [grid], [block], ["x", "y"], 0, ()))

    for letter, kind in (("f", "fp32"), ("i", "i32"), ("d", "fp64")):
        total = new("cub_sum_" + letter, kind, "real s = real(0.0); for (int k = 0; k < 512; ++k) s += real(in.x(i * 512 + k)); return s;", "512", out_columns="")
        for how in ("raking", "commutative", "warps"):
            if (how, letter) != ("commutative", "d"):
                kernel("reduce_%s_%s" % (how, letter), total)
    prefix = "real s = real(0.0); for (long long k = i / 512 * 512; k %s i; ++k) s += real(in.x(k)); return s;"
    scans = {("scan", "i"): new("cub_scan_i", "i32", prefix % "<=", out_columns="512"), ("scan", "f"): new("cub_scan_f", "fp32", prefix % "<=", "512", out_columns="512"),
             ("before", "i"): new("cub_before_i", "i32", prefix % "<", out_columns="512")}
    for entry in ("scan_raking_i", "scan_memoize_i", "scan_warps_i", "scan_raking_f", "scan_warps_f", "before_raking_i", "before_warps_i"):
        kernel(entry, scans[entry.split("_")[0], entry[-1]])
    moved = new("cub_move", "fp32", "return in.x(i);", out_columns="512")
    for entry in ("move_direct", "move_vector", "move_transpose", "move_warp_transpose", "move_timesliced", "exchange_striped", "exchange_warp_striped"):
        kernel(entry, moved)
    kernel("adjacent_left", new("cub_left", "fp32", "return i % 512 == 0 ? in.x(i) : in.x(i) - in.x(i - 1);", out_columns="512"))
    kernel("adjacent_right", new("cub_right", "fp32", "return i % 512 == 511 ? in.x(i) : in.x(i) - in.x(i + 1);", out_columns="512"))
    kernel("heads", new("cub_heads", "i32", "return real(i % 512 == 0 || in.x(i) != in.x(i - 1) ? 1 : 0);", out_columns="512", fill={"kind": "integers", "below": "3"}))
    kernel("shuffle_down", new("cub_down", "fp32", "return i % 512 == 511 ? in.x(i) : in.x(i + 1);", out_columns="512"))
    rank = "const long long b = i / 128 * 128; for (long long c = b; c < b + 128; ++c) { int less = 0, same = 0; for (long long j = b; j < b + 128; ++j) { " \
           "less += in.x(j) < in.x(c); same += in.x(j) == in.x(c); } if (less <= i - b && i - b < less + same) return real(in.x(c)); } return real(0.0);"
    ordered = new("cub_sorted", "i32", rank, columns="128", out_columns="128", time=8)
    for entry in ("sort_radix", "sort_radix_two_bits", "sort_merge", "sort_warp_merge"):
        kernel(entry, ordered, 32)
    bins = new("cub_bins", "i32", "int s = 0; for (int k = 0; k < 512; ++k) s += in.x(i / 64 * 512 + k) == i % 64; return real(s);", out_columns="64",
               fill={"kind": "integers", "below": "64"})
    kernel("bins_atomic", bins)
    kernel("bins_sort", bins)
    for lanes in (32, 16, 8):
        total = new("cub_lanes_sum_%d" % lanes, "fp32", "real s = real(0.0); for (int k = 0; k < %d; ++k) s += in.x(i * %d + k); return s;" % (lanes, lanes), "32",
                    columns="128", out_columns=str(128 // lanes))
        kernel("warp_reduce_%d" % lanes, total)
        part = new("cub_lanes_scan_%d" % lanes, "fp32", "real s = real(0.0); for (long long k = i / %d * %d; k <= i; ++k) s += in.x(k); return s;" % (lanes, lanes), "32",
                   columns="128", out_columns="128")
        kernel("warp_scan_%d" % lanes, part)
    return tasks, kernels
