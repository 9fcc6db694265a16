#include "catch.hpp"

#include <algorithm>
#include <set>

#include <cupilot/parts/technique.hpp>
#include <cupilot/parts/tunable.hpp>

#include "kernel/builtin.hpp"
#include "kernel/support.hpp"

using namespace cupilot;
using namespace cupilot::test;

namespace {

const std::string plan = R"("plan":{"launches":[{"entry":"k","grid":[1],"block":[32],"args":[]}]})";

std::string file(const std::string& fields, const std::string& text = "void k() {}\n") {
  return "/* cupilot tunable 1\n{" + fields + "}\n*/\n" + text;
}

std::string named(const std::string& fields) {
  return file(R"("name":"t","family":"f",)" + fields + "," + plan);
}

std::string parameter(const std::string& fields) {
  return named(R"("parameters":{"BM":{)" + fields + "}}");
}

}  // namespace

TEST_CASE("a tunable reads into its fields", "[kernel]") {
  const auto read = parse_tunable(
      named(
          R"("summary":"s","provides":["a"],"requires":["b"],"when":["elem.A==4"],"restrict":["BM>0"],
      "registers":"BM+8","parameters":{"BM":{"name":"block_m","technique":"block_tile","domain":[32,64],"plain":0},"Z":{"domain":[3,1]}})"),
      "t.cu");
  REQUIRE(read);
  CHECK(read->name == "t");
  CHECK(read->family == "f");
  CHECK(read->provides == std::vector<std::string>{"a"});
  CHECK(read->requires_techniques == std::vector<std::string>{"b"});
  CHECK(read->when == std::vector<Expr>{"elem.A==4"});
  CHECK(read->restrictions == std::vector<Expr>{"BM>0"});
  CHECK(read->registers.text == "BM+8");
  REQUIRE(read->parameters.size() == 2);
  CHECK(read->parameters[0].constant == "BM");
  CHECK(read->parameters[0].name == "block_m");
  CHECK(read->parameters[0].domain == std::vector<std::int64_t>{32, 64});
  CHECK(read->parameters[0].plain == 0);
  CHECK(read->parameters[1].name == "Z");
  CHECK(read->parameters[1].technique.empty());
  CHECK(read->parameters[1].plain == 3);
  CHECK(read->text == "void k() {}\n");
  CHECK(read->file == "t.cu");
}

TEST_CASE("a wrong tunable names field and reason", "[kernel]") {
  struct Row {
    std::string text;
    std::string says;
  };
  const std::vector<Row> rows = {
      {"", "no tunable header"},
      {"void k() {}", "no tunable header"},
      {"/* cupilot tunable 3\n{}\n*/\n", "tunable version \"3\"; this cupilot reads 1 and 2"},
      {"/* cupilot tunable 1\n{}\n", "no line `*/`"},
      {"/* cupilot tunable 1", "no line `*/`"},
      {"/* cupilot tunable 1\n{\n*/\nx", "not JSON"},
      {file(plan), "t.cu: name: is missing"},
      {file(R"("name":"t","family":"f","parameters":{})"), "t.cu: plan: is missing"},
      {file(R"("name":"t","family":"f",)" + plan), "t.cu: parameters: is missing"},
      {file(R"("name":"T","family":"f","parameters":{},)" + plan), "\"T\" is no template name"},
      {file(R"("name":"t","family":"","parameters":{},)" + plan), "t.cu: family: is empty"},
      {file(R"("name":"t","family":"f","parameters":{},)" + plan, " \n"), "no kernel stands below"},
      {file(
           R"("name":"t","family":"f","parameters":{},"plan":{"launches":[{"entry":"k","grid":[1],)"
           R"("block":[32],"args":[],"library":"cublaslt"}]})"),
       "t.cu: plan: has a library's step"},
      {named(R"("parameters":{},"restricts":[])"), "t.cu: restricts: is an unknown field"},
      {named(R"("parameters":{},"provides":["A"])"),
       "t.cu: provides[0]: \"A\" is no technique name"},
      {named(R"("parameters":{},"requires":["a","a"])"), "t.cu: requires: \"a\" stands twice"},
      {named(R"("parameters":{},"when":["elem.A=="])"), "t.cu: when[0]: expression"},
      {named(R"("parameters":{},"registers":"(")"), "t.cu: registers: expression"},
      {parameter(R"("domain":[])"), "parameters.BM.domain: has 0 values"},
      {parameter(R"("domain":[1,1])"), "parameters.BM.domain: 1 stands twice"},
      {parameter(R"("domain":[2147483648])"), "does not fit an int"},
      {parameter(R"("domain":[1.5])"), "parameters.BM.domain[0]"},
      {parameter(R"("domain":["1"])"), "is not a whole number of 64 bits"},
      {parameter(R"("plain":1)"), "parameters.BM.domain: is missing"},
      {parameter(R"("domain":[1,2],"plain":3)"), "parameters.BM.plain: 3 is not in the domain"},
      {parameter(R"("domain":[1,2],"default":1)"), "parameters.BM.default: is an unknown field"},
      {parameter(R"("domain":[1],"technique":"Block")"), "\"Block\" is no technique name"},
      {parameter(R"("domain":[1],"name":"a b")"), "\"a b\" is no identifier"},
      {named(R"("parameters":{"2M":{"domain":[1]}})"), "\"2M\" is no identifier"},
      {named(
           R"("parameters":{"A":{"name":"x","technique":"t1","domain":[1]},"B":{"name":"x","technique":"t1","domain":[1]}})"),
       "parameters.B: A is already the x of t1"},
      {file(R"("name":"t","family":"f","parameters":{},"plan":{"launches":[]})"),
       "t.cu: plan.launches: is empty"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const auto read = parse_tunable(row.text, "t.cu");
    REQUIRE_FALSE(read);
    INFO(read.error().message);
    CHECK(read.error().message.find(row.says) != std::string::npos);
    CHECK(read.error().code == ErrorCode::usage);
  }
}

TEST_CASE("an unreadable tunable is a clear error", "[kernel]") {
  const auto none = load_tunable("/no/such/tunable.cu");
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "/no/such/tunable.cu: cannot be read");
  CHECK_FALSE(load_tunable("/"));
}

TEST_CASE("built-in templates parse and realise the catalogue's techniques", "[kernel]") {
  const auto parsed = parse_builtins();
  if (!parsed) FAIL(parsed.error().message);
  REQUIRE(parsed->size() >= 2);
  CHECK(builtin_tunables().size() == parsed->size());
  std::set<std::string> names, techniques;
  for (const Tunable& tunable : *parsed) {
    INFO(tunable.file);
    CHECK(names.insert(tunable.name).second);
    for (const std::string& technique : tunable.provides) techniques.insert(technique);
    for (const std::string& technique : tunable.requires_techniques) techniques.insert(technique);
    for (const TunableParameter& parameter : tunable.parameters) {
      if (!parameter.technique.empty()) techniques.insert(parameter.technique);
    }
  }
  // A name that the catalogue lacks is a technique of the template's own; most are shared
  // knowledge.
  const auto shared = std::count_if(techniques.begin(), techniques.end(), [](const auto& name) {
    return find_technique(name) != nullptr;
  });
  CHECK(shared >= 25);
}
