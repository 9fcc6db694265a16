// Operands whose slabs both lie along K, and cooperative consumers, which share each stage.
// Wants: TILE_M, TILE_N, CONSUMERS, T_A, T_B; warpgroups.cuh, slab.cuh, cluster.cuh.
constexpr int BLOCK_K = LINE / static_cast<int>(sizeof(T_A));
constexpr int BLOCK_M = TILE_M * CONSUMERS;
constexpr int DRAINERS = CONSUMERS;
constexpr int DEFERRED = 0;  // results go at once
using RowSlab = Slab<T_A, BLOCK_M, true, CLUSTER_N>;
using ColumnSlab = Slab<T_B, TILE_N, true, CLUSTER_M>;
