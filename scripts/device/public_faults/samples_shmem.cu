// cuda-samples globalToShmemAsyncCopy.cu:137, 223, 312, 709 (B at A's offset and pitch) and 131,
// 460 (the ring).
//   samples_shmem KERNEL [wA hA wB]      the sample's own numbers of kernels: 0
//   MultiStageLargeChunk (131, 137), 1 LargeChunk (223),
//                                        2 LargeChunkAWBarrier (312), 3 MultiStageSharedState, 4
//                                        MultiStage (460), 5 SingleStage, 6 Naive, 7
//                                        NaiveLargeChunk (709)
// 64 256 64 (the sample's -wA=64 -hA=256 -wB=64 -hB=64) leaves B; 128 128 128 stays inside. Grid
// and block are the sample's.
#define main original_main
#include "orig/samples/globalToShmemAsyncCopy.cu"
#undef main
#include "guard.h"

int main(int argc, char** argv) {
  const int kernel = argc > 1 ? atoi(argv[1]) : 0;
  const int wA = argc > 2 ? atoi(argv[2]) : 64, hA = argc > 3 ? atoi(argv[3]) : 256,
            wB = argc > 4 ? atoi(argv[4]) : 64;
  auto a = faults::small_numbers<float>(size_t(hA) * wA);
  auto b = faults::small_numbers<float>(size_t(wA) * wB);
  std::vector<float> c(size_t(hA) * wB, 0.f), r(c), as_read(c);
  float* d_A = faults::device(a, "A");
  float* d_B = faults::device(b, "B");
  float* d_C = faults::device(c, "C");
  faults::open_holes();
  printf("kernel %d %s: A %d x %d, B %d x %d\n", kernel, kernelNames[kernel], hA, wA, wA, wB);
  fflush(stdout);
  const dim3 dimsA(wA, hA, 1), dimsB(wB, wA, 1);
  dim3 threads(blockSize, blockSize);
  dim3 grid(dimsB.x / threads.x, dimsA.y / threads.y);
  dim3 threadsSharedStateKernel(blockSize, blockSize + 2, 1);
  dim3 gridSharedStateKernel(dimsB.x / threadsSharedStateKernel.x,
                             dimsA.y / threadsSharedStateKernel.x);
  switch (kernel) {
    case 0:
      MatrixMulAsyncCopyMultiStageLargeChunk<blockSize>
          <<<grid, threads>>>(d_C, d_A, d_B, dimsA.x, dimsB.x);
      break;
    case 1:
      MatrixMulAsyncCopyLargeChunk<blockSize><<<grid, threads>>>(d_C, d_A, d_B, dimsA.x, dimsB.x);
      break;
    case 2:
      MatrixMulAsyncCopyLargeChunkAWBarrier<blockSize>
          <<<grid, threads>>>(d_C, d_A, d_B, dimsA.x, dimsB.x);
      break;
    case 3:
      MatrixMulAsyncCopyMultiStageSharedState<blockSize>
          <<<gridSharedStateKernel, threadsSharedStateKernel>>>(d_C, d_A, d_B, dimsA.x, dimsB.x);
      break;
    case 4:
      MatrixMulAsyncCopyMultiStage<blockSize><<<grid, threads>>>(d_C, d_A, d_B, dimsA.x, dimsB.x);
      break;
    case 5:
      MatrixMulAsyncCopySingleStage<blockSize><<<grid, threads>>>(d_C, d_A, d_B, dimsA.x, dimsB.x);
      break;
    case 6:
      MatrixMulNaive<blockSize><<<grid, threads>>>(d_C, d_A, d_B, dimsA.x, dimsB.x);
      break;
    default:
      MatrixMulNaiveLargeChunk<blockSize><<<grid, threads>>>(d_C, d_A, d_B, dimsA.x, dimsB.x);
      break;
  }
  const int code = faults::done();
  cudaMemcpy(c.data(), d_C, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
  // as_read: the product with B where these kernels read it, to tell the ring's fault from that of
  // B.
  bool inside = true;
  for (int y = 0; y < hA; ++y)
    for (int x = 0; x < wB; ++x)
      for (int k = 0; k < wA; ++k) {
        const float left = a[size_t(y) * wA + k];
        r[size_t(y) * wB + x] += left * b[size_t(k) * wB + x];
        const size_t at = size_t(y / 16 * 16 + k % 16) * wA + k / 16 * 16 + x % 16;
        if (at < b.size())
          as_read[size_t(y) * wB + x] += left * b[at];
        else
          inside = false;
      }
  faults::say(kernelNames[kernel], faults::compare(c, r, 1e-3), c.size());
  const bool shifted = kernel < 3 || kernel == 7;
  if (shifted && inside)
    faults::say("  beside the product with B at A's offset", faults::compare(c, as_read, 1e-3),
                c.size());
  if (shifted && !inside) printf("B is read past its end by the kernel's index\n");
  return code;
}
