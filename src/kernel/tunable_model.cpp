#include "kernel/tunable_model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <vector>

#include "kernel/expr_names.hpp"
#include "kernel/plan_arguments.hpp"
#include "kernel/plan_json.hpp"
#include "task/nearest.hpp"

namespace cupilot {
namespace {

constexpr std::array<std::string_view, model_term_count> term_names = {
    "blocks", "threads", "registers", "shared_bytes", "resident", "items",   "rounds",
    "math",   "issue",   "shared",    "fill",         "chain",    "latency", "ahead",
    "pace",   "ends",    "start",     "l2",           "dram",     "launches"};

constexpr const char* model_guide = "docs/formats/tunable.md";
constexpr std::int64_t model_version = 1;
constexpr std::string_view weight_prefix = "weight.";
constexpr std::string_view no_weights = R"({"cupilot_model": 1, "templates": {}})";

struct JoinKey {
  const char* name;
  double JoinWeights::*member;
  double least, most;
};
constexpr JoinKey join_keys[] = {
    {"pipes", &JoinWeights::pipes, 1, 64},     {"waits", &JoinWeights::waits, 1, 64},
    {"memory", &JoinWeights::memory, 1, 64},   {"alone", &JoinWeights::alone, 0, 1},
    {"slack", &JoinWeights::slack, 0, 16},     {"ring", &JoinWeights::ring, 0, 1},
    {"own", &JoinWeights::own, 0, 16},         {"clock", &JoinWeights::clock, 0, 0.9},
    {"l2", &JoinWeights::l2, 0.01, 100},       {"dram", &JoinWeights::dram, 0.01, 100},
    {"further", &JoinWeights::further, 0, 100}};

JoinWeights join_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  JoinWeights join;
  for (const JoinKey& key : join_keys) {
    const double value = object.number(key.name, join.*key.member);
    if (!(value >= key.least && value <= key.most))
      object.fail(key.name, fmt::format("{} is outside {} to {}", value, key.least, key.most));
    join.*key.member = value;
  }
  object.done();
  return join;
}

// Numbers of one template into its model.
void read_weights(JsonFaults& faults, const Json& json, const std::string& where,
                  TunableModel& model) {
  JsonObject object(faults, json, where);
  if (const Json* join = object.find_object("join"))
    model.join = join_from(faults, *join, object.where("join"));
  if (const Json* weights = object.find_object("weights")) {
    JsonObject named(faults, *weights, object.where("weights"));
    for (const auto& item : weights->items()) {
      if (!is_identifier(item.key())) named.fail(item.key(), "is no identifier");
      model.weights[item.key()] = named.integer(item.key().c_str(), false);
    }
  }
  if (const Json* traits = object.find_object("traits")) {
    JsonObject named(faults, *traits, object.where("traits"));
    for (const auto& item : traits->items()) {
      const bool known = std::any_of(model.traits.begin(), model.traits.end(),
                                     [&](const auto& trait) { return trait.first == item.key(); });
      if (!known) named.fail(item.key(), "the template's model has no such trait");
      model.trait_factors[item.key()] = named.number(item.key().c_str(), 1);
    }
  }
  object.done();
}

std::set<std::string> names_of(const TunableModel& model) {
  std::set<std::string> names;
  const auto add = [&](const Expr& expr) { names.merge(names_in(expr.text, false)); };
  for (const auto& [name, expr] : model.let) add(expr);
  for (const auto& expr : model.terms) {
    if (expr) add(*expr);
  }
  for (const auto& [name, expr] : model.traits) add(expr);
  return names;
}

// The names that an expression of a plan may read.
std::set<std::string> names_of(const LaunchPlan& plan) {
  std::set<std::string> names;
  const auto add = [&](const Expr& expr) { names.merge(names_in(expr.text, false)); };
  const auto add_all = [&](const std::vector<Expr>& exprs) {
    for (const Expr& expr : exprs) add(expr);
  };
  add_all(plan.require);
  for (const auto& [name, expr] : plan.let) add(expr);
  for (const PlanBuffer& buffer : plan.buffers) add(buffer.bytes);
  for (const PlanTensorMap& map : plan.maps) {
    add_all(map.dims);
    add_all(map.pitch);
    add_all(map.box);
  }
  for (const PlanTexture& texture : plan.textures) {
    add_all(texture.dims);
    add(texture.pitch);
  }
  for (const PlanLaunch& launch : plan.launches) {
    names.merge(names_in(launch.entry));
    add_all(launch.grid);
    add_all(launch.block);
    add_all(launch.cluster);
    add(launch.shared);
    each_value(launch.args, [&](const PlanArgument& argument) { add(argument.value); });
  }
  return names;
}

// The names after `weight.` that the model and the definitions of its file read.
std::set<std::string> weights_read(const Tunable& tunable) {
  std::set<std::string> names = names_of(*tunable.model);
  for (const auto& [name, expr] : tunable.let) names.merge(names_in(expr.text, false));
  for (const auto& [name, expr] : tunable.plan.let) names.merge(names_in(expr.text, false));
  std::set<std::string> weights;
  for (const std::string& name : names) {
    if (name.starts_with(weight_prefix)) weights.insert(name.substr(weight_prefix.size()));
  }
  return weights;
}

std::string known_names(const std::string& name, const std::vector<std::string_view>& names) {
  if (names.empty()) return {};
  return fmt::format("nearest: {}; known: {}", nearest(name, names), listed(names));
}

// Refuses weights that the model reads and the file lacks, and those that no expression reads.
void compare_weights(JsonFaults& faults, const Tunable& tunable) {
  const std::string where = "templates." + tunable.name + ".weights";
  const std::set<std::string> read = weights_read(tunable);
  const auto& given = tunable.model->weights;
  for (const std::string& name : read) {
    if (!given.contains(name))
      faults.fail(where,
                  fmt::format("'{}' is missing, which the model of {} reads", name, tunable.file),
                  "give it a whole number in the model.json beside the template");
  }
  for (const auto& [name, value] : given) {
    if (!read.contains(name))
      faults.fail(where + "." + name,
                  fmt::format("the model of {} reads no such weight", tunable.file),
                  known_names(name, {read.begin(), read.end()}));
  }
}

Result<Json> read_model_file(std::string_view json, const std::string& file) {
  return read_json_object(json.empty() ? no_weights : json, file);
}

// The entries of a model.json; null: it has none.
const Json* templates_in(JsonFaults& faults, const Json& json) {
  JsonObject object(faults, json, "");
  const std::int64_t version = object.integer("cupilot_model", true);
  if (object.find("cupilot_model") != nullptr && version != model_version)
    object.fail("cupilot_model", fmt::format("version {}; this cupilot reads 1", version));
  const Json* templates = object.find_object("templates", true);
  object.done();
  return templates;
}

const Expr* defined(const NamedExprs& lets, const std::string& name) {
  const auto found =
      std::find_if(lets.begin(), lets.end(), [&](const auto& let) { return let.first == name; });
  return found == lets.end() ? nullptr : &found->second;
}

// Walks what a definition reads. False: it needs itself.
bool visit(const NamedExprs& lets, const std::string& name, std::set<std::string>& open,
           std::set<std::string>& done) {
  const Expr* expr = defined(lets, name);
  if (expr == nullptr || done.contains(name)) return true;
  if (!open.insert(name).second) return false;
  for (const std::string& inner : names_in(expr->text, false)) {
    if (!visit(lets, inner, open, done)) return false;
  }
  open.erase(name);
  done.insert(name);
  return true;
}

std::string line_word(const Tunable& tunable, const std::string& path) {
  const auto line = tunable.lines.find(path);
  return line == tunable.lines.end() ? std::string() : fmt::format("line {}: ", line->second);
}

void refuse_circles(JsonObject& object, const Tunable& tunable) {
  struct List {
    const char* where;
    const NamedExprs* lets;
  };
  std::vector<List> lists = {{"let", &tunable.let}, {"plan.let", &tunable.plan.let}};
  if (tunable.model) lists.push_back({"model.let", &tunable.model->let});
  NamedExprs all;
  for (const List& list : lists) {
    for (const auto& let : *list.lets) {
      if (defined(all, let.first) != nullptr) {
        const std::string path = fmt::format("{}.{}", list.where, let.first);
        object.fail(path, line_word(tunable, path) + "another definition has that name",
                    "choose another name");
      }
      all.push_back(let);
    }
  }
  std::set<std::string> done;
  for (const List& list : lists) {
    for (const auto& [name, expr] : *list.lets) {
      std::set<std::string> open;
      if (visit(all, name, open, done)) continue;
      const std::string path = fmt::format("{}.{}", list.where, name);
      object.fail(path, fmt::format("{}\"{}\" needs itself", line_word(tunable, path), expr.text),
                  "break the circle");
    }
  }
}

}  // namespace

bool has_unread_cost(const Tunable& tunable) {
  return defined(tunable.plan.let, "cost") != nullptr && !names_of(tunable.plan).contains("cost");
}

std::string_view name_of(ModelTerm term) { return term_names[static_cast<std::size_t>(term)]; }

NamedExprs named_exprs(JsonObject& object, const char* key) {
  NamedExprs all;
  const Json* named = object.find_object(key);
  if (named == nullptr) return all;
  for (const auto& item : named->items()) {
    const std::string place = object.where(key) + "." + item.key();
    if (!is_identifier(item.key())) object.faults().fail(place, "is no identifier");
    all.emplace_back(item.key(), object.to_expr(item.value(), place));
  }
  return all;
}

TunableModel model_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  TunableModel model;
  model.let = named_exprs(object, "let");
  for (std::size_t i = 0; i < model_term_count; ++i) {
    const std::string key(term_names[i]);
    if (object.find(key.c_str()) != nullptr) model.terms[i] = object.expr(key.c_str(), false);
  }
  model.traits = named_exprs(object, "traits");
  object.done();
  if (!model.terms[static_cast<std::size_t>(ModelTerm::blocks)])
    object.fail("blocks", "is missing", "say how many blocks the launch has");
  return model;
}

std::map<std::string, int> lines_of_keys(std::string_view json) {
  std::map<std::string, int> lines;
  std::vector<std::string> path;
  std::string last;
  int line = 1, arrays = 0;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '\n') ++line;
    if (c == '[') ++arrays;
    if (c == ']') --arrays;
    if (c == '{' && arrays == 0) path.push_back(last);
    if (c == '}' && arrays == 0 && !path.empty()) path.pop_back();
    if (c != '"') continue;
    std::string text;
    for (++at; at < json.size() && json[at] != '"'; ++at) {
      if (json[at] == '\\') ++at;
      if (at < json.size()) text += json[at];
    }
    const std::size_t next = json.find_first_not_of(" \t\r\n", at + 1);
    if (arrays > 0 || next == std::string_view::npos || json[next] != ':') continue;
    last = text;
    std::string whole;
    for (const std::string& key : path) whole += key.empty() ? key : key + ".";
    lines.emplace(whole + text, line);
  }
  return lines;
}

void share_lets(JsonObject& object, Tunable& tunable) {
  refuse_circles(object, tunable);
  if (tunable.let.empty() || object.faults().first()) return;
  std::set<std::string> used = names_of(tunable.plan);
  used.merge(names_in(tunable.registers.text, false));
  bool grows = true;
  while (grows) {
    grows = false;
    for (const auto& [name, expr] : tunable.let) {
      if (!used.contains(name)) continue;
      const std::size_t before = used.size();
      used.merge(names_in(expr.text, false));
      grows |= used.size() > before;
    }
  }
  NamedExprs shared;
  for (const auto& let : tunable.let) {
    if (used.contains(let.first)) shared.push_back(let);
  }
  tunable.plan.let.insert(tunable.plan.let.begin(), shared.begin(), shared.end());
}

Result<void> set_model_weights(Tunable& tunable, std::string_view json, const std::string& file) {
  const auto parsed = read_model_file(json, file);
  if (!parsed) return parsed.error();
  JsonFaults faults(file, model_guide);
  const Json* templates = templates_in(faults, *parsed);
  if (templates != nullptr && tunable.model) {
    const auto found = templates->find(tunable.name);
    if (found != templates->end())
      read_weights(faults, *found, "templates." + tunable.name, *tunable.model);
  }
  if (tunable.model && !faults.first()) compare_weights(faults, tunable);
  if (faults.first()) return *faults.first();
  return {};
}

Result<void> set_folder_weights(const std::vector<Tunable*>& tunables, std::string_view json,
                                const std::string& file) {
  for (Tunable* tunable : tunables) {
    if (auto set = set_model_weights(*tunable, json, file); !set) return set;
  }
  const auto parsed = read_model_file(json, file);
  if (!parsed) return parsed.error();
  JsonFaults faults(file, model_guide);
  const Json* templates = templates_in(faults, *parsed);
  if (faults.first()) return *faults.first();
  std::vector<std::string_view> names;
  for (const Tunable* tunable : tunables) {
    if (tunable->model) names.push_back(tunable->name);
  }
  for (const auto& item : templates->items()) {
    if (std::find(names.begin(), names.end(), item.key()) != names.end()) continue;
    faults.fail("templates." + item.key(), "no template of the folder with a model has that name",
                known_names(item.key(), names));
    return *faults.first();
  }
  return {};
}

}  // namespace cupilot
