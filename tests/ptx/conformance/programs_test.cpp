// Random straight-line programs: 32 lanes of the interpreter against a lane at a time on the host.
#include <algorithm>

#include "catch.hpp"
#include "ptx/conformance/program.hpp"
#include "ptx/lanes/set.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using namespace conformance;

namespace {

constexpr std::size_t programs_in_all = 3000, programs_a_module = 20, steps_a_program = 32;

using Warp = std::vector<State>;

Warp random_warp(Generator& generator) {
  Warp out(32);
  for (State& lane : out) lane = random_state(generator);
  return out;
}

std::vector<u64> flat(const Warp& warp) {
  std::vector<u64> out;
  for (const State& lane : warp) out.insert(out.end(), lane.begin(), lane.end());
  return out;
}

std::vector<u64> on_host(const Program& program, Warp warp) {
  for (State& lane : warp) run(program, lane);
  return flat(warp);
}

std::vector<u64> on_device(const std::shared_ptr<const ptx::Module>& module,
                           const std::string& name, const Warp& warp) {
  Device d;
  const auto before = d.input("before", flat(warp)),
             after = d.output("after", warp.size() * sizeof(State));
  const auto report =
      d.run(module, name, {1}, {32}, 0, Device::Pointer{before}, Device::Pointer{after});
  if (!report.faults.empty()) throw std::runtime_error(faults_of(report));
  return d.values<u64>(after);
}

bool differs(const Program& program, const Warp& warp) {
  return on_device(module_of(module_head() + entry_of(program, "k")), "k", warp) !=
         on_host(program, warp);
}

// Without every step that the difference does not need, and on one lane's values where that is
// enough.
std::string shrunk(Program program, Warp warp) {
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    Program fewer = program;
    fewer.steps.erase(fewer.steps.begin() + static_cast<std::ptrdiff_t>(i));
    if (differs(fewer, warp)) program = fewer;
  }
  const auto want = on_host(program, warp),
             got = on_device(module_of(module_head() + entry_of(program, "k")), "k", warp);
  const auto at = static_cast<std::size_t>(
      std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin());
  const std::size_t lane = at / register_count;
  std::ostringstream t;
  t << listing(program) << "lane " << lane << " register " << at % register_count << std::hex
    << " is 0x" << got[at] << ", not 0x" << want[at] << "; registers before:";
  for (const u64 v : warp[lane]) t << " " << v;
  return t.str();
}

}  // namespace

TEST_CASE("random straight-line programs give what the host computes", "[conformance]") {
  const auto sets = ptx::lane_sets();
  std::size_t wrong = 0;
  for (std::size_t first = 0; first < programs_in_all && wrong < 3; first += programs_a_module) {
    Generator generator(first + 1);
    ptx::prefer(sets[first / programs_a_module % sets.size()]);
    std::vector<Program> programs;
    std::string text = module_head();
    for (std::size_t i = 0; i < programs_a_module; ++i) {
      programs.push_back(random_program(generator, steps_a_program));
      text += entry_of(programs.back(), "program" + std::to_string(first + i));
    }
    const auto module = module_of(text);
    for (std::size_t i = 0; i < programs_a_module && wrong < 3; ++i) {
      const Warp warp = random_warp(generator);
      if (on_device(module, "program" + std::to_string(first + i), warp) ==
          on_host(programs[i], warp))
        continue;
      ++wrong;
      FAIL_CHECK("program " << first + i << ":\n" << shrunk(programs[i], warp));
    }
  }
  ptx::prefer(sets.back());
  CHECK(wrong == 0);
}
