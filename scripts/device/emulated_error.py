#!/usr/bin/env python3
"""Errors against fp64 of GEMMs that emulate fp32 on tensor cores, beside those of cuBLASLt's fp32, on a GPU machine.

  emulated_error.py SETTINGS SIDE DEPTHS   SETTINGS: JSON list of parameter values of gemm_wgmma_split; DEPTHS: K,K,...

Both multiply the same SIDE x K and K x SIDE matrices, of normal and of uniform elements. An error is of the whole result: the
norm of the difference over the norm of the fp64 result ("norm"), and the largest difference over the root mean square of the
fp64 result ("max"). The library's are the least of its first eight heuristics. A table is printed; all numbers go to
$OUT/emulated_error.json.
"""
import json, os, sys
from concurrent.futures import ProcessPoolExecutor

import templates

DRAWS = {
    "normal": lambda torch, *size: torch.randn(*size, device="cuda"),
    "uniform01": lambda torch, *size: torch.rand(*size, device="cuda"),
    "uniform11": lambda torch, *size: torch.rand(*size, device="cuda") * 2 - 1,
}


def errors(torch, output, exact):
    difference = output.double() - exact
    return {"norm": float(difference.norm() / exact.norm()),
            "max": float(difference.abs().max() / exact.square().mean().sqrt())}


def library_errors(runner, a, b, exact):
    torch = runner.torch
    m, n, k = a.shape[1], b.shape[2], a.shape[2]
    output = torch.empty(1, m, n, device="cuda")
    opened = runner.lt.lt_open(templates.DTYPE_CODE["emulated"], m, n, k, 1, 0, 0)
    found = []
    for way in range(runner.lt.lt_ways(opened)):
        if runner.lt.lt_run(opened, way, a.data_ptr(), b.data_ptr(), output.data_ptr()) == 0:
            torch.cuda.synchronize()
            found.append(errors(torch, output, exact))
    return found


def measure(runner, variants, modules, side, k, draw, seed):
    torch = runner.torch
    torch.manual_seed(seed)
    a, b = draw(torch, 1, side, k), draw(torch, 1, k, side)
    unused = torch.zeros(8, device="cuda")
    exact = a.double() @ b.double()
    row = {"library": library_errors(runner, a, b, exact), "ours": []}
    for variant, module in zip(variants, modules):
        run, output, *_ = runner.launch_of(variant, (1, side, side, k), (a, b, unused, unused), module)
        run()
        torch.cuda.synchronize()
        row["ours"].append(errors(torch, output, exact))
    return row


def main():
    settings, side, depths = json.loads(sys.argv[1]), int(sys.argv[2]), [int(k) for k in sys.argv[3].split(",")]
    variants = [{"template": "gemm_wgmma_split", "dtype": "emulated", "values": values, "task": {}} for values in settings]
    building = templates.start_library()
    with ProcessPoolExecutor() as pool:
        cubins = [built["cubin"] for built in pool.map(templates.compile_variant, variants)]
    templates.finish_library(building)
    runner = templates.Runner(os.environ.get("OUT", "/tmp"))
    modules = []
    for cubin in cubins:
        modules.append(runner.cupy.cuda.function.Module())
        modules[-1].load(cubin)
    rows = []
    for name, draw in DRAWS.items():
        for k in depths:
            row = {"draw": name, "m": side, "n": side, "k": k, **measure(runner, variants, modules, side, k, draw, k)}
            rows.append(row)
            least = {kind: min(e[kind] for e in row["library"]) for kind in ["norm", "max"]}
            ratios = " ".join(f"{e['norm'] / least['norm']:.2f}/{e['max'] / least['max']:.2f}" for e in row["ours"])
            print(f"{name} K={k}: library {least['norm']:.2e} max {least['max']:.2e}; ours over it, norm/max: {ratios}", flush=True)
    json.dump({"command": sys.argv, "settings": settings, "rows": rows},
              open(os.environ.get("OUT", "/tmp") + "/emulated_error.json", "w"), indent=1)


if __name__ == "__main__":
    main()
