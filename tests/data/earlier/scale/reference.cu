// One element of y, obviously right: every column of x has a weight of its own. docs/formats/task.md says what `in` holds.
__device__ real reference_y(const Inputs& in, long long index) { return in.x(index) * in.w(index % in.cols); }
