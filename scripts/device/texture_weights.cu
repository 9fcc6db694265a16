// Reads the weights of a device's linear texture filters, texel by texel, and holds them to the rule of
// src/ptx/machine/texture_filter.cpp: nvcc -arch=sm_90 texture_weights.cu -o texture_weights && ./texture_weights
// Prints one JSON object: points that differ from the rule, of planes at all 256 x 256 fractions and of rooms at 32 x 32 x 32;
// fractions of a line at steps of 1/4096 that are not the nearest 256th; and weights in 256ths at some points.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECKED(call)                                                                  \
  do {                                                                                 \
    const cudaError_t error = (call);                                                  \
    if (error != cudaSuccess) printf("%s: %s\n", #call, cudaGetErrorString(error)), exit(1); \
  } while (0)

cudaTextureObject_t linear(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  for (auto& mode : how.addressMode) mode = cudaAddressModeClamp;
  how.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t object;
  CHECKED(cudaCreateTextureObject(&object, &resource, &how, nullptr));
  return object;
}

// The texture has `sides` texels a side, of which `one` is 1 and the others are 0.
cudaTextureObject_t basis(int rank, int one) {
  const cudaExtent extent = make_cudaExtent(2, rank > 1 ? 2 : 0, rank > 2 ? 2 : 0);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECKED(cudaMalloc3DArray(&array, &format, extent));
  float texels[8] = {};
  texels[one] = 1;
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(texels, 8, 2, 2);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(2, rank > 1 ? 2 : 1, rank > 2 ? 2 : 1);
  copy.kind = cudaMemcpyHostToDevice;
  CHECKED(cudaMemcpy3D(&copy));
  return linear(array);
}

// Fractions i / n of each side, x first.
__global__ void fetch(cudaTextureObject_t t, float* out, int rank, int n, int count) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= count) return;
  const float x = 0.5f + i % n / (float)n, y = 0.5f + i / n % n / (float)n, z = 0.5f + i / n / n / (float)n;
  out[i] = rank == 1 ? tex1D<float>(t, x) : rank == 2 ? tex2D<float>(t, x, y) : tex3D<float>(t, x, y, z);
}

std::vector<std::vector<float>> weights(int rank, int n) {
  const int count = rank == 1 ? n : rank == 2 ? n * n : n * n * n;
  float* out;
  CHECKED(cudaMalloc(&out, count * sizeof(float)));
  std::vector<std::vector<float>> all(1 << rank, std::vector<float>(count));
  for (int one = 0; one < 1 << rank; ++one) {
    fetch<<<(count + 255) / 256, 256>>>(basis(rank, one), out, rank, n, count);
    CHECKED(cudaMemcpy(all[one].data(), out, count * sizeof(float), cudaMemcpyDeviceToHost));
  }
  CHECKED(cudaFree(out));
  return all;
}

void rule(int x, int y, int z, int* eight) {
  for (int plane = 0; plane < 2; ++plane) {
    const int all = plane == 0 ? 256 - z : z, second = (all * x + 128) >> 8, first = all - second;
    const int below_second = (second * y + 128) >> 8, below_first = (first * y + 127) >> 8;
    eight[4 * plane] = first - below_first, eight[4 * plane + 1] = second - below_second;
    eight[4 * plane + 2] = below_first, eight[4 * plane + 3] = below_second;
  }
}

// Points of a rank that differ from the rule; every `step`th is printed.
int differing(int rank, int n, int step) {
  const auto all = weights(rank, n);
  int differ = 0;
  printf(", \"rank %d\": [", rank);
  for (int i = 0; i < (int)all[0].size(); ++i) {
    int eight[8];
    rule(i % n * 256 / n, i / n % n * 256 / n, i / n / n * 256 / n, eight);
    bool same = true;
    for (int k = 0; k < 1 << rank; ++k) same = same && all[k][i] * 256 == eight[k];
    differ += same ? 0 : 1;
    if (i % step != step / 2) continue;
    printf("%s{\"fractions of %d\": [%d, %d, %d], \"weights\": [", i / step ? ", " : "", n, i % n, i / n % n, i / n / n);
    for (int k = 0; k < 1 << rank; ++k) printf("%s%g", k ? ", " : "", all[k][i] * 256);
    printf("]}");
  }
  printf("]");
  return differ;
}

int main() {
  cudaDeviceProp properties;
  CHECKED(cudaGetDeviceProperties(&properties, 0));
  printf("{\"device\": \"%s\"", properties.name);
  const int planes = differing(2, 256, 1111), rooms = differing(3, 32, 555);
  const auto line = weights(1, 4096)[1];
  int other = 0;
  for (int i = 0; i < 4096; ++i) other += line[i] * 256 != (i + 8) / 16 ? 1 : 0;
  printf(", \"planes that differ\": %d, \"of\": 65536, \"rooms that differ\": %d, \"of rooms\": 32768, \"lines that differ\": %d}\n", planes, rooms, other);
}
