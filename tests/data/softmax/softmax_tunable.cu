/* cupilot tunable 1
{
  "name": "softmax_rows",
  "family": "softmax",
  "summary": "row softmax by a team of threads a row, several rows a block",
  "provides": [],
  "requires": [],
  "when": ["elem.x <= 4 && elem.y <= 4"],
  "parameters": {
    "TEAM": {"name": "block_threads", "technique": "row_per_block", "domain": [32, 64, 128, 256, 512, 1024], "plain": 32},
    "ROWS": {"name": "rows_per_block", "domain": [1, 2, 4, 8], "plain": 1},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "KEEP": {"name": "items", "technique": "items_per_thread", "domain": [0, 1, 2, 4, 8], "plain": 0},
    "ONLINE": {"name": "online_reduction", "technique": "online_reduction", "domain": [0, 1], "plain": 0},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 4, 8], "plain": 1}
  },
  "restrict": [
    "TEAM * ROWS <= dev.threads",
    "VECTOR * max(elem.x, elem.y) <= 16",
    "MIN_BLOCKS * TEAM * ROWS <= 2048",
    "(KEEP * VECTOR + 36) * MIN_BLOCKS * TEAM * ROWS <= dev.registers"
  ],
  "registers": "KEEP * VECTOR + 36",
  "plan": {
    "launches": [
      {"entry": "softmax_rows", "grid": ["cdiv(rows, ROWS)"], "block": ["TEAM * ROWS"], "args": ["x", "y", {"i64": "rows"}, {"i32": "cols"}]}
    ]
  }
}
*/
// y[r][c] = exp(x[r][c] - max of row r) / sum over the row of the same. A team of TEAM threads walks a row in chunks of
// VECTOR elements; the first KEEP chunks of each thread stay in registers, so that they are read from memory once.
constexpr int WARPS = TEAM / 32;

struct Summary {
  float largest;
  float sum;  // of exp(x - largest)
};
__device__ Summary merge(Summary a, Summary b) {
  const float largest = fmaxf(a.largest, b.largest);
  // A share whose maximum is the common one needs no scaling; this also keeps -inf - (-inf) out.
  const float of_a = a.largest == largest ? a.sum : a.sum * expf(a.largest - largest);
  const float of_b = b.largest == largest ? b.sum : b.sum * expf(b.largest - largest);
  return {largest, of_a + of_b};
}

// Combines the summaries of a team, in an order that does not depend on timing. Every thread of the block must call it.
__device__ Summary combine(Summary own, Summary (*shared)[WARPS]) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    own = merge(own, {__shfl_xor_sync(0xffffffffu, own.largest, distance), __shfl_xor_sync(0xffffffffu, own.sum, distance)});
  }
  if constexpr (WARPS > 1) {
    Summary* team = shared[threadIdx.x / TEAM];
    __syncthreads();  // an earlier call's values have been read
    if (threadIdx.x % 32 == 0) team[threadIdx.x % TEAM / 32] = own;
    __syncthreads();
    own = team[0];
    for (int w = 1; w < WARPS; ++w) own = merge(own, team[w]);
  }
  return own;
}

struct Chunk {
  float at[VECTOR];
};
template <class T>
struct alignas(sizeof(T) * VECTOR) Packed {
  T at[VECTOR];
};

// One row of x, seen by one thread of its team.
struct Row {
  const T_x* x;
  int cols;
  bool aligned;

  __device__ int chunks() const { return (cols + VECTOR - 1) / VECTOR; }
  __device__ int present(int chunk) const { return min(VECTOR, cols - chunk * VECTOR); }
  __device__ Chunk load(int chunk) const {
    Chunk result;
    if (aligned) {
      const Packed<T_x> packed = *reinterpret_cast<const Packed<T_x>*>(x + chunk * VECTOR);
      for (int j = 0; j < VECTOR; ++j) result.at[j] = to_float(packed.at[j]);
    } else {
      for (int j = 0; j < VECTOR; ++j) result.at[j] = j < present(chunk) ? to_float(x[chunk * VECTOR + j]) : 0.0f;
    }
    return result;
  }
};

// Calls visit(chunk, its index) for each chunk of this thread: kept ones from registers, the others from memory.
template <class Visit>
__device__ void walk(const Row& row, const Chunk* kept, int lane, Visit visit) {
#pragma unroll
  for (int i = 0; i < KEEP; ++i) {
    if (lane + i * TEAM < row.chunks()) visit(kept[i], lane + i * TEAM);
  }
  for (int c = lane + KEEP * TEAM; c < row.chunks(); c += TEAM) visit(row.load(c), c);
}

extern "C" __global__ void __launch_bounds__(TEAM* ROWS, MIN_BLOCKS)
    softmax_rows(const T_x* x, T_y* y, long long rows, int cols) {
  __shared__ Summary shared[ROWS][WARPS];
  const int lane = static_cast<int>(threadIdx.x) % TEAM;
  const long long wanted = static_cast<long long>(blockIdx.x) * ROWS + threadIdx.x / TEAM;
  const long long r = min(wanted, rows - 1);  // a team without a row repeats the last one and stores nothing
  const bool aligned = cols % VECTOR == 0 && reinterpret_cast<unsigned long long>(x) % sizeof(Packed<T_x>) == 0 &&
                       reinterpret_cast<unsigned long long>(y) % sizeof(Packed<T_y>) == 0;
  const Row row{x + r * cols, cols, aligned};

  Chunk kept[KEEP > 0 ? KEEP : 1];
#pragma unroll
  for (int i = 0; i < KEEP; ++i) {
    if (lane + i * TEAM < row.chunks()) kept[i] = row.load(lane + i * TEAM);
  }

  const float minus_infinity = __int_as_float(0xff800000);
  Summary own{minus_infinity, 0.0f};
  walk(row, kept, lane, [&](const Chunk& chunk, int index) {
    for (int j = 0; j < VECTOR; ++j) {
      if (j >= row.present(index)) break;
      if constexpr (ONLINE != 0) {
        // One pass: the sum is rescaled whenever the maximum rises. While that is minus infinity, an element of minus infinity
        // adds nothing: their difference is no number.
        const float largest = fmaxf(own.largest, chunk.at[j]);
        const float scale = own.largest == largest ? 1.0f : expf(own.largest - largest);
        own = {largest, own.sum * scale + (chunk.at[j] == minus_infinity ? 0.0f : expf(chunk.at[j] - largest))};
      } else {
        own.largest = fmaxf(own.largest, chunk.at[j]);
      }
    }
  });
  Summary all = combine(own, shared);
  if constexpr (ONLINE == 0) {
    own = {all.largest, 0.0f};
    walk(row, kept, lane, [&](const Chunk& chunk, int index) {
      for (int j = 0; j < VECTOR; ++j) {
        if (j < row.present(index)) own.sum += expf(chunk.at[j] - all.largest);
      }
    });
    all = combine(own, shared);
  }

  if (wanted >= rows) return;
  T_y* out = y + r * cols;
  walk(row, kept, lane, [&](const Chunk& chunk, int index) {
    Packed<T_y> packed;
    for (int j = 0; j < VECTOR; ++j) packed.at[j] = from_float<T_y>(expf(chunk.at[j] - all.largest) / all.sum);
    if (aligned) {
      *reinterpret_cast<Packed<T_y>*>(out + index * VECTOR) = packed;
    } else {
      for (int j = 0; j < row.present(index); ++j) out[index * VECTOR + j] = packed.at[j];
    }
  });
}
