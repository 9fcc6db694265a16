#include "kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace cupilot::coverage {
namespace {

using Json = nlohmann::json;

// The lines above the first line of code, as one object.
Json header_of(const std::string& path) {
  std::ifstream in(path);
  Json header = Json::object();
  for (std::string line; std::getline(in, line) && line.starts_with("//");) {
    constexpr std::string_view mark = "// corpus: ";
    if (line.starts_with(mark)) header.update(Json::parse(line.substr(mark.size())));
  }
  static const std::vector<std::string> known = {"sizes", "constants", "in",       "in_out",
                                                 "out",   "expect",    "tolerance"};
  for (const auto& item : header.items()) {
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      throw std::runtime_error("unknown key " + item.key());
  }
  return header;
}

// ["fp32", "rows", "cols", {"kind": "uniform"}] as a task file says it.
Json tensor_of(const std::string& name, const std::string& role, const Json& brief) {
  Json tensor = {{"name", name}, {"role", role}, {"type", brief.at(0)}, {"shape", Json::array()}};
  for (std::size_t i = 1; i < brief.size(); ++i) {
    if (brief[i].is_object()) {
      tensor["fill"] = brief[i];
    } else {
      tensor["shape"].push_back(brief[i]);
    }
  }
  return tensor;
}

Result<Task> task_of(const Json& header, const std::string& file) {
  // Answered on the host: the reader only asks that there is a reference and a count of work.
  Json task = {{"cupilot_task", 1},
               {"name", "corpus"},
               {"precision", "fp32-strict"},
               {"work", {{"flops", 0}}}};
  std::string names;
  for (const auto& size : header.at("sizes").items())
    task["axes"].push_back({{"name", size.key()}, {"kind", "fixed"}});
  for (const char* role : {"in", "in_out", "out"}) {
    const Json tensors = header.value(role, Json::object());
    for (const auto& item : tensors.items()) {
      task["tensors"].push_back(tensor_of(item.key(), role, item.value()));
      names += "reference_" + item.key() + " ";
    }
  }
  task["constants"] = header.value("constants", Json::object());
  task["time_shapes"][0]["sizes"] = header.at("sizes");
  task["reference_text"] = names;
  return task_from_json(task.dump(), file);
}

}  // namespace

const Reference* find_reference(std::string_view name) {
  for (const References* family :
       {&matmul_references(), &elementwise_references(), &row_references(), &image_references(),
        &feature_references(), &applied_references()}) {
    if (const auto found = family->find(name); found != family->end()) return &found->second;
  }
  return nullptr;
}

Result<CorpusKernel> read_kernel(const std::string& folder, const std::string& file) {
  const std::string path = folder + "/" + file;
  auto standalone = read_standalone(path);
  if (!standalone) return standalone.error();
  const auto wrong = [&](const std::string& why) {
    return Error{ErrorCode::usage, file + ": " + why, "correct its header"};
  };
  try {
    const Json header = header_of(path);
    auto task = task_of(header, file);
    if (!task) return task.error();
    CorpusKernel kernel{file, std::move(standalone->source), std::move(*task), header.at("expect"),
                        header.value("tolerance", 1e-5)};
    for (const Tensor& tensor : kernel.task.tensors) {
      if (tensor.role == Role::in) continue;
      const auto expected = kernel.expect.find(tensor.name);
      if (expected == kernel.expect.end()) return wrong("nothing is expected of " + tensor.name);
      if (find_reference(expected->second) == nullptr)
        return wrong("no reference is named " + expected->second);
    }
    return kernel;
  } catch (const std::exception& error) {
    return wrong(error.what());
  }
}

}  // namespace cupilot::coverage
