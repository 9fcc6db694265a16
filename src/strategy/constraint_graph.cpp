#include "strategy/constraint_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <cupilot/rng.hpp>

namespace cupilot {
namespace {

enum class Kind { needs, excludes, alternative };
struct Edge {
  Kind kind = Kind::needs;
};
using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Edge>;

Error contradiction(std::string message) {
  return {ErrorCode::usage, std::move(message),
          "correct the technique's row: names, needs and excludes"};
}

struct KeepNeeds {
  const Graph* graph = nullptr;
  bool operator()(const Graph::edge_descriptor& edge) const {
    return (*graph)[edge].kind == Kind::needs;
  }
};

// Everything that unconditional needs lead to, with the technique itself.
std::vector<int> reachable(const Graph& graph, int from) {
  struct Recorder : boost::default_bfs_visitor {
    std::vector<int>* seen = nullptr;
    void discover_vertex(Graph::vertex_descriptor v,
                         const boost::filtered_graph<Graph, KeepNeeds>&) const {
      seen->push_back(static_cast<int>(v));
    }
  };
  std::vector<int> seen;
  Recorder recorder;
  recorder.seen = &seen;
  const boost::filtered_graph<Graph, KeepNeeds> needs_only(graph, KeepNeeds{&graph});
  boost::breadth_first_search(needs_only, static_cast<Graph::vertex_descriptor>(from),
                              boost::visitor(recorder));
  std::sort(seen.begin(), seen.end());
  return seen;
}

std::vector<std::string_view> split(std::string_view text, std::string_view by) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(by, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + by.size();
  }
}

using Index = std::map<std::string_view, int>;

Result<int> look_up(const Index& index, std::string_view name, const Technique& row) {
  const auto found = index.find(name);
  if (found == index.end())
    return contradiction(
        fmt::format("technique {} names {}, which is not a technique here", row.name, name));
  return found->second;
}

Result<Need> parse_need(const Index& index, const std::string& text, const Technique& row) {
  const auto halves = split(text, " when ");
  if (halves.size() > 2)
    return contradiction(fmt::format("technique {}: more than one 'when' in '{}'", row.name, text));
  Need need;
  for (const std::string_view name : split(halves[0], "|")) {
    const Result<int> found = look_up(index, name, row);
    if (!found) return found.error();
    need.any_of.push_back(*found);
  }
  if (halves.size() == 2) {
    const Result<int> when = look_up(index, halves[1], row);
    if (!when) return when.error();
    need.when = *when;
  }
  return need;
}

bool same_group(const Technique& a, const Technique& b) {
  return !a.group.empty() && a.group == b.group;
}

// Adds the edges of one technique's row, and returns what it needs.
Result<std::vector<Need>> add_row(std::span<const Technique> techniques, std::size_t i,
                                  const Index& index, Graph& graph) {
  const Technique& row = techniques[i];
  std::vector<Need> needs;
  for (const std::string& text : row.needs) {
    Result<Need> need = parse_need(index, text, row);
    if (!need) return std::move(need.error());
    if (std::count(need->any_of.begin(), need->any_of.end(), static_cast<int>(i)) != 0) {
      return contradiction(fmt::format("technique {} needs itself", row.name));
    }
    if (need->any_of.size() == 1 && need->when < 0)
      boost::add_edge(i, static_cast<std::size_t>(need->any_of[0]), Edge{Kind::needs}, graph);
    needs.push_back(std::move(*need));
  }
  for (const std::string& name : row.excludes) {
    const Result<int> other = look_up(index, name, row);
    if (!other) return other.error();
    if (*other == static_cast<int>(i))
      return contradiction(fmt::format("technique {} excludes itself", row.name));
    boost::add_edge(i, static_cast<std::size_t>(*other), Edge{Kind::excludes}, graph);
    boost::add_edge(static_cast<std::size_t>(*other), i, Edge{Kind::excludes}, graph);
  }
  for (std::size_t j = 0; j < techniques.size(); ++j) {
    if (j != i && same_group(row, techniques[j]))
      boost::add_edge(i, j, Edge{Kind::alternative}, graph);
  }
  return needs;
}

// Returns 1 for each pair of techniques that exclude one another, else 0.
std::vector<char> conflicts_in(const Graph& graph) {
  const std::size_t size = boost::num_vertices(graph);
  std::vector<char> conflicts(size * size, 0);
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    if (graph[edge].kind != Kind::needs)
      conflicts[boost::source(edge, graph) * size + boost::target(edge, graph)] = 1;
  }
  return conflicts;
}

}  // namespace

int ConstraintGraph::index(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? -1 : found->second;
}

Result<ConstraintGraph> ConstraintGraph::build(std::span<const Technique> techniques) {
  ConstraintGraph result;
  Index index;
  Graph graph(techniques.size());
  for (std::size_t i = 0; i < techniques.size(); ++i) {
    if (!index.emplace(techniques[i].name, static_cast<int>(i)).second) {
      return contradiction(fmt::format("technique {} stands twice", techniques[i].name));
    }
    result.names_.push_back(techniques[i].name);
    result.keys_.push_back(Rng::of(0, techniques[i].name).next());
    result.index_.emplace(techniques[i].name, static_cast<int>(i));
  }
  std::map<std::string_view, std::vector<int>> groups;
  for (std::size_t i = 0; i < techniques.size(); ++i) {
    Result<std::vector<Need>> needs = add_row(techniques, i, index, graph);
    if (!needs) return std::move(needs.error());
    result.needs_.push_back(std::move(*needs));
    const std::string& group = techniques[i].group;
    if (!group.empty()) groups[group].push_back(static_cast<int>(i));
  }
  for (auto& [name, members] : groups) result.groups_.push_back(std::move(members));
  result.conflicts_ = conflicts_in(graph);
  result.conflicts_of_.resize(techniques.size());
  for (int a = 0; a < result.size(); ++a) {
    for (int b = 0; b < result.size(); ++b) {
      if (result.conflict(a, b)) result.conflicts_of_[static_cast<std::size_t>(a)].push_back(b);
    }
  }
  for (int i = 0; i < result.size(); ++i) {
    result.closures_.push_back(reachable(graph, i));
    for (const int a : result.closures_.back()) {
      for (const int b : result.closures_.back()) {
        if (!result.conflict(a, b)) continue;
        return contradiction(fmt::format(
            "technique {} can never hold: it needs {} and {}, which exclude one another",
            techniques[i].name, techniques[a].name, techniques[b].name));
      }
    }
  }
  return result;
}

}  // namespace cupilot
