#include "backend/captured/binding.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cupilot/parts/host.hpp>

namespace cupilot {
namespace {

constexpr const char* bind_next =
    "say which argument each tensor is, such as --bind x=arg0 (arg2+8: eight bytes into a struct)";

Error refusal(const CapturedLaunch& launch, const std::string& why, const char* next = bind_next) {
  return launch_refusal(launch, why, next);
}

Result<LaunchPointer> read_place(const Capture& capture, const CapturedLaunch& launch,
                                 std::size_t argument, std::uint64_t offset) {
  LaunchPointer place;
  place.argument = argument;
  place.offset = offset;
  place.name =
      offset == 0 ? fmt::format("arg{}", argument) : fmt::format("arg{}+{}", argument, offset);
  place.address = word_at(launch, launch.parameters[2 * argument] + offset, 8);
  for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
    const CapturedBuffer& one = launch.buffers[i];
    if (place.address < one.address || place.address - one.address >= one.bytes) continue;
    place.buffer = i;
    place.room = one.address + one.bytes - place.address;
    const auto before = kept_bytes(capture, one, one.before, place.address);
    if (!before) return before.error();
    const auto after = kept_bytes(capture, one, one.after, place.address);
    if (!after) return after.error();
    const std::size_t both = std::min(before->size(), after->size());
    place.written = std::memcmp(before->data(), after->data(), both) != 0;
    place.zero =
        before->size() >= place.room && before->find_first_not_of('\0') == std::string::npos;
  }
  return place;
}

// The launch's pointers, in order.
Result<std::vector<LaunchPointer>> places_of(const Capture& capture, const CapturedLaunch& launch) {
  std::vector<LaunchPointer> out;
  std::set<std::uint64_t> met;
  for (std::size_t i = 0; i + 1 < launch.parameters.size(); i += 2) {
    for (const std::uint64_t at : launch.pointers) {
      if (at < launch.parameters[i] || at - launch.parameters[i] >= launch.parameters[i + 1])
        continue;
      auto place = read_place(capture, launch, i / 2, at - launch.parameters[i]);
      if (!place) return place.error();
      place->again = !met.insert(place->address).second;
      out.push_back(std::move(*place));
    }
  }
  return out;
}

// Choices of a place for each tensor, each with room: the first of those where most have just the
// tensor's bytes.
class Fit {
 public:
  Fit(const std::vector<std::uint64_t>& bytes, const std::vector<LaunchPointer*>& places)
      : bytes_(bytes), places_(places) {
    choose(0);
  }
  const std::vector<std::size_t>& best() const { return best_; }
  std::size_t exact() const { return exact_; }
  bool unique() const { return ties_ == 1; }

 private:
  void choose(std::size_t exact) {
    if (chosen_.size() == bytes_.size()) {
      if (best_.empty() || exact > exact_) {
        best_ = chosen_;
        exact_ = exact;
        ties_ = 0;
      }
      ties_ += exact == exact_ ? 1 : 0;
      return;
    }
    const std::uint64_t wanted = bytes_[chosen_.size()];
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i]->room < wanted || std::count(chosen_.begin(), chosen_.end(), i) > 0) continue;
      chosen_.push_back(i);
      choose(exact + (places_[i]->room == wanted ? 1 : 0));
      chosen_.pop_back();
    }
  }

  const std::vector<std::uint64_t>& bytes_;
  const std::vector<LaunchPointer*>& places_;
  std::vector<std::size_t> chosen_, best_;
  std::size_t exact_ = 0, ties_ = 0;
};

// Gives each tensor of the task a pointer, and scalars an argument.
class Binder {
 public:
  Binder(const CapturedLaunch& launch, const Task& task, Binding& out)
      : launch_(launch), task_(task), out_(out) {}

  Result<void> bind(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      if (auto bound = bind_one(word); !bound) return bound;
    }
    if (auto bound = bind_rest(); !bound) return bound;
    for (LaunchPointer& one : out_.places) {
      if (one.again) one.taken = first_of(one).taken;
    }
    return check_sizes();
  }

 private:
  // The first place with the same address.
  LaunchPointer& first_of(const LaunchPointer& place) {
    return *std::find_if(out_.places.begin(), out_.places.end(),
                         [&](const LaunchPointer& one) { return one.address == place.address; });
  }
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
    const auto found = std::find_if(out_.places.begin(), out_.places.end(),
                                    [&](const LaunchPointer& one) { return one.name == argument; });
    if (found == out_.places.end())
      return refusal(launch_, fmt::format("--bind {}: '{}' is no pointer to memory that was met; "
                                          "the launch has {}",
                                          word, argument, names()));
    LaunchPointer& place = first_of(*found);
    if (!place.taken.empty() || !bound_.insert(name).second)
      return refusal(launch_, fmt::format("--bind {}: {} is bound already", word,
                                          place.taken.empty() ? name : argument));
    place.taken = name;
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
    out_.scalars[number] = scalar.name;
    return {};
  }
  // Outputs are what the launch changed, inputs what it left, where these tell; else tensors and
  // pointers stand in the same order, as many of them.
  Result<void> bind_rest() {
    std::vector<const Tensor*> in, out, all;
    for (const Tensor& one : task_.tensors) {
      if (bound_.contains(one.name)) continue;
      all.push_back(&one);
      out_.in_order.push_back(one.name);
      (one.role == Role::out || one.role == Role::in_out ? out : in).push_back(&one);
    }
    std::vector<LaunchPointer*> read, written, free;
    for (LaunchPointer& one : out_.places) {
      if (!one.taken.empty() || one.again) continue;
      free.push_back(&one);
      (one.written ? written : read).push_back(&one);
    }
    if (all.empty()) return {};
    const auto inputs = fitted(in, read), outputs = fitted(out, written);
    if (inputs && outputs) {
      pair(in, *inputs);
      pair(out, *outputs);
      return {};
    }
    std::vector<std::string> wanted, given;
    for (const Tensor* one : all) wanted.push_back(one->name);
    for (const LaunchPointer* one : free)
      given.push_back(one->name + (one->written ? " (changed)" : ""));
    if (all.size() != free.size())
      return refusal(launch_,
                     fmt::format("its pointers {} do not tell which are the tensors {} of task {}",
                                 fmt::join(given, ", "), fmt::join(wanted, ", "), task_.name));
    pair(all, free);
    return {};
  }
  std::uint64_t bytes_of(const Tensor& tensor) const {
    const auto shape = shape_of(task_, tensor, task_.time_shapes.front());
    return shape ? static_cast<std::uint64_t>(shape->span * size_of(tensor.type)) : 0;
  }
  // A place for each tensor: in order where that fits, else by size; of more places than tensors
  // only those that have just their bytes and nobody else's. nullopt: they do not tell.
  std::optional<std::vector<LaunchPointer*>> fitted(const std::vector<const Tensor*>& tensors,
                                                    const std::vector<LaunchPointer*>& places) {
    constexpr std::size_t most = 6;  // tensors, to try all orders of
    std::vector<std::uint64_t> bytes;
    for (const Tensor* one : tensors) bytes.push_back(bytes_of(*one));
    if (tensors.empty()) return std::vector<LaunchPointer*>();
    if (tensors.size() > places.size()) return std::nullopt;
    const bool equal = tensors.size() == places.size();
    if (tensors.size() > most || places.size() > 2 * most)
      return equal ? std::optional(places) : std::nullopt;
    const Fit fit(bytes, places);
    if (equal && fit.best().empty()) return places;
    if (!equal && (fit.exact() < tensors.size() || !fit.unique())) return std::nullopt;
    std::vector<LaunchPointer*> out;
    for (const std::size_t place : fit.best()) out.push_back(places[place]);
    return out;
  }
  static void pair(const std::vector<const Tensor*>& tensors,
                   const std::vector<LaunchPointer*>& places) {
    for (std::size_t i = 0; i < tensors.size(); ++i) places[i]->taken = tensors[i]->name;
  }
  Result<void> check_sizes() const {
    const Workload& shape = task_.time_shapes.front();
    for (const LaunchPointer& one : out_.places) {
      if (one.taken.empty()) continue;
      const Tensor& tensor = *find_tensor(task_, one.taken);
      const std::uint64_t bytes = bytes_of(tensor);
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
  std::string names() const {
    std::vector<std::string> words;
    for (const LaunchPointer& one : out_.places) words.push_back(one.name);
    return fmt::format("{}", fmt::join(words, ", "));
  }

  const CapturedLaunch& launch_;
  const Task& task_;
  Binding& out_;
  std::set<std::string> bound_;
};

}  // namespace

const LaunchPointer* Binding::at(std::size_t argument, std::uint64_t offset) const {
  for (const LaunchPointer& one : places) {
    if (one.argument == argument && one.offset == offset) return &one;
  }
  return nullptr;
}

const LaunchPointer* Binding::of(const std::string& tensor) const {
  for (const LaunchPointer& one : places) {
    if (one.taken == tensor) return &one;
  }
  return nullptr;
}

std::string Binding::says() const {
  std::vector<std::string> words;
  for (const LaunchPointer& one : places)
    words.push_back(one.taken.empty() ? one.name + " is scratch" : one.name + " is " + one.taken);
  for (const auto& [number, name] : scalars)
    words.push_back(fmt::format("arg{} is {}", number, name));
  return fmt::format("{}", fmt::join(words, ", "));
}

Result<void> check_one_shape(const CapturedLaunch& launch, const Task& task) {
  if (task.time_shapes.size() != 1)
    return refusal(launch,
                   fmt::format("a launch is of one shape, and task {} states {}", task.name,
                               task.time_shapes.size()),
                   "state the task at the sizes that the program had");
  return {};
}

Result<Binding> bind_launch(const Capture& capture, const CapturedLaunch& launch, const Task& task,
                            const std::vector<std::string>& words) {
  if (auto one = check_one_shape(launch, task); !one) return one.error();
  auto places = places_of(capture, launch);
  if (!places) return places.error();
  Binding out;
  out.places = std::move(*places);
  if (auto bound = Binder(launch, task, out).bind(words); !bound) return bound.error();
  return out;
}

Result<std::string> kept_bytes(const Capture& capture, const CapturedBuffer& buffer,
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

Error launch_refusal(const CapturedLaunch& launch, const std::string& why, const char* next) {
  return {ErrorCode::usage, fmt::format("launch {} of {}: {}", launch.number, launch.entry, why),
          next};
}

}  // namespace cupilot
