// Places on a device: who is let in first.
#include "evolution/evaluate/places.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "catch.hpp"

using namespace cupilot;

TEST_CASE("of proofs that wait for a place, the lowest slot goes first", "[threads]") {
  DevicePlaces places(1, [](DevicePlaces::For) { return false; });
  HeldPlace held = places.take(DevicePlaces::For::best);
  std::mutex mutex;
  std::vector<std::int64_t> order;
  std::atomic<int> waiting{0};
  std::vector<std::thread> threads;
  for (const std::int64_t slot : {7, 3, 9, 1}) {
    threads.emplace_back([&, slot] {
      ++waiting;
      const HeldPlace own = places.take(DevicePlaces::For::proof, slot);
      const std::lock_guard lock(mutex);
      order.push_back(slot);
    });
  }
  while (waiting < 4) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // until all wait inside
  held.reset();
  for (std::thread& thread : threads) thread.join();
  CHECK(order == std::vector<std::int64_t>{1, 3, 7, 9});
}

TEST_CASE("a time goes before proofs of any slot, and nobody waits once the time is over",
          "[threads]") {
  std::atomic<bool> over{false};
  DevicePlaces places(1, [&](DevicePlaces::For) { return over.load(); });
  HeldPlace held = places.take(DevicePlaces::For::best);
  std::atomic<int> waiting{0};
  std::atomic<bool> timed_first{false}, proof_in{false};
  std::thread proof([&] {
    ++waiting;
    proof_in = places.take(DevicePlaces::For::proof, 0) != nullptr;
  });
  std::thread time([&] {
    ++waiting;
    HeldPlace own = places.take(DevicePlaces::For::time, 5);
    timed_first = own != nullptr && !proof_in;
    over = true;
    proof.join();
  });
  while (waiting < 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  held.reset();
  time.join();
  CHECK(timed_first);
  CHECK_FALSE(proof_in);
}
