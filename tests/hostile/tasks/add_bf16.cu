__device__ real reference_y(const Inputs& in, long long index) { return in.a(index) + in.b(index); }
