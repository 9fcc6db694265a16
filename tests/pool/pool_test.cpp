#include <cupilot/parts/pool.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "catch.hpp"

using namespace cupilot;

namespace {

class TempFile {
 public:
  TempFile()
      : path_(std::filesystem::temp_directory_path() /
              ("cupilot-pool-" + std::to_string(::getpid()) + ".sqlite")) {
    std::filesystem::remove(path_);
  }
  ~TempFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// A family of its own, so that no shipped practice is found beside it.
PoolEntry entry(const std::string& technique) {
  PoolEntry one;
  one.strategy.uses = {{technique, {{"value", 3}}, "", {}}};
  one.family = "toy";
  one.precision = "bf16";
  one.device = "H200";
  one.zone = Zone::compute;
  one.shape = "k=large m=large n=large";
  one.log2_gain = 5.5;
  one.floor_share = 0.5;
  one.effects = {{technique, 0.25, 3}};
  one.text = "tiles walk " + technique;
  one.origin = "measured";
  one.task = "task-" + technique;
  one.tags = {"tag-" + technique};
  one.kernel = "kernel of " + technique;
  one.computes = "return 1;";
  return one;
}

PoolQuery like_it() {
  PoolQuery query;
  query.family = "toy";
  query.precision = "bf16";
  query.device = "H200";
  query.arch = "sm_90a";
  query.shape = "k=large m=large n=large";
  query.zone = Zone::compute;
  return query;
}

std::vector<std::string> names(const StrategyPool& pool, const PoolQuery& query) {
  const auto found = pool.find(query);
  REQUIRE(found);
  std::vector<std::string> all;
  for (const PoolMatch& match : *found) all.push_back(match.entry.strategy.uses.front().technique);
  return all;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a pool's file keeps every field of an entry") {
  const TempFile file;
  const PoolEntry kept = entry("a");
  {
    auto pool = StrategyPool::open(file.path());
    REQUIRE(pool);
    REQUIRE(pool->add(kept));
  }
  auto pool = StrategyPool::open(file.path());
  REQUIRE(pool);
  const auto found = pool->find(like_it());
  REQUIRE(found);
  REQUIRE(found->size() == 1);
  const PoolEntry& read = found->front().entry;
  CHECK(read.strategy.uses == kept.strategy.uses);
  CHECK(read.precision == kept.precision);
  CHECK(read.device == kept.device);
  CHECK(read.zone == kept.zone);
  CHECK(read.shape == kept.shape);
  CHECK(read.log2_gain == kept.log2_gain);
  CHECK(read.floor_share == kept.floor_share);
  REQUIRE(read.effects.size() == 1);
  CHECK(read.effects[0].gain == 0.25);
  CHECK(read.effects[0].count == 3);
  CHECK(read.text == kept.text);
  CHECK(read.origin == kept.origin);
  CHECK(read.task == kept.task);
  CHECK(read.tags == kept.tags);
  CHECK(read.kernel == kept.kernel);
  CHECK(read.computes == kept.computes);
  // This entry again, without its kernel.
  PoolEntry bare = kept;
  bare.kernel.clear();
  REQUIRE(pool->add(bare));
  CHECK(pool->find(like_it())->front().entry.kernel.empty());
}

TEST_CASE("the same entry again takes the place of the first") {
  auto pool = StrategyPool::open(":memory:");
  REQUIRE(pool);
  const auto before = pool->size();
  PoolEntry one = entry("a");
  REQUIRE(pool->add(one));
  one.text = "another word";
  REQUIRE(pool->add(one));
  CHECK(*pool->size() == *before + 1);
  PoolQuery query = like_it();
  const auto found = pool->find(query);
  REQUIRE(found);
  CHECK(found->front().entry.text == "another word");
}

TEST_CASE("what is more alike is found first") {
  struct Case {
    const char* what;
    void (*less_alike)(PoolEntry&);
  };
  const Case cases[] = {
      {"precision", [](PoolEntry& e) { e.precision = "fp32-strict"; }},
      {"device", [](PoolEntry& e) { e.device = "A100"; }},
      {"zone", [](PoolEntry& e) { e.zone = Zone::memory; }},
      {"zone unknown", [](PoolEntry& e) { e.zone.reset(); }},
      {"shape", [](PoolEntry& e) { e.shape = "k=large m=tiny n=large"; }},
      {"floor", [](PoolEntry& e) { e.floor_share = 0.1; }},
  };
  for (const Case& one : cases) {
    INFO(one.what);
    auto pool = StrategyPool::open(":memory:");
    REQUIRE(pool);
    PoolEntry less = entry("less");
    one.less_alike(less);
    REQUIRE(pool->add(less));
    REQUIRE(pool->add(entry("more")));
    CHECK(names(*pool, like_it()) == Names{"more", "less"});
  }
}

TEST_CASE(
    "a chip's own entries come before practice for its architecture, and that before another "
    "chip's") {
  auto pool = StrategyPool::open(":memory:");
  REQUIRE(pool);
  for (const auto& [name, device] :
       {std::pair("other", "A100"), std::pair("arch", "sm_90a"), std::pair("own", "H200")}) {
    PoolEntry one = entry(name);
    one.device = device;
    REQUIRE(pool->add(one));
  }
  CHECK(names(*pool, like_it()) == Names{"own", "arch", "other"});
}

TEST_CASE("words of a text rank, whatever else stands in it") {
  auto pool = StrategyPool::open(":memory:");
  REQUIRE(pool);
  PoolEntry plain = entry("plain"), meant = entry("meant");
  plain.text = "nothing of that kind";
  meant.text = "hilbert curves walk the tiles";
  REQUIRE(pool->add(plain));
  REQUIRE(pool->add(meant));
  for (const char* text :
       {"Hilbert's curve", "\"hilbert\" OR (AND", "hilbert; DROP TABLE entry", "walking"}) {
    INFO(text);
    PoolQuery query = like_it();
    query.text = text;
    CHECK(names(*pool, query) == Names{"meant", "plain"});
  }
}

TEST_CASE("the leakage guard hides a task and whatever carries a tag") {
  auto pool = StrategyPool::open(":memory:");
  REQUIRE(pool);
  for (const char* name : {"a", "b", "c"}) REQUIRE(pool->add(entry(name)));
  PoolQuery query = like_it();
  query.without_task = "task-a";
  CHECK(names(*pool, query) == Names{"b", "c"});
  query.without_tags = {"tag-c", "no such"};
  CHECK(names(*pool, query) == Names{"b"});
}

TEST_CASE("families are never mixed, and the limit holds") {
  auto pool = StrategyPool::open(":memory:");
  REQUIRE(pool);
  for (const char* name : {"a", "b", "c"}) REQUIRE(pool->add(entry(name)));
  PoolQuery query = like_it();
  query.limit = 2;
  CHECK(names(*pool, query).size() == 2);
  query.family = "another";
  CHECK(names(*pool, query).empty());
}

TEST_CASE("files that are no pools are refused by name") {
  const TempFile file;
  std::ofstream(file.path()) << std::string(4096, 'x');
  const auto none = StrategyPool::open(file.path());
  REQUIRE_FALSE(none);
  CHECK(none.error().message.find(file.path()) != std::string::npos);
  CHECK_FALSE(none.error().hint.empty());
  const auto nowhere = StrategyPool::open("/no/such/folder/pool.sqlite");
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().message.find("/no/such/folder") != std::string::npos);
}

TEST_CASE("shipped practice says what it is, and speaks the catalogue's words") {
  const auto practice = shipped_practice();
  REQUIRE(practice);
  CHECK(practice->size() >= 10);
  for (const PoolEntry& one : *practice) {
    INFO(one.text);
    CHECK(one.origin == "practice");
    CHECK(one.zone.has_value());
    CHECK(one.task.empty());
    CHECK(one.log2_gain == 0);
    for (const Use& use : one.strategy.uses) {
      INFO(use.technique);
      const Technique* row = find_technique(use.technique);
      // A template's own knobs bear its name; spaces say what they take of them.
      if (row == nullptr && !use.values.empty()) continue;
      REQUIRE(row != nullptr);
      for (const auto& [name, value] : use.values) {
        INFO(name << " " << value);
        const auto parameter = std::find_if(
            row->parameters.begin(), row->parameters.end(),
            [&, wanted = name](const TechniqueParameter& p) { return p.name == wanted; });
        REQUIRE(parameter != row->parameters.end());
        CHECK(std::count(parameter->domain.begin(), parameter->domain.end(), value) == 1);
      }
    }
  }
}

TEST_CASE("shapes are alike an axis at a time") {
  struct Case {
    const char *a, *b;
    double alike;
  };
  const Case cases[] = {{"m=large", "m=large", 1},
                        {"m=large", "m=medium", 0.5},
                        {"m=large", "m=tiny", 0},
                        {"k=large m=large", "k=large m=tiny", 0.5},
                        {"k=large m=large", "m=large", 0.5},
                        {"", "", 0},
                        {"nonsense", "m=large", 0}};
  for (const Case& one : cases) {
    INFO(one.a << " and " << one.b);
    CHECK(shape_likeness(one.a, one.b) == one.alike);
    CHECK(shape_likeness(one.b, one.a) == one.alike);
  }
  Task task;
  CHECK(shape_class(task).empty());
  task.time_shapes = {{{{"m", 1}, {"n", 4096}, {"k", 512}}, 1.0}};
  CHECK(shape_class(task) == "k=small m=single n=large");
}

TEST_CASE("outcomes of one kind come back, the latest first, none twice") {
  const TempFile file;
  auto pool = StrategyPool::open(file.path());
  REQUIRE(pool);
  const auto before = pool->size();
  const PoolOutcome first{entry("a").strategy, {{"k", 64}, {"m", 128}}, 5},
      second{entry("b").strategy, {{"k", 64}, {"m", 128}}, 7};
  PoolOutcome elsewhere = first, again = first;
  elsewhere.sizes["m"] = 4096;
  again.time_us = 4.5;
  REQUIRE(pool->add_outcomes("h200 toy", std::vector{first, second}));
  REQUIRE(pool->add_outcomes("h200 toy", std::vector{elsewhere}));
  REQUIRE(pool->add_outcomes("a100 toy", std::vector{second}));
  REQUIRE(pool->add_outcomes("h200 toy", std::vector{again}));
  CHECK(*pool->size() == *before);
  pool = StrategyPool::open(file.path());  // as another process finds it
  REQUIRE(pool);
  const auto all = pool->outcomes("h200 toy", 10);
  REQUIRE(all);
  REQUIRE(all->size() == 3);
  CHECK(all->front().time_us == 4.5);
  CHECK(all->front().sizes == first.sizes);
  CHECK(strategy_id(all->front().strategy) == strategy_id(first.strategy));
  CHECK((*all)[1].sizes.at("m") == 4096);
  CHECK((*all)[2].time_us == 7);
  CHECK(pool->outcomes("h200 toy", 1)->size() == 1);
  CHECK(pool->outcomes("h100 toy", 10)->empty());
}

TEST_CASE("of a kind the latest outcomes are kept") {
  const TempFile file;
  auto pool = StrategyPool::open(file.path());
  REQUIRE(pool);
  std::vector<PoolOutcome> many;
  for (std::int64_t m = 0; m < 2003; ++m) many.push_back({entry("a").strategy, {{"m", m}}, 1});
  REQUIRE(pool->add_outcomes("h200 toy", many));
  const auto all = pool->outcomes("h200 toy", 5000);
  REQUIRE(all);
  CHECK(all->size() == 2000);
  CHECK(all->back().sizes.at("m") == 3);
}
