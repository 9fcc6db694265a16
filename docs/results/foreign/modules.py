#!/usr/bin/env python3
"""Compiles kernels of public projects to PTX, for `decoded`.

  modules.py SOURCES OUT [PROJECT…] [--jobs N] [--seconds S]   writes OUT/PROJECT/NAME.ptx and OUT/modules.txt: a line a module with its seconds or what nvcc lacked

SOURCES/PROJECT holds each project's text at the commit that README.md names, glm and CUTLASS beside them. A module gets 240 s.
Text that wants torch is given the few lines of it that it names (SHIMS); TransformerEngine's strings for its run-time compiler are empty."""
import argparse
import concurrent.futures
import glob
import os
import re
import signal
import subprocess
import sys
import time

LIMIT = 240
CUTLASS = ["cutlass/include", "cutlass/tools/util/include", "cutlass/examples/common"]
SHIMS = {
    "c10/cuda/CUDAException.h": "#pragma once\n#define C10_CUDA_CHECK(x) (void)(x)\n#define C10_CUDA_KERNEL_LAUNCH_CHECK()\n",
    "ATen/cuda/PhiloxCudaState.h":
        "#pragma once\n#include <cstdint>\nnamespace at {\nstruct PhiloxCudaState {\n  union Payload { uint64_t val; int64_t* ptr; };\n"
        "  Payload seed_{}, offset_{};\n  uint32_t offset_intragraph_ = 0;\n  bool captured_ = false;\n};\n}\n",
    "ATen/cuda/detail/UnpackRaw.cuh":
        "#pragma once\n#include <tuple>\nnamespace at::cuda::philox {\n"
        "__device__ inline std::tuple<uint64_t, uint64_t> unpack(at::PhiloxCudaState s) {\n"
        "  if (s.captured_) return {uint64_t(*s.seed_.ptr), uint64_t(*s.offset_.ptr) + s.offset_intragraph_};\n"
        "  return {s.seed_.val, s.offset_.val};\n}\n}\n",
    "nccl.h": "#pragma once\n",
}


def cutlass(*examples, arch):
    return ("cutlass", arch, "-std=c++17 --expt-relaxed-constexpr --expt-extended-lambda -DNDEBUG", CUTLASS, ["examples/%s.cu" % e for e in examples])


def without(features):
    return " ".join("-DFLASHATTENTION_DISABLE_" + f for f in features.split())


FLASH = "-std=c++17 --expt-relaxed-constexpr --expt-extended-lambda --use_fast_math"
FLASH_2 = ["flash-attention/csrc/flash_attn", "flash-attention/csrc/flash_attn/src"] + CUTLASS

JOBS = [  # project, architecture, options, folders of headers, files
    ("bitsandbytes", "90a", "-std=c++17 -DBNB_HAS_GEMM4BIT_SM75 -DBNB_HAS_GEMM4BIT_SM80", ["bitsandbytes/csrc"], ["csrc/*.cu"]),
    ("diff-gaussian-rasterization", "90a", "-std=c++17", ["glm", "diff-gaussian-rasterization"], ["cuda_rasterizer/*.cu"]),
    ("fast.cu", "90a", "-std=c++17 -DNDEBUG --expt-relaxed-constexpr", ["fast.cu"], ["sum.cu", "matmul.cu"]),
    ("SGEMM_CUDA", "80", "-std=c++17", ["SGEMM_CUDA/src"], ["sgemm.cu", "simplest_kernel.cu", "src/runner.cu"]),
    ("CUDA-GEMM-Optimization", "80", "-std=c++17", ["CUDA-GEMM-Optimization/include"], ["src/0*.cu"]),
    ("cuda-samples", "90a", "-std=c++17 -DNDEBUG", ["cuda-samples/Common"], ["Samples/[0236]_*/*/*.cu", "Samples/5_*/*/*.cu"]),
    ("ThunderKittens", "90a", "-std=c++20 -include chrono --use_fast_math --expt-relaxed-constexpr --expt-extended-lambda -DNDEBUG -DKITTENS_HOPPER -DKITTENS_SM90",
     ["ThunderKittens/include", "ThunderKittens/prototype"],
     ["kernels/gemm/*h100*/*.cu", "kernels/attention/*h100*/*.cu", "kernels/layernorm/*.cu", "kernels/based/*.cu", "kernels/rotary/*.cu",
      "kernels/linear_attention/*.cu", "kernels/mamba2/*.cu", "kernels/hedgehog/*.cu", "kernels/fftconv/*.cu", "kernels/flux/*.cu"]),
    ("TransformerEngine", "90a", "-std=c++17 --expt-relaxed-constexpr --expt-extended-lambda",
     ["TransformerEngine/transformer_engine", "TransformerEngine/transformer_engine/common/include", "/usr/local/cuda/include/cccl"] + CUTLASS,
     ["transformer_engine/common/%s.cu" % part for part in
      "fused_rope/* fused_router/* permutation/* multi_tensor/* fused_softmax/* dropout/* util/* recipe/* swizzle/* transpose/* activation/gelu activation/gelu_dbias".split()]),
    ("cute", "80", "-std=c++17 --expt-relaxed-constexpr", CUTLASS, ["examples/cute/tutorial/sgemm_*.cu", "examples/cute/tutorial/tiled_copy*.cu"]),
    ("cute", "90a", "-std=c++17 --expt-relaxed-constexpr", CUTLASS, ["examples/cute/tutorial/hopper/*.cu"]),
    cutlass("00_basic_gemm/*", "05_batched_gemm/*", "14_ampere_tf32_tensorop_gemm/*", "15_ampere_sparse_tensorop_gemm/ampere_sparse_tensorop_gemm",
            "12_gemm_bias_relu/*", "18_*/*", "35_gemm_softmax/*", "37_*/gemm_layernorm", "24_gemm_grouped/*", "41_*/fused_multihead_attention_fixed_seqlen",
            "47_*/ampere_gemm_universal_streamk", "06_splitK_gemm/*", "16_*/ampere_tensorop_conv2dfprop", "45_*/*", arch="80"),
    cutlass("48_*/*", "49_*/*", "54_*/*", "55_*/55_hopper_mixed_dtype_gemm", "57_*/57_hopper_grouped_gemm", "61_*/*", "62_*/*", "67_*/*_with_blockwise_scaling",
            "111_*/*", "88_*/*", arch="90a"),
    ("flash-attention", "90a", FLASH + " -DNDEBUG -DFLASHATTENTION_DISABLE_SM8x " + without("SPLIT PAGEDKV APPENDKV LOCAL SOFTCAP PACKGQA"),
     ["flash-attention/hopper"] + CUTLASS, ["hopper/flash_prepare_scheduler.cu"] +
     ["hopper/instantiations/flash_%s_sm90.cu" % f for f in ("bwd_hdim64_bf16", "fwd_hdim128_e4m3", "fwd_hdim128_bf16")]),
    ("flash-attention", "80", FLASH, FLASH_2, ["csrc/flash_attn/src/flash_fwd_hdim64_%s_sm80.cu" % f for f in ("bf16", "fp16_causal")]),
    ("flash-attention", "80", FLASH + " " + without("DROPOUT ALIBI LOCAL SOFTCAP"), FLASH_2, ["csrc/flash_attn/src/flash_bwd_hdim64_bf16_sm80.cu"]),
]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)


def shims(sources, folder):
    for name, text in SHIMS.items():
        write(os.path.join(folder, name), text)
    for path in glob.glob(sources + "/TransformerEngine/transformer_engine/common/**/*.cu", recursive=True):
        for name in re.findall(r'"(?:string_headers/)?(string_(?:code|path)_\w+)\.h"', open(path).read()):
            write("%s/string_headers/%s.h" % (folder, name), "static constexpr char %s[] = \"\";\n" % name)
            write("%s/%s.h" % (folder, name), "static constexpr char %s[] = \"\";\n" % name)


def compile_one(command, limit):
    """Seconds, or what nvcc said first, or that it took too long."""
    start = time.time()
    job = subprocess.Popen(["nice", "-n", "15"] + command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, said = job.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.communicate()
        return False, "more than %d s" % limit
    if job.returncode == 0:
        return True, "%.0f s" % (time.time() - start)
    errors = [line for line in (said + out).splitlines() if "error" in line] or ["nvcc ended with %d" % job.returncode]
    return False, errors[0][:200]


def compiled(job, out, deadline):
    """Compiles one module, unless that was done or the time is over; adds its line to modules.txt."""
    project, arch, options, includes, root, path = job
    short = os.path.relpath(path, root)
    target = "%s/%s/%s.ptx" % (out, project, re.sub(r"\W+", "_", short[:-3]).strip("_"))
    left = deadline - time.time()
    if os.path.exists(target) or left < 1:
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    own = [] if path.endswith("/util/" + os.path.basename(path)) else ["-I", os.path.dirname(path)]  # util has a string.h
    command = ["nvcc", "-ptx", "-arch=sm_" + arch, "-O3", "-w"] + options.split() + includes + own + [path, "-o", target]
    made, word = compile_one(command, min(LIMIT, left))
    if not made and os.path.exists(target):
        os.remove(target)
    with open(out + "/modules.txt", "a") as log:
        log.write("%s %s %s: %s\n" % ("made" if made else "none", project, short, word))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources")
    parser.add_argument("out")
    parser.add_argument("projects", nargs="*")
    parser.add_argument("--jobs", type=int, default=1, help="modules at once")
    parser.add_argument("--seconds", type=float, default=1e9, help="for all; those under way then are given up")
    flags = parser.parse_args()
    deadline = time.time() + flags.seconds
    sources, out = os.path.abspath(flags.sources), os.path.abspath(flags.out)
    shims(sources, out + "/shims")
    rows = []
    for project, arch, options, folders, files in JOBS:
        if flags.projects and project not in flags.projects:
            continue
        root = os.path.join(sources, "cutlass" if project == "cute" else project)
        includes = [word for f in folders + [out + "/shims"] for word in ("-I", os.path.join(sources, f))]
        rows += [(project, arch, options, includes, root, path) for f in files for path in sorted(glob.glob(os.path.join(root, f)))]
    with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        list(pool.map(lambda row: compiled(row, out, deadline), rows))


if __name__ == "__main__":
    main()
