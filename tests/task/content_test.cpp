#include "task/content.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "base/hash.hpp"
#include "catch.hpp"
#include "support/gemm.hpp"

namespace cupilot {
namespace {

Task one_tensor(DType type, Fill fill, std::vector<Expr> shape = {"rows", "columns"}) {
  Task task;
  task.name = "t";
  task.axes = {{"rows", AxisKind::free}, {"columns", AxisKind::reduced}};
  task.tensors = {{.name = "x", .type = type, .shape = std::move(shape), .fill = std::move(fill)}};
  return task;
}

struct Filled {
  FillParams params;
  std::vector<std::byte> memory;
  double at(std::int64_t i) const {
    return load_real(memory.data(), storage_offset(params, i), params.type);
  }
  std::uint64_t bits(std::int64_t i) const {
    return load_bits(memory.data(), storage_offset(params, i), params.type);
  }
};

Filled filled(const Task& task, std::int64_t rows, std::int64_t columns, Content content = {},
              std::size_t tensor = 0) {
  const auto params =
      fill_params(task, tensor, {.sizes = {{"rows", rows}, {"columns", columns}}}, content);
  REQUIRE(params);
  Filled out{*params, std::vector<std::byte>(
                          static_cast<std::size_t>(params->span * storage_bytes(params->type)),
                          std::byte{0xEE})};
  fill(out.params, out.memory);
  return out;
}

struct Moments {
  double mean = 0, deviation = 0, least = 1e300, most = -1e300;
  std::size_t distinct = 0;
};
Moments moments(const Filled& f) {
  Moments m;
  std::set<std::uint64_t> seen;
  double square = 0;
  const std::int64_t n = f.params.elements;
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = f.at(i);
    m.mean += x / static_cast<double>(n);
    square += x * x / static_cast<double>(n);
    m.least = std::min(m.least, x);
    m.most = std::max(m.most, x);
    seen.insert(f.bits(i));
  }
  m.deviation = std::sqrt(std::max(0.0, square - m.mean * m.mean));
  m.distinct = seen.size();
  return m;
}

TEST_CASE("fills have the moments of their name") {
  struct Case {
    Fill fill;
    double mean, deviation, least, most;
  };
  const double third = 1 / std::sqrt(3.0);
  const Case c = GENERATE_COPY(from_range(std::vector<Case>{
      {{.kind = FillKind::normal}, 0, 1, -3.47, 3.47},
      {{.kind = FillKind::normal, .low = 5, .high = 0.25}, 5, 0.25, 4.13, 5.87},
      {{.kind = FillKind::uniform}, 0.5, third / 2, 0, 1},
      {{.kind = FillKind::uniform, .low = -2, .high = 2}, 0, 2 * third, -2, 2},
      {{.kind = FillKind::integers, .below = 16}, 7.5, 4.61, 0, 15},
      {{.kind = FillKind::boolean}, 0.5, 0.5, 0, 1},
      {{.kind = FillKind::signs}, 0, 1, -1, 1},
      {{.kind = FillKind::zeros}, 0, 0, 0, 0},
      {{.kind = FillKind::ones}, 1, 0, 1, 1},
  }));
  const DType type = GENERATE(DType::f64, DType::f32, DType::bf16, DType::f16);
  const Moments m = moments(filled(one_tensor(type, c.fill), 200, 300, {.seed = 3}));
  INFO(static_cast<int>(c.fill.kind) << " " << name_of(type));
  CHECK(std::abs(m.mean - c.mean) < 0.02 * c.deviation + 1e-6);
  CHECK(std::abs(m.deviation - c.deviation) < 0.01 * c.deviation + 1e-6);
  CHECK(m.least >= c.least - 0.01);
  CHECK(m.most <= c.most + 0.01);
  // 60 000 draws reach the tails.
  if (c.fill.kind == FillKind::normal) CHECK(m.most - m.mean > 3 * c.deviation);
}

TEST_CASE("fp32 and fp64 content uses every significand bit") {
  for (const FillKind kind : {FillKind::normal, FillKind::uniform}) {
    const Filled f = filled(one_tensor(DType::f32, {.kind = kind}), 100, 100);
    std::map<int, int> set;
    for (std::int64_t i = 0; i < f.params.elements; ++i) {
      for (int bit = 0; bit < 23; ++bit) set[bit] += static_cast<int>(f.bits(i) >> bit & 1);
    }
    for (int bit = 0; bit < 20; ++bit) {  // above, the distribution's shape shows
      INFO("kind " << static_cast<int>(kind) << " bit " << bit);
      CHECK(set[bit] > 4600);
      CHECK(set[bit] < 5400);
    }
    CHECK(moments(f).distinct > 9980);
    const Filled wide = filled(one_tensor(DType::f64, {.kind = kind}), 100, 100);
    int odd = 0;
    for (std::int64_t i = 0; i < wide.params.elements; ++i) odd += (wide.bits(i) & 0xFF) != 0;
    CHECK(odd > 9000);
  }
}

TEST_CASE("neighbours, seeds and tensors are independent") {
  Task task = one_tensor(DType::f32, {});
  task.tensors.push_back(task.tensors[0]);
  task.tensors[1].name = "y";
  const Filled a = filled(task, 100, 100, {.seed = 1}), b = filled(task, 100, 100, {.seed = 2}),
               y = filled(task, 100, 100, {.seed = 1}, 1);
  double along = 0, seeds = 0, tensors = 0;
  for (std::int64_t i = 0; i + 1 < a.params.elements; ++i) {
    along += a.at(i) * a.at(i + 1) / 10000;
    seeds += a.at(i) * b.at(i) / 10000;
    tensors += a.at(i) * y.at(i) / 10000;
  }
  CHECK(std::abs(along) < 0.04);
  CHECK(std::abs(seeds) < 0.04);
  CHECK(std::abs(tensors) < 0.04);
}

TEST_CASE("rows of rows") {
  const Filled hot = filled(one_tensor(DType::f32, {.kind = FillKind::one_hot_rows}), 50, 37);
  const Filled unit = filled(one_tensor(DType::f32, {.kind = FillKind::unit_sum_rows}), 50, 37);
  std::set<std::int64_t> columns;
  for (std::int64_t r = 0; r < 50; ++r) {
    double ones = 0, sum = 0;
    for (std::int64_t c = 0; c < 37; ++c) {
      if (hot.at(r * 37 + c) == 1.0) columns.insert(c);
      ones += hot.at(r * 37 + c);
      sum += unit.at(r * 37 + c);
      CHECK(unit.at(r * 37 + c) >= 0.0);
    }
    CHECK(ones == 1.0);
    CHECK(std::abs(sum - 1.0) < 1e-6);
  }
  CHECK(columns.size() > 15);
}

TEST_CASE("structures") {
  const auto at = [](Structure structure, std::int64_t r, std::int64_t c) {
    return filled(one_tensor(DType::f32, {.structure = structure}, {2, "columns", "columns"}), 1, 9)
        .at(81 + r * 9 + c);
  };
  CHECK(at(Structure::upper, 5, 3) == 0.0);
  CHECK(at(Structure::upper, 3, 5) != 0.0);
  CHECK(at(Structure::upper, 5, 5) != 0.0);
  CHECK(at(Structure::lower, 3, 5) == 0.0);
  CHECK(at(Structure::lower, 5, 3) != 0.0);
  CHECK(at(Structure::diagonal, 3, 5) == 0.0);
  CHECK(at(Structure::diagonal, 4, 4) != 0.0);
  CHECK(at(Structure::symmetric, 3, 5) == at(Structure::symmetric, 5, 3));
  CHECK(at(Structure::symmetric, 3, 5) != at(Structure::symmetric, 3, 6));
}

TEST_CASE("lines of a symmetric matrix are of one magnitude") {
  for (const ContentKind kind : {ContentKind::range_rows, ContentKind::scales}) {
    for (const Structure structure : {Structure::dense, Structure::symmetric}) {
      double widest = 0;  // octaves between the largest elements of two lines
      for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const Filled f =
            filled(one_tensor(DType::f32, {.structure = structure}, {"columns", "columns"}), 1, 24,
                   {.kind = kind, .seed = seed});
        double least = 1e300, most = 0;
        for (std::int64_t r = 0; r < 24; ++r) {
          double largest = 0;
          for (std::int64_t c = 0; c < 24; ++c)
            largest = std::max(largest, std::abs(f.at(r * 24 + c)));
          least = std::min(least, largest), most = std::max(most, largest);
        }
        widest = std::max(widest, std::log2(most / least));
      }
      CHECK((widest < 8) == (structure == Structure::symmetric));  // one peak is 160
    }
  }
}

TEST_CASE("one peak in seven lines walks back from the end of its line") {
  const Filled f = filled(one_tensor(DType::f32, {}), 70, 8, {.kind = ContentKind::range_rows});
  for (std::int64_t group = 0; group < 10; ++group) {
    const std::int64_t place = 7 - group % 8;
    int highest = 0, lowest = 0;
    for (std::int64_t line = 7 * group; line < 7 * group + 7; ++line) {
      double mean = 0;
      for (std::int64_t c = 0; c < 8; ++c) mean += f.at(line * 8 + c) / 8;
      const double apart = f.at(line * 8 + place) - mean;
      if (std::abs(mean) > 50) continue;  // a line far from zero
      highest += apart > 100 ? 1 : 0;
      lowest += apart < -50 ? 1 : 0;
    }
    INFO(group);
    CHECK(highest >= 1);
    CHECK(lowest + highest >= 2);  // where another peak stands there, no least does
  }
}

TEST_CASE("lines of halves lie beyond any number that a search begins with") {
  Task task = one_tensor(DType::f16, {});
  const auto least = [&] {
    const Filled f = filled(task, 24, 2, {.kind = ContentKind::scales, .seed = 1});
    double least = 0;
    for (std::int64_t i = 0; i < 48; ++i) least = std::min(least, f.at(i));
    return least;
  };
  CHECK(least() < -60000);
  CHECK(std::isfinite(least()));
  task.precision = Precision::fp16;  // there sums would leave the type's range
  CHECK(least() > -10000);
}

TEST_CASE("the last of the places that are looked up is met at large sizes, too") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Filled f =
        filled(one_tensor(DType::i32, {.kind = FillKind::labels, .below = 200000}, {"1"}), 1, 1,
               {.kind = ContentKind::range_rows, .seed = seed});
    CHECK(f.at(0) == 199999);
  }
}

TEST_CASE("integers of every width stay below their limit, also beyond 2^53") {
  const DType type = GENERATE(DType::i64, DType::i32, DType::i16, DType::i8, DType::u8);
  const Filled f =
      filled(one_tensor(type, {.kind = FillKind::labels, .below = "columns+3"}), 100, 40);
  std::set<double> seen;
  for (std::int64_t i = 0; i < f.params.elements; ++i) seen.insert(f.at(i));
  CHECK(seen.size() == 43);
  CHECK(*seen.begin() == 0);
  CHECK(*seen.rbegin() == 42);
  const Filled wide =
      filled(one_tensor(DType::i64, {.kind = FillKind::integers, .below = INT64_MAX}), 1, 64);
  int odd = 0;
  for (std::int64_t i = 0; i < 64; ++i)
    odd += static_cast<int>(load_integer(wide.memory.data(), i, storage_i64) & 1);
  CHECK(odd > 16);
  CHECK(odd < 48);
}

TEST_CASE("padding between strides is left alone") {
  Task task = one_tensor(DType::f32, {});
  task.tensors[0].strides = {"columns+3", 1};
  const Filled f = filled(task, 4, 5);
  CHECK(f.memory.size() == (3 * 8 + 5) * 4);
  CHECK(load_bits(f.memory.data(), 5, storage_f32) == 0xEEEEEEEEu);
  task.tensors[0].strides.clear();
  const Filled dense = filled(task, 4, 5);
  CHECK(f.at(7) == dense.at(7));  // content follows the dense index, not the place
}

TEST_CASE("special contents do what their name says") {
  const Task task = one_tensor(DType::f32, {});
  const auto of = [&](ContentKind kind) { return filled(task, 64, 33, {.seed = 9, .kind = kind}); };
  const Filled ordinary = of(ContentKind::ordinary);

  const Filled zeros = of(ContentKind::zeros);
  CHECK(moments(zeros).distinct == 1);

  const Filled huge = of(ContentKind::huge_element);
  int differing = 0;
  for (std::int64_t i = 0; i < 64 * 33; ++i) differing += huge.bits(i) != ordinary.bits(i);
  CHECK(differing == 1);
  CHECK(huge.at(huge.params.spot) > 1e14);

  const Filled swing = of(ContentKind::alternating);
  CHECK(swing.at(0) == -swing.at(1));
  CHECK(std::abs(swing.at(0)) >= 1e4);
  CHECK(swing.at(2) != swing.at(0));

  const Filled special = of(ContentKind::special);
  std::map<std::string, int> kinds;
  int rows = 0;
  for (std::int64_t r = 0; r < 64; ++r) {
    int changed = 0;
    for (std::int64_t i = r * 33; i < (r + 1) * 33; ++i) {
      if (special.bits(i) == ordinary.bits(i)) continue;
      ++changed;
      const double x = special.at(i);
      ++kinds[std::isnan(x) ? "nan" : std::isinf(x) ? "inf" : x == 0 ? "zero" : "denormal"];
    }
    CHECK(changed <= 1);
    rows += changed;
  }
  CHECK(rows >= 5);
  CHECK(rows <= 10);
  CHECK(kinds.size() == 4);

  const Filled probe = of(ContentKind::probe);
  int hot = 0, sparse = 0, dense = 0, ones = 0;
  for (std::int64_t r = 0; r < 64; ++r) {
    int nonzero = 0;
    double sum = 0;
    for (std::int64_t i = r * 33; i < (r + 1) * 33; ++i) {
      nonzero += probe.at(i) != 0.0;
      sum += probe.at(i);
    }
    (nonzero == 1 ? hot : nonzero <= 4 ? sparse : dense) += 1;
    ones += nonzero == 1 && sum == 1.0;
  }
  CHECK(hot == 16);
  CHECK(sparse == 16);
  CHECK(dense == 32);
  CHECK(ones >= 3);
  CHECK(ones <= 13);
}

TEST_CASE("NaN have the bits of hosts and those of devices") {
  std::map<std::uint32_t, int> met;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Filled f =
        filled(one_tensor(DType::f32, {}), 4, 8, {.seed = seed, .kind = ContentKind::special});
    for (std::size_t i = 0; i < 32; ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, reinterpret_cast<const char*>(f.memory.data()) + i * 4, 4);
      if (std::isnan(f.at(static_cast<std::int64_t>(i)))) ++met[bits];
    }
  }
  CHECK(met.size() == 2);
  CHECK(met[0x7FC00000] > 2);
  CHECK(met[0x7FFFFFFF] > 2);
}

TEST_CASE("a line of one whole number is the largest with one of two seeds") {
  const Task task = one_tensor(DType::i32, {.kind = FillKind::labels, .below = 1000});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Filled f = filled(task, 1, 64, {.seed = seed, .kind = ContentKind::constant_rows});
    CHECK((f.at(0) == 999) == (seed % 2 == 0));
    CHECK(f.at(63) == f.at(0));
  }
}

TEST_CASE("a special element alone is an infinity of either sign, ordinary ones hold a value") {
  const Task task = one_tensor(DType::f32, {});
  std::set<double> met;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    met.insert(filled(task, 1, 1, {.seed = seed, .kind = ContentKind::special}).at(0));
  CHECK(met == std::set<double>{-HUGE_VAL, HUGE_VAL});
  CHECK(moments(filled(task, 64, 64, {.seed = 3, .held = 1e9})).mean > 3e7);
}

TEST_CASE("every special value stands in a tensor that has room, whatever its number of lines") {
  const std::int64_t rows = GENERATE(1, 2, 3, 5, 7, 39, 40, 130);
  const std::int64_t columns = GENERATE(5, 64);
  const std::uint64_t seed = GENERATE(1u, 2u, 3u);
  const Filled special = filled(one_tensor(DType::f32, {}), rows, columns,
                                {.seed = seed, .kind = ContentKind::special});
  std::set<std::string> kinds;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const double x = special.at(i);
    if (std::isnan(x)) kinds.insert("nan");
    if (std::isinf(x)) kinds.insert(x > 0 ? "inf" : "-inf");
    if (x == 0 && std::signbit(x)) kinds.insert("-0");
    if (x != 0 && std::abs(x) < 0x1p-126) kinds.insert("denormal");
  }
  INFO(rows << " x " << columns << " seed " << seed);
  CHECK(kinds.size() == 5);
}

TEST_CASE("hard contents keep most of a tensor ordinary or easy and hide what is hard") {
  const Task task = one_tensor(DType::f32, {});
  const auto of = [&](ContentKind kind, std::int64_t rows = 64, std::int64_t columns = 48) {
    return filled(task, rows, columns, {.seed = 9, .kind = kind});
  };
  const auto count = [](const Filled& f, const std::function<bool(std::int64_t, double)>& is) {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < f.params.elements; ++i) n += is(i, f.at(i));
    return n;
  };
  const Filled sparse = of(ContentKind::sparse);
  CHECK(count(sparse, [](auto, double x) { return x != 0; }) == 64 * 48 / 256);
  for (std::int64_t block = 0; block < 12; ++block) {
    CHECK(count(sparse, [&](std::int64_t i, double x) {
            return x != 0 && i / 48 / 16 * 3 + i % 48 / 16 == block;
          }) == 1);
  }
  const Filled constant = of(ContentKind::constant_rows);
  CHECK(count(constant, [&](std::int64_t i, double x) {
          return x == constant.at(i / 48 * 48) && 4 * x == std::rint(4 * x);
        }) == 64 * 48);
  CHECK(moments(constant).distinct > 8);
  const Filled hard = of(ContentKind::hard_line);
  CHECK(count(hard, [](auto, double x) { return std::abs(x) == 1; }) == 63 * 48);
  CHECK(count(hard, [](auto, double x) { return x != 0 && std::abs(x) != 1; }) ==
        Approx(4).margin(2));
  const Filled integers = of(ContentKind::integers);
  CHECK(count(integers, [](auto, double x) {
          return x == std::rint(x) && std::abs(x) >= 1 && std::abs(x) <= 4095;
        }) == 64 * 48);
  CHECK(moments(integers).distinct > 2000);
  const Filled range = of(ContentKind::range_rows);
  CHECK(moments(range).most > 9.9e5);
  CHECK(moments(range).least < -9.9e3);
  int peaks = 0;
  for (std::int64_t r = 0; r < 64; ++r) {
    peaks += count(range, [&](std::int64_t i, double x) { return i / 48 == r && x > 100; }) == 1;
  }
  CHECK(peaks >= 9);
  const Filled denormals = of(ContentKind::denormals);
  CHECK(count(denormals, [](auto, double x) { return x != 0 && std::abs(x) < 0x1p-126; }) >=
        64 * 2);
  const Filled mixed = of(ContentKind::mixed);
  CHECK(moments(mixed).most > 1e4);
  // Ties of a rounding to whole numbers are among them, enough that a few hundred elements hold one
  // that is rounded away from zero, and elsewhere to an even number.
  CHECK(count(mixed, [](auto, double x) {
          return x != std::rint(x) && 2 * x == std::rint(2 * x);
        }) > 64 * 48 / 32);
  CHECK(count(mixed, [](auto, double x) { return std::rint(x) != std::round(x); }) > 64 * 48 / 64);
  // Of many lines few are probes.
  const Filled many = of(ContentKind::probe, 1024);
  CHECK(count(many, [](auto, double x) { return x == 0; }) < 1024 * 48 / 20);
  CHECK(count(many, [](auto, double x) { return x == 0; }) > 1024 * 48 / 64);
}

TEST_CASE("integers, labels and flags meet equal lines, both ends and little else") {
  const Fill fill =
      GENERATE(Fill{.kind = FillKind::integers, .below = 1000}, Fill{.kind = FillKind::boolean});
  const bool flags = fill.kind == FillKind::boolean;
  const double last = flags ? 1 : 999;
  const Task task = one_tensor(flags ? DType::boolean : DType::i32, fill);
  const auto of = [&](ContentKind kind) { return filled(task, 64, 96, {.seed = 9, .kind = kind}); };
  // Lines whose elements from..to all are what the first of them is.
  const auto level = [](const Filled& f, std::int64_t line, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      if (f.at(line * 96 + i) != f.at(line * 96 + from)) return false;
    }
    return true;
  };
  const Filled constant = of(ContentKind::constant_rows), ends = of(ContentKind::range_rows);
  int full = 0, empty = 0, runs = 0;
  for (std::int64_t line = 0; line < 64; ++line) {
    CHECK(level(constant, line, 0, 96));
    full += constant.at(line * 96) == last;
    empty += constant.at(line * 96) == 0;
    runs += level(ends, line, 0, 32) && level(ends, line, 32, 64) && level(ends, line, 64, 96);
  }
  CHECK(full >= 21);
  CHECK(empty >= 21);
  CHECK(moments(constant).distinct > (flags ? 1 : 20));
  CHECK(runs == 32);
  CHECK(moments(ends).distinct == 2);
  CHECK(moments(ends).most == last);
  CHECK(moments(ends).mean == Approx(last / 2).epsilon(0.3));
  CHECK(moments(of(ContentKind::zeros)).distinct == 1);
  CHECK(moments(of(ContentKind::sparse)).mean < last / 100);
  CHECK(moments(of(ContentKind::probe)).mean == Approx(last / 2).epsilon(0.1));
}

TEST_CASE("contents stay in the domain that a recipe names") {
  for (int kind = 0; kind <= static_cast<int>(ContentKind::integers); ++kind) {
    const auto name = static_cast<ContentKind>(kind);
    if (name == ContentKind::alternating || name == ContentKind::special)
      continue;  // these leave every domain
    const Filled f = filled(one_tensor(DType::f32, {.kind = FillKind::uniform}), 50, 40,
                            {.seed = 3, .kind = name});
    INFO(name_of(name));
    for (std::int64_t i = 0; i < 2000; ++i) REQUIRE(f.at(i) >= 0);
  }
}

TEST_CASE("contents hold what the task lets a tensor hold") {
  Fill fill{.kind = FillKind::uniform, .low = -2, .high = 3};
  for (int kind = 0; kind <= static_cast<int>(last_content); ++kind) {
    const auto name = static_cast<ContentKind>(kind);
    INFO(name_of(name));
    fill.values = FillValues::range;
    const Moments within =
        moments(filled(one_tensor(DType::f32, fill), 50, 40, {.seed = 3, .kind = name}));
    CHECK(within.least >= -2);
    CHECK(within.most <= 3);
    CHECK(within.distinct > 1000);
    fill.values = FillValues::finite;
    const Filled finite = filled(one_tensor(DType::f32, fill), 50, 40, {.seed = 3, .kind = name});
    for (std::int64_t i = 0; i < 2000; ++i) REQUIRE(std::isfinite(finite.at(i)));
  }
  const Filled far =
      filled(one_tensor(DType::f32, fill), 50, 40, {.seed = 3, .kind = ContentKind::huge_element});
  CHECK(moments(far).most > 1e4);  // finite ones may be large
  const Filled ends = filled(
      one_tensor(DType::i32, {.kind = FillKind::integers, .below = 9, .values = FillValues::range}),
      50, 40, {.seed = 3, .kind = ContentKind::zeros});
  CHECK(moments(ends).most == 0);  // whole numbers keep to their limit anyhow
}

TEST_CASE("every content has its own name") {
  std::set<std::string> names;
  for (int kind = 0; kind <= static_cast<int>(last_content); ++kind) {
    names.insert(std::string(name_of(static_cast<ContentKind>(kind))));
  }
  CHECK(names.size() == static_cast<std::size_t>(last_content) + 1);
  CHECK(names.count("") == 0);
}

TEST_CASE("variations change what they say and nothing else") {
  const Task task = *gemm_task({.m = 24, .n = 24, .k = 24});
  const Workload& shape = task.time_shapes[0];
  const auto params = [&](std::size_t tensor, Variation variation) {
    return *fill_params(task, tensor, shape, {.seed = 4, .variation = variation});
  };
  const FillParams a = params(0, Variation::none), b = params(1, Variation::none);
  const FillParams scaled = params(0, Variation::scaled), swapped = params(0, Variation::swapped);
  for (std::int64_t i = 0; i < 24 * 24; ++i) {
    CHECK(decode(fill_bits(scaled, i), storage_f32) ==
          scaled_by * decode(fill_bits(a, i), storage_f32));
    CHECK(fill_bits(params(1, Variation::scaled), i) == fill_bits(b, i));
    CHECK(fill_bits(params(1, Variation::overlap), i) == fill_bits(a, i));
    const std::int64_t row = i / 24, other = (row ^ 8) < 24 ? row ^ 8 : row;
    CHECK(fill_bits(swapped, i) == fill_bits(a, other * 24 + i % 24));
    CHECK(fill_bits(params(1, Variation::swapped), i) == fill_bits(b, i));
  }
  // Of tensors that hold values of a range alone neither one is scaled nor takes another's.
  Task ranged = task;
  for (Tensor& tensor : ranged.tensors) tensor.fill.values = FillValues::range;
  for (const Variation variation : {Variation::scaled, Variation::overlap}) {
    for (const std::size_t tensor : {0, 1}) {
      const Content plain{.seed = 4}, varied{.seed = 4, .variation = variation};
      CHECK(fill_bits(*fill_params(ranged, tensor, shape, varied), 7) ==
            fill_bits(*fill_params(ranged, tensor, shape, plain), 7));
    }
  }
  CHECK(swapped_axis(task)->name == "m");
  CHECK(base_offset(task.tensors[0], {.least_aligned = true}) == 0);
  Tensor packed = task.tensors[0];
  packed.alignment = 4;
  CHECK(base_offset(packed, {.least_aligned = true}) == 4);
  CHECK(base_offset(packed, {}) == 0);
}

TEST_CASE("bases of little alignment lie alike in one case and apart in others") {
  Tensor in, out;
  in.name = "x";
  out.name = "y";
  out.role = Role::out;
  in.alignment = out.alignment = 4;
  std::set<bool> alike;
  for (std::uint64_t seed = 7; seed < 7 + base_ways; ++seed) {
    const Case least{.content = {.seed = seed}, .least_aligned = true};
    for (const Tensor& one : {in, out}) {
      CHECK(base_offset(one, least) % 4 == 0);
      CHECK(base_offset(one, least) % 8 != 0);
    }
    alike.insert(base_offset(in, least) % 16 == base_offset(out, least) % 16);
  }
  CHECK(alike.size() == 2);
}

TEST_CASE("probe lines run along the summed dimension, whatever the layout") {
  const auto task = gemm_task({.m = 40, .n = 30, .k = 20, .layout = "tn"});
  REQUIRE(task);
  const auto a = fill_params(*task, 0, task->time_shapes[0], {.kind = ContentKind::probe});
  const auto b = fill_params(*task, 1, task->time_shapes[0], {.kind = ContentKind::probe});
  REQUIRE(a);
  REQUIRE(b);
  CHECK(a->line == 20);
  CHECK(a->line_stride == 40);
  CHECK(b->line == 20);
  CHECK(b->line_stride == 30);
}

TEST_CASE("content never drifts: golden hashes") {
  struct Case {
    DType type;
    Fill fill;
    ContentKind kind;
    const char* hash;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {DType::f32, {}, ContentKind::ordinary, "cfbdd58a85347975"},
      {DType::f64, {}, ContentKind::ordinary, "b90fafd35d1d212f"},
      {DType::bf16, {}, ContentKind::ordinary, "1f168f34f7a73c78"},
      {DType::f16, {}, ContentKind::ordinary, "f19b6a2ebb1d265a"},
      {DType::e4m3, {}, ContentKind::ordinary, "e21b626a8478c83e"},
      {DType::e5m2, {}, ContentKind::special, "a7c48841df8ede98"},
      {DType::f32, {.kind = FillKind::uniform, .low = -1}, ContentKind::probe, "60c7337fcb7912bf"},
      {DType::f16, {}, ContentKind::alternating, "a0d6febf499d8392"},
      {DType::i32,
       {.kind = FillKind::labels, .below = 1000},
       ContentKind::ordinary,
       "95c9e618244a843b"},
  }));
  const Filled f = filled(one_tensor(c.type, c.fill), 31, 17, {.seed = 42, .kind = c.kind});
  const std::string bytes(reinterpret_cast<const char*>(f.memory.data()), f.memory.size());
  INFO(name_of(c.type) << " " << static_cast<int>(c.kind));
  CHECK(sha256_hex(bytes).substr(0, 16) == c.hash);
}

}  // namespace
}  // namespace cupilot
