/* cupilot tunable 1
{
  "name": "stencil7_planes",
  "family": "stencil7",
  "summary": "a block walks through planes; a thread has several points of each",
  "parameters": {
    "BLOCK_X": {"domain": [32, 64, 128, 256]},
    "BLOCK_Y": {"domain": [1, 2, 4, 8, 16]},
    "POINTS_X": {"domain": [1, 2, 4]},
    "POINTS_Y": {"domain": [1, 2, 4]},
    "DEPTH": {"domain": [1, 4, 8, 16]},
    "STAGE": {"domain": [0, 1]},
    "KEEP": {"domain": [0, 1]}
  },
  "restrict": [
    "BLOCK_X * BLOCK_Y >= 64 && BLOCK_X * BLOCK_Y <= 512",
    "POINTS_X * POINTS_Y <= 8",
    "!KEEP || DEPTH > 1"
  ],
  "plan": {
    "launches": [
      {"entry": "stencil7", "grid": ["cdiv(nx, BLOCK_X * POINTS_X)", "cdiv(ny, BLOCK_Y * POINTS_Y)", "cdiv(nz, DEPTH)"],
       "block": ["BLOCK_X", "BLOCK_Y"], "args": ["u", "v", "centre", "side", {"i32": "nx"}, {"i32": "ny"}, {"i32": "nz"}]}
    ]
  }
}
*/
// v = centre u + side (the sum of the six neighbours of u). STAGE: each plane passes through shared memory, with a border of
// one point. KEEP: a thread holds its points of three planes in registers, so that each is loaded once on the way up.
constexpr int TILE_X = BLOCK_X * POINTS_X, TILE_Y = BLOCK_Y * POINTS_Y;
constexpr int ROW = TILE_X + 2, STAGED = STAGE != 0 ? ROW * (TILE_Y + 2) : 1;

struct Field {
  const T_u* u;
  int nx, ny, nz;
  __device__ float at(int x, int y, int z) const {
    const bool inside = x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < nz;
    return inside ? u[(static_cast<long long>(z) * ny + y) * nx + x] : 0.0f;
  }
};

// Calls visit(j, i) for each of a thread's points of a plane.
template <class Visit>
__device__ void points(Visit visit) {
#pragma unroll
  for (int j = 0; j < POINTS_Y; ++j) {
#pragma unroll
    for (int i = 0; i < POINTS_X; ++i) visit(j, i);
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK_X* BLOCK_Y)
    stencil7(const T_u* u, T_v* v, float centre, float side, int nx, int ny, int nz) {
  __shared__ float plane[STAGED];
  const Field field{u, nx, ny, nz};
  const int left = blockIdx.x * TILE_X, low = blockIdx.y * TILE_Y, first = blockIdx.z * DEPTH;
  float below[POINTS_Y][POINTS_X], here[POINTS_Y][POINTS_X], above[POINTS_Y][POINTS_X];
  const auto load = [&](float (&into)[POINTS_Y][POINTS_X], int z) {
    points([&](int j, int i) {
      into[j][i] = field.at(left + threadIdx.x + i * BLOCK_X, low + threadIdx.y + j * BLOCK_Y, z);
    });
  };
  if constexpr (KEEP != 0) {
    load(below, first - 1);
    load(here, first);
  }
#pragma unroll 1
  for (int z = first; z < min(first + DEPTH, nz); ++z) {
    load(above, z + 1);
    if constexpr (KEEP == 0) {
      load(below, z - 1);
      load(here, z);
    }
    if constexpr (STAGE != 0) {
      __syncthreads();  // the plane before has been read
      for (int at = threadIdx.y * BLOCK_X + threadIdx.x; at < STAGED; at += BLOCK_X * BLOCK_Y) {
        plane[at] = field.at(left - 1 + at % ROW, low - 1 + at / ROW, z);
      }
      __syncthreads();
    }
    points([&](int j, int i) {
      const int dx = threadIdx.x + i * BLOCK_X, dy = threadIdx.y + j * BLOCK_Y, x = left + dx, y = low + dy;
      const auto beside = [&](int right, int up) {
        if constexpr (STAGE != 0) return plane[(dy + 1 + up) * ROW + dx + 1 + right];
        return field.at(x + right, y + up, z);
      };
      const float sum = below[j][i] + above[j][i] + beside(-1, 0) + beside(1, 0) + beside(0, -1) + beside(0, 1);
      if (x < nx && y < ny) v[(static_cast<long long>(z) * ny + y) * nx + x] = centre * here[j][i] + side * sum;
      below[j][i] = here[j][i];
      here[j][i] = above[j][i];
    });
  }
}
