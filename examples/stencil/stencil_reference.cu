// A point and its six neighbours; beyond the grid u is 0.
__device__ real reference_v(const Inputs& in, long long index) {
  const long long x = index % in.nx, y = index / in.nx % in.ny, z = index / in.nx / in.ny;
  real sum = real(0.0);
  if (x > 0) sum += in.u(index - 1);
  if (x + 1 < in.nx) sum += in.u(index + 1);
  if (y > 0) sum += in.u(index - in.nx);
  if (y + 1 < in.ny) sum += in.u(index + in.nx);
  if (z > 0) sum += in.u(index - in.nx * in.ny);
  if (z + 1 < in.nz) sum += in.u(index + in.nx * in.ny);
  return in.centre * in.u(index) + in.side * sum;
}
