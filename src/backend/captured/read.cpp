// The folder of a capture: docs/formats/capture.md.
#include <cupilot/parts/capture.hpp>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <cupilot/parts/host.hpp>

#include "base/json.hpp"

namespace cupilot {
namespace {

using Json = OrderedJson;

// Throws what nlohmann throws for a value that is absent or of another kind.
template <class T>
T get(const Json& json, const char* key) {
  return json.at(key).get<T>();
}

// A file's name within the folder: one that leads out of it is none.
std::string file_in(const Json& json, const char* key) {
  const std::string name = json.value(key, std::string());
  return name.starts_with("/") || name.find("..") != std::string::npos ? "" : name;
}

std::vector<std::uint8_t> bytes_from(const std::string& hexadecimal) {
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoi(hexadecimal.substr(i, 2), nullptr, 16)));
  return out;
}

CapturedLaunch launch_from(const Json& json) {
  using Three = std::array<std::int64_t, 3>;
  CapturedLaunch out;
  out.number = get<std::int64_t>(json, "number");
  out.device = get<int>(json, "device");
  out.module = get<std::string>(json, "module");
  out.entry = get<std::string>(json, "entry");
  out.grid = get<Three>(json, "grid");
  out.block = get<Three>(json, "block");
  out.cluster = get<Three>(json, "cluster");
  out.shared = get<std::int64_t>(json, "shared");
  out.cooperative = get<bool>(json, "cooperative");
  out.arguments = bytes_from(get<std::string>(json, "arguments"));
  out.parameters = get<std::vector<std::uint64_t>>(json, "parameters");
  // Arguments that were passed as one block, which the driver does not describe, are one.
  if (out.parameters.empty() && !out.arguments.empty()) out.parameters = {0, out.arguments.size()};
  out.pointers = get<std::vector<std::uint64_t>>(json, "pointers");
  for (const Json& one : json.at("buffers")) {
    out.buffers.push_back({get<std::uint64_t>(one, "address"), get<std::uint64_t>(one, "bytes"),
                           get<std::uint64_t>(one, "kept_from"), get<std::uint64_t>(one, "kept"),
                           file_in(one, "before"), ""});
  }
  for (const Json& one : json.at("variables")) {
    out.variables.push_back(
        {get<std::string>(one, "name"), get<std::uint64_t>(one, "bytes"), file_in(one, "before")});
  }
  return out;
}

CapturedLaunch* launch_numbered(Capture& capture, std::int64_t number) {
  for (CapturedLaunch& one : capture.launches) {
    if (one.number == number) return &one;
  }
  return nullptr;
}

void add_after(Capture& capture, const Json& json) {
  CapturedLaunch* launch = launch_numbered(capture, get<std::int64_t>(json, "number"));
  if (launch == nullptr) return;
  launch->ended = true;
  launch->result = get<int>(json, "result");
  launch->result_name = get<std::string>(json, "name");
  const Json& files = json.at("buffers");
  for (std::size_t i = 0; i < std::min(files.size(), launch->buffers.size()); ++i)
    launch->buffers[i].after = file_in(Json{{"file", files[i]}}, "file");
}

void add_counts(Capture& capture, const Json& json) {
  for (const Json& one : json.at("times")) {
    if (CapturedLaunch* launch = launch_numbered(capture, one.at(0).get<std::int64_t>()))
      launch->times = one.at(1).get<std::int64_t>();
  }
  CaptureUnkept& sum = capture.unkept;
  sum.beyond += get<std::int64_t>(json, "beyond");
  sum.other += get<std::int64_t>(json, "other");
  sum.recorded += get<std::int64_t>(json, "recorded");
  sum.graphs += get<std::int64_t>(json, "graphs");
  sum.unknown += get<std::int64_t>(json, "unknown");
}

void add_device(Capture& capture, const Json& json) {
  CapturedDevice& out = capture.devices[get<int>(json, "device")];
  out.name = get<std::string>(json, "name");
  out.driver = get<int>(json, "driver");
  out.capability = get<int>(json, "capability");
  out.sms = get<int>(json, "sms");
  out.shared = get<std::int64_t>(json, "shared");
}

// An event of a later version is passed over.
void add_event(Capture& capture, const Json& json) {
  const std::string event = get<std::string>(json, "event");
  if (event == "process") capture.programs.push_back(get<std::string>(json, "program"));
  if (event == "device") add_device(capture, json);
  if (event == "module") {
    CapturedModule& one = capture.modules[get<std::string>(json, "module")];
    one.kind = get<std::string>(json, "kind");
    one.file = file_in(json, "file");
  }
  if (event == "ptx")
    capture.modules[get<std::string>(json, "module")].ptx.push_back(file_in(json, "file"));
  if (event == "launch") capture.launches.push_back(launch_from(json));
  if (event == "after") add_after(capture, json);
  if (event == "counts") add_counts(capture, json);
}

std::string same_file_beside(const std::filesystem::path& cubin) {
  std::error_code ignored;
  const std::filesystem::path ptx = std::filesystem::path(cubin).replace_extension(".ptx");
  return std::filesystem::is_regular_file(ptx, ignored) ? ptx.string() : "";
}

// Calls f with each cubin under a folder.
template <class F>
void for_cubins(const std::string& folder, F f) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->path().extension() == ".cubin") f(at->path());
  }
}

}  // namespace

Result<Capture> read_capture(const std::string& folder) {
  Capture capture;
  capture.folder = folder;
  const std::string path = folder + "/capture.jsonl";
  const Result<std::string> text = real_host().read_file(path);
  if (!text)
    return Error{ErrorCode::usage, folder + ": is no capture: " + text.error().message,
                 "make one: cupilot capture --out DIR -- PROGRAM"};
  std::size_t begin = 0;
  for (int line = 1; begin < text->size(); ++line) {
    const std::size_t end = text->find('\n', begin);
    if (end == std::string::npos) break;  // the program died while it wrote
    const Json json = Json::parse(text->substr(begin, end - begin), nullptr, false);
    begin = end + 1;
    try {
      add_event(capture, json);
    } catch (const std::exception& error) {
      return Error{ErrorCode::usage, fmt::format("{}:{}: {}", path, line, error.what()),
                   "capture the program again"};
    }
  }
  std::sort(capture.launches.begin(), capture.launches.end(),
            [](const CapturedLaunch& a, const CapturedLaunch& b) { return a.number < b.number; });
  return capture;
}

Result<int> find_cached_ptx(const Capture& capture, const std::vector<std::string>& folders) {
  int found = 0;
  Host& host = real_host();
  std::map<std::string, std::string> wanted;  // content of a cubin -> module
  for (const auto& [name, module] : capture.modules) {
    if (module.kind != "cubin" || !module.ptx.empty()) continue;
    if (Result<std::string> content = host.read_file(capture.folder + "/" + module.file))
      wanted.emplace(std::move(*content), name);
  }
  std::string lines;
  std::optional<Error> failed;
  for (const std::string& folder : folders) {
    if (wanted.empty()) break;
    for_cubins(folder, [&](const std::filesystem::path& cubin) {
      const std::string ptx = same_file_beside(cubin);
      const Result<std::string> content = ptx.empty() ? std::string() : host.read_file(cubin);
      const auto one = content ? wanted.find(*content) : wanted.end();
      if (one == wanted.end()) return;
      const Result<std::string> text = host.read_file(ptx);
      const std::string file = "modules/" + one->second + ".ptx";
      if (!text) return;
      const auto wrote = host.write_file_atomically(capture.folder + "/" + file, *text, false);
      if (!wrote) failed = wrote.error();
      lines +=
          Json{{"event", "ptx"}, {"module", one->second}, {"file", file}, {"from", ptx}}.dump() +
          "\n";
      wanted.erase(one);
      ++found;
    });
  }
  if (failed) return *failed;
  if (lines.empty()) return found;
  auto file = host.open_append(capture.folder + "/capture.jsonl", -1);
  if (!file) return file.error();
  if (const auto wrote = (*file)->append(lines); !wrote) return wrote.error();
  return found;
}

}  // namespace cupilot
