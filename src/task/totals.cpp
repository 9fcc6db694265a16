#include "task/totals.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "task/rules/apply.hpp"
#include "task/rules/common.hpp"
#include "task/rules/tidy.hpp"

namespace cupilot {
namespace {

using rules::number_in;

// Longer texts are written as sums of products.
constexpr std::size_t longest_text = 512;
// More are joined in pairs, so that they nest no deeper than an expression may.
constexpr std::size_t most_in_a_row = 16;

// The greatest of numbers and texts.
std::string greatest(std::vector<std::string> texts) {
  if (texts.size() > most_in_a_row) {
    std::int64_t most = 0;
    std::erase_if(texts, [&](const std::string& text) {
      const auto number = number_in(text);
      most = std::max(most, number.value_or(0));
      return number.has_value();
    });
    if (most > 0) texts.push_back(std::to_string(most));
  }
  const bool pairs = texts.size() > most_in_a_row;
  while (texts.size() > 1) {
    std::vector<std::string> joined;
    for (std::size_t i = 0; i < texts.size(); i += 2) {
      if (!pairs && i > 0) {
        joined.insert(joined.end(), texts.begin() + static_cast<long>(i), texts.end());
        break;
      }
      joined.push_back(i + 1 == texts.size() ? texts[i]
                                             : fmt::format("max({}, {})", texts[i], texts[i + 1]));
    }
    texts = std::move(joined);
  }
  return texts.front();
}

}  // namespace

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
  return lengths.empty() ? Expr(1) : Expr(greatest(lengths));
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

void WorkSum::append(const std::string& flops) {
  sum_ += (sum_.empty() ? "" : " + ") + flops;
  if (sum_.size() > longest_text) sum_ = tidied(sum_).text;
}

void WorkSum::end() {
  std::string step;
  for (const auto& [flops, times] : body_) {
    step += step.empty() ? "" : " + ";
    step += times == 1 ? flops : fmt::format("{} * ({})", times, flops);
  }
  if (step.size() > longest_text) step = tidied(step).text;
  if (!step.empty()) append(fmt::format("({}) * ({})", repeat_->count.text, step));
  body_.clear();
}

}  // namespace cupilot
