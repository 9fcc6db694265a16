// z = alpha x + y.
__device__ real reference_z(const Inputs& in, long long index) { return in.alpha * in.x(index) + in.y(index); }
