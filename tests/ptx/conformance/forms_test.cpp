// Every scalar form of PTX that the interpreter decodes, one at a time, against this folder's
// arithmetic.
#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "ptx/conformance/form.hpp"
#include "ptx/conformance/values.hpp"
#include "ptx/lanes/lanes.hpp"
#include "ptx/lanes/set.hpp"
#include "ptx/machine/runner.hpp"
#include "ptx/syntax/census.hpp"
#include "ptx/syntax/opcode.hpp"
#include "support/sanitized.hpp"

using namespace support;
using namespace conformance;

namespace {

const std::size_t most_cases = cupilot::testing::sanitized() ? 1024 : 4096;

std::string name_of(const Form& form) {
  std::string out = form.text + form.suffix + (form.inverted ? "_not" : "");
  for (char& c : out) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}

// One thread a case: arguments are read from a, results written to o, 8 bytes each.
std::string kernel_of(const Form& form) {
  std::ostringstream t;
  t << ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry " << name_of(form)
    << "(.param .u64 a, .param .u64 o) {\n.reg .b64 %at<4>, "
       "%v;\n"
    << ".reg .b32 %i, %c, %cy;\nmov.u32 %i, %tid.x;\nmov.u32 %c, %ctaid.x;\nmad.lo.s32 %i, %c, "
       "128, %i;\n"
    << "ld.param.u64 %at1, [a];\nld.param.u64 %at2, [o];\nmul.wide.u32 %at3, %i, "
    << 8 * form.arguments.size() << ";\n"
    << "add.s64 %at1, %at1, %at3;\nmul.wide.u32 %at3, %i, " << 8 * form.results.size()
    << ";\nadd.s64 %at2, %at2, %at3;\n";
  std::vector<std::string> arguments, results;
  for (std::size_t i = 0; i < form.arguments.size(); ++i) {
    const std::string type = register_type(form.arguments[i]), name = "%a" + std::to_string(i);
    arguments.push_back(name);
    t << ".reg ." << type << " " << name << ";\n";
    if (type == "pred") {
      t << "ld.global.b32 %c, [%at1+" << 8 * i << "];\nsetp.ne.b32 " << name << ", %c, 0;\n";
    } else {
      t << "ld.global." << type << " " << name << ", [%at1+" << 8 * i << "];\n";
    }
  }
  for (std::size_t i = 0; i < form.results.size(); ++i) {
    results.push_back("%r" + std::to_string(i));
    t << ".reg ." << register_type(form.results[i]) << " " << results.back() << ";\n";
  }
  t << written(form, results, arguments) << "\n";
  for (std::size_t i = 0; i < form.results.size(); ++i) {
    const std::string type = register_type(form.results[i]);
    if (type == "pred") t << "selp.b64 %v, 1, 0, " << results[i] << ";\n";
    if (type != "pred")
      t << (type == "b64" ? "mov.b64 %v, " : "cvt.u64.u" + type.substr(1) + " %v, ") << results[i]
        << ";\n";
    t << "st.global.b64 [%at2+" << 8 * i << "], %v;\n";
  }
  t << "ret;\n}\n";
  return t.str();
}

std::string shown(const Form& form, const Arguments& v, std::size_t result, u64 want, u64 got) {
  std::ostringstream t;
  t << form.text << form.suffix << std::hex;
  for (std::size_t i = 0; i < form.arguments.size(); ++i) t << (i == 0 ? " of 0x" : ", 0x") << v[i];
  t << " gives " << (result == 0 ? "0x" : "as second result 0x") << got << ", not 0x" << want;
  return t.str();
}

void check_form(const Form& form) {
  const auto rows = cases(form.arguments, most_cases);
  std::vector<u64> in, want;
  for (const Arguments& v : rows) {
    in.insert(in.end(), v.begin(), v.begin() + static_cast<std::ptrdiff_t>(form.arguments.size()));
    const Pair r = evaluate(form, v.data());
    want.push_back(r.first);
    if (form.results.size() == 2) want.push_back(r.second);
  }
  const auto module = module_of(kernel_of(form));
  for (const ptx::LaneSet set : ptx::lane_sets()) {
    ptx::prefer(set);
    Device d;
    const auto a = d.input("a", in), o = d.output("o", want.size() * 8);
    const auto report = d.run(module, name_of(form), {static_cast<u32>(rows.size() / 128)}, {128},
                              0, Device::Pointer{a}, Device::Pointer{o});
    REQUIRE(faults_of(report) == "");
    const auto got = d.values<u64>(o);
    const auto at = static_cast<std::size_t>(
        std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin());
    if (at == got.size()) continue;
    const std::size_t results = form.results.size();
    FAIL_CHECK(shown(form, rows[at / results], at % results, want[at], got[at])
               << " (host instruction set " << static_cast<int>(set) << ")");
  }
}

// What stands in the interpreter's tables under a name of several forms, or is an approximation,
// see approximations_test.
bool elsewhere(const std::string& form) {
  static const std::set<std::string> general = {"cvt", "cvt.pair"};
  return general.count(form) != 0 || form.find(".approx") != std::string::npos ||
         form.find(".full") != std::string::npos || form.rfind("mma.", 0) == 0;
}

}  // namespace

TEST_CASE("every form gives what its definition says", "[conformance]") {
  std::size_t checked = 0;
  for (const Form& form : all_forms()) {
    INFO(form.text);
    try {
      check_form(form);
    } catch (const std::exception& refused) {
      FAIL_CHECK(form.text << ": " << refused.what());
    }
    ++checked;
  }
  CHECK(checked > 1000);
}

TEST_CASE("every row of the interpreter's tables is among the forms", "[conformance]") {
  std::set<std::string> known;
  for (const Form& form : all_forms()) known.insert(form.text);
  for (auto list = ptx::base_rows(); list->rows != nullptr; ++list) {
    for (unsigned i = 0; i < list->count; ++i) {
      const std::string form = list->rows[i].form;
      if (!elsewhere(form) && known.count(form) == 0)
        FAIL_CHECK(form << " is decoded, but tests/ptx/conformance has no arithmetic for it");
    }
  }
}

TEST_CASE("every scalar form that ptxas takes is among the forms", "[conformance]") {
  std::set<std::string> known, opcodes;
  const auto opcode = [](const std::string& form) { return form.substr(0, form.find('.')); };
  for (const Form& form : all_forms()) {
    known.insert(form.text);
    opcodes.insert(opcode(form.text));
  }
  for (const CensusForm& form : census()) {
    const std::string spelling = form.text.substr(0, form.text.find(' '));
    const bool by_eight_bits =
        form.text.find(" c1") != std::string::npos;  // registers that no compiler uses
    if (opcodes.count(opcode(spelling)) == 0 || elsewhere(spelling) || by_eight_bits ||
        spelling == "mov.b128")
      continue;
    if (known.count(spelling) == 0)
      FAIL_CHECK(form.text << " has no arithmetic in tests/ptx/conformance");
  }
}
