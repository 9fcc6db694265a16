// cuda-samples reduction_kernel.cu, reduce7: its last shuffles name the lanes that hold a warp's
// sum (2 of a block of 64), and lane 0 adds what it reads of lanes 2 to 16, which are outside of
// that mask. PTX: "If a thread reads from an inactive thread or a thread that is not in membermask,
// the value is undefined" (shfl.sync).
//   samples_reduce7 THREADS    the sample's own launcher beside a sum on the host, 512 blocks
//   samples_reduce7 0          what the device gives for a lane that is absent, in three positions
#include "guard.h"
#include "orig/samples/reduction_kernel.cu"

extern "C" bool isPow2(unsigned int x) { return (x & (x - 1)) == 0; }

// Lane 0 of two that take part reads lane 16. out[0]: its own branch was not taken there; out[1]:
// lane 16 left the kernel before; out[2]: lane 16 executes the same shuffle under its own mask.
__global__ void absent(float* out) {
  const int lane = threadIdx.x;
  const float mine = 100.f + lane + out[3];
  if (lane < 2) {
    const float got = __shfl_down_sync(3u, mine, 16);
    if (lane == 0) out[0] = got;
  }
  __syncwarp();
  {
    const float got = __shfl_down_sync(lane < 2 ? 3u : ~3u, mine, 16);
    if (lane == 0) out[2] = got;
  }
  __syncwarp();
  if (lane >= 2) return;
  const float got = __shfl_down_sync(3u, mine, 16);
  if (lane == 0) out[1] = got;
}

int probe() {
  float* out = faults::device(std::vector<float>(4, 0.f), "out");
  absent<<<1, 32>>>(out);
  const int code = faults::done();
  float got[4];
  cudaMemcpy(got, out, sizeof(got), cudaMemcpyDeviceToHost);
  const char* names[] = {"that is not in this branch", "that left",
                         "that shuffles under another mask"};
  for (int i = 0; i < 3; ++i)
    printf("RESULT lane 0 (100) reads lane 16 (116), %s: %g\n", names[i], got[i]);
  return code;
}

template <class T>
int sums(const char* type, int threads) {
  const int blocks = 512, n = blocks * threads * 4;
  std::vector<T> x(n), y(blocks, T(-1)), r(blocks, T(0));
  for (auto& v : x) v = T(1 + faults::draw() % 7);  // no sum of these is rounded
  const int chunk = 2 * threads;  // n is a power of two: two elements of a block a round
  for (int i = 0; i < n; ++i) r[i / chunk % blocks] += x[i];
  T* d_x = faults::device(x, "g_idata");
  T* d_y = faults::device(y, "g_odata");
  faults::open_holes();
  reduce<T>(n, threads, blocks, 7, d_x, d_y);
  const int code = faults::done();
  cudaMemcpy(y.data(), d_y, y.size() * sizeof(T), cudaMemcpyDeviceToHost);
  faults::say(("reduce7 of " + std::to_string(threads) + " threads, " + type).c_str(),
              faults::compare(y, r, 0), y.size());
  return code;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 64;
  if (threads == 0) return probe();
  const int code = sums<float>("float", threads);
  return sums<double>("double", threads) + code;
}
