#include "program/partition.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "task/repeats.hpp"

namespace cupilot {
namespace {

constexpr std::size_t most_genes = 14;  // fusible edges whose bits are all tried

// Operations in an order in which each follows what it reads, as near as may be. Of several inputs
// that share what leads to them, the one that most operations lead to comes last; then those that
// share nothing, such as a mask's.
std::vector<int> chain_after_chain(const OperationGraph& graph) {
  const int count = static_cast<int>(boost::num_vertices(graph));
  std::vector<std::vector<int>> inputs(static_cast<std::size_t>(count));
  std::vector<bool> read(static_cast<std::size_t>(count), false);
  for (const auto& edge : boost::make_iterator_range(boost::edges(graph))) {
    const auto from = boost::source(edge, graph);
    inputs[boost::target(edge, graph)].push_back(static_cast<int>(from));
    read[from] = true;
  }
  std::vector<std::set<int>> leading(static_cast<std::size_t>(count));  // to each, itself included
  for (int i = 0; i < count; ++i) {
    auto& here = leading[static_cast<std::size_t>(i)];
    here.insert(i);
    for (const int input : inputs[static_cast<std::size_t>(i)]) {
      const auto& before = leading[static_cast<std::size_t>(input)];
      here.insert(before.begin(), before.end());
    }
  }
  for (auto& all : inputs) {
    std::map<int, std::pair<bool, std::size_t>> rank;
    std::size_t longest = 0;
    for (const int one : all)
      longest = std::max(longest, leading[static_cast<std::size_t>(one)].size());
    for (const int one : all) {
      const auto& here = leading[static_cast<std::size_t>(one)];
      const bool shares = std::any_of(all.begin(), all.end(), [&](int other) {
        const auto& there = leading[static_cast<std::size_t>(other)];
        return other != one && std::any_of(here.begin(), here.end(),
                                           [&](int each) { return there.contains(each); });
      });
      rank[one] = {!shares && here.size() < longest, here.size()};
    }
    std::stable_sort(all.begin(), all.end(), [&](int a, int b) { return rank.at(a) < rank.at(b); });
  }
  std::vector<int> order, open;
  std::vector<bool> placed(static_cast<std::size_t>(count), false);
  for (int last = 0; last < count; ++last) {
    if (!read[static_cast<std::size_t>(last)]) open.push_back(last);
    while (!open.empty()) {
      const int one = open.back();
      const auto& needed = inputs[static_cast<std::size_t>(one)];
      const auto next = std::find_if(needed.begin(), needed.end(), [&](int input) {
        return !placed[static_cast<std::size_t>(input)];
      });
      if (next != needed.end() && !placed[static_cast<std::size_t>(one)]) {
        open.push_back(*next);
        continue;
      }
      open.pop_back();
      if (!placed[static_cast<std::size_t>(one)]) order.push_back(one);
      placed[static_cast<std::size_t>(one)] = true;
    }
  }
  return order;
}

// Groups that bits on edges join.
class Groups {
 public:
  explicit Groups(std::size_t count) : leader_(count) {
    std::iota(leader_.begin(), leader_.end(), 0);
  }
  void join(int a, int b) { leader_[static_cast<std::size_t>(of(a))] = of(b); }
  Partition parts() {
    std::map<int, Part> by_leader;
    for (int i = 0; i < static_cast<int>(leader_.size()); ++i) by_leader[of(i)].push_back(i);
    Partition all;
    for (auto& [leader, part] : by_leader) all.push_back(std::move(part));
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  int of(int one) {
    while (leader_[static_cast<std::size_t>(one)] != one)
      one = leader_[static_cast<std::size_t>(one)];
    return one;
  }
  std::vector<int> leader_;
};

class Cutter {
 public:
  Cutter(const OperationGraph& graph, const PartQuestions& ask, std::size_t kept)
      : graph_(graph), ask_(ask), kept_(kept) {
    for (const auto& edge : boost::make_iterator_range(boost::edges(graph))) {
      const auto from = boost::source(edge, graph), to = boost::target(edge, graph);
      if (graph[from].repeat == graph[to].repeat)
        edges_.emplace_back(static_cast<int>(from), static_cast<int>(to));
    }
    std::sort(edges_.begin(), edges_.end());
  }

  Partitions run() {
    if (edges_.size() <= most_genes) {
      auto all = listed();
      if (all.size() <= most_partitions) return {std::move(all), true};
    }
    return {fastest(), false};
  }

 private:
  bool served(const Part& part) {
    const auto known = served_.find(part);
    if (known != served_.end()) return known->second;
    return served_[part] = is_connected(part) && ask_.served(part);
  }

  bool is_connected(const Part& part) const {
    std::vector<int> reached = {part.front()};
    std::set<int> left(part.begin() + 1, part.end());
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const auto& [from, to] : edges_) {
        if (from != reached[i] && to != reached[i]) continue;
        const int other = from == reached[i] ? to : from;
        if (left.erase(other) != 0) reached.push_back(other);
      }
    }
    return left.empty();
  }

  // Bits on edges, all of them; equal groups once.
  std::vector<Partition> listed() {
    std::set<Partition> met;
    std::vector<Partition> legal;
    const std::size_t count = boost::num_vertices(graph_);
    for (std::size_t bits = 0; bits < (std::size_t{1} << edges_.size()); ++bits) {
      Groups groups(count);
      for (std::size_t i = 0; i < edges_.size(); ++i) {
        if ((bits >> i & 1) != 0) groups.join(edges_[i].first, edges_[i].second);
      }
      Partition parts = groups.parts();
      if (!met.insert(parts).second) continue;
      Partition ordered = in_launch_order(graph_, parts);
      if (ordered.empty()) continue;
      if (std::all_of(ordered.begin(), ordered.end(), [&](const Part& p) { return served(p); }))
        legal.push_back(std::move(ordered));
    }
    std::stable_sort(legal.begin(), legal.end(),
                     [](const Partition& a, const Partition& b) { return a.size() < b.size(); });
    return legal;
  }

  struct Way {
    double seconds = 0;
    Partition parts;
  };

  void keep_fastest(std::vector<Way>& ways) const {
    std::stable_sort(ways.begin(), ways.end(),
                     [](const Way& a, const Way& b) { return a.seconds < b.seconds; });
    if (ways.size() > kept_) ways.resize(kept_);
  }

  // The `kept_` fastest partitions whose parts are runs of one of two orders: as the operations
  // stand, and chain after chain.
  std::vector<Partition> fastest() {
    std::vector<int> standing(boost::num_vertices(graph_)), chains = chain_after_chain(graph_);
    std::iota(standing.begin(), standing.end(), 0);
    std::vector<Way> all;
    std::set<Partition> met;
    for (const auto* order : {&standing, &chains}) {
      if (order == &chains && chains == standing) break;
      for (Way& way : fastest_along(*order)) {
        way.parts = in_launch_order(graph_, std::move(way.parts));
        if (!way.parts.empty() && met.insert(way.parts).second) all.push_back(std::move(way));
      }
    }
    keep_fastest(all);
    std::vector<Partition> out;
    for (Way& way : all) out.push_back(std::move(way.parts));
    return out;
  }

  // The `kept_` fastest ways to cover the first i operations of an order, for each i; those that
  // cover all.
  std::vector<Way> fastest_along(const std::vector<int>& order) {
    const std::size_t count = order.size();
    std::vector<std::vector<Way>> ways(count + 1);
    ways[0] = {Way()};
    for (std::size_t end = 1; end <= count; ++end) {
      std::vector<Way>& here = ways[end];
      for (std::size_t begin = 0; begin < end; ++begin) {
        if (ways[begin].empty()) continue;
        Part part(order.begin() + static_cast<std::ptrdiff_t>(begin),
                  order.begin() + static_cast<std::ptrdiff_t>(end));
        std::sort(part.begin(), part.end());
        if (!served(part)) continue;
        const double seconds = ask_.seconds(part);
        for (const Way& before : ways[begin]) {
          here.push_back({before.seconds + seconds, before.parts});
          here.back().parts.push_back(part);
        }
      }
      keep_fastest(here);
    }
    return std::move(ways[count]);
  }

  const OperationGraph& graph_;
  const PartQuestions& ask_;
  std::size_t kept_;
  std::vector<std::pair<int, int>> edges_;  // that a part may hold
  std::map<Part, bool> served_;
};

}  // namespace

OperationGraph operation_graph(const Task& task) {
  OperationGraph graph(task.operations.size());
  std::vector<std::vector<std::string>> made;
  for (std::size_t reader = 0; reader < task.operations.size(); ++reader) {
    const Operation& operation = task.operations[reader];
    graph[reader].repeat = operation.repeat;
    const auto inputs = read_names(task, operation);
    for (std::size_t writer = 0; writer < reader; ++writer) {
      const auto& outputs = made[writer];
      const bool reads = std::any_of(inputs.begin(), inputs.end(), [&](const std::string& name) {
        return std::find(outputs.begin(), outputs.end(), name) != outputs.end();
      });
      if (reads) boost::add_edge(writer, reader, graph);
    }
    made.push_back(made_names(task, operation));
  }
  return graph;
}

namespace {

// The repeat of each part; nullopt: a part lies in several, or in one and outside.
std::optional<std::vector<std::string>> repeats_of(const OperationGraph& graph,
                                                   const Partition& partition) {
  std::vector<std::string> repeats;
  for (const Part& part : partition) {
    const std::string& first = graph[static_cast<std::size_t>(part.front())].repeat;
    if (std::any_of(part.begin(), part.end(), [&](int operation) {
          return graph[static_cast<std::size_t>(operation)].repeat != first;
        }))
      return std::nullopt;
    repeats.push_back(first);
  }
  return repeats;
}

}  // namespace

Partition in_launch_order(const OperationGraph& graph, Partition partition) {
  std::sort(partition.begin(), partition.end());
  const auto repeats = repeats_of(graph, partition);
  if (!repeats) return {};
  std::vector<std::size_t> part_of(boost::num_vertices(graph), 0);
  for (std::size_t i = 0; i < partition.size(); ++i) {
    for (const int operation : partition[i]) part_of[static_cast<std::size_t>(operation)] = i;
  }
  std::vector<std::set<std::size_t>> needs(partition.size());
  for (const auto& edge : boost::make_iterator_range(boost::edges(graph))) {
    const std::size_t from = part_of[boost::source(edge, graph)],
                      to = part_of[boost::target(edge, graph)];
    if (from == to) continue;
    needs[to].insert(from);
    // A body begins when all that any of its parts needs is there.
    const std::string& body = (*repeats)[to];
    for (std::size_t i = 0; i < partition.size(); ++i) {
      if (!body.empty() && (*repeats)[i] == body && (*repeats)[from] != body) needs[i].insert(from);
    }
  }
  Partition ordered;
  std::vector<bool> placed(partition.size(), false);
  std::string within;  // the body that has begun
  for (std::size_t round = 0; round < partition.size(); ++round) {
    const auto is_open = [&](std::size_t i) { return !placed[i] && (*repeats)[i] == within; };
    bool inside = false;
    for (std::size_t i = 0; i < partition.size(); ++i)
      inside = inside || (!within.empty() && is_open(i));
    for (std::size_t i = 0; i < partition.size(); ++i) {
      const bool ready =
          !placed[i] && (!inside || is_open(i)) &&
          std::all_of(needs[i].begin(), needs[i].end(), [&](std::size_t n) { return placed[n]; });
      if (!ready) continue;
      placed[i] = true;
      within = (*repeats)[i];
      ordered.push_back(partition[i]);
      break;
    }
  }
  return ordered.size() == partition.size() ? ordered : Partition();
}

Partitions partitions(const OperationGraph& graph, const PartQuestions& ask, std::size_t kept) {
  if (boost::num_vertices(graph) == 0) return {};
  return Cutter(graph, ask, kept).run();
}

}  // namespace cupilot
