#include "backend/cuda/programs.hpp"

#include "base/embedded.hpp"
#include "base/hash.hpp"
#include "base/phases.hpp"
#include "task/content.hpp"

namespace cupilot {

std::span<const EmbeddedFile> judge_files();  // kernels/trusted/*.cu, compiled in

namespace {

Result<CompileOutput> compile(CompilePool& pool, const std::string& text, const std::string& arch,
                              const std::string& what, bool of_graph = false,
                              std::vector<std::string> options = {}) {
  CompileRequest request;
  request.options = std::move(options);
  request.text = text;
  request.arch = arch;
  request.caps = own_caps;
  request.anew = true;  // the judge's code is never taken from a folder
  const Phase phase("compile", PhaseCpu::of_phase_around);
  auto output = pool.compile(request);
  if (output) return std::move(*output);
  if (output.is_error()) return output.error();
  return reference_not_compiled(what, output.rejected(), of_graph);
}

}  // namespace

Result<const ReferenceImage*> CudaPrograms::reference(const TaskRef& task, ReferenceBuild build) {
  const std::string key = task.id() + (build == ReferenceBuild::plain ? " plain" : " tracked");
  if (const auto found = images_.find(key); found != images_.end()) return &found->second;
  auto program = reference_program(task, build);
  if (!program) return program.error();
  auto output = compile(pool_, program->text, arch_, "the reference of task " + task->name,
                        !task->operations.empty());
  if (!output) return output.error();
  ReferenceImage& made = images_[key];
  made.image.name = sha256_hex(program->text);
  made.image.image = std::move(output->cubin);
  made.image.entries = entry_names(*program);
  made.program = std::move(*program);
  return &made;
}

namespace {

Result<std::vector<std::uint8_t>> compile_own(CompilePool& pool, const std::string& arch,
                                              const char* file, const char* what) {
  auto output = compile(pool,
                        trusted_text() +
                            without_includes(find_embedded(trusted_files(), "trusted/words.cuh")) +
                            std::string(find_embedded(judge_files(), file)),
                        arch, what, false, {"--split-compile=0"});
  if (!output) return output.error();
  return std::move(output->cubin);
}

}  // namespace

Result<std::vector<std::uint8_t>> compile_trusted(CompilePool& pool, const std::string& arch) {
  return compile_own(pool, arch, "trusted/health.cu", "the trusted kernels");
}

Result<std::vector<std::uint8_t>> compile_judging(CompilePool& pool, const std::string& arch) {
  return compile_own(pool, arch, "trusted/judge.cu", "the judge's kernels");
}

}  // namespace cupilot
