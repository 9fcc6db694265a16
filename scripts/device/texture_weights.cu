// Reads the weights of a device's linear texture filters, texel by texel, and holds them to the rule of
// src/ptx/machine/texture/footprint.cpp: nvcc -arch=sm_90 texture_weights.cu -o texture_weights && ./texture_weights
// Prints one JSON object: points that differ from the rule, of planes at all 256 x 256 fractions and of rooms at 32 x 32 x 32;
// fractions of a line at steps of 1/4096 that are not the nearest 256th; weights in 256ths at some points; and points in and
// around a room, by address mode, whose texels weigh otherwise than by the rule.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECKED(call)                                                                  \
  do {                                                                                 \
    const cudaError_t error = (call);                                                  \
    if (error != cudaSuccess) printf("%s: %s\n", #call, cudaGetErrorString(error)), exit(1); \
  } while (0)

cudaTextureObject_t linear(cudaArray_t array, cudaTextureAddressMode address) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  for (auto& mode : how.addressMode) mode = address;
  how.filterMode = cudaFilterModeLinear;
  how.normalizedCoords = address == cudaAddressModeWrap || address == cudaAddressModeMirror;
  cudaTextureObject_t object;
  CHECKED(cudaCreateTextureObject(&object, &resource, &how, nullptr));
  return object;
}

// A texture of two texels a side, of which the one numbered `one` is 1 and the others are 0.
cudaTextureObject_t basis(int rank, int one, cudaTextureAddressMode address = cudaAddressModeClamp) {
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
  return linear(array, address);
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

constexpr int drawn = 1 << 18;
constexpr const char* mode_names[] = {"wrap", "clamp", "mirror", "border"};

// Points from one and a half sides before a room of two texels a side to as far behind it, in 256ths of a texel.
__host__ __device__ void point(unsigned i, int* at) {
  for (int d = 0; d < 3; ++d) {
    i = i * 1664525u + 1013904223u;
    at[d] = (int)(i >> 8) % 2048 - 768;
  }
}

__global__ void around(cudaTextureObject_t t, float* out, float scale) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  int at[3];
  point(i, at);
  out[i] = tex3D<float>(t, at[0] / 256.0f * scale, at[1] / 256.0f * scale, at[2] / 256.0f * scale);
}

int addressed(int i, int mode) {
  if (i >= 0 && i < 2) return i;
  if (mode == cudaAddressModeBorder) return -1;
  if (mode == cudaAddressModeClamp) return i < 0 ? 0 : 1;
  const int period = mode == cudaAddressModeWrap ? 2 : 4, at = (i % period + period) % period;
  return at < 2 ? at : 3 - at;
}

void beyond(int mode) {
  float* out;
  CHECKED(cudaMalloc(&out, drawn * sizeof(float)));
  std::vector<std::vector<float>> all(8, std::vector<float>(drawn));
  const bool normalized = mode == cudaAddressModeWrap || mode == cudaAddressModeMirror;
  for (int one = 0; one < 8; ++one) {
    around<<<drawn / 256, 256>>>(basis(3, one, (cudaTextureAddressMode)mode), out, normalized ? 0.5f : 1.0f);
    CHECKED(cudaMemcpy(all[one].data(), out, drawn * sizeof(float), cudaMemcpyDeviceToHost));
  }
  int differ = 0;
  printf(", \"%s\": {\"examples\": [", mode_names[mode]);
  for (int i = 0; i < drawn; ++i) {
    int at[3], eight[8], sum[8] = {}, cell[3], fraction[3];
    point(i, at);
    for (int d = 0; d < 3; ++d) {
      int fixed = at[d] - 128;
      // A clamped coordinate stops at the middle of the outermost texel.
      if (mode == cudaAddressModeClamp) fixed = fixed < 0 ? 0 : fixed > 256 ? 256 : fixed;
      cell[d] = fixed >> 8, fraction[d] = fixed & 255;
    }
    rule(fraction[0], fraction[1], fraction[2], eight);
    for (int k = 0; k < 8; ++k) {
      const int x = addressed(cell[0] + (k & 1), mode), y = addressed(cell[1] + (k >> 1 & 1), mode), z = addressed(cell[2] + (k >> 2), mode);
      if (x >= 0 && y >= 0 && z >= 0) sum[x + 2 * y + 4 * z] += eight[k];
    }
    bool same = true;
    for (int k = 0; k < 8; ++k) same = same && all[k][i] * 256 == sum[k];
    if (same || ++differ > 12) continue;
    printf("%s{\"at\": [%d, %d, %d], \"weights\": [", differ > 1 ? ", " : "", at[0], at[1], at[2]);
    for (int k = 0; k < 8; ++k) printf("%s%g", k ? ", " : "", all[k][i] * 256);
    printf("], \"by the rule\": [");
    for (int k = 0; k < 8; ++k) printf("%s%d", k ? ", " : "", sum[k]);
    printf("]}");
  }
  printf("], \"differ\": %d, \"of\": %d}", differ, drawn);
  CHECKED(cudaFree(out));
}

int main() {
  cudaDeviceProp properties;
  CHECKED(cudaGetDeviceProperties(&properties, 0));
  printf("{\"device\": \"%s\"", properties.name);
  const int planes = differing(2, 256, 1111), rooms = differing(3, 32, 555);
  const auto line = weights(1, 4096)[1];
  int other = 0;
  for (int i = 0; i < 4096; ++i) other += line[i] * 256 != (i + 8) / 16 ? 1 : 0;
  for (int mode = 0; mode < 4; ++mode) beyond(mode);
  printf(", \"planes that differ\": %d, \"of\": 65536, \"rooms that differ\": %d, \"of rooms\": 32768, \"lines that differ\": %d}\n", planes, rooms, other);
}
