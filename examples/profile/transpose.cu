// y[c][r] = x[r][c].
__device__ real reference_y(const Inputs& in, long long index) { return in.x(index % in.rows * in.cols + index / in.rows); }
