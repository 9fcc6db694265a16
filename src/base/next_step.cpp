#include <string_view>

#include <cupilot/parts/rejection.hpp>

namespace cupilot {
namespace {

// The next step for a code.
struct NextStep {
  std::string_view of;  // a code, or a stage with its dot
  std::string_view next;
  std::string_view says{};  // in the message
};

// The first row that fits, so codes stand before their stage.
constexpr NextStep next_steps[] = {
    {"write.unreadable",
     "read the model's answers in questions.html of the run's report; where they were cut raise "
     "output_tokens in the models file, else name another model"},
    {"write.", "change the strategy, or give a tunable that realises it (docs/formats/tunable.md)"},
    {"plan.", "correct the launch plan (docs/formats/launch-plan.md)"},
    {"gate.duplicate", "nothing: an earlier candidate is the same kernel, and its result counts"},
    {"gate.source_size", "split or shorten the source"},
    {"gate.include",
     "include the allowed headers only (docs/formats/kernel-file.md), <cuda/std/type_traits> for "
     "<type_traits>, say; headers of one's own lie beside the file or in a folder of -I"},
    {"gate.extra_entry",
     "name every __global__ function in the plan, make it __device__, or leave others out by "
     "--entry"},
    {"gate.missing_entry",
     "spell the plan's entry as the source does, template arguments included"},
    {"gate.parameters",
     "make the plan's args and the kernel's parameters agree in number, size and order"},
    {"gate.state",
     "pass what must live between launches as a buffer of the plan: no writable __device__ "
     "variable"},
    {"gate.launch_bounds", "make __launch_bounds__ or the cluster directive agree with the plan"},
    {"gate.precision",
     "compute in the task's class, or state the class you mean in the task (precision=)"},
    {"gate.", "remove what the gate names; docs/proofs.md says why it is refused"},
    {"compile.error",
     "give the text of the header in the file itself, or include one that NVRTC has",
     "could not open source file"},
    {"compile.error",
     "correct the name, or include what declares it, of which nvcc includes some by itself: "
     "<math.h> for INFINITY, NAN and M_PI, <float.h> for FLT_MAX, <limits.h> for INT_MAX, "
     "<stdint.h> for uint32_t, <cuda_fp16.h> for half, <cuda_bf16.h> for __nv_bfloat16",
     "is undefined"},
    {"compile.error",
     "write it out, or take cuda::std of <cuda/std/type_traits>, <cuda/std/limits> and others "
     "(docs/formats/kernel-file.md): NVRTC has no C++ library of the host",
     "namespace \"std\" has no member"},
    {"compile.error",
     "correct the line; only the file itself is compiled, without headers of the host"},
    {"compile.serialised", "wait for wgmma before its registers are read, as the log says"},
    {"compile.", "make the source smaller: unroll less, instantiate fewer templates"},
    {"load.failed",
     "give PTX whose .target and instructions this device runs, or CUDA, which is compiled for it"},
    {"load.", "use fewer registers or less shared memory a block"},
    {"run.race",
     "let that arrival release: leave .relaxed out, or write .release (barrier.cluster.arrive and "
     "mbarrier.arrive release by default)",
     "is relaxed and releases nothing"},
    {"run.race",
     "release what was written (a barrier of the block, then __threadfence() or st.release.gpu by "
     "who tells) and acquire it (ld.acquire.gpu or a fence by who is told, then a barrier) before "
     "this access; a fence alone makes no block wait",
     "nothing orders the two"},
    {"run.race",
     "wait for the copy (cp.async.wait_group, or the mbarrier's phase) and then for the block",
     "asynchronous copy"},
    {"run.race", "read and write the word by one atomic, or order the blocks around both accesses",
     "an update is lost"},
    {"run.race", "read it by ld.acquire, ld.relaxed or volatile, or by an atomic",
     "acquire or release to order them"},
    {"run.race",
     "release the edited map (tensormap.cp_fenceproxy or fence.proxy.tensormap), then acquire it "
     "before the copy",
     "the tensor map at"},
    {"run.race", "put a barrier between the two accesses, or give each thread its own address"},
    {"run.out_of_bounds", "bind it by the plan's textures and pass it by its name",
     "is the handle of no"},
    {"run.out_of_bounds", "keep coordinates within the surface; the first counts bytes",
     "of surface"},
    {"run.out_of_bounds",
     "guard the access by the tensor's own sizes at this shape; in shared memory by the array's, "
     "or the plan's `shared`"},
    {"run.misaligned", "align the address to the access: narrower loads, or padding in the plan"},
    {"run.input_write", "write outputs only; inputs are read-only"},
    {"run.guard", "write inside the outputs only: some index passes an end"},
    {"run.uninitialised",
     "wait for the blocks that write it (a barrier of the whole grid, the last of a ticket, or a "
     "launch of its own), or read what this block wrote; a fence makes no block wait",
     "wait for blocks that may write it"},
    {"run.uninitialised",
     "write before reading; a buffer that must begin as zeros says so in the plan"},
    {"run.divergence",
     "let all threads of the block, or of the mask, reach the barrier or warp instruction"},
    {"run.hang", "let every arrival and byte that the barrier was told of come", "waiting for"},
    {"run.hang",
     "let a thread that is running write the word; launch no more blocks that wait for one another "
     "than are resident at once",
     "asks for ever"},
    {"run.hang", "bound the loop; let every arrival and byte that a barrier was told of come"},
    {"run.budget",
     "bound the loop, or do less where the task is small; else run it on a real device: --device "
     "cuda:0"},
    {"run.state", "leave the buffer as it was found, or give it other content in the plan"},
    {"run.unsupported", "run it on a real device: --device cuda:0"},
    {"run.launch", "give the plan's texture the type, shape and filter that the kernel takes",
     "texture"},
    {"run.launch", "keep grid, block and shared memory within the device's limits"},
    {"run.assert", "make the condition hold for this thread, or correct the assertion"},
    {"run.trap", "find the check before the trap that this thread fails"},
    {"run.", "run it alone at the shape above, with the seed above"},
    {"verify.never_written",
     "write every element at the shape above: tails and sizes of 1 included, and where it is large "
     "by a grid or a stride that reaches all, with places that do not wrap at 2^31 or 2^32"},
    {"verify.never_read",
     "let the grid, its strides and the types of places reach all elements at the shape above"},
    {"verify.no_shape",
     "loosen the plan's require, or state the shapes it is meant for in the task"},
    {"verify.",
     "release what was written before it is told of (__threadfence() or st.release.gpu by who "
     "tells) and acquire it before it is read (ld.acquire.gpu, or a fence behind the poll)",
     "an older value goes into"},
    {"verify.precision",
     "keep all bits of the inputs, or state the class you mean in the task (precision=)"},
    {"verify.nondeterministic", "fix the order of sums, or do not ask for determinism in the task"},
    {"verify.", "let every lane that a shuffle takes from run it: correct the mask or the distance",
     "undefined value"},
    {"verify.bound",
     "compare with the reference at the shape, content and seed above; one that adds and "
     "multiplies in 16 bits needs `arithmetic` in the output's check",
     "by fp32 arithmetic"},
    {"verify.", "compare with the reference at the shape, content and seed above"},
    {"floor.",
     "nothing correct is that fast: look for work that was skipped or was done outside the launch"},
    {"measure.", "record more with `cupilot record --count`, or every strategy with --all",
     "the recording does not hold"},
    {"measure.", "try again on a quiet device; a timed launch must do all of the work"},
    {"confirm.", "it failed in fresh processes: look for state or order it depends on"},
};

}  // namespace

std::string next_step(const Rejected& rejected) {
  for (const NextStep& row : next_steps) {
    if (rejected.code.starts_with(row.of) && rejected.message.find(row.says) != std::string::npos)
      return std::string(row.next);
  }
  return "docs/formats/rejections.md";
}

}  // namespace cupilot
