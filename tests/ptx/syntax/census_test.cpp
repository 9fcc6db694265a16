// Every form of the instruction set is run, or refused for a reason that `cupilot doctor` tells.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "catch.hpp"
#include "ptx/machine/exclusions.hpp"
#include "ptx/machine/runner.hpp"
#include "ptx/syntax/census.hpp"

using namespace support;

namespace {

const ptx::Form& form_of(const ptx::Module& module, const std::string& text) {
  const std::string spelling = text.substr(0, text.find(' '));
  for (const ptx::Form& form : module.forms) {
    if (form.text == spelling) return form;
  }
  throw std::runtime_error(spelling + " is not in its module");
}

// Whether the interpreter takes it; running it may fault, but never as something unknown.
bool runs(const std::shared_ptr<const ptx::Module>& module) {
  auto program = ptx::make_program(module, "run");
  if (!program) return false;
  ptx::DeviceMemory memory;
  const auto buffer = *memory.add("buffer", 4096, ptx::Access::read_write);
  memory.mark_written(buffer);
  ptx::Launch launch{.grid = {1}, .block = {32}, .dynamic_shared = 0, .parameters = {}};
  launch.parameters.resize(160);
  const std::uint64_t address = memory.address(buffer);
  std::memcpy(launch.parameters.data() + 128, &address, 8);
  ptx::ExecuteOptions options;
  options.instruction_budget = 2000;
  options.check_initialised = false;
  const auto report = ptx::execute(**program, memory, launch, options);
  return report && (report->faults.empty() || report->faults[0].code != "run.unsupported");
}

}  // namespace

TEST_CASE("every form of the instruction set runs or is excluded by name", "[census]") {
  std::set<const ptx::Exclusion*> used;
  for (const CensusForm& form : census()) {
    auto parsed = ptx::parse(census_head + census_kernel("run", form.text));
    INFO(form.text << (parsed.is_rejected() ? ": " + parsed.rejected().message : std::string()));
    if (parsed.is_rejected()) {
      const std::string operands = form.text.substr(form.text.find(' '));  // r1.b0, -r4
      CHECK((form.text[0] == 'v' && operands.find_first_of(".-") != std::string::npos));
      continue;
    }
    const auto module = std::make_shared<const ptx::Module>(std::move(*parsed));
    const ptx::Exclusion* excluded = ptx::exclusion_of(form_of(*module, form.text));
    used.insert(excluded);
    const bool taken = runs(module);
    INFO((excluded != nullptr ? excluded->what : "not excluded"));
    CHECK(taken == (excluded == nullptr && !form.refused));
  }
  CHECK(census().size() > 12000);
  for (const ptx::Exclusion& row : ptx::exclusions()) {
    INFO(row.what);
    CHECK((used.count(&row) == 1 || row.covers == nullptr ||
           std::string(row.what) == "what needs sm_100"));
  }
}

TEST_CASE("the assembler takes every form of the census", "[.assembler]") {
  std::string text = census_head;
  std::size_t at = 0;
  for (const CensusForm& form : census()) {
    text += census_kernel("k" + std::to_string(at++), form.text);
    if (at % 500 != 0 && at != census().size()) continue;
    const char* const file = "census-batch.ptx";
    std::ofstream(file) << text;
    INFO("kernels up to " << at << " in " << file);
    REQUIRE(std::system("ptxas -arch=sm_90a -O0 census-batch.ptx -o /dev/null") == 0);
    std::remove(file);
    text = census_head;
  }
}
