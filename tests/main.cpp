#define CATCH_CONFIG_RUNNER
#include "catch.hpp"
#include "support/reached.hpp"
#include "support/threads_begun.hpp"

namespace {

bool untagged = false;

struct Listener : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo&) override {
    before_ = cupilot::testing::threads_begun();
  }

  void testCaseEnded(const Catch::TestCaseStats& ended) override {
    if (std::getenv("CUPILOT_TAGGED") == nullptr || cupilot::testing::threads_begun() == before_)
      return;
    const auto& tags = ended.testInfo.tags;
    const auto tagged = [&](const char* tag) {
      return std::find(tags.begin(), tags.end(), tag) != tags.end();
    };
    if (tagged("threads") || tagged("templates"))
      return;  // whole GEMMs take too long under any sanitizer
    std::cerr << "\"" << ended.testInfo.name
              << "\" starts threads: tag it [threads], for ThreadSanitizer to run it\n";
    untagged = true;
  }

  // Says that this test ran to its end, so that the last test of a run knows whether all did.
  void testRunEnded(const Catch::TestRunStats&) override {
    if (const char* name = std::getenv("CUPILOT_TEST"))
      cupilot::testing::note_reached("ran " + std::string(name));
  }

 private:
  long before_ = 0;
};
CATCH_REGISTER_LISTENER(Listener)

}  // namespace

int main(int argc, char** argv) {
  const int failed = Catch::Session().run(argc, argv);
  return failed != 0 ? failed : untagged;
}
