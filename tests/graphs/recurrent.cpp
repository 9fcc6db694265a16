#include "graphs/recurrent.hpp"

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cupilot/rng.hpp>

#include "graphs/text.hpp"

namespace cupilot::graphs {
namespace {

constexpr int project = 0, recur = 1, sum = 2,
              gates = 3;  // operations; from `gates` on the last part

Result<Task> lstm_task(const std::string& example, std::int64_t steps) {
  try {
    std::ifstream in(example);
    auto json = nlohmann::json::parse(in);
    json["name"] = fmt::format("lstm_{}", steps);
    auto& repeat = json.at("operations").at(1).at("repeat");
    const auto before = repeat.at("count");
    repeat["count"] = steps;
    for (auto& tensor : json.at("tensors")) {
      auto& shape = tensor.at("shape");
      if (shape.size() == 3 && shape.at(0) == before) shape[0] = steps;
    }
    return task_from_json(json.dump(), example);
  } catch (const std::exception& error) {
    return Error{ErrorCode::usage, example + ": " + error.what(), "give the LSTM's task file"};
  }
}

// Writes the kernel of one part.
class LstmPart {
 public:
  LstmPart(const Task& task, const Part& part, const PartTask& form, const Fault& fault,
           std::uint64_t seed)
      : task_(task), part_(part), form_(form), fault_(fault), seed_(seed) {}

  KernelSource source() const {
    KernelSource source;
    const bool whole = part_.front() == project;
    const bool cell = part_.front() >= gates;
    const std::string rows = whole ? fmt::format("{} * batch", steps()) : "batch";
    const std::int64_t columns = cell ? hidden() : 4 * hidden();
    source.text =
        helpers() + head() +
        fmt::format(
            "  const int at = blockIdx.x * 128 + threadIdx.x;\n"
            "  if (at >= {0} * {1}) return;\n  const int row = at / {1}, column = at % {1};\n",
            rows, columns) +
        (cell ? cell_text() : product_text(whole)) + "}\n";
    PlanLaunch launch;
    launch.entry = launch.name = "part";
    launch.grid = {Expr(fmt::format("cdiv({} * {}, 128)", rows, columns))};
    launch.block = {128};
    for (const Tensor& tensor : form_.task.tensors)
      launch.args.push_back({PlanArgument::Kind::name, tensor.name, 0});
    for (const Axis& axis : form_.task.axes)
      launch.args.push_back({PlanArgument::Kind::i32, "", Expr(axis.name)});
    source.plan.launches.push_back(std::move(launch));
    return source;
  }

 private:
  std::string steps() const { return task_.repeats.front().count.text; }
  std::int64_t hidden() const { return std::stoll(find_tensor(task_, "h0")->shape.back().text); }
  bool has(Kind kind, int number) const {
    return fault_.kind == kind && fault_.step == static_cast<std::size_t>(number);
  }
  // The part's name of what the program calls so.
  std::string own(const std::string& name) const {
    for (const auto& [mine, theirs] : form_.tensors)
      if (theirs == name) return mine;
    return "no_" + name;
  }
  std::string head() const {
    std::string out;
    for (const Tensor& tensor : form_.task.tensors)
      out += fmt::format("{}{}float* {}", out.empty() ? "" : ", ",
                         tensor.role == Role::out ? "" : "const ", tensor.name);
    for (const Axis& axis : form_.task.axes) out += ", int " + axis.name;
    return "extern \"C\" __global__ void part(" + out + ") {\n";
  }
  std::string rounded(int number, const std::string& value) const {
    return has(Kind::rounded_edge, number) ? fmt::format("  {0} = as_bf16({0});\n", value) : "";
  }

  std::string product_text(bool whole) const {
    const int number = whole ? project : recur;
    const std::string k = whole ? "inputs" : std::to_string(hidden());
    std::string out = "  float acc = 0.0f;\n";
    out += summed(seed_, part_.front(),
                  fmt::format("fmaf({0}({1}[row * {3} + (i)]), {0}({2}[column * {3} + (i)]), acc)",
                              operand_of(fault_, number), own(whole ? "x" : "h"),
                              own(whole ? "w_ih" : "w_hh"), k),
                  k + (has(Kind::dropped_term, number) ? " - 1" : ""));
    out += fmt::format("  float v = acc + {}[column];\n", own(whole ? "b_ih" : "b_hh"));
    out += rounded(number, "v");
    if (!whole) out += fmt::format("  v = {}[at] + v;\n", own("px[t]")) + rounded(sum, "v");
    return out + fmt::format("  {}[at] = v;\n", own(whole ? "px" : "p"));
  }

  std::string cell_text() const {
    const std::int64_t h = hidden();
    std::string out = fmt::format("  const float* line = {} + row * {};\n", own("p"), 4 * h);
    const auto value = [&](int number, const char* name, const std::string& text) {
      out += fmt::format("  float {} = {};\n", name, text) + rounded(number, name);
    };
    value(7, "ai", "sigmoid(line[column])");
    value(8, "af", fmt::format("sigmoid(line[column + {}])", h));
    value(9, "ag", fmt::format("tanhf(line[column + {}])", 2 * h));
    value(10, "ao", fmt::format("sigmoid(line[column + {}])", 3 * h));
    value(11, "kept_cell", fmt::format("af * {}[at]", own("c")));
    value(12, "fresh", "ai * ag");
    value(13, "cell", "kept_cell + fresh");
    out += fmt::format("  {}[at] = cell;\n", own("c1"));
    value(14, "squashed", "tanhf(cell)");
    return out + fmt::format("  {}[at] = ao * squashed;\n", own("y[t]"));
  }

  const Task& task_;
  const Part& part_;
  const PartTask& form_;
  const Fault& fault_;
  std::uint64_t seed_;
};

Partition lstm_partition(const Task& task) {
  Partition partition = {{project}, {recur, sum}, {}};
  for (int i = gates; i < static_cast<int>(task.operations.size()); ++i)
    partition.back().push_back(i);
  return partition;
}

std::vector<Fault> lstm_faults(const Task& task) {
  std::vector<Fault> faults;
  for (const std::size_t product : {std::size_t{project}, std::size_t{recur}}) {
    for (const Kind kind : {Kind::tf32, Kind::fp16, Kind::bf16, Kind::dropped_term})
      faults.push_back({kind, product});
  }
  // A slice rounds what its source rounds; the last operation makes an output.
  for (std::size_t i = 0; i + 1 < task.operations.size(); ++i) {
    if (task.operations[i].kind != "slice") faults.push_back({Kind::rounded_edge, i});
  }
  return faults;
}

}  // namespace

Result<Subject> lstm_subject(const std::string& example, std::int64_t steps) {
  auto task = lstm_task(example, steps);
  if (!task) return task.error();
  Subject out;
  out.name = task->name;
  out.k = steps;
  for (const Operation& operation : task->operations) out.operators.push_back(operation.kind);
  out.partition = lstm_partition(*task);
  out.faults = lstm_faults(*task);
  out.kernels = [task = *task, partition = out.partition](
                    const Fault& fault, std::uint64_t seed) -> Result<std::vector<PartKernel>> {
    std::vector<PartKernel> kernels;
    for (const Part& part : partition) {
      auto form = graph_part(task, part);
      if (!form) return form.error();
      KernelSource source = LstmPart(task, part, *form, fault, seed).source();
      kernels.push_back({std::move(*form), std::move(source)});
    }
    return kernels;
  };
  out.task = std::move(*task);
  return out;
}

}  // namespace cupilot::graphs
