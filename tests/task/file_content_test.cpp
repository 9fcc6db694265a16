// Content that a file holds: its very bytes at the shape that they are of, elsewhere its values.
#include "task/file_content.hpp"

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/hash.hpp"
#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

// A folder that goes away.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("cupilot-content-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

// Values as a file of that folder, after `offset` bytes of others.
template <class T>
FileContent written(const Folder& folder, const std::string& name, const std::vector<T>& values,
                    std::int64_t offset = 0) {
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  const std::string path = (folder.path / name).string();
  std::ofstream(path, std::ios::binary)
      << std::string(static_cast<std::size_t>(offset), '?') << bytes;
  return {path, offset, static_cast<std::int64_t>(bytes.size()), sha256_hex(bytes)};
}

Task task_of(const Fill& fill, DType type = DType::f32) {
  Task task;
  task.name = "files";
  task.axes = {{"r"}, {"n", AxisKind::reduced}};
  task.tensors = {{.name = "x", .type = type, .shape = {"r", "n"}, .fill = fill}};
  task.time_shapes = {{.sizes = {{"r", 4}, {"n", 3}}}};
  return task;
}

const Workload named = {.sizes = {{"r", 4}, {"n", 3}}}, other = {.sizes = {{"r", 40}, {"n", 5}}};

std::vector<float> floats() {
  std::vector<float> values;
  for (int i = 0; i < 12; ++i) values.push_back(static_cast<float>(i) - 3.25f);
  std::uint32_t odd = 0xFFC00123;  // a NaN that no recipe makes
  std::memcpy(&values[5], &odd, 4);
  return values;
}

template <class T>
std::vector<T> filled(const FillParams& params) {
  std::vector<T> out(static_cast<std::size_t>(params.span));
  fill(params, std::as_writable_bytes(std::span(out)));
  return out;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST_CASE("a file's bytes are the content at their shape, and its values elsewhere") {
  const Folder folder;
  const std::vector<float> values = floats();
  const Task task = task_of({.kind = FillKind::file, .file = written(folder, "x.bin", values, 8)});
  const auto checked = check_files(task);
  if (!checked) FAIL(checked.error().message);
  for (const std::uint64_t seed : {1, 2})
    CHECK(same_bits(filled<float>(*fill_params(task, 0, named, {.seed = seed})), values));

  std::set<std::uint32_t> bits, met;
  for (const float value : values) bits.insert(bits_of(value));
  const auto drawn = filled<float>(*fill_params(task, 0, other, {.seed = 1}));
  for (const float value : drawn) {
    CHECK(bits.count(bits_of(value)) == 1);
    met.insert(bits_of(value));
  }
  CHECK(met.size() == bits.size());
  CHECK_FALSE(same_bits(drawn, filled<float>(*fill_params(task, 0, other, {.seed = 2}))));
}

TEST_CASE("other contents change a file's as they change a recipe's") {
  const Folder folder;
  const std::vector<float> values(12, 2.5f);
  const Task task = task_of({.kind = FillKind::file, .file = written(folder, "o.bin", values)});
  const auto content = [&](Content what) {
    return filled<float>(*fill_params(task, 0, named, what));
  };
  CHECK(content({.kind = ContentKind::zeros}) == std::vector<float>(12, 0.0f));
  CHECK(content({.variation = Variation::scaled}) == std::vector<float>(12, 5.0f));
  const auto special = content({.kind = ContentKind::special});
  CHECK(std::any_of(special.begin(), special.end(), [](float x) { return !std::isfinite(x); }));
  CHECK(std::count(special.begin(), special.end(), 2.5f) >= 7);
}

TEST_CASE("whole numbers of a file stay below their limit at every shape") {
  const Folder folder;
  std::vector<std::int32_t> values;
  for (int i = 0; i < 12; ++i) values.push_back(i % 4);
  Task task = task_of(
      {.kind = FillKind::file, .below = "r", .file = written(folder, "i.bin", values)}, DType::i32);
  REQUIRE(check_files(task));
  CHECK(filled<std::int32_t>(*fill_params(task, 0, named, {})) == values);
  for (const ContentKind kind : {ContentKind::ordinary, ContentKind::range_rows}) {
    for (const auto value : filled<std::int32_t>(
             *fill_params(task, 0, {.sizes = {{"r", 2}, {"n", 50}}}, {.kind = kind})))
      CHECK((value == 0 || value == 1));
  }
  task.tensors[0].fill.below = 0;  // any number
  CHECK(filled<std::int32_t>(*fill_params(task, 0, named, {.kind = ContentKind::range_rows})) ==
        values);
}

TEST_CASE("padding of a file's tensor is no content") {
  const Folder folder;
  std::vector<float> values(15, -1.0f);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i % 4 != 3) values[i] = static_cast<float>(i);
  Task task = task_of({.kind = FillKind::file, .file = written(folder, "s.bin", values)});
  task.tensors[0].strides = {4, 1};
  REQUIRE(check_files(task));
  std::vector<float> out(15, -1.0f);
  fill(*fill_params(task, 0, named, {}), std::as_writable_bytes(std::span(out)));
  CHECK(out == values);
}

TEST_CASE("a file that does not fit its task is named with the reason and the way out") {
  const Folder folder;
  struct Row {
    const char* what;
    std::function<void(Task&)> spoil;
    const char *reason, *hint;
  };
  const std::vector<float> values = floats();
  const Row row = GENERATE_REF(from_range(std::vector<Row>{
      {"missing",
       [](Task& t) { t.tensors[0].fill.file.path += "x", t.tensors[0].fill.file.sha256[0] = 'g'; },
       "cannot be read", "put it back at that path"},
      {"short",
       [](Task& t) { t.tensors[0].fill.file.offset = 4, t.tensors[0].fill.file.sha256[1] = 'g'; },
       "has 48 bytes, 48 from 4 on are asked", "fill.offset"},
      {"digest", [](Task& t) { t.tensors[0].fill.file.sha256 = std::string(64, '0'); },
       "the task names 0000", "fill.sha256"},
      {"shape", [](Task& t) { t.time_shapes[0].sizes["n"] = 4; },
       "48 bytes are no storage of tensor 'x', which has 64", "fill.bytes"},
      {"NaN", [](Task& t) { t.tensors[0].fill.values = FillValues::finite; },
       "element 5 of tensor 'x' is", "let the task allow it"},
      {"range",
       [](Task& t) {
         t.tensors[0].fill.values = FillValues::range;
         t.tensors[0].fill.low = -3.0;
       },
       "element 0 of tensor 'x' is -3.25, not in -3 to 1", "mend the file"},
      {"structure",
       [](Task& t) {
         t.time_shapes[0].sizes = {{"r", 3}, {"n", 4}};
         t.tensors[0].fill.structure = Structure::upper;
       },
       "structure upper", "structure dense"},
  }));
  INFO(row.what);
  Task task = task_of({.kind = FillKind::file, .file = written(folder, "f.bin", values)});
  row.spoil(task);
  const auto fits = check_files(task);
  REQUIRE_FALSE(fits);
  CHECK(fits.error().code == ErrorCode::usage);
  CHECK_THAT(fits.error().message, Catch::Contains(row.reason));
  CHECK_THAT(fits.error().hint, Catch::Contains(row.hint));
}

TEST_CASE("tensors of one digest have as many bytes as it is of") {
  const Folder folder;
  const FileContent file = written(folder, "one.bin", std::vector<float>(12, 0.75f));
  Task task = task_of({.kind = FillKind::file, .file = file});
  task.tensors.push_back(task.tensors[0]);
  task.tensors[1].name = "w";
  REQUIRE(check_files(task));
  task.tensors[1].shape = {"n"};
  task.tensors[1].fill.file.bytes = 12;
  const auto fewer = check_files(task);
  REQUIRE_FALSE(fewer);
  CHECK(fewer.error().code == ErrorCode::usage);
  CHECK_THAT(fewer.error().message, Catch::Contains("12 bytes are asked, and the digest is of 48"));
  task.tensors[1].fill.file.bytes = 1 << 20;
  CHECK_FALSE(fill_params(task, 1, named, {}));
}

TEST_CASE("no more bytes of a file are read than a tensor has") {
  const Folder folder;
  FileContent file = written(folder, "sparse.bin", std::vector<float>{1.0f});
  file.bytes = 1ll << 42;
  file.sha256[0] = file.sha256[0] == 'a' ? 'b' : 'a';
  std::filesystem::resize_file(file.path, 1ull << 42);
  Task task = task_of({.kind = FillKind::file, .file = file});
  const auto small = check_files(task);
  REQUIRE_FALSE(small);
  CHECK_THAT(small.error().message, Catch::Contains("are no storage of tensor 'x', which has 48"));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  task.time_shapes[0].sizes = {{"r", 1 << 20}, {"n", 1 << 20}};
  const auto large = check_files(task);
  REQUIRE_FALSE(large);
  CHECK_THAT(large.error().message, Catch::Contains("more than this host has memory"));
#endif
}

TEST_CASE("a file's whole numbers are below their limit at each time shape") {
  const Folder folder;
  std::vector<std::int32_t> values;
  for (int i = 0; i < 12; ++i) values.push_back(i);
  Task task = task_of(
      {.kind = FillKind::file, .below = "m", .file = written(folder, "m.bin", values)}, DType::i32);
  task.axes.push_back({"m"});
  Workload wide = named, narrow = named;
  wide.sizes["m"] = 12;
  narrow.sizes["m"] = 5;
  task.time_shapes = {wide};
  CHECK(check_files(task));
  CHECK(fill_params(task, 0, wide, {})->given_whole == 1);
  CHECK(fill_params(task, 0, narrow, {})->given_whole == 0);
  for (const bool first : {false, true}) {
    task.time_shapes = first ? std::vector{narrow, wide} : std::vector{wide, narrow};
    const auto checked = check_files(task);
    REQUIRE_FALSE(checked);
    CHECK_THAT(checked.error().message, Catch::Contains("is 5, not in 0 to 4"));
  }
}

TEST_CASE("whole numbers and bools of a file are checked") {
  const Folder folder;
  const Task labels = task_of({.kind = FillKind::file,
                               .below = "n",
                               .file = written(folder, "l.bin", std::vector<std::int32_t>(12, 3))},
                              DType::i32);
  const auto fits = check_files(labels);
  REQUIRE_FALSE(fits);
  CHECK_THAT(fits.error().message, Catch::Contains("is 3, not in 0 to 2"));
  const Task flags = task_of(
      {.kind = FillKind::file, .file = written(folder, "b.bin", std::vector<std::uint8_t>(12, 2))},
      DType::boolean);
  const auto bools = check_files(flags);
  REQUIRE_FALSE(bools);
  CHECK_THAT(bools.error().message, Catch::Contains("is 2, which is no bool"));
}

TEST_CASE("the id of a task holds the digest of a file and not its place") {
  const Fill fill = {.kind = FillKind::file, .file = {"a.bin", 0, 48, std::string(64, 'a')}};
  Task moved = task_of(fill), changed = task_of(fill);
  moved.tensors[0].fill.file.path = "elsewhere/b.bin";
  moved.tensors[0].fill.file.offset = 4;
  changed.tensors[0].fill.file.sha256[3] = 'b';
  CHECK(task_id(task_of(fill)) == task_id(moved));
  CHECK(task_id(task_of(fill)) != task_id(changed));
}

TEST_CASE("a device reads a file's bytes in its own memory") {
  constexpr const char* kernel = R"(
extern "C" __global__ void fill_kernel(cupilot::FillParams p, void* memory) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < p.elements) cupilot::store_bits(memory, cupilot::storage_offset(p, i), p.type, cupilot::fill_bits(p, i));
}
)";
  const auto module = support::module_of_cuda(trusted_text() + kernel);
  const Folder folder;
  const std::vector<float> values = floats();
  const Task task = task_of({.kind = FillKind::file, .file = written(folder, "d.bin", values)});
  for (const Workload& shape : {named, other}) {
    for (const ContentKind kind : {ContentKind::ordinary, ContentKind::mixed}) {
      FillParams params = *fill_params(task, 0, shape, {.seed = 5, .kind = kind});
      const auto host = filled<float>(params);
      support::Device device;
      const std::size_t given = device.input("given", values);
      const std::size_t memory = device.output("x", host.size() * 4);
      params.given = reinterpret_cast<const void*>(device.memory.address(given));
      const ptx::Report report = device.run(module, "fill_kernel", {.x = 1}, {.x = 256}, 0, params,
                                            support::Device::Pointer{memory});
      REQUIRE(support::faults_of(report) == "");
      CHECK(same_bits(device.values<float>(memory), host));
    }
  }
}

}  // namespace
}  // namespace cupilot
