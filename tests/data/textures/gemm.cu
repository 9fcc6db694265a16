// cupilot: {"task": ["gemm", "m=96", "n=64", "k=80", "dtype=fp32"]}
// cupilot: {"plan": {"textures": [{"name": "a", "of": "A", "dims": ["k", "m"]}, {"name": "b", "of": "B", "memory": "linear", "dims": ["k * n"]}, {"name": "d", "of": "D", "surface": true, "dims": ["n", "m"]}], "launches": [{"entry": "product", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["a", "b", "d", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// D = A B, A a plane that is read by tex2D, B linear memory, D a surface.
extern "C" __global__ void product(cudaTextureObject_t a, cudaTextureObject_t b, cudaSurfaceObject_t d, int m, int n, int k) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x >= n || y >= m) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += tex2D<float>(a, i, y) * tex1Dfetch<float>(b, i * n + x);
  surf2Dwrite(sum, d, 4 * x, y);
}
