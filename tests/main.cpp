#define CATCH_CONFIG_MAIN
#include "catch.hpp"
#include "support/reached.hpp"

namespace {

// Says that this test ran to its end, so that the last test of a run knows whether all did.
struct Ended : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  void testRunEnded(const Catch::TestRunStats&) override {
    if (const char* name = std::getenv("CUPILOT_TEST")) cupilot::testing::note_reached("ran " + std::string(name));
  }
};
CATCH_REGISTER_LISTENER(Ended)

}  // namespace
