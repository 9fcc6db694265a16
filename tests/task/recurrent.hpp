// Recurrent layers as graphs with a repeat, and the same by plain loops in double.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <cupilot/task.hpp>

namespace cupilot::testing {

inline Tensor layer_input(const std::string& name, std::vector<Expr> shape) {
  return {.name = name, .shape = std::move(shape)};
}
inline Tensor layer_output(const std::string& name, std::vector<Expr> shape) {
  return {.name = name, .role = Role::out, .shape = std::move(shape)};
}

struct LayerSizes {
  std::int64_t steps = 3, batch = 2, inputs = 4, hidden = 5;
};
struct LayerShape {
  LayerSizes sizes{};
  bool gru = false, backwards = false;
  bool projects_before = true;  // all inputs at once, before the loop
};

// Adds a layer that reads `from` (steps x batch x inputs) and gives PREFIXy, and PREFIXhn.
class LayerGraph {
 public:
  LayerGraph(Task& task, LayerShape shape, std::string prefix)
      : task_(task), shape_(shape), prefix_(std::move(prefix)) {}

  void add(const std::string& from, bool is_output) {
    const std::int64_t steps = shape_.sizes.steps, batch = shape_.sizes.batch;
    const std::int64_t inputs = shape_.sizes.inputs, hidden = shape_.sizes.hidden;
    const std::int64_t gates = shape_.gru ? 3 : 4;
    const auto parameter = [&](const char* name, std::vector<Expr> extents) {
      task_.tensors.push_back(layer_input(prefix_ + name, std::move(extents)));
      task_.tensors.back().fill = {.kind = FillKind::uniform, .low = -0.4, .high = 0.4};
    };
    parameter("h0", {batch, hidden});
    if (!shape_.gru) parameter("c0", {batch, hidden});
    parameter("wi", {gates * hidden, inputs});
    parameter("wh", {gates * hidden, hidden});
    parameter("bi", {gates * hidden});
    parameter("bh", {gates * hidden});
    if (is_output) {
      task_.tensors.push_back(layer_output(prefix_ + "y", {steps, batch, hidden}));
      task_.tensors.push_back(layer_output(prefix_ + "hn", {batch, hidden}));
    }
    const std::string at =
        shape_.backwards ? "[" + std::to_string(steps) + " - 1 - t]" : std::string("[t]");
    if (shape_.projects_before)
      operation("project", "linear", {from, own("wi"), own("bi")}, {own("px")}, {}, false);
    else
      operation("project", "linear", {from + at, own("wi"), own("bi")}, {own("px")});
    const std::string px = shape_.projects_before ? own("px") + at : own("px");
    operation("recur", "linear", {own("h"), own("wh"), own("bh")}, {own("ph")});
    Repeat repeat{.name = own("layer"), .count = steps};
    repeat.carried = {{own("h"), own("h0"), own("y") + at, own("hn")}};
    if (shape_.gru) {
      gru(px, own("y") + at);
    } else {
      repeat.carried.push_back({own("c"), own("c0"), own("c1"), ""});
      lstm(px, own("y") + at);
    }
    task_.repeats.push_back(std::move(repeat));
  }

 private:
  std::string own(const std::string& name) const { return prefix_ + name; }

  void operation(const std::string& name, const std::string& kind, std::vector<std::string> in,
                 std::vector<std::string> out, std::map<std::string, Attribute> attributes = {},
                 bool in_body = true) {
    task_.operations.push_back({own(name), kind, std::move(in), std::move(out),
                                std::move(attributes), in_body ? own("layer") : ""});
  }
  void slice(const std::string& from, const std::string& to, std::int64_t part) {
    const std::int64_t hidden = shape_.sizes.hidden;
    operation("take_" + to, "slice", {from}, {own(to)},
              {{"dim", std::int64_t{1}}, {"start", part * hidden}, {"end", (part + 1) * hidden}});
  }
  void unary(const char* kind, const std::string& from, const std::string& to) {
    operation("make_" + to, kind, {own(from)}, {own(to)});
  }
  void binary(const char* kind, const std::string& a, const std::string& b, const std::string& to) {
    operation("make_" + step_free(to), kind, {own(a), own(b)}, {own(to)});
  }
  static std::string step_free(const std::string& name) { return name.substr(0, name.find('[')); }

  void lstm(const std::string& px, const std::string& y) {
    operation("sum", "add", {px, own("ph")}, {own("p")});
    for (int g = 0; g < 4; ++g) {
      const std::string gate(1, "ifgo"[g]);
      slice(own("p"), "p" + gate, g);
      unary(g == 2 ? "tanh" : "sigmoid", "p" + gate, "a" + gate);
    }
    binary("mul", "af", "c", "fc");
    binary("mul", "ai", "ag", "ig");
    binary("add", "fc", "ig", "c1");
    unary("tanh", "c1", "tc");
    operation("out", "mul", {own("ao"), own("tc")}, {y});
  }

  void gru(const std::string& px, const std::string& y) {
    for (int g = 0; g < 3; ++g) {
      const std::string gate(1, "rzn"[g]);
      slice(px, "x" + gate, g);
      slice(own("ph"), "q" + gate, g);
    }
    binary("add", "xr", "qr", "pr");
    unary("sigmoid", "pr", "r");
    binary("add", "xz", "qz", "pz");
    unary("sigmoid", "pz", "z");
    binary("mul", "r", "qn", "rq");
    binary("add", "xn", "rq", "pn");
    unary("tanh", "pn", "n");
    binary("sub", "h", "n", "d");
    binary("mul", "z", "d", "zd");
    operation("out", "add", {own("n"), own("zd")}, {y});
  }

  Task& task_;
  LayerShape shape_;
  std::string prefix_;
};

// A task whose operations were added.
inline Result<Task> completed(Task task) {
  task.name = task.family = "recurrent";
  if (task.time_shapes.empty()) task.time_shapes = {Workload()};
  if (auto done = complete(task); !done) return done.error();
  if (auto valid = validate(task); !valid) return valid.error();
  return task;
}

inline Task layer_task(const LayerShape& shape) {
  Task task;
  const LayerSizes& sizes = shape.sizes;
  task.tensors.push_back(layer_input("x", {sizes.steps, sizes.batch, sizes.inputs}));
  LayerGraph(task, shape, "").add("x", true);
  return task;
}

using Values = std::map<std::string, std::vector<float>>;

// One layer in double: y of every step, in the places of the steps.
inline std::vector<double> layer_by_loops(const LayerShape& shape, const std::string& prefix,
                                          const std::vector<double>& x, const Values& values) {
  const std::int64_t steps = shape.sizes.steps, batch = shape.sizes.batch;
  const std::int64_t inputs = shape.sizes.inputs, hidden = shape.sizes.hidden;
  const std::int64_t gates = shape.gru ? 3 : 4;
  const auto of = [&](const char* name, std::int64_t i) {
    return double(values.at(prefix + name)[std::size_t(i)]);
  };
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  std::vector<double> y(std::size_t(steps * batch * hidden));
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<double> h, c;
    for (std::int64_t u = 0; u < hidden; ++u) {
      h.push_back(of("h0", b * hidden + u));
      if (!shape.gru) c.push_back(of("c0", b * hidden + u));
    }
    for (std::int64_t t = 0; t < steps; ++t) {
      const std::int64_t place = shape.backwards ? steps - 1 - t : t;
      std::vector<double> from_x, from_h;
      for (std::int64_t g = 0; g < gates * hidden; ++g) {
        double sum_x = of("bi", g), sum_h = of("bh", g);
        for (std::int64_t k = 0; k < inputs; ++k)
          sum_x += x[std::size_t((place * batch + b) * inputs + k)] * of("wi", g * inputs + k);
        for (std::int64_t k = 0; k < hidden; ++k)
          sum_h += h[std::size_t(k)] * of("wh", g * hidden + k);
        from_x.push_back(sum_x), from_h.push_back(sum_h);
      }
      for (std::int64_t u = 0; u < hidden; ++u) {
        const auto both = [&](std::int64_t gate) {
          return from_x[std::size_t(gate * hidden + u)] + from_h[std::size_t(gate * hidden + u)];
        };
        double& state = h[std::size_t(u)];
        if (shape.gru) {
          const double r = sigmoid(both(0)), z = sigmoid(both(1));
          const double n = std::tanh(from_x[std::size_t(2 * hidden + u)] +
                                     r * from_h[std::size_t(2 * hidden + u)]);
          state = (1 - z) * n + z * state;
        } else {
          double& cell = c[std::size_t(u)];
          cell = sigmoid(both(1)) * cell + sigmoid(both(0)) * std::tanh(both(2));
          state = sigmoid(both(3)) * std::tanh(cell);
        }
        y[std::size_t((place * batch + b) * hidden + u)] = state;
      }
    }
  }
  return y;
}

}  // namespace cupilot::testing
