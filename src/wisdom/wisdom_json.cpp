// The wisdom file (docs/formats/wisdom.md).
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

#include <cupilot/parts/host.hpp>
#include <cupilot/wisdom.hpp>

#include "base/hash.hpp"
#include "kernel/plan_json.hpp"
#include "task/host_judge.hpp"
#include "task/json_reader.hpp"
#include "wisdom/base64.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t version = 2;
constexpr std::string_view guide = "docs/formats/wisdom.md";
constexpr std::array<std::string_view, 2> languages = {"cuda", "ptx"};  // as of Language
constexpr const char* search_again =
    "restore the file, or move it away and give the same `cupilot evolve … --shapes …` again: its "
    "run directory keeps what was searched";

std::string image_digest(const std::vector<std::uint8_t>& image) {
  return sha256_hex({reinterpret_cast<const char*>(image.data()), image.size()});
}

// The text as JSON can hold it: bytes that are no UTF-8 are replaced.
std::string kept_text(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', true, Json::error_handler_t::replace))
      .get<std::string>();
}

// The id of the text in the file.
std::string kept_id(const WisdomKernel& kernel) {
  KernelSource source = kernel.source;
  source.text = kept_text(source.text);
  return source.text == kernel.source.text ? kernel.kernel_id : kernel_id(source);
}

Json sizes_json(const Sizes& sizes) {
  Json json = Json::object();
  for (const auto& [axis, size] : sizes) json[axis] = size;
  return json;
}

Json kernel_json(const WisdomKernel& kernel) {
  Json constants = Json::object(), entries = Json::object();
  for (const auto& [name, value] : kernel.source.constants) constants[name] = value;
  for (const auto& [source, lowered] : kernel.entries) entries[source] = lowered;
  return {{"name", kernel.name},
          {"kernel", kept_id(kernel)},
          {"strategy", kernel.strategy},
          {"strategy_id", kernel.source.strategy_id},
          {"template", kernel.source.template_name},
          {"arch", kernel.arch},
          {"compiler", kernel.compiler},
          {"language", languages[static_cast<std::size_t>(kernel.source.language)]},
          {"constants", constants},
          {"plan", plan_to(kernel.source.plan)},
          {"entries", entries},
          {"text", kernel.source.text},
          {"cubin_sha256", image_digest(kernel.image)},
          {"cubin", to_base64(kernel.image)}};
}

Json shape_json(const WisdomShape& shape) {
  Json baselines = Json::object();
  for (const Baseline& baseline : shape.baselines) baselines[baseline.name] = baseline.time_us;
  return {{"sizes", sizes_json(shape.workload.sizes)},
          {"weight", shape.workload.weight},
          {"times_us", shape.times_us},
          {"baselines_us", baselines}};
}

Json entry_json(const WisdomEntry& entry) {
  Json kernels = Json::array(), shapes = Json::array();
  for (const WisdomKernel& kernel : entry.kernels) kernels.push_back(kernel_json(kernel));
  for (const WisdomShape& shape : entry.shapes) shapes.push_back(shape_json(shape));
  const auto task = task_to_json(entry.task);
  return {{"task", task ? Json::parse(*task) : Json()},
          {"task_words", entry.task_words},
          {"device", entry.device},
          {"device_label", entry.device_label},
          {"compute_major", entry.compute_major},
          {"compute_minor", entry.compute_minor},
          {"provenance", std::string(name_of(entry.provenance))},
          {"regret", entry.regret},
          {"fallback", entry.fallback},
          {"kernels", kernels},
          {"shapes", shapes}};
}

// The names that the file gives text and cubin must be those of what it holds.
void check_digests(JsonObject& object, const WisdomKernel& kernel, const std::string& digest) {
  if (const std::string found = kernel_id(kernel.source); found != kernel.kernel_id) {
    object.fail("kernel",
                fmt::format("is {}, but text, plan and constants of kernel {} have the id {}",
                            kernel.kernel_id, kernel.name, found),
                search_again);
  }
  if (const std::string found = image_digest(kernel.image); found != digest) {
    object.fail("cubin_sha256",
                fmt::format("is {}, but the cubin of kernel {} has the digest {}", digest,
                            kernel.name, found),
                search_again);
  }
}

WisdomKernel kernel_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  WisdomKernel kernel;
  kernel.name = object.text("name", true);
  if (!is_identifier(kernel.name))
    object.fail("name", fmt::format("'{}' is no identifier", kernel.name));
  kernel.kernel_id = object.text("kernel", true);
  kernel.strategy = object.text("strategy", true);
  kernel.source.strategy_id = object.text("strategy_id", true);
  kernel.source.template_name = object.text("template", true);
  kernel.arch = object.text("arch", true);
  kernel.compiler = object.text("compiler", true);
  kernel.source.language = static_cast<Language>(object.choice("language", languages, 0));
  kernel.source.text = object.text("text", true);
  if (const Json* constants = object.find_object("constants", true)) {
    JsonObject values(faults, *constants, object.where("constants"));
    for (const auto& item : constants->items())
      kernel.source.constants[item.key()] = values.integer(item.key().c_str(), true);
  }
  if (const Json* plan = object.find_object("plan", true))
    kernel.source.plan = plan_from(faults, *plan, object.where("plan"));
  if (const Json* entries = object.find_object("entries", true)) {
    JsonObject names(faults, *entries, object.where("entries"));
    for (const auto& item : entries->items())
      kernel.entries.emplace_back(item.key(), names.text(item.key().c_str(), true));
  }
  const std::string digest = object.text("cubin_sha256", true);
  auto image = from_base64(object.text("cubin", true));
  if (!image) object.fail("cubin", "is no base64");
  kernel.image = image.value_or(std::vector<std::uint8_t>{});
  object.done();
  check_digests(object, kernel, digest);
  return kernel;
}

WisdomShape shape_from(JsonFaults& faults, const Json& json, const WisdomEntry& entry,
                       const std::string& where) {
  JsonObject object(faults, json, where);
  WisdomShape shape;
  shape.workload.weight = object.number("weight", 1);
  if (const Json* sizes = object.find_object("sizes", true)) {
    JsonObject numbers(faults, *sizes, object.where("sizes"));
    for (const Axis& axis : entry.task.axes)
      shape.workload.sizes[axis.name] = numbers.integer(axis.name.c_str(), true);
    numbers.done();
  }
  for (const Json* time : object.items("times_us", true)) {
    if (!time->is_number() || !(time->get<double>() >= 0)) {
      object.fail("times_us", "holds something that is no time in microseconds");
      break;
    }
    shape.times_us.push_back(time->get<double>());
  }
  if (shape.times_us.size() != entry.kernels.size()) {
    object.fail("times_us", fmt::format("has {} times for {} kernels", shape.times_us.size(),
                                        entry.kernels.size()));
  }
  if (const Json* baselines = object.find_object("baselines_us")) {
    JsonObject times(faults, *baselines, object.where("baselines_us"));
    for (const auto& item : baselines->items()) {
      shape.baselines.push_back(
          {item.key(), times.number(item.key().c_str(), 0), entry.provenance});
    }
  }
  object.done();
  return shape;
}

WisdomEntry entry_from(JsonFaults& faults, const Json& json, const std::string& where,
                       const std::string& origin) {
  JsonObject object(faults, json, where);
  WisdomEntry entry;
  if (const Json* task = object.find_object("task", true)) {
    auto read = task_from_json(task->dump(), origin + ": " + object.where("task"));
    if (read) entry.task = std::move(*read);
    if (!read) object.fail("task", read.error().message, read.error().hint);
  }
  entry.task_words = object.texts("task_words");
  entry.device = object.text("device", true);
  entry.device_label = object.text("device_label", true);
  entry.compute_major = static_cast<int>(object.integer("compute_major", true));
  entry.compute_minor = static_cast<int>(object.integer("compute_minor", true));
  constexpr std::array<std::string_view, 3> words = {"measured", "modelled", "reported"};
  entry.provenance = static_cast<Provenance>(object.choice("provenance", words, 1));
  entry.regret = object.number("regret", 0);
  entry.fallback = static_cast<int>(object.integer("fallback", true));
  for (const Json* kernel : object.items("kernels", true)) {
    entry.kernels.push_back(kernel_from(
        faults, *kernel, fmt::format("{}[{}]", object.where("kernels"), entry.kernels.size())));
  }
  for (const Json* shape : object.items("shapes", true)) {
    entry.shapes.push_back(shape_from(
        faults, *shape, entry, fmt::format("{}[{}]", object.where("shapes"), entry.shapes.size())));
  }
  if (entry.fallback < -1 || entry.fallback >= static_cast<int>(entry.kernels.size())) {
    object.fail("fallback",
                fmt::format("{} is none of the {} kernels", entry.fallback, entry.kernels.size()));
  }
  object.done();
  return entry;
}

}  // namespace

std::string wisdom_to_json(const Wisdom& wisdom) {
  Json entries = Json::array();
  for (const WisdomEntry& entry : wisdom.entries) entries.push_back(entry_json(entry));
  return Json{{"version", version}, {"entries", entries}}.dump(1, ' ', true,
                                                               Json::error_handler_t::replace) +
         "\n";
}

Result<Wisdom> wisdom_from_json(std::string_view text, const std::string& origin) {
  auto json = read_json_object(text, origin);
  if (!json) return json.error();
  JsonFaults faults(origin, std::string(guide));
  JsonObject object(faults, *json, "");
  if (const std::int64_t found = object.integer("version", true, version); found != version) {
    const char* lacks = found == 1 ? " (1 has no digests of its cubins)" : "";
    object.fail("version", fmt::format("is {}; this program reads {}{}", found, version, lacks),
                search_again);
  }
  Wisdom wisdom;
  for (const Json* entry : object.items("entries", true)) {
    wisdom.entries.push_back(
        entry_from(faults, *entry, fmt::format("entries[{}]", wisdom.entries.size()), origin));
  }
  object.done();
  if (faults.first()) return *faults.first();
  return wisdom;
}

Result<Wisdom> load_wisdom(const std::string& path) {
  Host& host = real_host();
  if (!host.exists(path)) return Wisdom{};
  auto text = host.read_file(path);
  if (!text) return text.error();
  return wisdom_from_json(*text, path);
}

Result<void> save_wisdom(const Wisdom& wisdom, const std::string& path) {
  for (const WisdomEntry& entry : wisdom.entries) {
    if (!has_host_judge(entry.task)) continue;
    return Error{ErrorCode::usage,
                 fmt::format("{}: no wisdom file holds task '{}', whose judge is the program's own",
                             path, entry.task.name),
                 "keep its kernels elsewhere, or give the task a check that a file can hold"};
  }
  return real_host().write_file_atomically(path, wisdom_to_json(wisdom), true);
}

Result<void> remember_in(const std::string& path, WisdomEntry entry) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) {
    if (auto made = real_host().make_directories(folder.string()); !made) return made;
  }
  constexpr int tries = 500;
  auto held = real_host().lock(path + ".lock");
  for (int i = 0; !held && held.error().code == ErrorCode::usage && i < tries; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    held = real_host().lock(path + ".lock");
  }
  if (!held) {
    Error error = std::move(held.error()).while_doing("adding to " + path);
    error.hint = "run the same command again: what was searched is kept";
    return error;
  }
  Result<Wisdom> wisdom = load_wisdom(path);
  if (!wisdom) return wisdom.error();
  remember(*wisdom, std::move(entry));
  return save_wisdom(*wisdom, path);
}

}  // namespace cupilot
