// Values of captured launches judged by a task: machine code alone takes part, written by hand.
#include <cupilot/parts/capture.hpp>

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "backend/captured/folder.hpp"
#include "support/gemm.hpp"
#include "tests/backend/virtual/tasks.hpp"

using namespace cupilot;
using support::bytes_of;
using support::CaptureFolder;
using support::Given;

namespace {

constexpr std::uint64_t at_a = 0x700000000000, at_b = 0x700000010000, at_d = 0x700000020000,
                        elsewhere = 0x700000030000;
constexpr int side = 24;

using Matrix = std::vector<float>;

Matrix filled(int seed) {
  Matrix out;
  for (int i = 0; i < side * side; ++i)
    out.push_back(static_cast<float>((i * 37 + seed * 101) % 251 - 125) / 64.0f);
  return out;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out;
  for (int i = 0; i < side * side; ++i) {
    double sum = 0;
    for (int k = 0; k < side; ++k)
      sum += double{a[static_cast<std::size_t>(i / side * side + k)]} *
             double{b[static_cast<std::size_t>(k * side + i % side)]};
    out.push_back(static_cast<float>(sum));
  }
  return out;
}

const Matrix a = filled(1), b = filled(2), d = product(a, b), zeros(side*side, 0.0f);

Task gemm(const GemmSpec& more = {}) {
  GemmSpec spec = more;
  spec.m = spec.n = spec.k = side;
  auto task = gemm_task(spec);
  REQUIRE(task);
  return *task;
}

// A launch of a vendor's kernel, as the injected library keeps one.
struct Vendor {
  std::vector<std::uint64_t> arguments = {at_a, at_b, at_d};
  std::vector<Given> buffers = {{at_a, bytes_of(a), bytes_of(a)},
                                {at_b, bytes_of(b), bytes_of(b)},
                                {at_d, bytes_of(zeros), bytes_of(d)}};
  int result = 0;
  bool ended = true, described = true;

  Result<CapturedValues> judged(const Task& task,
                                const std::vector<std::string>& bound = {}) const {
    CaptureFolder folder;
    folder.module("cubin", "machine code");
    folder.launch({.entry = "nvjet",
                   .arguments = arguments,
                   .buffers = buffers,
                   .result = result,
                   .ended = ended,
                   .described = described});
    const auto capture = read_capture(folder.path());
    REQUIRE(capture);
    return captured_values(virtual_h200(), *capture, capture->launches.front(), task, bound);
  }
};

// One element of the product is another number.
Matrix with(Matrix of, std::size_t place, float value) {
  of[place] = value;
  return of;
}

}  // namespace

TEST_CASE("what machine code left is right by the task, element by element") {
  const auto values = Vendor().judged(gemm());
  REQUIRE(values);
  INFO(values->fault.message << values->reason);
  CHECK(values->outcome == ValuesOutcome::right);
  CHECK(values->says == "arg0 is A, arg1 is B, arg2 is D");
  REQUIRE(values->outputs.size() == 1);
  CHECK(values->outputs[0].compared == side * side);
  CHECK(values->unchanged == 0);
}

TEST_CASE("a planted fault in what machine code left is found") {
  struct Row {
    const char* what;
    std::size_t buffer;
    Matrix after;
    const char *code, *message;
  };
  const std::size_t place = 3 * side + 5;
  const Row row = GENERATE(from_range(std::vector<Row>{
      {"one element off by 1e-4 of itself", 2, with(d, place, d[place] * 1.0001f), "verify.bound",
       "1 of 576 compared elements of D are wrong; worst D[0][3][5]: got "},
      {"one element not written", 2, with(d, place, 0), "verify.bound", "worst D[0][3][5]: got 0"},
      {"one NaN", 2, with(d, place, NAN), "verify.bound", "worst D[0][3][5]: got nan"},
      {"transposed", 2, product(b, a), "verify.bound", "compared elements of D are wrong"},
      {"an input overwritten", 0, with(a, 7, 9), "run.input_write",
       "of input A holds another value after the launch"},
  }));
  INFO(row.what);
  Vendor vendor;
  vendor.buffers[row.buffer].after = bytes_of(row.after);
  const auto values = vendor.judged(gemm(), {"A=arg0", "B=arg1", "D=arg2"});
  REQUIRE(values);
  CHECK(values->outcome == ValuesOutcome::wrong);
  CHECK(values->fault.code == row.code);
  INFO(values->fault.message);
  CHECK(values->fault.message.find(row.message) != std::string::npos);
}

TEST_CASE("factors of a lower class are right in that class and wrong in fp32") {
  const auto full = [](int seed) {
    Matrix of = filled(seed);
    for (float& one : of) one *= 1.0f / 3.0f;
    return of;
  };
  const auto shortened = [](Matrix of) {
    for (float& one : of) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &one, 4);
      bits &= ~0x1fffu;  // tf32 keeps ten bits
      std::memcpy(&one, &bits, 4);
    }
    return of;
  };
  Vendor vendor;
  vendor.buffers[0].before = vendor.buffers[0].after = bytes_of(full(1));
  vendor.buffers[1].before = vendor.buffers[1].after = bytes_of(full(2));
  vendor.buffers[2].after = bytes_of(product(shortened(full(1)), shortened(full(2))));
  const std::vector<std::string> bound = {"A=arg0", "B=arg1"};
  const auto strict = vendor.judged(gemm(), bound);
  const auto own = vendor.judged(gemm({.precision = Precision::tf32}), bound);
  REQUIRE(strict);
  REQUIRE(own);
  CHECK(strict->outcome == ValuesOutcome::wrong);
  CHECK(own->outcome == ValuesOutcome::right);
}

TEST_CASE("inputs that order alone tells apart are not guessed") {
  Vendor vendor;
  vendor.arguments = {at_b, at_a, at_d};
  const auto values = vendor.judged(gemm());
  REQUIRE_FALSE(values);
  CHECK(values.error().code == ErrorCode::usage);
  CHECK(values.error().message.find("do not tell which tensor is which") != std::string::npos);
  CHECK(values.error().hint.find("--bind A=arg1 --bind B=arg0 --bind D=arg2") != std::string::npos);
  const auto said = vendor.judged(gemm(), {"A=arg1", "B=arg0"});
  REQUIRE(said);
  CHECK(said->outcome == ValuesOutcome::right);
}

TEST_CASE("tensors are told by their sizes, among others too") {
  const Matrix wide(side * 2 * side, 0.5f), result = [&] {
    Matrix out;
    for (int i = 0; i < side; ++i) {
      float sum = 0;
      for (int k = 0; k < side; ++k) sum += a[static_cast<std::size_t>(i * side + k)] * 0.5f;
      out.insert(out.end(), 2 * side, sum);
    }
    return out;
  }();
  auto task = gemm_of(
      {fmt::format("m={}", side), fmt::format("n={}", 2 * side), fmt::format("k={}", side)});
  REQUIRE(task);
  Vendor vendor;
  const std::string none(result.size() * 4, '\0'), more(100, '\1'), changed(100, '\2');
  vendor.arguments = {at_b, elsewhere, at_a, elsewhere + 256, at_d};
  vendor.buffers = {{at_a, bytes_of(a), bytes_of(a)},
                    {at_b, bytes_of(wide), bytes_of(wide)},
                    {at_d, none, bytes_of(result)},
                    {elsewhere, more, more},
                    {elsewhere + 256, more, changed}};
  const auto values = vendor.judged(*task);
  INFO((values ? values->fault.message : values.error().message));
  REQUIRE(values);
  CHECK(values->outcome == ValuesOutcome::right);
  CHECK(values->says == "arg0 is B, arg1 is scratch, arg2 is A, arg3 is scratch, arg4 is D");
  const auto told = vendor.judged(*task, {"A=arg2", "B=arg0"});
  REQUIRE(told);
  CHECK(told->outcome == ValuesOutcome::right);
  // Another buffer of B's size: nobody can tell.
  vendor.buffers[3] = {elsewhere, bytes_of(wide), bytes_of(wide)};
  vendor.buffers.pop_back();
  vendor.arguments.erase(vendor.arguments.begin() + 3);
  const auto unclear = vendor.judged(*task);
  REQUIRE_FALSE(unclear);
  CHECK(unclear.error().message.find("do not tell which are the tensors A, B, D") !=
        std::string::npos);
}

TEST_CASE("an address that several arguments name is one tensor") {
  Vendor vendor;
  vendor.arguments = {at_d, at_a, at_b, at_d};
  const auto values = vendor.judged(gemm());
  REQUIRE(values);
  CHECK(values->outcome == ValuesOutcome::right);
  CHECK(values->says == "arg0 is D, arg1 is A, arg2 is B, arg3 is D");
}

TEST_CASE("arguments that were passed as one block are told apart by their places in it") {
  Vendor vendor;
  vendor.arguments = {at_a, at_b, at_d, at_a, at_b};
  vendor.described = false;
  const auto values = vendor.judged(gemm());
  INFO((values ? values->fault.message : values.error().message));
  REQUIRE(values);
  CHECK(values->outcome == ValuesOutcome::right);
  CHECK(values->says == "arg0 is A, arg0+8 is B, arg0+16 is D, arg0+24 is A, arg0+32 is B");
  const auto told = vendor.judged(gemm(), {"A=arg0", "B=arg0+8", "D=arg0+16"});
  REQUIRE(told);
  CHECK(told->outcome == ValuesOutcome::right);
}

TEST_CASE("a launch that shows nothing of its values is not judged") {
  struct Row {
    const char* what;
    Vendor vendor;
    const char* reason;
  };
  Vendor same, failed, died;
  same.buffers[2].before = bytes_of(d);
  failed.result = 700;
  died.ended = false;
  const Row row = GENERATE_COPY(from_range(std::vector<Row>{
      {"the values stood there", same, "D held these values before the launch"},
      {"it failed", failed, "the device reported CUDA_ERROR_ILLEGAL_ADDRESS"},
      {"it never ended", died, "the program ended before the launch did"},
  }));
  INFO(row.what);
  const auto values = row.vendor.judged(gemm());
  REQUIRE(values);
  CHECK(values->outcome == ValuesOutcome::not_done);
  CHECK(values->reason.find(row.reason) != std::string::npos);
}

TEST_CASE("elements that held their value before are counted") {
  Vendor vendor;
  vendor.buffers[2].before = bytes_of(with(zeros, 4, d[4]));
  const auto values = vendor.judged(gemm());
  REQUIRE(values);
  CHECK(values->outcome == ValuesOutcome::right);
  CHECK(values->unchanged == 1);
}

TEST_CASE("memory that the capture left out is no verdict") {
  Vendor vendor;
  vendor.buffers[1].bytes = vendor.buffers[1].before.size();
  vendor.buffers[1].before.resize(100);
  vendor.buffers[1].after.resize(100);
  const auto values = vendor.judged(gemm());
  REQUIRE_FALSE(values);
  CHECK(values.error().code == ErrorCode::not_done);
  CHECK(values.error().message.find("left out a part of B (arg1)") != std::string::npos);
}

TEST_CASE("a scalar that is bound has the task's value") {
  const auto task = gemm({.alpha = 2});
  constexpr std::uint64_t one = 0x3f800000, two = 0x40000000;  // of fp32
  Vendor vendor;
  Matrix doubled = d;
  for (float& element : doubled) element *= 2;
  vendor.buffers[2].after = bytes_of(doubled);
  vendor.arguments.push_back(two);
  const auto right = vendor.judged(task, {"alpha=arg3"});
  INFO((right ? right->fault.message : right.error().message));
  REQUIRE(right);
  CHECK(right->outcome == ValuesOutcome::right);
  vendor.arguments.back() = one;
  const auto other = vendor.judged(task, {"alpha=arg3"});
  REQUIRE_FALSE(other);
  CHECK(other.error().code == ErrorCode::usage);
  CHECK(other.error().message.find("arg3 is 1, and scalar alpha of task") != std::string::npos);
}

TEST_CASE("a summand is read as it was before the launch") {
  const Matrix c = filled(3);
  Matrix sum = d;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = d[i] + 2 * c[i];
  const auto task = gemm({.beta = 2});
  Vendor vendor;
  vendor.arguments = {at_a, at_b, elsewhere, at_d};
  vendor.buffers.insert(vendor.buffers.begin() + 2, {elsewhere, bytes_of(c), bytes_of(c)});
  vendor.buffers[3].after = bytes_of(sum);
  const auto values = vendor.judged(task, {"A=arg0", "B=arg1", "C=arg2"});
  INFO((values ? values->fault.message : values.error().message));
  REQUIRE(values);
  CHECK(values->outcome == ValuesOutcome::right);
}

// Rows of D that stand `pitch` elements apart in memory where others of the program lie between.
TEST_CASE("what lies between the rows of a tensor is not judged") {
  constexpr int pitch = side + 8;
  const auto spread = [](const Matrix& rows, float between) {
    Matrix out(pitch * (side - 1) + side, between);
    for (int i = 0; i < side * side; ++i)
      out[static_cast<std::size_t>(i / side * pitch + i % side)] =
          rows[static_cast<std::size_t>(i)];
    return out;
  };
  const auto strided = [](Task task, const char* name) {
    for (Tensor& tensor : task.tensors) {
      if (tensor.name == name) tensor.strides = {side * pitch, pitch, 1};
    }
    return task;
  };
  struct Row {
    const char *what, *tensor;
    Matrix before, after;
    ValuesOutcome outcome;
    std::int64_t unchanged;
    const char* message;
  };
  const std::size_t place = 3 * side + 5;
  const Row row = GENERATE_COPY(from_range(std::vector<Row>{
      {"an output; nothing else changed", "D", spread(zeros, 7), spread(d, 7), ValuesOutcome::right,
       0, ""},
      {"an output; what lies between changed too", "D", spread(zeros, 7), spread(d, 8),
       ValuesOutcome::right, 0, ""},
      {"an output that held its values, and what lies between changed", "D", spread(d, 7),
       spread(d, 8), ValuesOutcome::not_done, side * side, "D held these values before the launch"},
      {"one wrong element of an output", "D", spread(zeros, 7), spread(with(d, place, 0), 7),
       ValuesOutcome::wrong, 1, "worst D[0][3][5]: got 0"},
      {"an input; what lies between changed", "A", spread(a, 7), spread(a, 8), ValuesOutcome::right,
       0, ""},
      {"an input, one element of which changed", "A", spread(a, 7), spread(with(a, place, 9), 7),
       ValuesOutcome::wrong, 0, "A[0][3][5] of input A holds another value after the launch"},
  }));
  INFO(row.what);
  Vendor vendor;
  Given& given = vendor.buffers[row.tensor[0] == 'A' ? 0 : 2];
  given.before = bytes_of(row.before);
  given.after = bytes_of(row.after);
  const auto values = vendor.judged(strided(gemm(), row.tensor), {"A=arg0", "B=arg1", "D=arg2"});
  INFO((values ? values->fault.message + values->reason : values.error().message));
  REQUIRE(values);
  CHECK(values->outcome == row.outcome);
  CHECK(values->unchanged == row.unchanged);
  CHECK((values->fault.message + values->reason).find(row.message) != std::string::npos);
}

TEST_CASE("an exchange of inputs that only explains what an output held before is said so") {
  Vendor vendor;
  vendor.arguments = {at_b, at_a, at_d};
  vendor.buffers[2].before = bytes_of(d);
  const auto values = vendor.judged(gemm(), {"D=arg2"});
  REQUIRE_FALSE(values);
  CHECK(values.error().code == ErrorCode::usage);
  INFO(values.error().message);
  CHECK(values.error().message.find("they are right") == std::string::npos);
  CHECK(values.error().message.find(
            "with two exchanged they fit, but D held these values before the launch, which may "
            "have written nothing") != std::string::npos);
  CHECK(values.error().hint.find("as they fit, --bind A=arg1 --bind B=arg0 --bind D=arg2") !=
        std::string::npos);
}

TEST_CASE("outputs that order alone tells apart are not guessed") {
  const auto task = [] {
    Task made;
    made.name = "sums";
    made.axes = {{"rows"}, {"cols", AxisKind::reduced}};
    made.tensors = {{.name = "x", .role = Role::in, .shape = {"rows", "cols"}},
                    {.name = "sum", .role = Role::out, .shape = {"rows"}},
                    {.name = "squares", .role = Role::out, .shape = {"rows"}}};
    made.tensors[1].check.length = made.tensors[2].check.length = "cols";
    made.time_shapes = {{{{"rows", side}, {"cols", side}}, 1}};
    made.work.flops = "3*rows*cols";
    made.reference.text =
        "__device__ real reference_sum(const Inputs& in, long long i) {\n"
        "  real sum = real(0.0);\n"
        "  for (long long c = 0; c < in.cols; ++c) sum = sum + in.x(i * in.cols + c);\n"
        "  return sum;\n}\n"
        "__device__ real reference_squares(const Inputs& in, long long i) {\n"
        "  real sum = real(0.0);\n"
        "  for (long long c = 0; c < in.cols; ++c) {\n"
        "    const real x = in.x(i * in.cols + c);\n    sum = sum + x * x;\n  }\n"
        "  return sum;\n}\n";
    REQUIRE(complete(made));
    return made;
  }();
  Matrix sum(side, 0), squares(side, 0);
  const Matrix none(side, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum[i / side] += a[i];
    squares[i / side] += a[i] * a[i];
  }
  Vendor vendor;
  vendor.buffers = {{at_a, bytes_of(a), bytes_of(a)},
                    {at_b, bytes_of(none), bytes_of(squares)},
                    {at_d, bytes_of(none), bytes_of(sum)}};
  const auto values = vendor.judged(task);
  REQUIRE_FALSE(values);
  INFO(values.error().message);
  CHECK(values.error().code == ErrorCode::usage);
  CHECK(values.error().hint.find("--bind sum=arg2 --bind squares=arg1") != std::string::npos);
  const auto said = vendor.judged(task, {"sum=arg2", "squares=arg1"});
  REQUIRE(said);
  CHECK(said->outcome == ValuesOutcome::right);
}

TEST_CASE("three inputs that order alone tells apart are not guessed") {
  const Matrix c = filled(3);
  Matrix sum = d;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = d[i] + 2 * c[i];
  Vendor vendor;
  vendor.arguments = {elsewhere, at_a, at_b, at_d};
  vendor.buffers.insert(vendor.buffers.begin() + 2, {elsewhere, bytes_of(c), bytes_of(c)});
  vendor.buffers[3].after = bytes_of(sum);
  const auto values = vendor.judged(gemm({.beta = 2}));
  REQUIRE_FALSE(values);
  INFO(values.error().message);
  CHECK(values.error().code == ErrorCode::usage);
  CHECK(values.error().message.find("with 3 exchanged they are right") != std::string::npos);
  CHECK(values.error().hint.find("--bind A=arg1 --bind B=arg2 --bind C=arg0") != std::string::npos);
}
