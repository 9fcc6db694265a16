// The warpgroups of a Hopper GEMM's block: CONSUMERS that multiply TILE_M x TILE_N each, and behind
// them one whose first thread is the producer. Operands are met in slabs: one line of 128 bytes
// along K of each row or column. Wants: TILE_M, CONSUMERS.
constexpr int LINE = 128;             // bytes of a slab's line
constexpr int STEPS = LINE / 32;      // products along a slab, 32 bytes of K each
constexpr int PARTS_M = TILE_M / 64;  // products side by side in a warpgroup
constexpr int PART_BYTES = 64 * LINE;
constexpr int GROUP = 128;  // threads of a warpgroup
constexpr int THREADS = GROUP * (CONSUMERS + 1);
// With one block an SM a thread starts with 65536 / THREADS registers; the producer needs few and
// gives its own away. A lone consumer starts with all that a thread can have.
constexpr bool REALLOCATE = CONSUMERS > 1;
constexpr int PRODUCER_REGISTERS = CONSUMERS == 2 ? 40 : 32;
constexpr int CONSUMER_REGISTERS = CONSUMERS == 2 ? 232 : 160;
