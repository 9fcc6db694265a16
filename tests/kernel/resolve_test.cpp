#include "catch.hpp"

#include <cstring>

#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/parts/resolved_plan.hpp>

#include "kernel/plan_sentences.hpp"
#include "kernel/support.hpp"
#include "support/reached.hpp"

using namespace cupilot;
using namespace cupilot::test;

namespace {

KernelSource from_file(const std::string& name, Constants constants) {
  KernelSource source;
  const auto plan = launch_plan_from_json(file_text(data(name)));
  REQUIRE(plan);
  source.plan = *plan;
  source.constants = std::move(constants);
  return source;
}

KernelSource from_json(const std::string& json, Constants constants = {}) {
  KernelSource source;
  const auto plan = launch_plan_from_json(json);
  if (!plan) FAIL(plan.error().message);
  source.plan = *plan;
  source.constants = std::move(constants);
  return source;
}

template <class T>
T number(const ResolvedArgument& argument) {
  REQUIRE(argument.kind == ResolvedArgument::Kind::immediate);
  REQUIRE(argument.bytes.size() == sizeof(T));
  T value;
  std::memcpy(&value, argument.bytes.data(), sizeof(T));
  return value;
}

const DeviceSpec h200{.name = "h200"};

ResolvedPlan numbers(const KernelSource& source, const Task& task, const Sizes& sizes,
                     const CompiledKernel* compiled = nullptr) {
  auto attempt = resolve(source, task, at(sizes), h200, compiled);
  if (attempt.is_rejected()) FAIL(attempt.rejected().code + ": " + attempt.rejected().message);
  REQUIRE(std::holds_alternative<ResolvedPlan>(*attempt));
  return std::get<ResolvedPlan>(*attempt);
}

}  // namespace

TEST_CASE("a record holds its numbers in place and its pointers as fields", "[kernel]") {
  const ResolvedPlan plan = numbers(
      from_json(
          R"({"launches":[{"entry":"k","grid":[1],"block":[1],"args":[{"i8":"m"},{"i16":"k"},{"f32":0.5},{"bytes":40,"fields":[{"at":8,"value":"A"},{"at":2,"value":{"i16":-2}},{"at":16,"value":{"i64":"m * n"}},{"at":24,"value":"none?"},{"at":32,"value":{"f32":1.5}}]}]}]})"),
      matmul_task(), {{"m", 200}, {"n", 300}, {"k", 40000}});
  const std::vector<ResolvedArgument>& args = plan.launches[0].args;
  CHECK(number<std::uint8_t>(args[0]) == 200);
  CHECK(number<std::uint16_t>(args[1]) == 40000);
  CHECK(number<float>(args[2]) == 0.5f);
  const ResolvedArgument& record = args[3];
  REQUIRE(record.kind == ResolvedArgument::Kind::record);
  std::vector<std::uint8_t> bytes(40);
  const std::int16_t narrow = -2;
  const std::int64_t wide = 60000;
  const float real = 1.5f;
  std::memcpy(&bytes[2], &narrow, 2);
  std::memcpy(&bytes[16], &wide, 8);
  std::memcpy(&bytes[32], &real, 4);
  CHECK(record.bytes == bytes);
  REQUIRE(record.fields.size() == 1);
  CHECK(record.fields[0].kind == ResolvedArgument::Kind::tensor);
  CHECK(record.fields[0].at == 8);
}

TEST_CASE("parameters of 32764 bytes resolve", "[kernel]") {
  const ResolvedPlan plan = numbers(
      from_json(
          R"({"launches":[{"entry":"k","grid":[1],"block":[1],"args":[{"bytes":32756,"fields":[]},{"i32":1}]}]})"),
      matmul_task(), {{"m", 200}, {"n", 300}, {"k", 64}});
  CHECK(plan.launches[0].args[0].bytes.size() == 32756);
}

TEST_CASE("numbers and fields that do not fit are refused", "[kernel]") {
  struct Row {
    std::string argument, says;
  };
  const auto& row = GENERATE(values<Row>({
      {R"({"i8":256})", "256 does not fit an i8"},
      {R"({"i8":-129})", "-129 does not fit an i8"},
      {R"({"i16":65536})", "65536 does not fit an i16"},
      {R"({"i32":2147483648})", "2147483648 does not fit an i32"},
      {R"({"bytes":8,"fields":[{"at":4,"value":"A"}]})", "8 bytes at 4 leave the record of 8"},
      {R"({"bytes":8,"fields":[{"at":0,"value":"none"}]})", "none is no tensor"},
      {R"({"bytes":32760,"fields":[]},{"i32":1})", "32768 bytes of parameters; want at most 32764"},
  }));
  INFO(row.argument);
  const KernelSource source = from_json(
      R"({"launches":[{"entry":"k","grid":[1],"block":[1],"args":[)" + row.argument + "]}]}");
  const auto refused =
      resolve(source, matmul_task(), at({{"m", 200}, {"n", 300}, {"k", 64}}), h200, nullptr);
  REQUIRE(refused.is_rejected());
  CHECK(refused.rejected().message.find(row.says) != std::string::npos);
}

TEST_CASE("split-K resolves to numbers", "[kernel]") {
  const KernelSource source =
      from_file("plan_split_k.json", {{"BM", 128}, {"BN", 128}, {"BK", 16}});
  const ResolvedPlan plan = numbers(source, matmul_task(), {{"m", 200}, {"n", 300}, {"k", 4100}});
  // 6 tiles, 257 slabs, 264/6 = 44 parts of 6 slabs: 43.
  REQUIRE(plan.launches.size() == 1);
  const ResolvedLaunch& launch = plan.launches[0];
  CHECK(launch.grid == std::array<std::int64_t, 3>{3, 2, 43});
  CHECK(launch.block == std::array<int, 3>{256, 1, 1});
  CHECK(launch.shared == 3 * 256 * 16 * 4);
  CHECK(plan.buffers[0].bytes == 6 * 43 * 128 * 128 * 4);
  CHECK(plan.buffers[1].bytes == 24);
  CHECK(plan.buffers[1].content == BufferContent::restored);
  CHECK(launch.args[0].kind == ResolvedArgument::Kind::tensor);
  CHECK(launch.args[2].index == 2);
  CHECK(launch.args[3].kind == ResolvedArgument::Kind::buffer);
  CHECK(launch.args[4].index == 1);
  CHECK(number<std::int32_t>(launch.args[5]) == 200);
  CHECK(number<std::int32_t>(launch.args[8]) == 96);
}

TEST_CASE("resident blocks come from the compiled kernel", "[kernel]") {
  const KernelSource source = from_file(
      "plan_persistent_tma.json",
      {{"BM", 128}, {"BN", 128}, {"BK", 64}, {"CM", 2}, {"CN", 1}, {"STAGES", 4}, {"GROUP", 8}});
  const Task task = matmul_task(DType::bf16);
  const Sizes sizes{{"m", 4096}, {"n", 4096}, {"k", 4096}};
  const auto before = resolve(source, task, at(sizes), h200, nullptr);
  REQUIRE(before.is_rejected());
  testing::expect_code(before.rejected(), "plan.expression");
  CHECK(before.rejected().message.find("only after compiling") != std::string::npos);

  const CompiledKernel kernel = compiled(source, {entry("tile_order", 16, {8, 4, 4, 4, 4}),
                                                  entry("gemm", 168, {128, 128, 128, 8, 4, 4})});
  const ResolvedPlan plan = numbers(source, task, sizes, &kernel);
  CHECK(plan.launches[1].grid[0] == 132);
  CHECK(plan.launches[1].cluster[0] == 2);
  CHECK(plan.launches[0].when == When::setup);
  CHECK(plan.maps[0].box == std::vector<std::int64_t>{64, 128});
  CHECK(plan.maps[1].box == std::vector<std::int64_t>{64, 64});
  CHECK(plan.maps[0].pitch == std::vector<std::int64_t>{8192});
  CHECK_FALSE(plan.maps[0].of_buffer);
  CHECK(plan.launches[1].args[0].kind == ResolvedArgument::Kind::map);

  CHECK(std::get<NotForThisShape>(
            *resolve(source, task, at({{"m", 8}, {"n", 8}, {"k", 9}}), h200, &kernel))
            .require == "k%8==0");
}

TEST_CASE("a cooperative plan uses its own residency", "[kernel]") {
  const KernelSource source = from_file("plan_cooperative_norm.json", {{"T", 256}});
  const Task task = plain_task({{"x", Role::in},
                                {"gamma", Role::in},
                                {"beta", Role::in},
                                {"y", Role::out},
                                {"running_mean", Role::in_out},
                                {"running_var", Role::in_out}},
                               {"eps", "momentum"});
  const CompiledKernel kernel =
      compiled(source, {entry("batch_norm", 32, {8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4})});
  const ResolvedPlan plan = numbers(source, task, {{"n", 16}, {"c", 64}, {"hw", 1024}}, &kernel);
  // 8 blocks of 256 threads an SM: 1056 resident, 16 whole rounds of 64 channels.
  CHECK(plan.launches[0].grid[0] == 1024);
  CHECK(plan.buffers[0].bytes == 1024 * 16);
  CHECK(plan.launches[0].cooperative);
  CHECK(number<float>(plan.launches[0].args[8]) == 0.5f);
}

TEST_CASE("entries take constants as template arguments", "[kernel]") {
  const KernelSource source =
      from_file("plan_stencil.json", {{"BX", 32}, {"BY", 8}, {"ZT", 4}, {"SMEM", 1}});
  const Task task = plain_task({{"u", Role::in}, {"v", Role::out}}, {"c0", "c1"});
  const ResolvedPlan plan = numbers(source, task, {{"nx", 100}, {"ny", 100}, {"nz", 10}});
  CHECK(plan.launches[0].entry == "stencil7<32,8>");
  CHECK(plan.launches[0].grid == std::array<std::int64_t, 3>{4, 13, 3});
  CHECK(plan.launches[0].shared == 34 * 10 * 4);
}

TEST_CASE("a cluster is sized by the device", "[kernel]") {
  const KernelSource source = from_file("plan_cluster_softmax.json", {{"T", 512}});
  const Task task = plain_task({{"x", Role::in}, {"y", Role::out}});
  CHECK(numbers(source, task, {{"rows", 3}, {"cols", 1024}}).launches[0].cluster[0] == 1);
  const ResolvedPlan wide = numbers(source, task, {{"rows", 3}, {"cols", 131072}});
  CHECK(wide.launches[0].cluster[0] == 4);
  CHECK(wide.launches[0].grid[0] == 12);
  CHECK(std::holds_alternative<NotForThisShape>(
      *resolve(source, task, at({{"rows", 3}, {"cols", 1 << 20}}), h200, nullptr)));
}

TEST_CASE("an absent optional tensor is a null pointer", "[kernel]") {
  const KernelSource source = from_json(
      R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":["A","C?","bias?","B?"]}]})");
  const ResolvedPlan plan = numbers(source, matmul_task(), {});
  CHECK(plan.launches[0].args[1].kind == ResolvedArgument::Kind::null_pointer);
  CHECK(plan.launches[0].args[3].kind == ResolvedArgument::Kind::tensor);
  CHECK(plan.launches[0].args[3].index == 1);
}

TEST_CASE("a plan past a limit or with a wrong name is rejected", "[kernel]") {
  struct Row {
    std::string json;
    std::string code;
    std::string says;
  };
  const auto launch = [](const std::string& fields) {
    return R"({"launches":[{"entry":"k","args":[],)" + fields + "}]}";
  };
  const std::string with = R"(,"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})";
  const std::vector<Row> rows = {
      {launch(R"("grid":[0],"block":[32])"), "plan.limit", "grid side x is 0"},
      {launch(R"("grid":["2147483648"],"block":[32])"), "plan.limit", "grid side x"},
      {launch(R"("grid":[1,65536],"block":[32])"), "plan.limit", "grid side y is 65536"},
      {launch(R"("grid":[1,1,65536],"block":[32])"), "plan.limit", "grid side z"},
      {launch(R"("grid":[1],"block":[1025])"), "plan.limit", "block side x is 1025"},
      {launch(R"("grid":[1],"block":[64,32])"), "plan.limit",
       "2048 threads a block; h200 allows 1024"},
      {launch(R"("grid":[1],"block":[1,1,65])"), "plan.limit", "block side z"},
      {launch(R"("grid":[1],"block":[0])"), "plan.limit", "block side x is 0"},
      {launch(R"("grid":[1],"block":[32],"shared":"dev.shared+1")"), "plan.limit",
       "232449 bytes of shared memory"},
      {launch(R"("grid":[1],"block":[32],"shared":"0-1")"), "plan.limit",
       "-1 bytes of shared memory"},
      {launch(R"("grid":[16],"block":[32],"cluster":[16])"), "plan.limit", "cluster side x is 16"},
      {launch(R"("grid":[4,4],"block":[32],"cluster":[4,4])"), "plan.limit",
       "clusters of 16 blocks"},
      {launch(R"("grid":[6],"block":[32],"cluster":[4])"), "plan.limit",
       "no multiple of the cluster's 4"},
      {launch(R"("grid":["q"],"block":[32])"), "plan.name", "q"},
      {launch(R"("grid":["m/0"],"block":[32])"), "plan.expression", "m/0"},
      {launch(R"("grid":["resident.k"],"block":[32])"), "plan.expression", "only after compiling"},
      {launch(R"("grid":["resident.other"],"block":[32])"), "plan.name", "no launch of that name"},
      {launch(R"("grid":["k.ctas"],"block":[32])"), "plan.expression", "needs its own value"},
      {R"({"let":{"a":"b","b":"a"},"launches":[{"entry":"k","grid":["a"],"block":[32],"args":[]}]})",
       "plan.expression", "own value"},
      {R"({"let":{"m":"3"})" + with, "plan.name", "let m hides"},
      {R"({"buffers":[{"name":"A","bytes":4}])" + with, "plan.name", "buffer A hides a tensor"},
      {R"({"buffers":[{"name":"p","bytes":"0-4"}])" + with, "plan.limit", "buffer p has -4 bytes"},
      {R"({"buffers":[{"name":"p","bytes":"1024*1024*1024*1024"}])" + with, "plan.limit",
       "buffer p has"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":["Q"]}]})", "plan.name",
       "Q is no tensor"},
      {R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":[{"i32":"m*1024*1024*1024*1024"}]}]})",
       "plan.limit", "does not fit an i32"},
      {R"({"launches":[{"entry":"k<{BM}>","grid":[1],"block":[32],"args":[]}]})", "plan.name",
       "BM"},
      {R"({"launches":[{"entry":"k<{m","grid":[1],"block":[32],"args":[]}]})", "plan.expression",
       "without '}'"},
      {R"({"launches":[{"entry":"k","when":"setup","grid":[1],"block":[32],"args":["A"]}]})",
       "plan.limit", "tensor A, which is no constant"},
      {R"({"launches":[{"entry":"k","when":"setup","grid":[1],"block":[32],"args":["alpha"]}]})",
       "plan.limit", "scalar alpha"},
      {R"({"buffers":[{"name":"p","bytes":4}],"launches":[{"entry":"k","when":"setup","grid":[1],"block":[32],"args":["p"]}]})",
       "plan.limit", "buffer p, which is neither table nor restored"},
      {R"({"maps":[{"name":"a","of":"A","type":"bf16","dims":[64],"box":[64]}],"launches":[{"entry":"k","when":"setup","grid":[1],"block":[32],"args":["a"]}]})",
       "plan.limit", "tensor A, which is no constant"},
      {R"({"maps":[{"name":"a","of":"Q","type":"bf16","dims":[64],"box":[64]}])" + with,
       "plan.name", "map a is of Q"},
      {R"({"maps":[{"name":"a","of":"A","type":"bf16","dims":[64,64],"pitch":[8],"box":[64,64]}])" +
           with,
       "plan.limit", "pitch of 8"},
      {R"({"maps":[{"name":"a","of":"A","type":"bf16","dims":[64,64],"pitch":[128],"box":[64,257]}])" +
           with,
       "plan.limit", "box side of 257"},
      {R"({"maps":[{"name":"a","of":"A","type":"bf16","dims":[64,64],"pitch":[128],"box":[128,8]}])" +
           with,
       "plan.limit", "more than its swizzle"},
      {R"({"maps":[{"name":"a","of":"A","type":"bf16","dims":[64,64],"pitch":[128],"box":[4,8]}])" +
           with,
       "plan.limit", "multiple of 16"},
      {R"({"textures":[{"name":"t","of":"Q","dims":[4]}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "plan.name", "texture t is of Q"},
      {R"({"textures":[{"name":"A","of":"A","dims":[4]}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "plan.name", "texture A hides"},
      {R"({"textures":[{"name":"t","of":"A","dims":[65536,65536]}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "plan.limit", "texture t spans 17179869184 bytes, A has"},
      {R"({"textures":[{"name":"t","of":"A","dims":[0]}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "plan.limit", "a side of 0 texels; want 1 to 131072"},
      {R"({"textures":[{"name":"t","of":"A","dims":[8,8],"memory":"pitch2d","pitch":48}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "plan.limit", "a pitch of 48 bytes; want a multiple of 32"},
      {R"({"textures":[{"name":"t","of":"A","dims":[4,4,4096],"layered":true}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})",
       "plan.limit", "4096 layers; want 1 to 2048"},
      {R"({"textures":[{"name":"t","of":"D","dims":[1],"surface":true}],"launches":[{"entry":"k","grid":[1],"block":[32],"args":["t","D"]}]})",
       "plan.limit", "takes D as a surface and otherwise too"},
  };
  for (const Row& row : rows) {
    INFO(row.json);
    const auto attempt =
        resolve(from_json(row.json), matmul_task(), at({{"m", 64}}), h200, nullptr);
    REQUIRE(attempt.is_rejected());
    INFO(attempt.rejected().message);
    testing::expect_code(attempt.rejected(), row.code);
    CHECK(attempt.rejected().message.find(row.says) != std::string::npos);
  }
}

TEST_CASE("textures in numbers", "[kernel]") {
  const ResolvedPlan plan = numbers(
      from_json(
          R"({"textures":[{"name":"t","of":"c","dims":["m / 8",2,3],"layered":true,"type":"u8","channels":4},
                          {"name":"p","of":"b","dims":[6,2],"memory":"pitch2d","pitch":"32"}],
              "buffers":[{"name":"b","bytes":64},{"name":"c","bytes":192}],
              "launches":[{"entry":"k","grid":[1],"block":[32],"args":["t",{"bytes":16,"fields":[{"at":8,"value":"p"}]}]}]})"),
      matmul_task(), {{"m", 64}});
  REQUIRE(plan.textures.size() == 2);
  const ResolvedTexture &t = plan.textures[0], &p = plan.textures[1];
  CHECK((t.rank == 2 && t.sides[0] == 8 && t.sides[1] == 2 && t.layers == 3 && t.pitch == 32));
  CHECK((p.of_buffer && p.rank == 2 && p.layers == 0 && p.pitch == 32));
  CHECK(plan.launches[0].args[0].kind == ResolvedArgument::Kind::texture);
  REQUIRE(plan.launches[0].args[1].fields.size() == 1);
  CHECK(plan.launches[0].args[1].fields[0].kind == ResolvedArgument::Kind::texture);
  CHECK(plan.launches[0].args[1].fields[0].index == 1);
  REQUIRE(sentences_of(plan).size() == 1);
  CHECK(sentences_of(plan)[0].find("arrays of textures and surfaces are copies") == 0);
}

TEST_CASE("a setup launch takes what stays for all runs", "[kernel]") {
  const KernelSource source = from_json(
      R"({"buffers":[{"name":"t","bytes":64,"content":"table"},{"name":"c","bytes":4,"content":"restored"}],
          "maps":[{"name":"a","of":"A","type":"bf16","dims":[64],"box":[64]},
                  {"name":"b","of":"t","type":"u8","dims":[64],"box":[64]}],
          "launches":[{"entry":"k","when":"setup","grid":[1],"block":[32],"args":["A","t","c","a","b",{"i32":"m"}]},
                      {"entry":"r","grid":[1],"block":[32],"args":["t"]}]})");
  Task task = matmul_task();
  for (Tensor& tensor : task.tensors) {
    if (tensor.name == "A") tensor.role = Role::constant;
  }
  const ResolvedPlan plan = numbers(source, task, {{"m", 64}});
  CHECK(plan.launches[0].when == When::setup);
  CHECK(plan.launches[0].args[3].kind == ResolvedArgument::Kind::map);
  CHECK(launched_sentence(3, Launched::modelled) == "modelled as one captured graph of 3 launches");
  const auto said = sentences_of(plan);
  REQUIRE(said.size() == 1);
  CHECK(said[0] ==
        "not timed: setup launches, once for a shape and its constant tensors (k); 64 bytes of "
        "tables");
  CHECK(
      sentences_of(
          numbers(from_json(R"({"launches":[{"entry":"k","grid":[1],"block":[32],"args":["A"]}]})"),
                  matmul_task(), {{"m", 64}}))
          .empty());
}

TEST_CASE("clusters and tensor maps need a device that has them", "[kernel]") {
  const DeviceSpec older{.name = "a100", .compute_major = 8};
  const auto cluster =
      from_json(R"({"launches":[{"entry":"k","grid":[2],"block":[32],"cluster":[2],"args":[]}]})");
  CHECK(resolve(cluster, matmul_task(), at({}), older, nullptr).is_rejected());
  CHECK_FALSE(resolve(cluster, matmul_task(), at({}), h200, nullptr).is_rejected());
}

TEST_CASE("the compiled kernel must agree with its plan", "[kernel]") {
  const KernelSource source = from_json(
      R"({"launches":[{"entry":"k","grid":["dev.sms*3"],"block":[512],"cooperative":true,"shared":1024,"args":["A","alpha",{"i64":"m"}]}]})");
  const auto outcome = [&](EntryFacts facts) {
    const CompiledKernel kernel = compiled(source, {std::move(facts)});
    const auto attempt = resolve(source, matmul_task(), at({{"m", 64}}), h200, &kernel);
    return attempt.is_rejected() ? attempt.rejected().code + " " + attempt.rejected().message
                                 : std::string("fits");
  };
  CHECK(outcome(entry("k", 32, {8, 4, 8})) == "fits");
  CHECK(outcome(entry("other", 32, {8, 4, 8})).find("gate.missing_entry") == 0);
  CHECK(outcome(entry("k", 32, {8, 4})).find("gate.parameters") == 0);
  CHECK(outcome(entry("k", 32, {8, 8, 8}))
            .find("gate.parameters parameter 1 of k has 8 bytes, the plan passes 4") == 0);
  CHECK(outcome(entry("k", 64, {8, 4, 8}))
            .find("plan.limit a cooperative grid of 396 blocks; 264 fit") == 0);
  CHECK(outcome(entry("k", 200, {8, 4, 8}))
            .find("plan.limit 512 threads of 200 registers do not fit") == 0);
  EntryFacts bounded = entry("k", 32, {8, 4, 8});
  bounded.max_threads = 256;
  CHECK(outcome(bounded).find("launch bound is 256") != std::string::npos);
  EntryFacts heavy = entry("k", 32, {8, 4, 8});
  heavy.static_shared = 232448;
  CHECK(outcome(heavy).find("plan.limit 233472 bytes of shared memory") == 0);
}
