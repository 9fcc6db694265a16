// Convolutions and pooling of one to three dimensions. x is n x c x d x h x w, f the filters; a
// dimension that is not named has extent 1, filter 1, stride 1, padding 0, dilation 1. Sizes: n c o
// g, d h w, kd kh kw, sd sh sw, pd ph pw, ed eh ew (dilations), qd qh qw (what a transposed output
// is longer by).
#include <algorithm>
#include <array>
#include <limits>

#include "problem.hpp"

namespace cupilot::coverage {
namespace {

constexpr std::array<char, 3> letters = {'d', 'h', 'w'};

// One dimension of a window that slides over an image.
struct Axis {
  Index in, filter, stride, padding, dilation, extra;
  Axis(const Problem& p, char letter) {
    const auto named = [&](const char* prefix, Index fallback) {
      return p.size_or(std::string(prefix) + letter, fallback);
    };
    in = named("", 1), filter = named("k", 1), stride = named("s", 1), padding = named("p", 0),
    dilation = named("e", 1);
    extra = named("q", 0);
  }
  Index out() const { return (in + 2 * padding - dilation * (filter - 1) - 1) / stride + 1; }
  Index transposed_out() const {
    return (in - 1) * stride - 2 * padding + dilation * (filter - 1) + extra + 1;
  }
  // The input element under tap `t` of output `o`; outside where not in [0, in).
  Index under(Index o, Index t) const { return o * stride - padding + t * dilation; }
};

struct Window {
  Axis d, h, w;
  explicit Window(const Problem& p) : d(p, letters[0]), h(p, letters[1]), w(p, letters[2]) {}
  Index taps() const { return d.filter * h.filter * w.filter; }
  Index plane() const { return d.in * h.in * w.in; }

  // Calls f(input offset in a plane, tap, output offset in a plane) for every pair that meets, in
  // order of outputs.
  template <class F>
  void slide(Index od, Index oh, Index ow, F f) const {
    Index at = 0;
    for (Index z = 0; z < od; ++z) {
      for (Index y = 0; y < oh; ++y) {
        for (Index x = 0; x < ow; ++x, ++at) {
          for (Index t = 0; t < taps(); ++t) {
            const Index i = d.under(z, t / (h.filter * w.filter)),
                        j = h.under(y, t / w.filter % h.filter);
            const Index k = w.under(x, t % w.filter);
            if (i < 0 || i >= d.in || j < 0 || j >= h.in || k < 0 || k >= w.in) continue;
            f((i * h.in + j) * w.in + k, t, at);
          }
        }
      }
    }
  }
  template <class F>
  void slide(F f) const {
    slide(d.out(), h.out(), w.out(), f);
  }
  Index out() const { return d.out() * h.out() * w.out(); }
};

double& at(Values& v, Index i) { return v[static_cast<std::size_t>(i)]; }
double at(const Values& v, Index i) { return v[static_cast<std::size_t>(i)]; }

// f is o x c/g x taps.
Values convolve(const Problem& p, const Values& x, const Values& f, Index c, Index o, Index g,
                const Window& window) {
  const Index n = p.size("n"), planes = window.out(), taps = window.taps();
  Values y(static_cast<std::size_t>(n * o * planes), 0);
  window.slide([&](Index in, Index tap, Index out) {
    for (Index b = 0; b < n; ++b) {
      for (Index k = 0; k < o; ++k) {
        for (Index i = 0; i < c / g; ++i) {
          const Index channel = k / (o / g) * (c / g) + i;
          at(y, (b * o + k) * planes + out) += at(x, (b * c + channel) * window.plane() + in) *
                                               at(f, (k * (c / g) + i) * taps + tap);
        }
      }
    }
  });
  return y;
}

Values conv(const Problem& p) {
  return convolve(p, p.in("x"), p.in("f"), p.size("c"), p.size("o"), p.size_or("g", 1), Window(p));
}

// A depthwise convolution by f, then a pointwise one by r (o x c).
Values conv_separable(const Problem& p) {
  const Window window(p);
  const Values between =
      convolve(p, p.in("x"), p.in("f"), p.size("c"), p.size("c"), p.size("c"), window);
  Problem second{
      {{"n", p.size("n")}, {"d", window.d.out()}, {"h", window.h.out()}, {"w", window.w.out()}},
      {}};
  return convolve(second, between, p.in("r"), p.size("c"), p.size("o"), 1, Window(second));
}

// f is c x o/g x taps: every input element spreads over the outputs.
Values conv_transposed(const Problem& p) {
  const Window window(p);
  const Index n = p.size("n"), c = p.size("c"), o = p.size("o"), g = p.size_or("g", 1),
              taps = window.taps();
  const Index od = window.d.transposed_out(), oh = window.h.transposed_out(),
              ow = window.w.transposed_out();
  Values y(static_cast<std::size_t>(n * o * od * oh * ow), 0);
  // The window slides over the output; its positions are the inputs.
  Window back = window;
  back.d.in = od, back.h.in = oh, back.w.in = ow;
  back.slide(window.d.in, window.h.in, window.w.in, [&](Index out, Index tap, Index in) {
    for (Index b = 0; b < n; ++b) {
      for (Index i = 0; i < c; ++i) {
        for (Index k = 0; k < o / g; ++k) {
          const Index channel = i / (c / g) * (o / g) + k;
          at(y, (b * o + channel) * od * oh * ow + out) +=
              at(p.in("x"), (b * c + i) * window.plane() + in) *
              at(p.in("f"), (i * (o / g) + k) * taps + tap);
        }
      }
    }
  });
  return y;
}

Values max_pool(const Problem& p) {
  const Window window(p);
  const Index planes = p.size("n");
  Values y(static_cast<std::size_t>(planes * window.out()),
           -std::numeric_limits<double>::infinity());
  window.slide([&](Index in, Index, Index out) {
    for (Index b = 0; b < planes; ++b) {
      double& best = at(y, b * window.out() + out);
      best = std::max(best, at(p.in("x"), b * window.plane() + in));
    }
  });
  return y;
}

// The padding counts as zeros.
Values average_pool(const Problem& p) {
  const Window window(p);
  const Index planes = p.size("n");
  Values y(static_cast<std::size_t>(planes * window.out()), 0);
  window.slide([&](Index in, Index, Index out) {
    for (Index b = 0; b < planes; ++b) {
      at(y, b * window.out() + out) +=
          at(p.in("x"), b * window.plane() + in) / static_cast<double>(window.taps());
    }
  });
  return y;
}

}  // namespace

const References& image_references() {
  static const References table = {
      {"conv", conv},
      {"conv_transposed", conv_transposed},
      {"conv_separable", conv_separable},
      {"max_pool", max_pool},
      {"average_pool", average_pool},
  };
  return table;
}

}  // namespace cupilot::coverage
