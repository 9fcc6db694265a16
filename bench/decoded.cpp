// Counts the kernels of any PTX that the virtual device decodes whole, and those whose parameters a
// launch plan can pass.
//   decoded FILE.ptx ...        a line a module, the first instruction that each lacks, and sums
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "ptx/machine/execute.hpp"
#include "ptx/syntax/parser.hpp"

namespace {

using namespace cupilot;

constexpr std::uint32_t largest_parameter = 32764;  // bytes, as docs/formats/launch-plan.md says

struct Sums {
  int modules = 0, unread = 0, kernels = 0, decoded = 0, launchable = 0;
  std::map<std::string, int> lacks;  // reasons, without places
};

// Numbers, pointers, records and tensor maps by value are all bytes to a plan.
bool is_launchable(const ptx::Function& entry) {
  const ptx::ParameterLayout layout = ptx::parameter_layout(entry);
  for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
    const std::uint32_t end = i + 1 < layout.offsets.size() ? layout.offsets[i + 1] : layout.bytes;
    if (end - layout.offsets[i] > largest_parameter) return false;
  }
  return true;
}

void look_at(const std::string& path, Sums& sums) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  ++sums.modules;
  auto parsed = ptx::parse(text);
  if (!parsed) {
    ++sums.unread;
    std::puts(fmt::format("{}: not read", path).c_str());
    return;
  }
  const auto module = std::make_shared<const ptx::Module>(std::move(*parsed));
  int kernels = 0, decoded = 0, launchable = 0;
  for (const ptx::Function& function : module->functions) {
    if (!function.is_entry) continue;
    ++kernels;
    launchable += is_launchable(function) ? 1 : 0;
    const auto program = ptx::make_program(module, function.name);
    if (program) {
      ++decoded;
    } else {
      const std::string reason =
          program.is_rejected() ? program.rejected().message : program.error().message;
      ++sums.lacks[reason.substr(0, 90)];
    }
  }
  std::puts(
      fmt::format("{}: {} kernels, {} decoded, {} launchable", path, kernels, decoded, launchable)
          .c_str());
  sums.kernels += kernels;
  sums.decoded += decoded;
  sums.launchable += launchable;
}

}  // namespace

int main(int count, char** words) {
  Sums sums;
  for (int i = 1; i < count; ++i) look_at(words[i], sums);
  for (const auto& [reason, times] : sums.lacks)
    std::puts(fmt::format("lacks x{}: {}", times, reason).c_str());
  const double whole = sums.kernels > 0 ? 100.0 / sums.kernels : 0;
  std::puts(fmt::format(
                "{} modules, {} not read; {} kernels: {:.2f} % decoded whole, {:.2f} % launchable",
                sums.modules, sums.unread, sums.kernels, whole * sums.decoded,
                whole * sums.launchable)
                .c_str());
  return 0;
}
