"""The arithmetic and the indices behind refusals of foreign kernels, on the host: refusals.py > refusals.txt

What each kernel computes is written anew here; README.md names the source lines. Numbers of fp32 are rounded after each operation.
"""
import math
import random
import struct

F32 = struct.Struct("f")


def f(x):
    return F32.unpack(F32.pack(x))[0]


def lanes_sum(values):
    """A butterfly over 32 lanes."""
    values = list(values)
    for offset in (16, 8, 4, 2, 1):
        values = [f(values[i] + values[i ^ offset]) for i in range(32)]
    return values[0]


def one_pass(row):
    """Variance as a difference of means: llm.c layernorm 4 and 5, ggml norm_f32."""
    sums, squares = [0.0] * 32, [0.0] * 32
    for i, x in enumerate(row):
        sums[i % 32] = f(sums[i % 32] + x)
        squares[i % 32] = f(squares[i % 32] + f(x * x))
    mean = f(lanes_sum(sums) / len(row))
    return f(f(lanes_sum(squares) / len(row)) - f(mean * mean))


def two_passes(row):
    mean = sum(row) / len(row)
    return sum((x - mean) ** 2 for x in row) / len(row)


def layernorm():
    print("variance as a difference of means, 768 values of deviation 1, fp32, least and most of 20 rows")
    for mean in (0, 10, 1e3, 1e4, 1e6):
        random.seed(1)
        rows = [[f(random.gauss(mean, 1)) for _ in range(768)] for _ in range(20)]
        got, want = [one_pass(row) for row in rows], [two_passes(row) for row in rows]
        lost = sum(1 for v in got if v + 1e-5 < 0)
        print("  mean %8g: got %.6g to %.6g, want %.4g to %.4g; below -1e-5, so that rsqrt gives NaN: %d rows"
              % (mean, min(got), max(got), min(want), max(want), lost))


def combined(a, b):
    bigger, smaller = (a, b) if a[0] > b[0] else (b, a)
    difference = smaller[0] - bigger[0]  # -inf - -inf is NaN
    weight = math.nan if math.isnan(difference) else math.exp(difference)
    return bigger[0], bigger[1] + smaller[1] * weight


def online_2():
    lost = []
    for columns in range(1, 40):
        lanes = [(0.0, 1.0) if lane < columns else (-math.inf, 0.0) for lane in range(32)]
        for offset in (16, 8, 4, 2, 1):
            lanes = [combined(lanes[i], lanes[i ^ offset]) for i in range(32)]
        if math.isnan(lanes[0][1]):
            lost.append(columns)
    print("softmax online 2: the sum is NaN at rows of %s elements: two lanes without an element are combined" % lost)


def online_8():
    threads, rows = 128, 4
    print("softmax online 8: `tid >= C` leaves, and a warp has a row: of 4 rows at blocks of 128 threads")
    for columns in (31, 32, 65, 97, 127, 128):
        live = [sum(1 for t in range(32 * r, 32 * r + 32) if t < columns) for r in range(rows)]
        unwritten = sum(1 for lanes in live if lanes == 0)
        partly = sum(1 for lanes in live if 0 < lanes < 32)
        print("  %3d columns: %d rows written by nobody, %d by a part of a warp, whose shuffles name lanes that left" % (columns, unwritten, partly))


def reduce7():
    print("reduce7: lanes that the last shuffles read from, and that are not in their mask")
    for threads in (64, 128, 256, 512, 1024):
        extent = threads // 32
        outside = sorted({lane + offset for offset in (16, 8, 4, 2, 1) for lane in range(extent) if extent <= lane + offset < 32})
        into_lane_0 = [offset for offset in (16, 8, 4, 2, 1) if offset >= extent]
        print("  %4d threads, mask of %2d lanes: %d lanes outside, offsets %s reach the result" % (threads, extent, len(outside), into_lane_0))


def large_chunk():
    tile, wide = 16, 64
    print("MatrixMulNaiveLargeChunk: B is read at A's place, by blocks of 16 x 16 of A 64 x 64 and B 64 x 48")
    last = wide * tile * 3 + wide - tile  # a of the last block row and step
    index = last + wide * 15 + 12 + 3
    print("  last element read of B: %d of %d, %d bytes past its end; its place in B would have been another" % (index, wide * 48, 4 * (index - wide * 48 + 1)))


def rows_beyond():
    print("fused_residual_forward 2 to 5: `idx > N` leaves, so row N is computed by")
    for what, rows_a_block in (("2 (128 rows a block)", 128), ("3, 4, 5 (4 rows a block)", 4)):
        through = [n for n in range(1, 13) if n % rows_a_block != 0]
        print("  %s at N = %s of 1 to 12" % (what, through))


layernorm()
online_2()
online_8()
reduce7()
large_chunk()
rows_beyond()
