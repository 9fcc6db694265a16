"""Plans and tasks of NVIDIA's cuda-samples, for recipe.py. Launches are the samples' own, sizes are whole blocks."""
import re

INT = {"check": {"kind": "bitwise"}}
TYPES = {"f": ("fp32", 4), "d": ("fp64", 8), "i": ("i32", 4)}


def define(task, tensor, near, of):
    """TASKS and KERNELS, by recipe.py's helpers."""
    tasks, kernels = {}, []

    def sample(module, entry, job, grid, block, args, shared=0, require=(), name=None):
        stem = name or module.split("_")[-1] + "_" + re.sub(r"^_Z\d+|P.*$", "", entry)
        kernels.append(("samples_" + re.sub(r"\W+", "_", stem), "samples/" + module, entry, job, grid, block, args, shared, require))

    def new(*words, **more):
        name, body = task(*words, **more)
        tasks[name] = body
        return name

    def out(kind, length, shape, name="y", role="out"):
        return tensor(name, role, shape, kind, **(INT if kind.startswith("i") else near(length)))

    precision = lambda kind: {"precision": {"fp64": "fp64", "i32": "integer"}.get(kind, "fp32-strict")}

    # reduction: partial sums of blocks, of one chunk each or of every chunk that a block meets.
    module = "2_Concepts_and_Techniques_reduction_reduction_kernel"

    def chunk_sum(letter, chunk):
        kind = TYPES[letter][0]
        return new("chunk_sum_%s_%d" % (kind, chunk), "rows", [tensor("x", "in", ["rows", str(chunk)], kind), out(kind, str(chunk), ["rows"])],
                   [64], [[1], [5]], of("y", "real s = real(0.0); for (int k = 0; k < %d; ++k) s += real(in.x(i * %d + k)); return s;" % (chunk, chunk)),
                   **precision(kind))

    def stride_sum(letter, chunk):
        kind = TYPES[letter][0]
        return new("stride_sum_%s_%d" % (kind, chunk), "steps+ blocks", [tensor("x", "in", ["steps", "blocks", str(chunk)], kind),
                                                                        out(kind, "steps * %d" % chunk, ["blocks"])],
                   [8, 16], [[1, 3], [3, 2]],
                   of("y", "real s = real(0.0); for (long long t = 0; t < in.steps; ++t) for (int k = 0; k < %d; ++k) "
                      "s += real(in.x((t * in.blocks + i) * %d + k)); return s;" % (chunk, chunk)), **precision(kind))

    for t, (_, size) in TYPES.items():
        for k in range(4):
            chunk = 512 if k == 3 else 256
            sample(module, "reduce%dI%sE" % (k, t), chunk_sum(t, chunk), ["rows"], [256], ["x", "y", {"i32": "rows * %d" % chunk}], 256 * size,
                   name="reduction_reduce%d_%s" % (k, t))
        for block in (512, 256, 128, 64, 32):
            shared = max(block, 64) * size
            for k in (4, 5):
                sample(module, "reduce%dI%sLj%dE" % (k, t, block), chunk_sum(t, 2 * block), ["rows"], [block],
                       ["x", "y", {"i32": "rows * %d" % (2 * block)}], shared, name="reduction_reduce%d_%s_%d" % (k, t, block))
            for k in (6, 7):
                for pow2 in (0, 1):
                    chunk = block * (1 + pow2)
                    sample(module, "reduce%dI%sLj%dELb%dE" % (k, t, block, pow2), stride_sum(t, chunk), ["blocks"], [block],
                           ["x", "y", {"i32": "steps * blocks * %d" % chunk}], shared, name="reduction_reduce%d_%s_%d_%d" % (k, t, block, pow2))
        sample(module, "9cg_reduceI%sE" % t, stride_sum(t, 256), ["blocks"], [256], ["x", "y", {"i32": "steps * blocks * 256"}], 256 * size,
               name="reduction_cg_reduce_%s" % t)

    # transpose
    module = "6_Performance_transpose_transpose"
    tiles = ["cb", "rb"]
    sides = [{"i32": "cb * 32"}, {"i32": "rb * 32"}]
    copied = new("tile_copy", "rb cb", [tensor("x", "in", ["rb * 32", "cb * 32"]), tensor("y", "out", ["rb * 32", "cb * 32"], **INT)],
                 [8, 8], [[1, 2], [3, 1]], of("y", "return in.x(i);"))
    turned = new("tile_transpose", "rb cb", [tensor("x", "in", ["rb * 32", "cb * 32"]), tensor("y", "out", ["cb * 32", "rb * 32"], **INT)],
                 [8, 8], [[1, 2], [3, 1]], of("y", "const long long h = in.rb * 32; return in.x(i % h * in.cb * 32 + i / h);"))
    square = lambda name, text: new(name, "b", [tensor("x", "in", ["b * 32", "b * 32"]), tensor("y", "out", ["b * 32", "b * 32"], **INT)],
                                    [8], [[1], [3]], of("y", "const long long n = in.b * 32, r = i / n, c = i %% n; return in.x(%s);" % text))
    fine = square("tiles_turned", "(r / 32 * 32 + c % 32) * n + c / 32 * 32 + r % 32")
    coarse = square("tiles_moved", "(c / 32 * 32 + r % 32) * n + r / 32 * 32 + c % 32")
    rows = 16
    sample(module, "4copyP", copied, tiles, [32, rows], ["y", "x"] + sides, name="transpose_copy")
    for entry in ("14transposeNaive", "18transposeCoalesced", "24transposeNoBankConflicts", "17transposeDiagonal"):
        sample(module, entry, turned, tiles, [32, rows], ["y", "x"] + sides, name="transpose_" + entry.strip("0123456789"))
    b32 = [{"i32": "b * 32"}] * 2
    for entry, job in (("20transposeFineGrained", fine), ("22transposeCoarseGrained", coarse)):
        sample(module, entry, job, ["b", "b"], [32, rows], ["y", "x"] + b32, name="transpose_" + entry.strip("0123456789"))
    squared = square("square_copy", "i")
    sample(module, "13copySharedMem", squared, ["b", "b"], [32, rows], ["y", "x"] + b32, name="transpose_copySharedMem")

    # scans
    scan = lambda name, inner, text: new(name, "rows", [tensor("x", "in", ["rows", inner], "i32"), tensor("y", "out", ["rows", inner], "i32", **INT)],
                                         [32], [[1], [3]], of("y", text), **precision("i32"))
    exclusive = scan("exclusive_scan_1024", "1024", "real s = real(0.0); for (long long k = i / 1024 * 1024; k < i; ++k) s += real(in.x(k)); return s;")
    module = "2_Concepts_and_Techniques_scan_scan"
    sample(module, "19scanExclusiveShared", exclusive, ["rows"], [256], ["y", "x", {"i32": 1024}], name="scan_scanExclusiveShared")
    added = new("row_add", "rows", [tensor("x", "in", ["rows"], "i32"), tensor("y", "in_out", ["rows", "1024"], "i32", **INT)], [64], [[1], [5]],
                of("y", "return real(in.y(i) + in.x(i / 1024));"), **precision("i32"))
    sample(module, "13uniformUpdate", added, ["rows"], [256], ["y", "x"], name="scan_uniformUpdate")
    module = "2_Concepts_and_Techniques_shfl_scan_shfl_scan"
    shuffled = new("shuffle_scan", "rows", [tensor("y", "in_out", ["rows", "256"], "i32", **INT), tensor("p", "out", ["rows"], "i32", **INT)], [64], [[1], [5]],
                   of("y", "real s = real(0.0); for (long long k = i / 256 * 256; k <= i; ++k) s += real(in.y(k)); return s;")
                   + of("p", "real s = real(0.0); for (long long k = 0; k < 256; ++k) s += real(in.y(i * 256 + k)); return s;"), **precision("i32"))
    sample(module, "14shfl_scan_test", shuffled, ["rows"], [256], ["y", {"i32": 32}, "p"], 32, name="shfl_scan_test")
    added = new("row_add_256", "rows", [tensor("x", "in", ["rows"], "i32"), tensor("y", "in_out", ["rows", "256"], "i32", **INT)], [64], [[1], [5]],
                of("y", "return real(in.y(i) + in.x(i / 256));"), **precision("i32"))
    sample(module, "11uniform_add", added, ["rows"], [256], ["y", "x", {"i32": "rows * 256"}], name="shfl_scan_uniform_add")

    # sums
    product = new("row_products", "rows cols+", [tensor("a", "in", ["rows", "cols"]), tensor("b", "in", ["rows", "cols"]), out("fp32", "cols", ["rows"])],
                  [64, 1024], [[3, 65], [150, 1100]],
                  of("y", "real s = real(0.0); for (long long k = i * in.cols; k < (i + 1) * in.cols; ++k) s += in.a(k) * in.b(k); return s;"))
    sample("2_Concepts_and_Techniques_scalarProd_scalarProd", "13scalarProdGPU", product, [128], [256], ["y", "a", "b", {"i32": "rows"}, {"i32": "cols"}],
           name="scalarProd")
    module = "2_Concepts_and_Techniques_threadFenceReduction_threadFenceReduction"
    for block in (512, 256, 128, 64, 32):
        job = stride_sum("f", 2 * block)
        for pow2 in (0, 1):
            sample(module, "15reduceMultiPassILj%dELb%dE" % (block, pow2), job, ["blocks"], [block], ["x", "y", {"i32": "steps * blocks * %d" % (2 * block)}],
                   block * 4 * 2, name="threadFence_multi_%d_%d" % (block, pow2))
            last = new("last_block_sum_%d" % block, "steps+ blocks+",
                       [tensor("x", "in", ["steps", "blocks", str(2 * block)]), out("fp32", "steps * blocks * %d" % (2 * block), ["blocks"])],
                       [8, 16], [[1, 3], [3, 2]],
                       of("y", "real s = real(0.0); for (long long t = 0; t < in.steps; ++t) for (long long b = i == 0 ? 0 : i; b < (i == 0 ? in.blocks : i + 1); ++b) "
                          "for (int k = 0; k < %d; ++k) s += in.x((t * in.blocks + b) * %d + k); return s;" % (2 * block, 2 * block)))
            sample(module, "16reduceSinglePassILj%dELb%dE" % (block, pow2), last, ["blocks"], [block], ["x", "y", {"i32": "steps * blocks * %d" % (2 * block)}],
                   block * 4 * 2, name="threadFence_single_%d_%d" % (block, pow2))

    # products
    multiply = lambda b: new("tiles_product_%d" % b, "mb nb kb+", [tensor("a", "in", ["mb * %d" % b, "kb * %d" % b]), tensor("b", "in", ["kb * %d" % b, "nb * %d" % b]),
                                                                 out("fp32", "kb * %d" % b, ["mb * %d" % b, "nb * %d" % b])], [4, 4, 4], [[1, 2, 3], [2, 1, 1]],
                             of("y", "const long long n = in.nb * %d, kk = in.kb * %d; real s = real(0.0); for (long long k = 0; k < kk; ++k) "
                                "s += in.a(i / n * kk + k) * in.b(k * n + i %% n); return s;" % (b, b)))
    for b in (16, 32):
        sample("0_Introduction_matrixMul_matrixMul", "MatrixMulCUDAILi%dE" % b, multiply(b), ["nb", "mb"], [b, b],
               ["y", "a", "b", {"i32": "kb * %d" % b}, {"i32": "nb * %d" % b}], name="matrixMul_%d" % b)
    module = "3_CUDA_Features_globalToShmemAsyncCopy_globalToShmemAsyncCopy"
    for entry in ("MatrixMulNaive", "MatrixMulNaiveLargeChunk", "MatrixMulAsyncCopySingleStage", "MatrixMulAsyncCopyMultiStageSharedState"):
        # two rows more are producers
        sample(module, r"\d%sILi16E" % entry, multiply(16), ["nb", "mb"], [16, 18 if "SharedState" in entry else 16], ["y", "a", "b", {"i32": "kb * 16"}, {"i32": "nb * 16"}], name="shmem_" + entry)

    # single elements
    plain = lambda name, text, kind="fp32", inputs=("x",), inner="256", role="out": new(
        name, "rows", [tensor(t, "in", ["rows", inner], kind) for t in inputs] + [out(kind, "4", ["rows", inner], role=role)], [64], [[1], [5]], of("y", text), **precision(kind))
    n = {"i32": "rows * 256"}
    sum2 = plain("block_add", "return in.a(i) + in.b(i);", inputs=("a", "b"))
    sample("0_Introduction_vectorAdd_vectorAdd", "vectorAdd", sum2, ["rows"], [256], ["a", "b", "y", n], name="vectorAdd")
    sample("0_Introduction_simpleMultiCopy_simpleMultiCopy", "incKernel", plain("block_inc", "return real(in.x(i) + 1);", "i32"), ["rows"], [256], ["y", "x", n, {"i32": 3}],
           name="simpleMultiCopy_inc")
    sample("0_Introduction_simpleOccupancy_simpleOccupancy", "6square", plain("block_square", "return real(static_cast<double>(static_cast<int>(in.y(i) * in.y(i))));", "i32", (), role="in_out"),
           ["rows"], [256], ["y", n], 16, name="simpleOccupancy_square")
    sample("0_Introduction_simpleP2P_simpleP2P", "SimpleKernel", plain("block_twice", "return in.x(i) * real(2.0);"), ["rows"], [256], ["x", "y"], name="simpleP2P")
    sample("0_Introduction_asyncAPI_asyncAPI", "increment_kernel", plain("block_more", "return real(in.y(i) + 7);", "i32", (), role="in_out"), ["rows"], [256], ["y", {"i32": 7}],
           name="asyncAPI_increment")
    sample("3_CUDA_Features_cudaCompressibleMemory_saxpy", "5saxpy", plain("block_saxpy", "return real(0.5) * in.a(i) + in.b(i);", inputs=("a", "b"), inner="1024"), [16], [256],
           [{"f32": 0.5}, "a", "b", "y", {"i64": "rows * 256"}], name="saxpy")
    sample("5_Domain_Specific_fastWalshTransform_fastWalshTransform", "modulateKernel",
           plain("block_modulate", "return in.y(i) * in.x(i) / real(static_cast<double>(in.rows * 256));", role="in_out"), [8], [256], ["y", "x", n], name="walsh_modulate")
    walsh = lambda log: new("walsh_%d" % log, "rows", [tensor("x", "in", ["rows", str(1 << log)]), out("fp32", str(1 << log), ["rows", str(1 << log)])], [8], [[1], [3]],
                            of("y", "const long long m = %d, k = i %% m, b = i - k; real s = real(0.0); for (long long j = 0; j < m; ++j) { long long p = j & k; "
                               "for (int h = 8; h > 0; h /= 2) p ^= p >> h; s += (p & 1) != 0 ? real(0.0) - in.x(b + j) : in.x(b + j); } return s;" % (1 << log)))
    for log in (10, 9):
        sample("5_Domain_Specific_fastWalshTransform_fastWalshTransform", "fwtBatch1Kernel", walsh(log), ["rows"], [1 << (log - 2)], ["y", "x", {"i32": log}], 4 << log,
               name="walsh_batch1_%d" % log)
    stage = new("walsh_stage", "rows", [tensor("x", "in", ["rows", "1024"]), out("fp32", "4", ["rows", "1024"])], [16], [[1], [3]],
                of("y", "const long long q = i % 1024 / 256, b = i - q * 256; real s = real(0.0); for (long long j = 0; j < 4; ++j) { const long long p = j & q; "
                   "s += ((p ^ (p >> 1)) & 1) != 0 ? real(0.0) - in.x(b + 256 * j) : in.x(b + 256 * j); } return s;"))
    sample("5_Domain_Specific_fastWalshTransform_fastWalshTransform", "fwtBatch2Kernel", stage, [1, "rows"], [256], ["y", "x", {"i32": 256}], name="walsh_batch2")

    # sorts of 32 keys each, with the keys as values
    rank = "const long long b = i / 32 * 32; for (long long c = b; c < b + 32; ++c) { int less = 0, same = 0; for (long long j = b; j < b + 32; ++j) { " \
           "less += in.x(j) < in.x(c); same += in.x(j) == in.x(c); } if (less <= i - b && i - b < less + same) return real(in.x(c)); } return real(0.0);"
    whole = {"fill": {"kind": "integers", "below": "1000"}}
    pair = [tensor("x", "in", ["rows", "1024"], "i32", **whole), tensor("y", "out", ["rows", "1024"], "i32", **INT), tensor("v", "out", ["rows", "1024"], "i32", **INT)]
    ordered = new("sorted_32", "rows", pair, [4], [[1], [3]], of("y", rank) + of("v", rank), **precision("i32"))
    half = "const long long c = i % 1024; const long long a = in.x(i - c + c % 512), b = in.x(i - c + c % 512 + 512); return real(c < 512 ? (a < b ? a : b) : (a < b ? b : a));"
    merged = new("halves_compared", "rows", pair, [4], [[1], [3]], of("y", half) + of("v", half), **precision("i32"))
    four = ["y", "v", "x", "x"]
    length = {"i32": 32}
    sample("2_Concepts_and_Techniques_sortingNetworks_bitonicSort", "17bitonicSortShared", ordered, ["rows"], [512], four + [length, {"i32": 1}], name="sort_bitonicShared")
    sample("2_Concepts_and_Techniques_sortingNetworks_oddEvenMergeSort", "22oddEvenMergeSortShared", ordered, ["rows"], [512], four + [length, {"i32": 1}], name="sort_oddEvenShared")
    sample("0_Introduction_mergeSort_mergeSort", "21mergeSortSharedKernelILj1E", ordered, ["rows"], [512], four + [length], name="sort_mergeShared")
    rest = [{"i32": 1024}, {"i32": 1024}, {"i32": 512}, {"i32": 1}]
    sample("2_Concepts_and_Techniques_sortingNetworks_bitonicSort", "18bitonicMergeGlobal", merged, ["rows"], [512], four + rest, name="sort_bitonicGlobal")
    sample("2_Concepts_and_Techniques_sortingNetworks_oddEvenMergeSort", "18oddEvenMergeGlobal", merged, ["rows"], [512], four + rest, name="sort_oddEvenGlobal")

    # histograms
    bins = new("merge_bins", "rows+", [tensor("x", "in", ["rows", "256"], "i32"), tensor("y", "out", ["256"], "i32", **INT)], [64], [[1], [300]],
               of("y", "real s = real(0.0); for (long long k = 0; k < in.rows; ++k) s += real(in.x(k * 256 + i)); return s;"), **precision("i32"))
    sample("2_Concepts_and_Techniques_histogram_histogram256", "23mergeHistogram256Kernel", bins, [256], [256], ["y", "x", {"i32": "rows"}], name="histogram256_merge")
    return tasks, kernels
