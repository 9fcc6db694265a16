// What a compile process sends: a compromised one may send anything.
#include "backend/compile/log.hpp"
#include "backend/compile/protocol.hpp"
#include "catch.hpp"
#include "fuzz/dice.hpp"

namespace cupilot::fuzz {
namespace {

std::string good_answer() {
  CompileAnswer answer;
  answer.message = "done";
  answer.output.ptx = ".version 9.0";
  answer.output.cubin = {1, 2, 3, 4};
  answer.output.log =
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\nptxas info    : Used 32 "
      "registers\n";
  answer.output.lowered_names = {{"k<3>", "_Z1kILi3EEvv"}};
  answer.sandbox = {4, true, true, "", "", ""};
  return pack(answer);
}

std::string spoilt(std::string body, Dice& dice) {
  for (std::size_t changes = 1 + dice.below(4); changes > 0; --changes) {
    const std::size_t at = dice.below(body.size());
    if (dice.below(4) == 0) body.resize(at);
    if (body.empty()) return body;
    if (dice.below(2) == 0) body[at % body.size()] = dice.byte();
    if (dice.below(4) == 0) body.insert(at % body.size(), dice.noise(dice.below(12)));
  }
  return body;
}

}  // namespace

TEST_CASE("Spoilt answers of a compile process are read or refused, never worse") {
  const std::string body = good_answer();
  REQUIRE(unpack_answer(body));
  CHECK(unpack_answer(body)->output.lowered_names.size() == 1);
  CHECK_FALSE(unpack_answer(body + "x"));
  CHECK_FALSE(unpack_answer(""));
  std::size_t refused = 0;
  for (std::size_t i = 0; i < 4000; ++i) {
    Dice dice(i);
    const std::string other = spoilt(body, dice);
    const auto answer = unpack_answer(other);
    refused += answer ? 0 : 1;
    if (answer) CHECK(answer->kind <= CompileAnswer::Kind::not_begun);
    if (const auto hello = unpack_hello(other)) CHECK(hello->compiler.size() <= other.size());
    if (const auto order = unpack_order(other)) CHECK(order->request.text.size() <= other.size());
  }
  CHECK(refused > 1000);
}

TEST_CASE(
    "Logs of any bytes become text that may be shown, and the assembler's lines are read from any "
    "log") {
  for (std::size_t i = 0; i < 1500; ++i) {
    Dice dice(i);
    const std::string log =
        dice.below(3) == 0 ? dice.noise(dice.below(400)) : spoilt(good_answer(), dice);
    const std::string clean = clean_log(log);
    CHECK(clean_log(clean) == clean);
    CHECK(clean.find('\x1b') == std::string::npos);
    read_assembler_log(log);
    find_serialised(log);
  }
}

}  // namespace cupilot::fuzz
