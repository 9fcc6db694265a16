// cuda-samples threadFenceReduction_kernel.cuh, reduceSinglePass: its counter is a variable of the
// module, which the last block sets back. Launches that overlap count on one counter.
//   samples_single_pass STREAMS    the sample's own launcher's kernel, 2000 launches on each stream
#include "guard.h"
#include "orig/samples/threadFenceReduction_kernel.cuh"

int main(int argc, char** argv) {
  const int streams = argc > 1 ? atoi(argv[1]) : 2, launches = 2000;
  const int threads = 128, blocks = 64, n = threads * blocks * 2;
  std::vector<float> x(n);
  float sum = 0;
  for (auto& v : x) sum += v = float(1 + faults::draw() % 7);  // no sum of these is rounded
  float* d_x = faults::device(x, "g_idata");
  float* all = faults::device(std::vector<float>(size_t(streams) * launches * blocks, -1.f), "out");
  faults::open_holes();
  std::vector<cudaStream_t> stream(streams);
  for (auto& s : stream)
    faults::check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "stream");
  for (int l = 0; l < launches; ++l)
    for (int s = 0; s < streams; ++s)
      reduceSinglePass<threads, true><<<blocks, threads, threads * sizeof(float), stream[s]>>>(
          d_x, all + (size_t(s) * launches + l) * blocks, n);
  const int code = faults::done();
  std::vector<float> y(size_t(streams) * launches * blocks), got, want(streams * launches, sum);
  cudaMemcpy(y.data(), all, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < y.size(); i += blocks) got.push_back(y[i]);
  faults::say(("reduceSinglePass, launches on " + std::to_string(streams) + " streams").c_str(),
              faults::compare(got, want, 0), got.size());
  return code;
}
