#include "program/hooks/write.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <cupilot/parts/technique.hpp>

#include "program/hooks/graph_site.hpp"
#include "program/hooks/graph_text.hpp"
#include "program/hooks/held.hpp"
#include "program/hooks/passes.hpp"
#include "program/hooks/pitched.hpp"
#include "program/hooks/product.hpp"
#include "program/hooks/renaming.hpp"
#include "program/hooks/slide_text.hpp"
#include "program/hooks/slots.hpp"
#include "program/hooks/stage_text.hpp"
#include "program/hooks/tile_text.hpp"
#include "program/hooks/weighted.hpp"
#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

// True of an updated tensor that only its new value's own stage reads, as one value a row.
bool owns(const Task& task, const Tensor& tensor) {
  const auto& stages = task.reference.stages;
  return tensor.type == DType::f32 && tensor.shape.size() == 1 &&
         std::all_of(stages.begin(), stages.end(), [&](const ReferenceStage& stage) {
           return stage.name == tensor.name ||
                  std::none_of(stage.reads.begin(), stage.reads.end(),
                               [&](const StageRead& read) { return read.source == tensor.name; });
         });
}

bool is_float_task(const Task& task) {
  const auto fits = [&](const Tensor& tensor) {
    return tensor.role == Role::in || tensor.role == Role::constant || tensor.type != DType::f64;
  };
  return task.precision != Precision::fp64 && task.precision != Precision::integer &&
         task.scalars.empty() && std::all_of(task.tensors.begin(), task.tensors.end(), fits) &&
         std::all_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& tensor) {
           return is_view(tensor) || tensor.alignment == Tensor().alignment;
         });
}

// True of an updated tensor whose elements are read at their own places alone: the thread that
// writes one has read it.
bool is_updated_in_place(const Task& task, const GraphSite& site, const std::string& tensor) {
  const auto full = outputs_of(task, site).full;
  // A stage that is read at another place is computed there anew, of the tensor perhaps.
  const auto may_be_old = [&](const SiteRead& read) {
    return read.stage >= 0 || read.source == tensor;
  };
  return site.folds.empty() && site.joins.empty() && site.scan < 0 &&
         std::find(full.begin(), full.end(), tensor) != full.end() &&
         std::all_of(site.stages.begin(), site.stages.end(), [&](const SiteStage& stage) {
           return std::none_of(stage.called.begin(), stage.called.end(), may_be_old) &&
                  std::all_of(stage.reads.begin(), stage.reads.end(), [&](const SiteRead& read) {
                    return !may_be_old(read) || read.kind == SiteRead::Kind::element;
                  });
         });
}

// True if templates of anchor `map` alone may write an updated tensor of the task.
bool updates_elements(const Task& task) {
  return std::any_of(task.tensors.begin(), task.tensors.end(), [&](const Tensor& tensor) {
    return tensor.role == Role::in_out && !owns(task, tensor);
  });
}

// Tensors of which a thread takes several neighbours; all where no form of a graph says which.
std::set<std::string> read_by_neighbours(const Task& task, const GraphSite& site) {
  std::set<std::string> out;
  for (const SiteStage& stage : site.stages) {
    for (const SiteRead& read : stage.reads) {
      if (read.stage < 0 &&
          (read.kind == SiteRead::Kind::element || read.kind == SiteRead::Kind::column ||
           read.kind == SiteRead::Kind::cycle || read.kind == SiteRead::Kind::run))
        out.insert(read.source);
    }
  }
  const auto full = outputs_of(task, site).full;
  out.insert(full.begin(), full.end());
  if (out.empty()) {
    for (const Tensor& tensor : task.tensors) out.insert(tensor.name);
  }
  return out;
}

// Neighbouring elements that belong together wherever several are taken at once.
Expr run_of(const GraphSite& site) {
  Expr run = site.form == GraphForm::rows ? site.cols : site.inner;
  for (const SiteStage& stage : site.stages) {
    for (const SiteRead& read : stage.reads) {
      if (read.kind == SiteRead::Kind::cycle)
        run = fmt::format("min({}, {})", run.text, product_of(read.extents).text);
    }
  }
  return run;
}

// Sizes that a template's expressions may use.
NamedExprs sizes_of(const Task& task, const GraphSite& site) {
  std::int64_t widest = 1, inputs = 0, late = 0;
  std::string bytes;
  const auto passes = passes_of(task, site);
  std::int64_t state = 1;
  for (const FoldPass& pass : passes) state = std::max<std::int64_t>(state, pass.size);
  const auto neighbours = read_by_neighbours(task, site);
  const HeldElements held = held_elements(task, site);
  for (const Tensor& tensor : task.tensors) {
    if (neighbours.contains(tensor.name)) {
      widest = std::max<std::int64_t>(widest, size_of(tensor.type));
      const bool early = site.folds.empty() || held.tensors.contains(tensor.name);
      if (tensor.role != Role::out) (early ? inputs : late) += 1;
    }
    bytes += fmt::format("{}({})*{}", bytes.empty() ? "" : " + ", product_of(tensor.shape).text,
                         size_of(tensor.type));
  }
  const GraphSlots slots = graph_slots(task, site);
  return {{"graph_rows", site.rows},
          {"graph_cols", site.cols},
          {"graph_run", run_with_views(task, run_of(site))},
          {"graph_bytes", bytes},
          {"graph_widest", widest},
          {"graph_inputs", inputs},
          {"graph_late", late},
          {"graph_held", held.values},
          {"graph_folds", static_cast<std::int64_t>(site.folds.size())},
          {"graph_passes", static_cast<std::int64_t>(passes.size())},
          {"graph_state", state},
          {"graph_joins", static_cast<std::int64_t>(site.joins.size())},
          {"graph_scan", site.scan_cols},
          {"graph_near", site.scan_near ? 1 : 0},
          {"graph_elements", static_cast<std::int64_t>(outputs_of(task, site).full.size())},
          {"graph_operations", slots.element},
          {"graph_row_operations", slots.row},
          {"graph_operand_operations", slots.operand}};
}

constexpr const char* joined_parts = "joined_parts";
constexpr const char* joined_arrivals = "joined_arrivals";

std::vector<PlanArgument> graph_arguments(const Task& task, bool joins) {
  std::vector<PlanArgument> out;
  for (const Tensor& tensor : task.tensors) {
    out.push_back({.name = tensor.name});
    if (is_view(tensor))
      out.push_back({.kind = PlanArgument::Kind::i64, .value = view_offset(tensor.name)});
  }
  for (const Axis& axis : task.axes)
    out.push_back({.kind = PlanArgument::Kind::i64, .value = axis.name});
  if (joins) {
    out.push_back({.name = joined_parts});
    out.push_back({.name = joined_arrivals});
  }
  return out;
}

// "graph" among a launch's arguments stands for the tensors, the sizes and the joins' buffers.
std::vector<PlanArgument> arguments_of(const Task& task, const GraphSite& site,
                                       const std::vector<PlanArgument>& given) {
  std::vector<PlanArgument> out;
  for (const PlanArgument& argument : given) {
    if (argument.kind == PlanArgument::Kind::name && argument.name == "graph") {
      const auto all = graph_arguments(task, !site.joins.empty());
      out.insert(out.end(), all.begin(), all.end());
    } else {
      out.push_back(argument);
    }
  }
  return out;
}

// A launch that names {PASS} stands for one of each pass; `elements` is left out where no output
// has a value for each element.
std::vector<PlanLaunch> launches_of(const Task& task, const GraphSite& site,
                                    const std::vector<PlanLaunch>& given) {
  const bool stores = !outputs_of(task, site).full.empty();
  std::vector<PlanLaunch> out;
  for (PlanLaunch launch : given) {
    launch.args = arguments_of(task, site, launch.args);
    if (launch.name == "elements" && !stores) continue;
    const bool each = launch.entry.find("{PASS}") != std::string::npos;
    for (std::size_t pass = 0; pass < (each ? passes_of(task, site).size() : 1); ++pass) {
      PlanLaunch one = launch;
      if (each) {
        one.name += std::to_string(pass);
        one.entry.replace(one.entry.find("{PASS}"), 6, std::to_string(pass));
      }
      out.push_back(std::move(one));
    }
  }
  return out;
}

// True of a text that a quotient's last bit may lead elsewhere: one that rounds to whole numbers,
// or compares with anything but zero. Quotients, roots and exponentials keep their sign.
bool is_discrete(std::string_view text) {
  constexpr std::string_view functions[] = {"floor_(", "ceil_(", "trunc_(", "rint_(",
                                            "fmod_(",  "sign_(", "place_("};
  for (const std::string_view function : functions) {
    if (text.find(function) != text.npos) return true;
  }
  constexpr std::string_view zero = "real(0)";
  for (std::size_t at = text.find_first_of("<>="); at != text.npos;
       at = text.find_first_of("<>=", at + 1)) {
    const std::size_t other = text.find_first_not_of("<>= ", at);
    if (other == text.npos || !text.substr(other).starts_with(zero)) return true;
  }
  return false;
}

// The headers that operators' texts need, and their number `real`: where all results are floats of
// 16 bits or fewer and the class rounds operands to as many, one whose functions are the special
// function unit's.
std::string row_headers(const Task& task) {
  const char* views = has_views(task) ? "#include \"cupilot/pitched.cuh\"\n" : "";
  constexpr double of_fp16 = 0x1p-11;
  const bool narrow = std::all_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& one) {
    return one.role == Role::in || unit_roundoff(one.type) >= of_fp16;
  });
  const auto& stages = task.reference.stages;
  const bool smooth = std::none_of(stages.begin(), stages.end(), [](const ReferenceStage& stage) {
    return is_discrete(stage.term) || is_discrete(stage.finish);
  });
  const bool fast = narrow && smooth && input_roundoff(task.precision) >= of_fp16;
  return std::string("#include \"cupilot/vector.cuh\"\n") + views +
         (fast ? "#include \"cupilot/fast.cuh\"\nusing real = Fast;\n"
               : "#include \"cupilot/functions.cuh\"\nusing real = float;\n");
}

bool fits(const std::string& anchor, const GraphSite& site) {
  if (site.scan >= 0) return anchor == "scan";
  if (anchor == "map" || anchor == "scan") return anchor == "map" && site.folds.empty();
  if (site.folds.empty()) return false;
  return (anchor == "column_reduction") == (site.form == GraphForm::columns);
}

std::int64_t value_at_time(const Task& task, const Expr& expr) {
  const auto number = evaluate_or_error(expr, task_scope(task, task.time_shapes.front()));
  return number ? *number : 0;
}

// True for products of matrices that templates of products may serve: a row of them is no unit of
// work, its operands are read again by others.
bool is_product(const Task& task) {
  const auto product = graph_product(task);
  if (!product || find_tensor(task, product->a)->type != find_tensor(task, product->b)->type)
    return false;
  return value_at_time(task, product->m) > 1 && value_at_time(task, product->n) > 1;
}

// Sizes and text of a graph before a template.
Tunable given_graph(const Tunable& tunable, const Task& task, const GraphSite& site,
                    const std::string& text, const NamedExprs& more) {
  Tunable out = tunable;
  const bool of_terms = tunable.anchor == "contraction" || tunable.anchor == "window";
  const char* terms = of_terms ? "#include \"cupilot/terms.cuh\"\n" : "";
  out.text = row_headers(task) + terms + text + tunable.text;
  NamedExprs sizes = offsets_of_views(task);
  for (const NamedExprs& all : {sizes_of(task, site), more})
    sizes.insert(sizes.end(), all.begin(), all.end());
  out.let.insert(out.let.begin(), sizes.begin(), sizes.end());
  out.plan.let.insert(out.plan.let.begin(), sizes.begin(), sizes.end());
  out.plan.launches = launches_of(task, site, tunable.plan.launches);
  if (!site.joins.empty()) {
    out.plan.buffers.push_back({.name = joined_parts, .bytes = "graph_joins * (join_slots) * 4"});
    out.plan.buffers.push_back(
        {.name = joined_arrivals, .bytes = 4, .content = BufferContent::restored});
  }
  return out;
}

std::optional<Tunable> as_contraction(const Tunable& tunable, const Task& task) {
  const auto site = graph_site(task);
  if (!site || !site->joins.empty() || is_product(task)) return std::nullopt;
  const auto found = contraction_of(task, *site);
  if (!found || (tunable.anchor == "window" && !found->window)) return std::nullopt;
  NamedExprs sizes = {{"graph_batch", product_of({found->batch, found->phases})},
                      {"graph_phases", found->phases},
                      {"graph_planes", found->planes},
                      {"graph_m", found->m},
                      {"graph_n", found->n},
                      {"graph_k", found->k},
                      {"graph_load_step", found->window ? found->window->columns.step : 1},
                      {"graph_store_step", found->window ? found->window->columns.phases : 1},
                      {"graph_largest", largest_of(task)}};
  if (tunable.anchor == "window") {
    const SiteWindow& window = *found->window;
    sizes.insert(sizes.end(), {{"graph_outer", window.outer},
                               {"graph_across", window.columns.extent},
                               {"graph_down", window.rows.extent},
                               {"graph_channels", window.channels},
                               {"graph_taps", window.rows.taps * window.columns.taps},
                               {"graph_outer_taps", window.outer_taps},
                               {"graph_outer_all_taps", window.outer_all_taps}});
    for (const bool is_row : {true, false}) {
      const SiteWindowSide& side = is_row ? window.rows : window.columns;
      const std::string name = is_row ? "graph_row_" : "graph_column_";
      sizes.insert(sizes.end(), {{name + "step", side.step},
                                 {name + "taps", side.taps},
                                 {name + "reach", side.reach},
                                 {name + "phases", side.phases},
                                 {name + "all_taps", side.all_taps},
                                 {name + "all_reach", side.all_reach}});
    }
  }
  return given_graph(tunable, task, *site, contraction_text(task, *site), sizes);
}

// Graphs that no other form serves: a row of theirs is a block's.
std::optional<Tunable> in_blocks(const Tunable& tunable, const Task& task) {
  if (task.reference.stages.empty() || task.time_shapes.empty() || graph_site(task) ||
      graph_product(task))
    return std::nullopt;
  const auto local = local_of(task);
  if (!local) return std::nullopt;
  GraphSite site;
  site.rows = local->rows;
  return given_graph(tunable, task, site, local_text(task),
                     {{"graph_kept", local->kept}, {"graph_terms", local->terms}});
}

std::optional<Tunable> in_tiles(const Tunable& tunable, const Task& task) {
  const auto site = graph_site(task);
  if (!site || !site->joins.empty() || is_product(task)) return std::nullopt;
  const auto tiles = tiles_of(task, *site);
  if (!tiles) return std::nullopt;
  return given_graph(tunable, task, *site, tile_text(task, *site),
                     {{"graph_lane", tiles->lane},
                      {"graph_second", tiles->second},
                      {"graph_largest", largest_of(task)},
                      {"graph_counted", counts_wide(task) ? most_wide : most_narrow}});
}

std::optional<Tunable> as_slide(const Tunable& tunable, const Task& task) {
  const auto site = graph_site(task);
  if (!site || !site->joins.empty() || is_product(task)) return std::nullopt;
  const auto slide = slide_of(task, *site);
  if (!slide) return std::nullopt;
  NamedExprs sizes = {{"graph_outer", slide->outer},
                      {"graph_weighted", slide->weighted ? 1 : 0},
                      {"graph_largest", largest_of(task)},
                      {"graph_counted", counts_wide(task) ? most_wide : most_narrow}};
  for (const auto& [name, side] :
       {std::pair{"plane", &slide->planes}, {"row", &slide->rows}, {"column", &slide->columns}}) {
    const std::string of = fmt::format("graph_{}_", name);
    sizes.insert(sizes.end(), {{of + "count", side->extent},
                               {of + "step", side->step},
                               {of + "taps", side->taps},
                               {of + "reach", side->reach},
                               {of + "apart", side->apart}});
  }
  return given_graph(tunable, task, *site, slide_text(task, *site), sizes);
}

std::optional<Tunable> over_rows(const Tunable& tunable, const Task& task) {
  auto site = graph_site(task);
  if (!site || !fits(tunable.anchor, *site) || is_product(task)) return std::nullopt;
  const auto& names = tunable.plan.let;
  const bool joins = std::any_of(names.begin(), names.end(),
                                 [](const auto& one) { return one.first == "join_slots"; });
  if (!site->joins.empty() && !joins) return std::nullopt;
  // A team for each result of a convolution, or of a small window, finds too many coordinates.
  if (contraction_of(task, *site) ||
      (tiles_of(task, *site) && value_at_time(task, site->cols) < 1024))
    return std::nullopt;
  const auto full = outputs_of(task, *site).full;
  for (const Tensor& tensor : task.tensors) {
    const bool whole = std::find(full.begin(), full.end(), tensor.name) != full.end();
    if (tensor.role != Role::in_out || (owns(task, tensor) && !whole)) continue;
    if (tunable.anchor != "map" || !is_updated_in_place(task, *site, tensor.name))
      return std::nullopt;
  }
  if (site->folds.empty() && site->scan < 0) {
    const bool same = std::all_of(site->stages.begin(), site->stages.end(), [](const SiteStage& s) {
      return s.called.empty() && std::all_of(s.reads.begin(), s.reads.end(), [](const SiteRead& r) {
               return r.kind == SiteRead::Kind::element;
             });
    });
    if (same && has_views(task)) {
      const RowsOfViews views = rows_of_views(task);
      site->rows = views.rows;
      site->cols = views.cols;
    } else if (same) {
      site->flat = true;
      site->cols = product_of({site->rows, site->cols});
      site->rows = 1;
    }
  }
  return given_graph(tunable, task, *site, graph_text(task, *site), {});
}

// The epilogue's arguments are those of a launch with D that name neither operands nor buffers nor
// maps; the graph's tensors and sizes take their place at the end.
void keep_operands(const Tunable& tunable, PlanLaunch& launch) {
  std::erase_if(launch.args, [&](const PlanArgument& one) {
    const auto named = [&](const auto& other) { return other.name == one.name; };
    const auto& [require, let, buffers, maps, textures, launches] = tunable.plan;
    return one.kind == PlanArgument::Kind::name && one.name != "A" && one.name != "B" &&
           std::none_of(buffers.begin(), buffers.end(), named) &&
           std::none_of(maps.begin(), maps.end(), named) &&
           std::none_of(textures.begin(), textures.end(), named);
  });
}

// Number of tensors that are read beside the product.
int tensors_beside(const GraphSite& site) {
  std::set<std::string> names;
  for (const SiteStage& stage : site.stages) {
    for (const SiteRead& read : stage.reads) {
      if (read.stage < 0) names.insert(read.source);
    }
  }
  return static_cast<int>(names.size());
}

Renaming of_product(const Task& task, const GraphProduct& product, const std::string& output,
                    int beside) {
  Renaming out(task);
  out.tensors = {{"A", product.a}, {"B", product.b}, {"D", output}};
  out.names = {{"m", "graph_m"}, {"n", "graph_n"}, {"k", "graph_k"}, {"batch", "graph_batch"}};
  out.set_constants({{"TRANS_A", product.turned_a},
                     {"TRANS_B", product.turned_b},
                     {"BATCHED", product.batch.text != "1"},
                     {"HAS_C", beside > 0},
                     {"HAS_BIAS", beside > 1},
                     {"HAS_ALPHA", 0},
                     {"ACT", 2},
                     {"SCALE", 0}});
  return out;
}

// `walked` of a model: of 1024 slabs along k, those that a tile walks, on average.
void set_walked(NamedExprs& let, int spans) {
  const int of_a = spans % 4, of_b = spans / 4;
  const auto one = [](int kinds) { return kinds == 0 ? 1024 : kinds == 3 ? 1 : 512; };
  const int both = of_a == 3 || of_b == 3 ? 1 : of_a == of_b ? 341 : 171;
  for (auto& [name, value] : let) {
    if (name == "walked")
      value = Expr(of_a > 0 && of_b > 0 ? both : std::min(one(of_a), one(of_b)));
  }
}

// Adds what the template leaves out where operands are triangles, so that strategies state it.
void add_techniques_of_triangles(Tunable& tunable) {
  if (tunable.text.find("Graph::SPANS") == std::string::npos) return;
  for (const Technique& row : catalogue()) {
    if (row.of == "triangular_products") tunable.provides.push_back(row.name);
  }
}

std::optional<Tunable> after_product(const Tunable& tunable, const Task& task) {
  const auto product = graph_product(task);
  if (!product) return std::nullopt;
  const auto site = graph_site(product->rest, product_of({product->batch, product->m}), product->n);
  if (!site) return std::nullopt;
  const auto outputs = outputs_of(product->rest, *site);
  const bool maps_output = std::any_of(tunable.plan.maps.begin(), tunable.plan.maps.end(),
                                       [](const PlanTensorMap& map) { return map.of == "D"; });
  if (outputs.full.empty() || !outputs.per_row.empty() || (maps_output && outputs.full.size() > 1))
    return std::nullopt;
  const auto pitch = pitch_of_left(task, *product);
  const bool pitched = pitch && *pitch != product->k;
  Tunable kept = tunable;
  if (!pitch || (pitched && !walk_by_pitch(kept))) return std::nullopt;
  const std::string& first = outputs.full[0];
  if (maps_output && is_view(*find_tensor(task, first)) && !store_by_address(kept))
    return std::nullopt;
  if (kept.model) set_walked(kept.model->let, product->spans);
  if (product->spans != 0) add_techniques_of_triangles(kept);
  std::vector<bool> stores;
  for (PlanLaunch& launch : kept.plan.launches) {
    stores.push_back(std::any_of(launch.args.begin(), launch.args.end(),
                                 [](const PlanArgument& one) { return one.name == "D"; }));
    keep_operands(tunable, launch);
  }
  Tunable out = of_product(task, *product, outputs.full[0], tensors_beside(*site)).applied(kept);
  const auto all = graph_arguments(task, false);
  for (std::size_t i = 0; i < stores.size(); ++i) {
    auto& args = out.plan.launches[i].args;
    if (stores[i]) args.insert(args.end(), all.begin(), all.end());
  }
  NamedExprs sizes = offsets_of_views(task);
  for (const auto& [name, extent] : {std::pair{"graph_m", product->m},
                                     {"graph_n", product->n},
                                     {"graph_k", product->k},
                                     {"graph_batch", product->batch}})
    sizes.emplace_back(name, extent);
  if (pitched) sizes.emplace_back(left_pitch_name, *pitch);
  out.plan.let.insert(out.plan.let.begin(), sizes.begin(), sizes.end());
  auto headers =
      std::make_shared<DeviceHeaders>(tunable.headers ? *tunable.headers : DeviceHeaders());
  (*headers)["graph.cuh"] =
      row_headers(task) + product_text(product->rest, *site, product->spans,
                                       pitched ? left_pitch_text(task, *pitch) : "k");
  if (maps_views(out.plan, task, {product->a, first})) return std::nullopt;
  out.headers = std::move(headers);
  return out;
}

// The functions that make scores, as a header in place of the family's own.
std::string scores_text(const Task& task, const GraphWeighted& graph, const GraphSite& site) {
  return row_headers(task) + product_text(graph.scores.rest, site, 0) +
         "#define SCORE_PARAMETERS , GRAPH_PARAMETERS\n"
         "#define SCORES(WIDTH) Scores{{GRAPH_ARGUMENTS}}\n"
         "struct Scores {\n"
         "  Graph graph;\n"
         "  static constexpr bool BY_FACTOR = false;\n"
         "  static constexpr float factor = 1.0f;\n"
         "  __device__ __forceinline__ float of(long long row, int key, int keys, float sum) "
         "const {\n"
         "    return graph.finish(row, row * keys + key, key, sum);\n"
         "  }\n};\n";
}

// The graph's tensors and sizes are arguments of launches that read the keys.
std::optional<Tunable> between_products(const Tunable& tunable, const Task& task) {
  const auto graph = graph_weighted(task);
  if (!graph) return std::nullopt;
  const GraphProduct& scores = graph->scores;
  const auto site = graph_site(scores.rest, product_of({scores.batch, scores.m}), scores.n);
  if (!site || outputs_of(scores.rest, *site).full.size() != 1) return std::nullopt;
  Renaming renaming(task);
  renaming.tensors = {{"q", scores.a}, {"k", scores.b}, {"v", graph->values}, {"y", graph->output}};
  renaming.names = {{"batch", "graph_batch"},
                    {"queries", "graph_m"},
                    {"keys", "graph_n"},
                    {"width", "graph_k"},
                    {"out", "graph_out"}};
  renaming.set_constants({{"CAUSAL", 0}, {"STREAM_STORE", 0}});
  Tunable out = renaming.applied(tunable);
  const auto all = graph_arguments(task, false);
  for (std::size_t i = 0; i < out.plan.launches.size(); ++i) {
    const auto& given = tunable.plan.launches[i].args;
    const bool reads = std::any_of(given.begin(), given.end(), [](const PlanArgument& one) {
      return one.kind == PlanArgument::Kind::name && one.name == "k";
    });
    auto& args = out.plan.launches[i].args;
    if (reads) args.insert(args.end(), all.begin(), all.end());
  }
  const NamedExprs sizes = {{"graph_batch", scores.batch},
                            {"graph_m", scores.m},
                            {"graph_n", scores.n},
                            {"graph_k", scores.k},
                            {"graph_out", graph->out}};
  out.plan.let.insert(out.plan.let.begin(), sizes.begin(), sizes.end());
  out.plan.require.insert(out.plan.require.end(), graph->equalities.begin(),
                          graph->equalities.end());
  auto headers =
      std::make_shared<DeviceHeaders>(tunable.headers ? *tunable.headers : DeviceHeaders());
  (*headers)["scores.cuh"] = scores_text(task, *graph, *site);
  out.headers = std::move(headers);
  return out;
}

}  // namespace

std::optional<Tunable> with_hooks(const Tunable& tunable, const Task& task) {
  if (!is_float_task(task) || !takes_views(task, tunable.anchor) ||
      (tunable.anchor != "map" && updates_elements(task)))
    return std::nullopt;
  auto out = tunable.anchor == "matmul"        ? after_product(tunable, task)
             : tunable.anchor == "weighted"    ? between_products(tunable, task)
             : tunable.anchor == "gather"      ? in_tiles(tunable, task)
             : tunable.anchor == "contraction" ? as_contraction(tunable, task)
             : tunable.anchor == "window"      ? as_contraction(tunable, task)
             : tunable.anchor == "slide"       ? as_slide(tunable, task)
             : tunable.anchor == "local"       ? in_blocks(tunable, task)
                                               : over_rows(tunable, task);
  if (!out) return std::nullopt;
  out->family = task.family;
  out->anchor.clear();
  return out;
}

}  // namespace cupilot
