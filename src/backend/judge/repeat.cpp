#include "backend/judge/repeat.hpp"

#include <algorithm>

#include "backend/worker/serve.hpp"
#include "backend/worker/timed_runner.hpp"

namespace cupilot {
namespace {

std::int64_t padded(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

// Device memory for one order.
struct Scratch {
  CUdeviceptr memory = 0;
  explicit Scratch(std::size_t bytes) {
    check(driver().cuMemAlloc(&memory, bytes), "allocating scratch");
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { driver().cuMemFree(memory); }
};

}  // namespace

Repeats::~Repeats() { forget(); }

void Repeats::forget() {
  for (const Kept& kept : kept_) {
    if (kept.memory != 0) driver().cuMemFree(kept.memory);
  }
  kept_.clear();
}

CUdeviceptr Repeats::count_of(const Kept& kept) const {
  return kept.memory + static_cast<CUdeviceptr>(padded(kept.bytes) + padded(kept.elements));
}

void Repeats::keep(const RepeatOrder& order) {
  forget();
  for (const RepeatOrder::Output& output : order.outputs) {
    Kept& kept = kept_.emplace_back();
    kept.bytes = output.region.bytes;
    kept.elements = output.layout.elements;
    const std::int64_t all = padded(kept.bytes) + padded(kept.elements) + 8;
    check(driver().cuMemAlloc(&kept.memory, static_cast<std::size_t>(all)),
          "memory for the first run's outputs");
    check(
        driver().cuMemsetD8Async(kept.memory, 0, static_cast<std::size_t>(all), session_.stream()),
        "clearing marks");
    // On the session's stream, which the default one does not wait for: the output is poisoned anew
    // right after.
    if (kept.bytes > 0) {
      check(driver().cuMemcpyDtoDAsync(kept.memory, session_.address(output.region),
                                       static_cast<std::size_t>(kept.bytes), session_.stream()),
            "keeping an output");
    }
    session_.synchronize();
  }
}

RepeatAnswer Repeats::take(const RepeatOrder& order) {
  RepeatAnswer answer;
  answer.differing.assign(order.outputs.size(), 0);
  if (order.first) {
    keep(order);
    return answer;
  }
  if (kept_.size() != order.outputs.size())
    throw OrderRefused{0, "a repeat of other outputs than were kept"};
  for (std::size_t i = 0; i < order.outputs.size(); ++i) {
    const RepeatOrder::Output& output = order.outputs[i];
    const Kept& kept = kept_[i];
    if (kept.elements != output.layout.elements || kept.bytes != output.region.bytes)
      throw OrderRefused{0, "a repeat of other outputs than were kept"};
    session_.launch(judge_image, "compare_bits", kept.elements, session_.address(output.region),
                    kept.memory, output.layout,
                    kept.memory + static_cast<CUdeviceptr>(padded(kept.bytes)), count_of(kept));
  }
  session_.synchronize();
  for (std::size_t i = 0; i < kept_.size(); ++i)
    check(driver().cuMemcpyDtoH(&answer.differing[i], count_of(kept_[i]), 8), "reading a count");
  return answer;
}

ReadAnswer read_elements(CudaSession& session, OracleStore& oracles, const ReadOrder& order) {
  const OracleStore::Entry& oracle = oracles.at(order.oracle_key);
  const std::size_t count = order.indices.size();
  if (count != order.places.size()) throw OrderRefused{0, "a read order that cannot be read"};
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t index = order.indices[i], place = order.places[i];
    if (index < 0 || index >= order.layout.elements || place < 0 || place >= oracle.elements)
      throw OrderRefused{0, "an element outside the output"};
  }
  ReadAnswer answer;
  if (count == 0) return answer;
  std::vector<std::uint64_t> words(count * 3);
  std::copy(order.indices.begin(), order.indices.end(), words.begin());
  std::copy(order.places.begin(), order.places.end(),
            words.begin() + static_cast<std::ptrdiff_t>(count));
  Scratch scratch(count * 5 * 8);
  check(driver().cuMemcpyHtoD(scratch.memory, words.data(), count * 2 * 8), "copying indices");
  const CUdeviceptr places = scratch.memory + count * 8, out = places + count * 8;
  session.launch(judge_image, "gather_elements", static_cast<std::int64_t>(count),
                 session.address(order.region), order.layout, oracle.values, oracle.sums,
                 scratch.memory, places, static_cast<std::int64_t>(count), out);
  session.synchronize();
  check(driver().cuMemcpyDtoH(words.data(), out, words.size() * 8), "reading elements");
  for (std::size_t i = 0; i < count; ++i) {
    answer.bits.push_back(words[3 * i]);
    answer.values.push_back(double_of(words[3 * i + 1]));
    answer.sums.push_back(double_of(words[3 * i + 2]));
  }
  return answer;
}

}  // namespace cupilot
