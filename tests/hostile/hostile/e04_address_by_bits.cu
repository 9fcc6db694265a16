// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// The address of a variable copied bit by bit through predicates, so that nothing seems to flow.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  asm volatile(
      "{.global .align 8 .u32 hidden; .reg .u64 a, b, m; .reg .pred p;"
      "mov.u64 a, hidden; mov.u64 b, 0; mov.u64 m, 1;"
      "again: and.b64 a, a, -1; and.b64 a, a, a; "
      "{.reg .u64 t; and.b64 t, a, m; setp.ne.u64 p, t, 0;} @p or.b64 b, b, m;"
      "shl.b64 m, m, 1; setp.ne.u64 p, m, 0; @p bra again; st.global.u32 [b], 1;}");
  if (i < n) y[i] = x[i];
}
