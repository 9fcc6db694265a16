// A captured launch as a kernel file with a plan.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cupilot/parts/capture.hpp>
#include <cupilot/parts/host.hpp>

#include "backend/captured/launch_text.hpp"
#include "backend/captured/one_entry.hpp"
#include "ptx/machine/execute.hpp"
#include "ptx/syntax/parser.hpp"

namespace cupilot {
namespace {

constexpr const char* bind_next =
    "say which argument each tensor is, such as --bind x=arg0 (arg2+8: eight bytes into a struct)";

Error refusal(const CapturedLaunch& launch, const std::string& why, const char* next = bind_next) {
  return {ErrorCode::usage, fmt::format("launch {} of {}: {}", launch.number, launch.entry, why),
          next};
}

// A pointer among a launch's arguments.
struct Place {
  std::size_t argument = 0;
  std::uint64_t offset = 0;  // in the argument
  std::uint64_t room = 0;    // bytes from where it points to its allocation's end
  bool written = false;      // the launch changed some of them
  bool zero = false;         // they were zero before it
  std::string name{};        // "arg2", "arg2+8"
  std::string taken{};       // the tensor; "": none
};

// Bytes that were kept from `address` on: "" where none were.
Result<std::string> kept_from(const Capture& capture, const CapturedBuffer& buffer,
                              const std::string& file, std::uint64_t address) {
  if (file.empty() || address < buffer.kept_from) return std::string();
  const Result<std::string> all = real_host().read_file(capture.folder + "/" + file);
  if (!all) return all.error();
  const std::uint64_t at = address - buffer.kept_from;
  return at < all->size() ? all->substr(at) : std::string();
}

std::uint64_t word_at(const CapturedLaunch& launch, std::uint64_t at, std::size_t bytes) {
  std::uint64_t word = 0;
  if (at + bytes <= launch.arguments.size())
    std::memcpy(&word, launch.arguments.data() + at, bytes);
  return word;
}

// The launch's pointers, in order.
class Places {
 public:
  static Result<Places> make(const Capture& capture, const CapturedLaunch& launch) {
    Places out;
    for (std::size_t i = 0; i + 1 < launch.parameters.size(); i += 2) {
      for (const std::uint64_t at : launch.pointers) {
        if (at < launch.parameters[i] || at - launch.parameters[i] >= launch.parameters[i + 1])
          continue;
        auto place = read(capture, launch, i / 2, at - launch.parameters[i]);
        if (!place) return place.error();
        out.all.push_back(std::move(*place));
      }
    }
    return out;
  }
  Place* named(const std::string& name) {
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const Place& one) { return one.name == name; });
    return at == all.end() ? nullptr : &*at;
  }
  const Place* at(std::size_t argument, std::uint64_t offset) const {
    for (const Place& one : all) {
      if (one.argument == argument && one.offset == offset) return &one;
    }
    return nullptr;
  }
  std::string names() const {
    std::vector<std::string> words;
    for (const Place& one : all) words.push_back(one.name);
    return fmt::format("{}", fmt::join(words, ", "));
  }

  std::vector<Place> all;

 private:
  static Result<Place> read(const Capture& capture, const CapturedLaunch& launch,
                            std::size_t argument, std::uint64_t offset) {
    Place place;
    place.argument = argument;
    place.offset = offset;
    place.name =
        offset == 0 ? fmt::format("arg{}", argument) : fmt::format("arg{}+{}", argument, offset);
    const std::uint64_t address = word_at(launch, launch.parameters[2 * argument] + offset, 8);
    for (const CapturedBuffer& one : launch.buffers) {
      if (address < one.address || address - one.address >= one.bytes) continue;
      place.room = one.address + one.bytes - address;
      const auto before = kept_from(capture, one, one.before, address);
      if (!before) return before.error();
      const auto after = kept_from(capture, one, one.after, address);
      if (!after) return after.error();
      const std::size_t both = std::min(before->size(), after->size());
      place.written = std::memcmp(before->data(), after->data(), both) != 0;
      place.zero =
          before->size() >= place.room && before->find_first_not_of('\0') == std::string::npos;
    }
    return place;
  }
};

// Gives each tensor of the task a pointer, and scalars an argument.
class Binder {
 public:
  Binder(const CapturedLaunch& launch, const Task& task, Places& places)
      : launch_(launch), task_(task), places_(places) {}

  Result<void> bind(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      if (auto bound = bind_one(word); !bound) return bound;
    }
    if (auto bound = bind_rest(); !bound) return bound;
    return check_sizes();
  }
  const std::map<std::size_t, std::string>& scalars() const { return scalars_; }

 private:
  Result<void> bind_one(const std::string& word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return refusal(launch_, "--bind " + word + ": is not NAME=ARGUMENT");
    const std::string name = word.substr(0, equals), argument = word.substr(equals + 1);
    for (const Scalar& scalar : task_.scalars) {
      if (scalar.name == name) return bind_scalar(scalar, argument);
    }
    if (find_tensor(task_, name) == nullptr)
      return refusal(launch_, fmt::format("--bind {}: task {} has no tensor and no scalar '{}'",
                                          word, task_.name, name));
    Place* const place = places_.named(argument);
    if (place == nullptr)
      return refusal(launch_, fmt::format("--bind {}: '{}' is no pointer to memory that was met; "
                                          "the launch has {}",
                                          word, argument, places_.names()));
    if (!place->taken.empty() || !bound_.insert(name).second)
      return refusal(launch_, fmt::format("--bind {}: {} is bound already", word,
                                          place->taken.empty() ? name : argument));
    place->taken = name;
    return {};
  }
  Result<void> bind_scalar(const Scalar& scalar, const std::string& argument) {
    std::size_t number = 0;
    const char* const end = argument.data() + argument.size();
    const bool read =
        argument.starts_with("arg") && std::from_chars(argument.data() + 3, end, number).ptr == end;
    if (!read || 2 * number + 1 >= launch_.parameters.size() ||
        launch_.parameters[2 * number + 1] != static_cast<std::uint64_t>(size_of(scalar.type)))
      return refusal(launch_, fmt::format("--bind {}={}: is no argument of {} bytes", scalar.name,
                                          argument, size_of(scalar.type)));
    scalars_[number] = scalar.name;
    return {};
  }
  // Outputs are what the launch changed, where as many pointers name changed memory; else tensors
  // and pointers stand in the same order.
  Result<void> bind_rest() {
    std::vector<const Tensor*> in, out, all;
    for (const Tensor& one : task_.tensors) {
      if (bound_.contains(one.name)) continue;
      all.push_back(&one);
      (one.role == Role::out || one.role == Role::in_out ? out : in).push_back(&one);
    }
    std::vector<Place*> read, written, free;
    for (Place& one : places_.all) {
      if (!one.taken.empty()) continue;
      free.push_back(&one);
      (one.written ? written : read).push_back(&one);
    }
    if (all.empty()) return {};
    if (in.size() == read.size() && out.size() == written.size()) {
      pair(in, read);
      pair(out, written);
      return {};
    }
    std::vector<std::string> wanted, given;
    for (const Tensor* one : all) wanted.push_back(one->name);
    for (const Place* one : free) given.push_back(one->name + (one->written ? " (changed)" : ""));
    if (all.size() != free.size())
      return refusal(launch_,
                     fmt::format("its pointers {} do not tell which are the tensors {} of task {}",
                                 fmt::join(given, ", "), fmt::join(wanted, ", "), task_.name));
    pair(all, free);
    return {};
  }
  static void pair(const std::vector<const Tensor*>& tensors, const std::vector<Place*>& places) {
    for (std::size_t i = 0; i < tensors.size(); ++i) places[i]->taken = tensors[i]->name;
  }
  Result<void> check_sizes() const {
    const Workload& shape = task_.time_shapes.front();
    for (const Place& one : places_.all) {
      if (one.taken.empty()) continue;
      const Tensor& tensor = *find_tensor(task_, one.taken);
      const auto wanted = shape_of(task_, tensor, shape);
      if (!wanted) return wanted.error();
      const auto bytes = static_cast<std::uint64_t>(wanted->span * size_of(tensor.type));
      if (bytes <= one.room) continue;
      std::vector<std::string> sizes;
      for (const auto& [name, extent] : shape.sizes)
        sizes.push_back(fmt::format("{}={}", name, extent));
      return refusal(
          launch_,
          fmt::format("{} has {} bytes, and tensor {} of task {} takes {} at {}", one.name,
                      one.room, tensor.name, task_.name, bytes, fmt::join(sizes, " ")),
          "state the task at the sizes that the program had, or bind other arguments "
          "by --bind");
    }
    return {};
  }

  const CapturedLaunch& launch_;
  const Task& task_;
  Places& places_;
  std::set<std::string> bound_;
  std::map<std::size_t, std::string> scalars_;
};

// Writes the launch as a plan.
class Planner {
 public:
  Planner(const CapturedLaunch& launch, const Places& places,
          const std::map<std::size_t, std::string>& scalars)
      : launch_(launch), places_(places), scalars_(scalars) {}

  LaunchPlan plan(const Task& task) {
    LaunchPlan out;
    for (const auto& [name, extent] : task.time_shapes.front().sizes)
      out.require.emplace_back(fmt::format("{} == {}", name, extent));
    for (const Place& one : places_.all) {
      if (!one.taken.empty()) continue;
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
  static std::string buffer_of(const Place& place) {
    return place.offset == 0 ? fmt::format("captured_arg{}", place.argument)
                             : fmt::format("captured_arg{}_{}", place.argument, place.offset);
  }
  std::optional<PlanArgument> pointer(std::size_t number, std::uint64_t offset) const {
    const Place* const place = places_.at(number, offset);
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
    if (const auto scalar = scalars_.find(number); scalar != scalars_.end()) {
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
  const Places& places_;
  const std::map<std::size_t, std::string>& scalars_;
};

std::string told(const Places& places, const std::map<std::size_t, std::string>& scalars) {
  std::vector<std::string> words;
  for (const Place& one : places.all)
    words.push_back(one.taken.empty() ? one.name + " is scratch" : one.name + " is " + one.taken);
  for (const auto& [number, name] : scalars)
    words.push_back(fmt::format("arg{} is {}", number, name));
  return fmt::format("{}", fmt::join(words, ", "));
}

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
  if (task.time_shapes.size() != 1)
    return refusal(launch,
                   fmt::format("a launch is of one shape, and task {} states {}", task.name,
                               task.time_shapes.size()),
                   "state the task at the sizes that the program had");
  auto text = text_of(capture, launch);
  if (!text) return text.error();
  auto places = Places::make(capture, launch);
  if (!places) return places.error();
  Binder binder(launch, task, *places);
  if (auto done = binder.bind(bound); !done) return done.error();
  CapturedKernel out;
  out.source.language = Language::ptx;
  out.source.text = std::move(*text);
  out.source.plan = Planner(launch, *places, binder.scalars()).plan(task);
  out.says = told(*places, binder.scalars());
  return out;
}

}  // namespace cupilot
