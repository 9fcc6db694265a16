"""Kernels of PyTorch for scripts/device/capture: cuBLASLt's products, element by element, compiled by NVRTC and by Triton."""
import sys

import torch

torch.manual_seed(1)
device = "cuda"
parts = sys.argv[1:] or ["products", "pointwise", "jiterator", "triton"]

if "products" in parts:
    torch.backends.cuda.preferred_blas_library("cublaslt")
    a, b = (torch.randn(256, 256, device=device, dtype=torch.bfloat16) for _ in range(2))
    bias = torch.randn(256, device=device, dtype=torch.bfloat16)
    print("addmm", torch.addmm(bias, a, b).float().sum().item())
    print("matmul", (a @ b).float().sum().item())
    # Sides that differ tell the factors apart.
    a, b = (torch.randn(m, n, device=device, dtype=torch.bfloat16) for m, n in ((256, 192), (192, 320)))
    print("product", (a @ b).float().sum().item())

if "pointwise" in parts:
    x = torch.randn(10000, device=device)
    print("pointwise", torch.relu(x * 2 + 1).sum().item(), torch.softmax(x.view(100, 100), 1).sum().item())

if "jiterator" in parts:
    fused = torch.cuda.jiterator._create_jit_fn("template <typename T> T fused(T x, T y) { return x * x + y; }")
    x, y = torch.randn(10000, device=device), torch.randn(10000, device=device)
    print("jiterator", torch.equal(fused(x, y), torch.addcmul(y, x, x)) or (fused(x, y) - (x * x + y)).abs().max().item())

if "triton" in parts:
    try:
        compiled = torch.compile(lambda x, y: torch.sigmoid(x) * y + x.sum(-1, keepdim=True))
        x, y = torch.randn(64, 300, device=device), torch.randn(64, 300, device=device)
        print("triton", compiled(x, y).sum().item())
    except Exception as error:  # a machine without a C compiler
        print("triton", type(error).__name__, str(error).splitlines()[0][:200])

torch.cuda.synchronize()
