// A captured launch as a kernel file with a plan.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <cupilot/parts/capture.hpp>

#include "backend/captured/binding.hpp"
#include "backend/captured/launch_text.hpp"
#include "backend/captured/one_entry.hpp"
#include "ptx/machine/execute.hpp"
#include "ptx/syntax/parser.hpp"

namespace cupilot {
namespace {

// Writes the launch as a plan.
class Planner {
 public:
  Planner(const CapturedLaunch& launch, const Binding& binding)
      : launch_(launch), binding_(binding) {}

  LaunchPlan plan(const Task& task) {
    LaunchPlan out;
    for (const auto& [name, extent] : task.time_shapes.front().sizes)
      out.require.emplace_back(fmt::format("{} == {}", name, extent));
    for (const LaunchPointer& one : binding_.places) {
      if (!one.taken.empty() || one.again) continue;
      out.buffers.push_back({buffer_of(one), static_cast<std::int64_t>(one.room),
                             one.zero ? BufferContent::zeroed : BufferContent::scratch});
    }
    PlanLaunch launch;
    launch.name = launch.entry = launch_.entry;
    launch.grid = sides(launch_.grid);
    launch.block = sides(launch_.block);
    if (launch_.cluster != std::array<std::int64_t, 3>{1, 1, 1})
      launch.cluster = sides(launch_.cluster);
    launch.shared = launch_.shared;
    launch.cooperative = launch_.cooperative;
    for (std::size_t i = 0; 2 * i + 1 < launch_.parameters.size(); ++i)
      launch.args.push_back(argument(i));
    out.launches.push_back(std::move(launch));
    return out;
  }

 private:
  static std::vector<Expr> sides(const std::array<std::int64_t, 3>& of) {
    return {of[0], of[1], of[2]};
  }
  // Pointers to one address are one buffer.
  std::string buffer_of(const LaunchPointer& any) const {
    const LaunchPointer& place =
        *std::find_if(binding_.places.begin(), binding_.places.end(),
                      [&](const LaunchPointer& one) { return one.address == any.address; });
    return place.offset == 0 ? fmt::format("captured_arg{}", place.argument)
                             : fmt::format("captured_arg{}_{}", place.argument, place.offset);
  }
  std::optional<PlanArgument> pointer(std::size_t number, std::uint64_t offset) const {
    const LaunchPointer* const place = binding_.at(number, offset);
    if (place == nullptr) return std::nullopt;
    PlanArgument out;
    out.name = place->taken.empty() ? buffer_of(*place) : place->taken;
    out.at = static_cast<int>(offset);
    return out;
  }
  PlanArgument whole_number(std::uint64_t at, std::size_t bytes) const {
    const std::uint64_t word = word_at(launch_, at, bytes);
    PlanArgument out;
    out.kind = bytes == 1   ? PlanArgument::Kind::i8
               : bytes == 2 ? PlanArgument::Kind::i16
               : bytes == 4 ? PlanArgument::Kind::i32
                            : PlanArgument::Kind::i64;
    out.value = bytes == 4 ? static_cast<std::int64_t>(static_cast<std::int32_t>(word))
                           : static_cast<std::int64_t>(word);
    return out;
  }
  PlanArgument argument(std::size_t number) const {
    const std::uint64_t begin = launch_.parameters[2 * number];
    const std::uint64_t bytes = launch_.parameters[2 * number + 1];
    if (const auto scalar = binding_.scalars.find(number); scalar != binding_.scalars.end()) {
      PlanArgument out;
      out.name = scalar->second;
      return out;
    }
    if (bytes == 8) {
      if (auto out = pointer(number, 0)) return *out;
    }
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)
      return whole_number(begin, static_cast<std::size_t>(bytes));
    PlanArgument out;
    out.kind = PlanArgument::Kind::record;
    out.bytes = static_cast<int>(bytes);
    for (std::uint64_t at = 0; at < bytes;) {
      if (auto field = at % 8 == 0 ? pointer(number, at) : std::nullopt) {
        out.fields.push_back(*field);
        at += 8;
        continue;
      }
      const std::size_t size = bytes - at >= 4 ? 4 : bytes - at >= 2 ? 2 : 1;
      PlanArgument field = whole_number(begin + at, size);
      field.at = static_cast<int>(at);
      if (word_at(launch_, begin + at, size) != 0) out.fields.push_back(std::move(field));
      at += size;
    }
    return out;
  }

  const CapturedLaunch& launch_;
  const Binding& binding_;
};

// Error not_done: no text of the kernel can be run with a plan.
Result<std::string> text_of(const Capture& capture, const CapturedLaunch& launch) {
  const auto cannot = [&](const char* why, const char* next) {
    return Error{ErrorCode::not_done,
                 fmt::format("launch {} of {}: {}", launch.number, launch.entry, why), next};
  };
  const auto module = capture.modules.find(launch.module);
  if (module == capture.modules.end())
    return cannot("its module was loaded where capture does not see it",
                  "state the kernel as a file of its own: docs/formats/kernel-file.md");
  auto text = text_for(capture, module->second, launch);
  if (!text) return std::move(text.error());
  if (!*text)
    return cannot("its module holds machine code and no PTX",
                  "build it with PTX (-gencode arch=compute_90,code=compute_90)");
  std::string alone = with_one_entry((*text)->text, launch.entry);
  Attempt<ptx::Module> parsed = ptx::parse(alone);
  if (!parsed || parsed->entry(launch.entry) == nullptr)
    return cannot("its PTX cannot be read", "`cupilot verify` of the capture says what it lacks");
  auto program =
      ptx::make_program(std::make_shared<const ptx::Module>(std::move(*parsed)), launch.entry);
  if (program && takes_maps(**program))
    return cannot("it takes a tensor map, whose bytes are the driver's own",
                  "state it with a launch plan: docs/formats/launch-plan.md");
  if (program && !texture_use(**program).empty())
    return cannot("it takes a texture or surface, whose object and array a capture does not hold",
                  "state it with a launch plan: docs/formats/launch-plan.md");
  return alone;
}

}  // namespace

Result<CapturedKernel> captured_kernel(const Capture& capture, const CapturedLaunch& launch,
                                       const Task& task, const std::vector<std::string>& bound) {
  if (auto one = check_one_shape(launch, task); !one) return one.error();
  auto text = text_of(capture, launch);
  if (!text) return text.error();
  const auto binding = bind_launch(capture, launch, task, bound);
  if (!binding) return binding.error();
  CapturedKernel out;
  out.source.language = Language::ptx;
  out.source.text = std::move(*text);
  out.source.plan = Planner(launch, *binding).plan(task);
  out.says = binding->says();
  return out;
}

}  // namespace cupilot
