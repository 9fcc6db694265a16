// Records what drawn strategies take on a device, many a second, as landscapes for recorded:DIR.
//
//   landscape record DEVICE OUT COUNT SECONDS COUNTED NAME:word,word… …    a folder OUT/NAME a
//   task (m=512,n=512 for a GEMM, kernelbench:1/40): landscape.jsonl, counts.jsonl
//   landscape again DEVICE OUT SECONDS ROUNDS DIR/NAME/landscape.jsonl…    the strategies of other
//   landscapes, modelled ones say, into OUT/NAME
//
// COUNT strategies of each task are drawn, SECONDS are shared among all tasks, and COUNTED of each
// template are counted on the virtual device too. A kernel is proved in its timed launches alone:
// new content each, outputs compared, values of the first of each kind recomputed by the
// controller. What is written stays when time ends. `--seed N` first draws others.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "merge.hpp"
#include "recorded_task.hpp"
#include "recorder.hpp"
#include "rows.hpp"

using namespace cupilot;

namespace {

[[noreturn]] void fail(const Error& error) {
  std::cerr << "landscape: " << error.message << (error.hint.empty() ? "" : "; " + error.hint)
            << "\n";
  std::exit(static_cast<int>(error.code));
}

BenchSubject subject_of(const std::string& text) {
  BenchSubject subject;
  const std::size_t colon = text.find(':');
  subject.name = text.substr(0, colon);
  std::string word;
  for (const char c : text.substr(colon + 1) + ",") {
    if (c != ',') {
      word += c;
    } else if (!word.empty()) {
      subject.words.push_back(std::move(word));
      word.clear();
    }
  }
  auto task = recorded_task(subject.words);
  if (!task) fail(task.error());
  subject.task = TaskRef(std::move(*task));
  return subject;
}

int record_all(const std::vector<std::string>& words, RecordRules rules) {
  rules.count = std::atoi(words[3].c_str());
  rules.counted = std::atoi(words[5].c_str());
  auto backend = open_backend(words[1]);
  if (!backend) fail(backend.error());
  auto counting = Counting::open("h200");
  if (!counting) fail(counting.error());
  const double seconds = std::atof(words[4].c_str());
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 6; i < words.size(); ++i) {
    const double spent =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    rules.seconds = (seconds - spent) / static_cast<double>(words.size() - i);
    const BenchSubject subject = subject_of(words[i]);
    const std::string folder = words[2] + "/" + subject.name;
    std::filesystem::create_directories(folder);
    auto told = record(subject, **backend, **counting, rules,
                       draw(subject.task, (*backend)->device(), rules.count, rules.seed), folder);
    if (!told) fail(told.error());
    std::cout << *told << std::endl;
  }
  return 0;
}

int record_again(const std::vector<std::string>& words, RecordRules rules) {
  auto backend = open_backend(words[1]);
  if (!backend) fail(backend.error());
  auto counting = Counting::open((*backend)->device().name);
  if (!counting) fail(counting.error());
  rules.seconds = std::atof(words[3].c_str()) / static_cast<double>(words.size() - 5);
  rules.rounds = std::atoi(words[4].c_str());
  for (std::size_t i = 5; i < words.size(); ++i) {
    auto rows = rows_of(words[i], "all", 1 << 30);
    if (!rows) fail(rows.error());
    const std::string name = std::filesystem::path(words[i]).parent_path().filename();
    const std::string folder = words[2] + "/" + name;
    std::filesystem::create_directories(folder);
    auto told = record({name, rows->words, TaskRef(rows->task)}, **backend, **counting, rules,
                       std::move(rows->drawn), folder);
    if (!told) fail(told.error());
    std::cout << *told << std::endl;
  }
  return 0;
}

// Nothing is timed: kernels are compiled for the recording's chip and counted.
int count_again(const std::vector<std::string>& words) {
  auto rows = rows_of(words[2], words[3], std::atoi(words[4].c_str()));
  if (!rows) fail(rows.error());
  auto counting = Counting::open(rows->device.name);
  if (!counting) fail(counting.error());
  auto backend = open_backend("virtual:" + rows->device.name);
  if (!backend) fail(backend.error());
  std::ofstream out(words[1]);
  const TaskRef task(rows->task);
  for (const Drawn& drawn : rows->drawn) {
    auto kernel = (*backend)->compile(drawn.source);
    if (!kernel) continue;
    auto inputs = (*counting)->inputs(task, *kernel);
    if (inputs) out << counts_line(drawn, *inputs) << std::flush;
  }
  return 0;
}

int merge_all(const std::vector<std::string>& words) {
  auto count = merge(words[1], {words.begin() + 2, words.end()});
  if (!count) fail(count.error());
  std::cout << *count << " strategies\n";
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> words(arguments + 1, arguments + count);
  RecordRules rules;
  if (words.size() > 2 && words[0] == "--seed") {
    rules.seed = std::strtoull(words[1].c_str(), nullptr, 10);
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.size() > 6 && words[0] == "record") return record_all(words, rules);
  if (words.size() > 5 && words[0] == "again") return record_again(words, rules);
  if (words.size() == 5 && words[0] == "count") return count_again(words);
  if (words.size() > 2 && words[0] == "merge") return merge_all(words);
  std::cerr
      << "usage: landscape [--seed N] record DEVICE OUT COUNT SECONDS COUNTED NAME:word,word...\n"
         "       landscape again DEVICE OUT SECONDS ROUNDS LANDSCAPE.jsonl...\n"
         "       landscape count OUT.jsonl LANDSCAPE.jsonl TEMPLATE|all N\n"
         "       landscape merge OUT.jsonl IN.jsonl...\n";
  return 2;
}
