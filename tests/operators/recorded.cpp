#include "operators/recorded.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "task/task_json.hpp"

namespace cupilot::testing {
namespace {

using Json = nlohmann::json;

std::filesystem::path folder() { return std::string(CUPILOT_SOURCE_DIR) + "/tests/data/operators"; }

Json read(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("no " + path.string());
  return Json::parse(file);
}

std::vector<std::uint8_t> from_base64(const std::string& text) {
  static const std::string letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> out;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    held = (held << 6) | static_cast<std::uint32_t>(letters.find(c));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out.push_back(static_cast<std::uint8_t>(held >> bits));
  }
  return out;
}

RecordedInput input_from(const Json& json) {
  RecordedInput out;
  out.absent = json.is_null();
  if (out.absent) return out;
  out.shape = json[0].get<std::vector<std::int64_t>>();
  const auto type = json[1].get<std::string>();
  if (type == "f32") {
    out.bytes = from_base64(json[2].get<std::string>());
    return out;
  }
  out.type = type == "bool" ? DType::boolean : DType::i64;
  for (const std::int64_t value : json[2].get<std::vector<std::int64_t>>()) {
    const std::size_t size = type == "bool" ? 1 : 8;
    out.bytes.resize(out.bytes.size() + size);
    std::memcpy(out.bytes.data() + out.bytes.size() - size, &value, size);
  }
  return out;
}

RecordedOutput output_from(const Json& json) {
  RecordedOutput out{json[0].get<std::vector<std::int64_t>>(), {}};
  if (json[1].is_array()) {
    out.values = json[1].get<std::vector<double>>();
    return out;
  }
  const auto bytes = from_base64(json[1].get<std::string>());
  out.values.resize(bytes.size() / 8);
  std::memcpy(out.values.data(), bytes.data(), out.values.size() * 8);
  return out;
}

}  // namespace

std::vector<RecordedCase> recorded_cases() {
  std::vector<RecordedCase> out;
  std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(folder()), {});
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    const Json group = read(path);
    if (!group.contains("operators")) continue;
    for (const Json& op : group["operators"]) {
      for (const Json& json : op["cases"]) {
        RecordedCase one;
        one.op = op["name"].get<std::string>();
        one.number = static_cast<std::size_t>(&json - &op["cases"][0]);
        for (const auto& [name, value] : json["attrs"].items())
          one.attributes[name] = attribute_from(value).value();
        for (const Json& input : json["in"]) one.inputs.push_back(input_from(input));
        for (const Json& output : json["out"]) one.outputs.push_back(output_from(output));
        out.push_back(std::move(one));
      }
    }
  }
  return out;
}

std::vector<Difference> recorded_differences() {
  std::vector<Difference> out;
  const Json all = read(folder() / "differences.json");
  for (const Json& one : all["differences"]) out.push_back({one["op"], one["kind"], one["reason"]});
  return out;
}

}  // namespace cupilot::testing
