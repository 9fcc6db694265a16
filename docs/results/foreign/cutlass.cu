// Instances of CUTLASS's kernels, for cutlass.py: compile with -DPINGPONG, -DCOOPERATIVE or -DMULTISTAGE.
#include <cutlass/bfloat16.h>
#include <cutlass/cutlass.h>
#include <cutlass/device_kernel.h>

#ifdef MULTISTAGE
#include <cutlass/epilogue/thread/linear_combination.h>
#include <cutlass/gemm/kernel/default_gemm.h>

// Rows past the end of a or b are filled with zeros in shared memory; without kZfill they stay unwritten and are read.
using In = cutlass::bfloat16_t;
using Kernel = cutlass::gemm::kernel::DefaultGemm<
    In, cutlass::layout::RowMajor, 8, In, cutlass::layout::ColumnMajor, 8, In, cutlass::layout::RowMajor, float,
    cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, cutlass::gemm::GemmShape<64, 64, 32>,
    cutlass::gemm::GemmShape<32, 32, 32>, cutlass::gemm::GemmShape<16, 8, 16>,
    cutlass::epilogue::thread::LinearCombination<In, 8, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3, false, cutlass::arch::OpMultiplyAdd,
    cutlass::gemm::SharedMemoryClearOption::kZfill>::GemmKernel;
template __global__ void cutlass::Kernel<Kernel>(Kernel::Params);

#else
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

using namespace cute;
using In = cutlass::bfloat16_t;
using Cluster = Shape<_2, _1, _1>;
#ifdef PINGPONG
using Schedule = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
using Store = cutlass::epilogue::TmaWarpSpecialized;
using Block = Shape<_64, _128, _64>;
using Out = In;
#else
using Schedule = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
using Store = cutlass::epilogue::TmaWarpSpecializedCooperative;
using Block = Shape<_128, _128, _64>;
using Out = float;
#endif
using Epilogue = cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Block, Cluster, cutlass::epilogue::collective::EpilogueTileAuto, float,
    float, void, cutlass::layout::RowMajor, 16 / sizeof(Out), Out, cutlass::layout::RowMajor, 16 / sizeof(Out), Store>::CollectiveOp;
using Mainloop = cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, In, cutlass::layout::RowMajor, 8, In, cutlass::layout::ColumnMajor, 8,
    float, Block, Cluster, cutlass::gemm::collective::StageCount<3>, Schedule>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue>;
template __global__ void cutlass::device_kernel<Kernel>(const __grid_constant__ Kernel::Params);
#endif
