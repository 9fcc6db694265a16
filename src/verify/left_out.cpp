#include "verify/left_out.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "verify/plan_steps.hpp"

namespace cupilot {
namespace {

bool is_within(const Task& task, const Workload& workload) {
  return std::all_of(workload.sizes.begin(), workload.sizes.end(), [&](const auto& size) {
    return size.second <= largest_size(task, size.first);
  });
}

}  // namespace

std::string sizes_text(const Workload& workload) {
  std::string out;
  for (const auto& [axis, size] : workload.sizes)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", axis, size);
  return out;
}

std::vector<std::string> sentences_of(std::span<const CaseLeftOut> left_out) {
  constexpr std::size_t most = 4;
  std::vector<std::string> out;
  for (const CaseLeftOut& one : left_out.first(std::min(most, left_out.size())))
    out.push_back(fmt::format(
        "{}: {}{}: {}", one.begun ? "not judged" : "not run", sizes_text(one.what.workload),
        one.asked_by.empty() ? "" : ", asked for by " + one.asked_by, one.reason));
  if (left_out.size() > most)
    out.push_back(
        fmt::format("not run: {} more sizes that the code asks for", left_out.size() - most));
  return out;
}

std::string excepted_sizes(const Task& task, std::span<const CaseLeftOut> left_out) {
  constexpr std::size_t most = 4;
  std::string out;
  std::size_t count = 0;
  for (const CaseLeftOut& one : left_out) {
    if (!(one.begun || one.named) || !is_within(task, one.what.workload)) continue;
    if (++count <= most)
      out += fmt::format("{}{}", out.empty() ? "" : "; ", sizes_text(one.what.workload));
  }
  return count <= most ? out : fmt::format("{}; {} more sizes", out, count - most);
}

}  // namespace cupilot
