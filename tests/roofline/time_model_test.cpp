#include "catch.hpp"

#include <numeric>

#include <cupilot/verdict.hpp>

#include "roofline/gemm_counts.hpp"

using namespace cupilot;
using namespace cupilot::test;

namespace {

DeviceSpec h200() { return *chip("h200"); }

double us(const ModelInput& input) { return model_time(h200(), {input}).us; }

double term(const ModelledTime& time, const std::string& name) {
  for (const auto& [known, value] : time.terms_us) {
    if (known == name) return value;
  }
  FAIL("no term " + name);
  return 0;
}

// Within a factor of 1.5 of what an H200 takes.
void near(double modelled, double measured) {
  INFO("modelled " << modelled << " us, measured " << measured << " us");
  CHECK(modelled > measured / 1.5);
  CHECK(modelled < measured * 1.5);
}

}  // namespace

TEST_CASE("modelled times of known kernels lie near an H200's", "[roofline]") {
  near(us(plain_gemm(512, 512, 512)), 61);
  near(us(plain_gemm(1024, 1024, 1024)), 425);
  // The library's fp32 kernels: 512-cubed 16.7 us, 1024-cubed 64 us, 4096-cubed 43 to 51 TFLOP/s.
  near(us(simt_gemm(512, 512, 512, {64, 32, 16, 4, 4, 64, 3})), 16.7);
  near(us(simt_gemm(1024, 1024, 1024, {64, 128, 16, 8, 8, 128, 3})), 64);
  near(us(simt_gemm(4096, 4096, 4096, {128, 128, 8, 8, 8, 128, 3})),
       2 * std::pow(4096, 3) / 47e12 * 1e6);
  // Good mma.sync kernels: 350 to 500 TFLOP/s.
  near(us(mma_gemm(4096, 4096, 4096, {128, 128, 32, 64, 32, 128, 4})),
       2 * std::pow(4096, 3) / 425e12 * 1e6);
}

TEST_CASE("an empty kernel costs its launch", "[roofline]") {
  ModelInput empty;
  empty.threads_per_block = 32;
  const double one = us(empty);
  CHECK(one >= 3.9);
  CHECK(one < 5);
  const double two = model_time(h200(), {empty, empty}).us;
  CHECK(two > one);
  CHECK(two < 2 * one);
  CHECK(model_time(h200(), {empty}).binding == "launch");
}

TEST_CASE("more of anything is never faster", "[roofline]") {
  const std::vector<ModelInput> bases = {
      plain_gemm(512, 512, 512), simt_gemm(512, 512, 512, {64, 64, 16, 8, 4, 128, 2}),
      mma_gemm(1024, 1024, 1024, {128, 128, 32, 64, 32, 128, 3})};
  for (const ModelInput& base : bases) {
    for (std::size_t i = 0; i < counter_count; ++i) {
      const auto counter = static_cast<Counter>(i);
      // More of L2's bytes hide more of DRAM's latency; of as many instructions more multiply-adds
      // leave fewer others, which take longer.
      if (counter == Counter::l2_bytes || counter == Counter::flops_fp32 ||
          counter == Counter::blocks)
        continue;
      double last = us(base);
      for (const double factor : {2.0, 8.0, 64.0}) {
        ModelInput more = base;
        put(more, counter, std::max(1.0, base.counts[counter].value) * factor);
        const double now = us(more);
        INFO(name_of(counter) << " x" << factor);
        CHECK(now >= last * (1 - 1e-12));
        last = now;
      }
    }
  }
}

TEST_CASE("multiply-adds and the instructions that make them are never faster together",
          "[roofline]") {
  ModelInput more = simt_gemm(512, 512, 512, {64, 64, 16, 8, 4, 128, 2});
  double last = us(more);
  for (int doubling = 0; doubling < 4; ++doubling) {
    for (const Counter counter : {Counter::flops_fp32, Counter::warp_instructions})
      put(more, counter, more.counts[counter].value * 2);
    CHECK(us(more) > last);
    last = us(more);
  }
}

TEST_CASE("what relieves a kernel makes it no slower", "[roofline]") {
  const ModelInput base = simt_gemm(1024, 1024, 1024, {128, 128, 8, 8, 8, 128, 1});
  ModelInput ahead = base;
  ahead.rounds_ahead = 2;
  CHECK(us(ahead) < us(base));
  ModelInput lean = base;
  lean.registers = 255;
  CHECK(us(base) <= us(lean));
  ModelInput chained = base;
  chained.serial_latency_cycles = 1e6;
  CHECK(us(chained) > us(base));
  // Loads that a warp waits for one by one, and together.
  ModelInput single = plain_gemm(512, 512, 512), many = single;
  single.loads_in_flight = 1;
  many.loads_in_flight = 8;
  CHECK(us(many) < us(single) / 2);
  // Blocks side by side that load the same lines, and some that do not.
  ModelInput apart = base;
  put(apart, Counter::l2_bytes, 1e9);
  ModelInput alike = apart;
  apart.distinct_loads = 1;
  alike.distinct_loads = 1.0 / 16;
  CHECK(us(alike) < us(apart) * 2 / 3);
  // Lines that blocks store in part.
  ModelInput filled = base;
  put(filled, Counter::dram_write_bytes, 1e9);
  filled.stored_lines = 1;
  ModelInput torn = filled;
  torn.stored_lines = 1.5;
  CHECK(us(torn) > us(filled) + 0.4 * 1e9 / h200().dram_sustained * 1e6);
  ModelInput scattered = filled;
  scattered.stored_lines = 4;
  CHECK(us(scattered) == us(torn));
  DeviceSpec wide = h200();
  wide.sms *= 2;
  for (double& rate : wide.sustained_flops) rate *= 2;
  for (double& rate : wide.peak_flops) rate *= 2;
  CHECK(model_time(wide, {plain_gemm(1024, 1024, 1024)}).us < us(plain_gemm(1024, 1024, 1024)));
}

// A ring of the given stages, a block an SM: `products` tensor operations of bf16 a round, 32 KiB.
ModelInput ring_gemm(double stages, double products) {
  constexpr double rounds = 64, blocks = 132;
  ModelInput input;
  input.blocks = static_cast<std::int64_t>(blocks);
  input.threads_per_block = 384;
  input.registers = 168;
  input.shared_bytes = static_cast<std::int64_t>(stages) * 32768;
  input.rounds = rounds;
  input.rounds_ahead = stages - 1;
  put_staged(input, blocks * rounds * 32768);
  put(input, Counter::ops_tensor_bf16, blocks * rounds * products);
  return input;
}

TEST_CASE(
    "a ring's rounds take what its stages in flight leave of a load, or its products at the "
    "warpgroups' rate",
    "[roofline]") {
  const double few = 2.0 * 128 * 128 * 16, many = 2.0 * 128 * 256 * 64;
  CHECK(us(ring_gemm(2, few)) > 1.7 * us(ring_gemm(5, few)));
  // 64 rounds of 1024 cycles and the launch's ends, at 1.4 to 1.6 GHz: the clock falls where tensor
  // cores never idle.
  const double busy = us(ring_gemm(5, many));
  CHECK(busy > 64 * 1024 / 1.6e3);
  CHECK(busy < 64 * 1024 / 1.4e3 + 10);
  ModelInput warps = ring_gemm(5, many);
  warps.rounds = 0;  // the same by mma.sync
  CHECK(us(warps) > 1.5 * busy);
}

TEST_CASE(
    "beside a ring loads wait as far as they come from, but beside a ring of warpgroups' operands",
    "[roofline]") {
  // Loads of all warps of a block, four in flight; what L2 reads of them is of DRAM.
  const auto with_loads = [](double products) {
    ModelInput input = ring_gemm(2, products);
    input.loads_in_flight = 4;
    put(input, Counter::global_load_requests, 132 * 12 * 2048.0);
    return input;
  };
  const auto far = [](ModelInput input) {
    put(input, Counter::dram_read_bytes, 132 * 64 * 32768.0);
    return input;
  };
  const ModelInput operands = with_loads(0), left = with_loads(1);
  CHECK(us(far(operands)) > 1.5 * us(operands));
  CHECK(us(far(left)) < 1.2 * us(left));
}

TEST_CASE("blocks that leave SMs idle show as tail", "[roofline]") {
  const double k = 4096;
  const ModelledTime full =
      model_time(h200(), {simt_gemm(128 * 12, 128 * 11, k, {128, 128, 8, 8, 8, 200, 3})});
  const ModelledTime over =
      model_time(h200(), {simt_gemm(128 * 19, 128 * 7, k, {128, 128, 8, 8, 8, 200, 3})});
  // 132 tiles fill the device once, 133 twice.
  CHECK(over.us > 1.7 * full.us);
  CHECK(term(over, "tail") > 5 * term(full, "tail"));
}

TEST_CASE("terms are named after what binds", "[roofline]") {
  ModelInput copy;
  copy.blocks = 4096;
  copy.threads_per_block = 256;
  const double bytes = 1 << 28;
  put(copy, Counter::warp_instructions, bytes / 512 * 4);
  put(copy, Counter::global_load_requests, bytes / 512);
  put(copy, Counter::global_load_sectors, bytes / 32);
  put(copy, Counter::global_store_requests, bytes / 512);
  put(copy, Counter::global_store_sectors, bytes / 32);
  put(copy, Counter::dram_read_bytes, bytes);
  put(copy, Counter::dram_write_bytes, bytes);
  const ModelledTime time = model_time(h200(), {copy});
  CHECK(time.binding == "dram");
  near(time.us, 2 * bytes / 3.96e12 * 1e6);  // a copy by a kernel: 3.96 TB/s
  CHECK(model_time(h200(), {plain_gemm(1024, 1024, 1024)}).binding != "dram");
}

TEST_CASE("intervals of counts become an interval of time", "[roofline]") {
  ModelInput input = plain_gemm(1024, 1024, 1024);
  Count& loads = input.counts[Counter::global_load_sectors];
  loads.low = loads.value / 2;
  loads.high = loads.value * 2;
  loads.how = CountHow::extrapolated;
  const ModelledTime time = model_time(h200(), {input});
  CHECK(time.low_us < time.us);
  CHECK(time.high_us > time.us);
  const ModelledTime exact = model_time(h200(), {plain_gemm(1024, 1024, 1024)});
  CHECK(exact.low_us == exact.high_us);
  CHECK(exact.us == exact.low_us);
}

TEST_CASE("what is left to the last block adds to the time, and more of it adds more",
          "[roofline]") {
  const auto h200 = cupilot::chip("h200");
  REQUIRE(h200);
  cupilot::ModelInput input;
  input.blocks = 512;
  input.threads_per_block = 128;
  const double without = cupilot::model_time(*h200, {input}).us;
  double before = without;
  for (const double requests : {64.0, 1024.0, 4096.0}) {
    input.last_block_requests = requests;
    const double with = cupilot::model_time(*h200, {input}).us;
    INFO(requests);
    CHECK(with > before);
    before = with;
  }
  // 1024 rows of loads a warp at L2 latency are microseconds, not noise.
  CHECK(before > without + 5);
}

TEST_CASE("blocks of a cluster meet, and parts beside a ring are joined", "[roofline]") {
  ModelInput input;
  input.blocks = 132;
  input.threads_per_block = 384;
  input.rounds = 30;
  const double alone = us(input);
  input.cluster = 2;
  CHECK(us(input) > alone + 1.5);
  CHECK(us(input) < alone + 3);
  input.cluster = 1;
  input.counts[Counter::atomic_requests] = {132, 132, 132, CountHow::exact};
  CHECK(us(input) > alone + 1);
}
