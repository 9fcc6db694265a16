#!/usr/bin/env python3
"""Compares the machine code of hooks with that of hand-written epilogues; needs NVRTC and no GPU.

  hooks_sass.py [--cupilot PROGRAM] [--out FILE.json]

Each case is one template at one setting: once for gemm's words, whose epilogue is written by hand (gemm/device/graph.cuh), once for a
graph whose epilogue is generated. Both become cubins by the same NVRTC; instructions are compared by opcode (the low 12 bits of each
128-bit word), in order, since registers and offsets of parameters may be named differently. `equal`: the same opcodes in the same
order; else how many of each are more or fewer."""
import argparse, collections, ctypes, json, os, struct, subprocess, sys, tempfile

SIMT = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 8, "THREAD_M": 8, "THREAD_N": 8, "LANES_M": 4, "VECTOR": 4, "STAGES": 2,
        "STORE_VECTOR": 4}
MMA = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "WARP_M": 64, "WARP_N": 64, "VECTOR": 8, "STAGES": 3, "ASYNC": 1, "SWIZZLE": 1,
       "LDMATRIX": 1, "STORE_VECTOR": 8, "STAGED": 1}
WGMMA = {"TILE_M": 64, "TILE_N": 256, "CONSUMERS": 2, "STAGES": 4, "STRIPS": 2, "GROUP_M": 8}
SPLIT = {"TILE_M": 64, "TILE_N": 128, "CONSUMERS": 2, "STAGES": 3}
CASES = [  # name, template, setting, m, n, k, dtype, precision, activation
    ("fp32 bias relu", "gemm_simt", SIMT, 2048, 2048, 1024, "fp32", "fp32-strict", "relu"),
    ("fp32 bias tanh", "gemm_simt", SIMT, 4096, 1024, 4096, "fp32", "fp32-strict", "tanh"),
    ("bf16 mma bias gelu", "gemm_mma", MMA, 4096, 4096, 1024, "bf16", "bf16", "gelu"),
    ("bf16 wgmma bias relu", "gemm_wgmma", WGMMA, 8192, 8192, 4096, "bf16", "bf16", "relu"),
    ("bf16 wgmma direct bias silu", "gemm_wgmma", dict(WGMMA, STRIPS=0, TILE_N=128), 4096, 8192, 2048, "bf16", "bf16", "silu"),
]


def graph(case):
    _, _, _, m, n, k, dtype, precision, act = case
    return {"cupilot_task": 2, "name": "hooked", "family": "graph",
            "axes": [{"name": "m", "kind": "free"}, {"name": "n", "kind": "free"}, {"name": "k", "kind": "reduced"}],
            "tensors": [{"name": "A", "role": "in", "type": dtype, "shape": ["m", "k"]},
                        {"name": "B", "role": "in", "type": dtype, "shape": ["n", "k"]},
                        {"name": "bias", "role": "in", "type": dtype, "shape": ["n"]},
                        {"name": "D", "role": "out", "type": dtype, "shape": ["m", "n"]}],
            "operations": [{"name": "fc", "op": "linear", "in": ["A", "B", "bias"], "out": ["h"]},
                           {"name": "act", "op": act, "in": ["h"], "out": ["D"]}],
            "precision": precision, "time_shapes": [{"sizes": {"m": m, "n": n, "k": k}}],
            "check_shapes": [{"sizes": {"m": 1, "n": 1, "k": 1}}]}


def words(case):
    _, _, _, m, n, k, dtype, precision, act = case
    return ["gemm", f"m={m}", f"n={n}", f"k={k}", f"dtype={dtype}", f"precision={precision}", "layout=nt", "bias=1", f"act={act}"]


def written(program, case, task):
    setting = [word for name, value in case[2].items() for word in ("--set", f"{name}={value}")]
    done = subprocess.run([program, "tunable", "write", case[1], *setting, "--device", "virtual:h200", "--task", *task],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{case[0]}: {done.stderr}")
    return done.stdout


class Nvrtc:
    def __init__(self):
        for name in ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so", "/usr/local/cuda-13.0/lib/libnvrtc.so"):
            try:
                self.lib = ctypes.CDLL(name)
                return
            except OSError:
                pass
        sys.exit("NVRTC is not found")

    def cubin(self, text):
        program = ctypes.c_void_p()
        self.lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
        options = [b"--gpu-architecture=sm_90a", b"--std=c++17", b"-lineinfo"]
        if self.lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
            size = ctypes.c_size_t()
            self.lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            self.lib.nvrtcGetProgramLog(program, log)
            sys.exit(log.value.decode())
        size = ctypes.c_size_t()
        self.lib.nvrtcGetCUBINSize(program, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        self.lib.nvrtcGetCUBIN(program, cubin)
        return cubin.raw


def opcodes(cubin):
    """Opcodes of every function of a cubin (ELF, 64 bits), by name, without the padding behind the last branch to itself."""
    at, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, at + i * size) for i in range(count)]
    strings = cubin[sections[names][4]:]
    out = {}
    for section in sections:
        name = strings[section[0]:strings.index(b"\0", section[0])].decode()
        if not name.startswith(".text."):
            continue
        code = cubin[section[4]:section[4] + section[5]]
        out[name[6:]] = [struct.unpack_from("<Q", code, i)[0] & 0xFFF for i in range(0, len(code), 16)]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cupilot", default="build/release/cli/cupilot")
    parser.add_argument("--out")
    given = parser.parse_args()
    nvrtc, rows = Nvrtc(), []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph.json")
            json.dump(graph(case), open(path, "w"))
            both = [opcodes(nvrtc.cubin(written(given.cupilot, case, task)))[case[1]] for task in (words(case), [path])]
        hand, hook = both
        more = collections.Counter(hook)
        more.subtract(collections.Counter(hand))
        rows.append({"case": case[0], "template": case[1], "shape": case[3:6], "hand": len(hand), "hook": len(hook), "equal": hand == hook,
                     "same_counts": not any(more.values()),
                     "difference": {f"{op:#05x}": number for op, number in sorted(more.items()) if number}})
        print(json.dumps(rows[-1]))
    if given.out:
        json.dump({"command": "scripts/device/hooks_sass.py", "rows": rows}, open(given.out, "w"), indent=1)


if __name__ == "__main__":
    main()
