#include "task/totals.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "task/rules/apply.hpp"

namespace cupilot {

Expr length_of(const Task& task, const std::string& output) {
  // A carried value is read before it stands in the list: each needs another round.
  std::vector<std::string> wanted = {output}, lengths;
  std::size_t rounds = 1;
  for (const Repeat& repeat : task.repeats) rounds += repeat.carried.size();
  for (std::size_t round = 0; round < rounds; ++round) {
    for (auto stage = task.reference.stages.rbegin(); stage != task.reference.stages.rend();
         ++stage) {
      if (std::find(wanted.begin(), wanted.end(), stage->name) == wanted.end()) continue;
      for (const StageRead& read : stage->reads) {
        wanted.push_back(read.source);
        if (!read.first.empty()) wanted.push_back(read.first);
      }
      if (stage->over.empty() || stage->combine > Combine::prod) continue;
      ExprShape over;
      for (const StageAxis& axis : stage->over) over.push_back(axis.extent);
      const std::string length = product_of(over).text;
      if (std::find(lengths.begin(), lengths.end(), length) == lengths.end())
        lengths.push_back(length);
    }
  }
  std::string most;
  for (const std::string& length : lengths)
    most = most.empty() ? length : fmt::format("max({}, {})", most, length);
  return most.empty() ? Expr(1) : Expr(most);
}

void WorkSum::add(const std::string& flops, const Repeat* repeat) {
  if (repeat != repeat_) end();
  repeat_ = repeat;
  if (repeat == nullptr) {
    append(flops);
    return;
  }
  const auto known =
      std::find_if(body_.begin(), body_.end(), [&](const auto& one) { return one.first == flops; });
  if (known == body_.end())
    body_.emplace_back(flops, 1);
  else
    ++known->second;
}

std::string WorkSum::total() {
  end();
  return sum_;
}

void WorkSum::end() {
  std::string step;
  for (const auto& [flops, times] : body_) {
    step += step.empty() ? "" : " + ";
    step += times == 1 ? flops : fmt::format("{} * ({})", times, flops);
  }
  if (!step.empty()) append(fmt::format("({}) * ({})", repeat_->count.text, step));
  body_.clear();
}

}  // namespace cupilot
