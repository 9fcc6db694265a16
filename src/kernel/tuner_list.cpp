#include "kernel/tuner_list.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "kernel/expr_names.hpp"
#include "kernel/plan_json.hpp"
#include "kernel/python_expr.hpp"
#include "kernel/python_literal.hpp"
#include "task/nearest.hpp"

namespace cupilot {
namespace {

constexpr const char* block_names[] = {"block_size_x", "block_size_y", "block_size_z"};
constexpr std::int64_t block_defaults[] = {256, 1, 1};  // Kernel Tuner's
constexpr const char* divisors[] = {"grid_div_x", "grid_div_y", "grid_div_z"};
constexpr const char* sides[] = {"X", "Y", "Z"};

// An int64 that an expression can hold as a literal.
bool is_whole(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= INT64_MAX;
  return value.is_number_integer() && value.get<std::int64_t>() != INT64_MIN;
}

class Reader {
 public:
  Reader(JsonFaults& faults, const std::vector<Expr>& problem)
      : faults_(faults), problem_(problem) {}

  TunerList kernel_tuner(const Json& json) {
    JsonObject object(faults_, json, "");
    list_.kernel = object.text("kernel_name", true);
    if (const Json* parameters = object.find_object("tune_params", true)) {
      for (const auto& item : parameters->items())
        parameter(item.key(), item.value(), "tune_params." + item.key());
    }
    for (const Json* item : object.items("restrictions", false))
      restriction(*item, fmt::format("restrictions[{}]", restricted_++));
    blocks(object);
    problem_size(object);
    grid(object);
    if (const Json* shared = object.find_object("smem_args")) {
      JsonObject inner(faults_, *shared, "smem_args");
      if (const Json* size = inner.find("size", true)) list_.shared = expr(*size, "smem_args.size");
      inner.done();
    }
    object.done();
    return std::move(list_);
  }

  TunerList shared_format(const Json& json) {
    JsonObject object(faults_, json, "");
    for (const char* unread : {"General", "Search", "Budget"})
      object.find(unread);  // how to search is said elsewhere
    if (const Json* space = object.find_object("ConfigurationSpace", true)) configuration(*space);
    if (const Json* kernel = object.find_object("KernelSpecification", true))
      specification(*kernel);
    object.done();
    return std::move(list_);
  }

 private:
  // A whole number, or a text in Python's way over the parameters (and sizes, where a grid is
  // meant).
  Expr expr(const Json& value, const std::string& where) {
    if (is_whole(value)) return Expr(value.get<std::int64_t>());
    if (!value.is_string()) {
      faults_.fail(where, fmt::format("{} is neither a whole number nor a text", value.dump()),
                   "write \"block_size_x * 2\" or 4");
      return 0;
    }
    const std::string text = value.get<std::string>();
    const auto translated = expr_from_python(text);
    if (const auto* fault = std::get_if<Untranslated>(&translated)) {
      faults_.fail(where, fmt::format("\"{}\", column {}: {}", text, fault->column, fault->reason),
                   fault->fix);
      return 0;
    }
    return std::get<Expr>(translated);
  }

  void over_parameters(const Expr& expr, const std::string& where) {
    std::vector<std::string_view> known;
    for (const auto& [name, values] : list_.parameters) known.push_back(name);
    for (const std::string& name : names_in(expr.text, false)) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      faults_.fail(where, fmt::format("'{}' is no parameter", name),
                   fmt::format("nearest: {}; known: {}", nearest(name, known), listed(known)));
    }
  }

  void parameter(const std::string& name, const Json& values, const std::string& where) {
    if (!is_identifier(name))
      faults_.fail(where, "is no identifier of CUDA C++", "rename it here and in the kernel");
    std::vector<std::int64_t> domain;
    if (!values.is_array() || values.empty()) {
      return faults_.fail(where, fmt::format("{} is no list of values", values.dump()),
                          "write [1, 2, 4]");
    }
    for (const Json& value : values) {
      const std::string place = fmt::format("{}[{}]", where, domain.size());
      if (!is_whole(value) && !value.is_boolean()) {
        return faults_.fail(place, fmt::format("{} is no whole number", value.dump()),
                            "number the choices, and let the kernel say what a number means");
      }
      const std::int64_t number =
          value.is_boolean() ? std::int64_t{value.get<bool>()} : value.get<std::int64_t>();
      if (std::count(domain.begin(), domain.end(), number) > 0)
        return faults_.fail(place, fmt::format("{} stands twice", number), "keep one of them");
      domain.push_back(number);
    }
    list_.parameters.emplace_back(name, std::move(domain));
  }

  void restriction(const Json& value, const std::string& where) {
    if (!value.is_string())
      return faults_.fail(where, fmt::format("{} is not a text", value.dump()),
                          "write the condition in quotes");
    const Expr condition = expr(value, where);
    over_parameters(condition, where);
    list_.restrictions.push_back(condition);
  }

  bool has(const std::string& name) const {
    return std::any_of(list_.parameters.begin(), list_.parameters.end(),
                       [&](const auto& p) { return p.first == name; });
  }

  void blocks(JsonObject& object) {
    std::vector<std::string> names = object.texts("block_size_names");
    if (names.size() > 3)
      object.fail("block_size_names", fmt::format("has {} members", names.size()), "want 1 to 3");
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!has(names[i]))
        object.fail(fmt::format("block_size_names[{}]", i),
                    fmt::format("'{}' is no parameter", names[i]), "name one of tune_params");
    }
    names.resize(std::min<std::size_t>(names.size(), 3));
    for (std::size_t side = names.size(); side < 3; ++side) names.emplace_back(block_names[side]);
    for (std::size_t side = 0; side < 3; ++side)
      list_.block.push_back(has(names[side]) ? Expr(names[side]) : Expr(block_defaults[side]));
  }

  void problem_size(JsonObject& object) {
    const Json* size = object.find("problem_size");
    sizes_ = problem_;
    if (!problem_.empty()) return;
    if (size == nullptr)
      return object.fail("problem_size", "is missing",
                         "name the sizes that the grid spans: [\"nx\", \"ny\"]");
    const Json all = size->is_array() ? *size : Json::array({*size});
    if (all.empty() || all.size() > 3)
      object.fail("problem_size", fmt::format("has {} members", all.size()), "want 1 to 3");
    for (const Json& one : all) {
      const std::string where = fmt::format("problem_size[{}]", sizes_.size());
      if (one.is_number()) {
        faults_.fail(
            where, fmt::format("{} is a number, and a launch must hold for every size", one.dump()),
            "name the task's axes: --problem nx,ny");
      }
      sizes_.push_back(expr(one, where));
    }
  }

  // As many blocks as cover the problem, where a block covers the product of its side's divisors.
  void grid(JsonObject& object) {
    for (std::size_t side = 0; side < 3; ++side) {
      const bool spanned = side < sizes_.size();
      const Json* given = object.find(divisors[side]);
      if (given != nullptr && !spanned)
        object.fail(divisors[side], "the problem has no such side",
                    "give problem_size as many members");
      std::vector<Expr> all;
      if (given != nullptr && given->is_array()) {
        for (const Json& one : *given)
          all.push_back(expr(one, fmt::format("{}[{}]", divisors[side], all.size())));
      } else if (given != nullptr && !given->is_null()) {
        object.fail(divisors[side], fmt::format("{} is no list", given->dump()),
                    "write [\"block_size_x\", \"tile_x\"]");
      } else if (spanned) {
        all.push_back(list_.block[side]);
      }
      if (!spanned) continue;
      std::string product;
      for (const Expr& one : all) {
        over_parameters(one, divisors[side]);
        const bool simple = one.text.find(' ') == std::string::npos;
        product += (product.empty() ? "" : " * ") + (simple ? one.text : "(" + one.text + ")");
      }
      list_.grid.emplace_back(product.empty() || product == "1"
                                  ? sizes_[side].text
                                  : fmt::format("cdiv({}, {})", sizes_[side].text, product));
    }
  }

  void configuration(const Json& json) {
    JsonObject space(faults_, json, "ConfigurationSpace");
    std::size_t at = 0;
    for (const Json* item : space.items("TuningParameters", true))
      shared_parameter(*item, fmt::format("{}[{}]", space.where("TuningParameters"), at++));
    at = 0;
    for (const Json* item : space.items("Conditions", false)) {
      JsonObject condition(faults_, *item, fmt::format("{}[{}]", space.where("Conditions"), at++));
      condition.find("Parameters");
      if (const Json* text = condition.find("Expression", true))
        restriction(*text, condition.where("Expression"));
      condition.done();
    }
    space.done();
  }

  void shared_parameter(const Json& json, const std::string& where) {
    JsonObject object(faults_, json, where);
    const std::string name = object.text("Name", true), type = object.text("Type", true);
    object.find("Default");
    const Json* values = object.find("Values", true);
    object.done();
    if (type != "int" && type != "uint" && type != "bool") {
      object.fail("Type", fmt::format("{} is '{}'", name, type), "number the choices, and use int");
    }
    if (values == nullptr) return;
    if (!values->is_string()) return parameter(name, *values, object.where("Values"));
    const auto read = read_python_object("values = " + values->get<std::string>(), where);
    if (!read)
      return object.fail("Values", fmt::format("{} is no list", values->dump()), "write [1, 2, 4]");
    parameter(name, (*read)["values"], object.where("Values"));
  }

  std::vector<Expr> sides_of(JsonObject& object, const char* key) {
    std::vector<Expr> all;
    const Json* json = object.find_object(key, true);
    if (json == nullptr) return all;
    JsonObject inner(faults_, *json, object.where(key));
    for (std::size_t side = 0; side < 3; ++side) {
      const Json* value = inner.find(sides[side], side == 0);
      if (value != nullptr) all.push_back(expr(*value, inner.where(sides[side])));
    }
    inner.done();
    return all;
  }

  void specification(const Json& json) {
    JsonObject object(faults_, json, "KernelSpecification");
    for (const char* unread : {"Arguments", "CompilerOptions", "KernelFile", "ReferenceData",
                               "KernelTypeNames", "ProblemSize", "Device"})
      object.find(unread);
    list_.kernel = object.text("KernelName", true);
    const std::string language = object.text("Language", true);
    if (language != "CUDA")
      object.fail("Language", fmt::format("'{}' is not CUDA", language), "give a CUDA kernel");
    const std::string counted = object.text("GlobalSizeType", false, language);
    list_.block = sides_of(object, "LocalSize");
    list_.grid = sides_of(object, "GlobalSize");
    for (const Expr& side : list_.block) over_parameters(side, object.where("LocalSize"));
    if (!problem_.empty()) list_.grid = problem_;
    for (std::size_t side = 0;
         side < list_.grid.size() && (counted == "OpenCL" || !problem_.empty()); ++side) {
      const std::string threads = side < list_.block.size() ? list_.block[side].text : "1";
      list_.grid[side] = Expr(fmt::format("cdiv({}, {})", list_.grid[side].text, threads));
    }
    if (const Json* shared = object.find("SharedMemory"))
      list_.shared = expr(*shared, object.where("SharedMemory"));
    object.done();
  }

  JsonFaults& faults_;
  const std::vector<Expr>& problem_;
  std::vector<Expr> sizes_;
  std::size_t restricted_ = 0;
  TunerList list_;
};

}  // namespace

TunerList tuner_list_from(JsonFaults& faults, const Json& json, const std::vector<Expr>& problem) {
  Reader reader(faults, problem);
  return json.contains("ConfigurationSpace") ? reader.shared_format(json)
                                             : reader.kernel_tuner(json);
}

}  // namespace cupilot
