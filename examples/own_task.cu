/* cupilot tunable 1
{
  "name": "axpy_items", "family": "axpy",
  "parameters": {"THREADS": {"domain": [64, 128, 256, 512], "plain": 128}, "ITEMS": {"domain": [1, 2, 4, 8]}},
  "plan": {"launches": [{"entry": "axpy", "grid": ["cdiv(n, THREADS * ITEMS)"], "block": ["THREADS"], "args": ["x", "y", "a", {"i64": "n"}]}]}
}
*/
extern "C" __global__ void __launch_bounds__(THREADS) axpy(const T_x* x, T_y* y, float a, long long n) {
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const long long i = (static_cast<long long>(blockIdx.x) * ITEMS + item) * THREADS + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
  }
}
