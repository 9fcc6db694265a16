// Checks the order of injected faults and the file that another run goes on from.
#include "injection.hpp"

#include <unistd.h>

#include <filesystem>

#include "catch.hpp"

namespace cupilot::mutation {
namespace {

Subject subject_named(const std::string& name) {
  Subject subject{name};
  subject.hash = "0123";
  subject.source.text =
      ".visible .entry k()\n{\n\tst.shared.u32 \t[%r1], %r2;\n\tbar.sync 0;\n\tld.shared.u32 "
      "%r3, [%r4];\n\tbar.sync 0;\n\tret;\n}\n";
  return subject;
}

}  // namespace

TEST_CASE("faults take kernels in turn, and a file of rows is gone on from") {
  const Subject a = subject_named("a"), b = subject_named("b");
  const auto all = injections({&a, &b}, 1, 0);
  REQUIRE(all.size() >= 8);
  CHECK(all[0].subject == &a);
  CHECK(all[1].subject == &b);
  for (const Injection& one : all) CHECK(one.was.find('\n') == std::string::npos);
  CHECK(injections({&a, &b}, 1, 2).size() == 4);

  const auto path = (std::filesystem::temp_directory_path() /
                     ("cupilot-injection-" + std::to_string(getpid()) + ".json"))
                        .string();
  Records records = Records::read(path);
  CHECK_FALSE(records.knows(all[0]));
  records.add(all[0], {Fate::survived, "accepted", "", 1.234});
  Subject taken = a;
  taken.taken = true;
  records.add(taken, 2);
  REQUIRE(records.write(path));
  const Records again = Records::read(path);
  CHECK(again.knows(all[0]));
  CHECK_FALSE(again.knows(all[1]));
  Subject fresh = a, other = a;
  REQUIRE(again.knows(fresh));
  CHECK(fresh.taken);
  other.hash = "4567";
  CHECK_FALSE(again.knows(other));
  CHECK(again.tally().find("all                1 survived;") != std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace cupilot::mutation
