#include "predict/kernel_residual.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <deque>
#include <mutex>
#include <optional>

#include "base/embedded.hpp"
#include "predict/resources.hpp"
#include "task/json_reader.hpp"

namespace cupilot {
namespace {

constexpr const char* guide = "docs/formats/time-model.md";
constexpr std::int64_t newest = 2;
constexpr double most_octaves = 1.5;  // largest correction

std::vector<double> numbers(const Json& json) {
  std::vector<double> all;
  for (const Json& one : json) {
    if (!one.is_number()) return {};
    all.push_back(one.get<double>());
  }
  return all;
}

void read_points(JsonObject& object, ResidualData& data) {
  const std::size_t size = resource_names().size();
  const Json* points = object.find("points");
  if (points == nullptr || !points->is_array() || points->empty())
    return object.fail("points", "is no list of points", "make the file anew");
  for (const Json& point : *points) {
    std::vector<double> row = numbers(point);
    if (row.size() != size + 1)
      return object.fail("points", fmt::format("a point is not {} numbers", size + 1),
                         "make the file anew");
    data.errors.push_back(row.front());
    row.erase(row.begin());
    data.points.push_back(std::move(row));
  }
}

void read_weights(JsonObject& object, ResidualData& data) {
  const auto names = resource_names();
  data.weights.assign(names.size(), 0);
  const Json* weights = object.find_object("weights", true);
  if (weights == nullptr) return;
  for (const auto& item : weights->items()) {
    const auto found = std::find(names.begin(), names.end(), item.key());
    if (found == names.end() || !item.value().is_number())
      return object.fail("weights." + item.key(), "is no weight of a coordinate",
                         "make the file anew");
    data.weights[static_cast<std::size_t>(found - names.begin())] = item.value().get<double>();
  }
}

constexpr std::string_view before_device = "/residual-", after_device = ".json";

// One of the built-in families'. It is read, and made, when the first kernel asks that needs it.
class Shipped {
 public:
  explicit Shipped(const EmbeddedFile& file) : file_(file) {}
  // By the file's name.
  std::string_view device() const {
    std::string_view name = file_.name;
    name.remove_prefix(name.find(before_device) + before_device.size());
    return name.substr(0, name.size() - after_device.size());
  }
  double deviation() const { return data().deviation; }

  const KernelResidual& residual() const {
    std::call_once(once_, [this] { made_.emplace(data()); });
    return *made_;
  }

  bool corrects(const Task& task) const {
    const std::vector<std::string>& known = data().operators;
    return std::any_of(task.operations.begin(), task.operations.end(), [&](const Operation& one) {
      return std::find(known.begin(), known.end(), one.kind) != known.end();
    });
  }

 private:
  const ResidualData& data() const {
    std::call_once(reading_, [this] {
      auto data = residual_data(file_.text, "builtin " + std::string(file_.name));
      assert(data && data->device == device() && "a built-in residual does not parse");
      if (data) data_ = std::move(*data);
    });
    return data_;
  }

  const EmbeddedFile& file_;
  mutable ResidualData data_;
  mutable std::once_flag reading_, once_;
  mutable std::optional<KernelResidual> made_;
};

const std::deque<Shipped>& shipped() {
  static const std::deque<Shipped> all = [] {
    std::deque<Shipped> found;
    for (const EmbeddedFile& file : kernel_files()) {
      if (file.name.find(before_device) != std::string_view::npos) found.emplace_back(file);
    }
    return found;
  }();
  return all;
}

// Returns the guess of the surest residual that knows the device; of a task of other operators it
// knows no more than how far a time may be off.
std::optional<ResidualGuess> surest(const DeviceSpec& device, const Task& task,
                                    const std::vector<double>& coordinates) {
  std::optional<ResidualGuess> best;
  for (const Shipped& one : shipped()) {
    if (one.device() != device.name) continue;
    const ResidualGuess guess =
        one.corrects(task) ? one.residual().guess(coordinates) : ResidualGuess{0, one.deviation()};
    if (!best || guess.sigma < best->sigma) best = guess;
  }
  return best;
}

std::vector<double> weighted(std::vector<double> values, const std::vector<double>& weights) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= weights[i];
  return values;
}

Residual made(const ResidualData& data) {
  std::vector<ResidualPoint> points;
  for (std::size_t i = 0; i < data.points.size(); ++i)
    points.push_back({{0, {}, weighted(data.points[i], data.weights)}, data.errors[i]});
  return Residual(std::move(points), {0, 1, 1, data.noise}, data.deviation);
}

}  // namespace

Result<ResidualData> residual_data(std::string_view json, const std::string& file) {
  const auto parsed = read_json_object(json, file);
  if (!parsed) return parsed.error();
  JsonFaults faults(file, guide);
  JsonObject object(faults, *parsed, "");
  const std::int64_t version = object.integer("cupilot_residual", true);
  if (object.find("cupilot_residual") != nullptr && version != newest)
    object.fail("cupilot_residual",
                fmt::format("version {}; this cupilot reads {}", version, newest),
                "make it anew by model_residual: points have other coordinates");
  ResidualData data;
  data.device = object.text("device", true);
  data.operators = object.texts("operators");
  data.deviation = object.number("deviation", data.deviation);
  data.noise = object.number("noise", data.noise);
  if (!(data.deviation > 0 && data.deviation < 8 && data.noise > 0 && data.noise < 100))
    object.fail("deviation", "it or noise is outside its range", "make the file anew");
  read_weights(object, data);
  read_points(object, data);
  object.find("from");  // for readers
  object.done();
  if (auto fault = faults.first()) return *fault;
  return data;
}

KernelResidual::KernelResidual(const ResidualData& data)
    : weights_(data.weights), residual_(made(data)) {}

ResidualGuess KernelResidual::guess(const std::vector<double>& coordinates) const {
  ResidualGuess guess = residual_.guess({0, {}, weighted(coordinates, weights_)});
  guess.mean = std::clamp(guess.mean, -most_octaves, most_octaves);
  return guess;
}

ModelledTime predicted_time(const DeviceSpec& device, const Task& task,
                            const std::vector<ModelInput>& launches, double floor_us) {
  ModelledTime time = model_time(device, launches);
  if (launches.empty()) return time;
  const auto guess = surest(device, task, resource_coordinates(device, launches, time));
  if (!guess) return time;
  const double least = std::min(1.0, floor_us / time.us);
  time.correction = std::max(least, std::exp2(guess->mean));
  time.sigma = guess->sigma;
  time.us *= time.correction;
  time.low_us *= std::max(least, time.correction * std::exp2(-time.sigma));
  time.high_us *= time.correction * std::exp2(time.sigma);
  return time;
}

}  // namespace cupilot
