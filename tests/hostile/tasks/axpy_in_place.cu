// y = alpha x + y, where y stands.
__device__ real reference_y(const Inputs& in, long long index) { return in.alpha * in.x(index) + in.y(index); }
