#include "ptx/conformance/program.hpp"

#include <map>
#include <sstream>

namespace conformance {
namespace {

const Bank& bank_of(char kind) {
  const int bits = register_bits(kind);
  return banks[bits == 1 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3];
}

const Bank& holder(int index) {
  for (const Bank& bank : banks) {
    if (index < bank.first + bank.count) return bank;
  }
  return banks[0];
}

std::string name_of(int index) {
  const Bank& bank = holder(index);
  return (bank.bits == 1    ? "%p"
          : bank.bits == 16 ? "%h"
          : bank.bits == 32 ? "%w"
                            : "%d") +
         std::to_string(index - bank.first);
}

std::string type_of(const Bank& bank) {
  return bank.bits == 1 ? "pred" : "b" + std::to_string(bank.bits);
}

// It also takes the 1.0 that set writes for a 1 in places.
bool dependable(const Form& form) {
  return form.text.rfind("set.", 0) != 0 || form.results == "i" || form.format == &fp16 ||
         form.format == &bf16;
}

// By opcode, so that the many forms of cvt and setp do not crowd out the others.
const std::vector<std::vector<const Form*>>& by_opcode() {
  static const std::vector<std::vector<const Form*>> all = [] {
    std::map<std::string, std::vector<const Form*>> groups;
    for (const Form& form : all_forms()) {
      if (form.assembles && dependable(form))
        groups[form.text.substr(0, form.text.find('.'))].push_back(&form);
    }
    std::vector<std::vector<const Form*>> out;
    for (auto& [opcode, forms] : groups) {
      const int weight = forms.size() > 100 ? 3 : 1;
      for (int i = 0; i < weight; ++i) out.push_back(forms);
    }
    return out;
  }();
  return all;
}

// ptxas puts some forms together from several instructions and leaves the guard off some of them
// (set into floats, testp, packed video), and an instruction that gives and takes a carry is
// several here.
bool can_be_guarded(const Form& form) {
  const bool carries = (form.results + form.arguments).find('c') != std::string::npos;
  return !carries && form.text.rfind("set.", 0) != 0 && form.text.rfind("testp", 0) != 0 &&
         form.text[0] != 'v';
}

// NaNs are handed on by moving where both operands are one register.
bool distinct(const Step& step) {
  for (std::size_t i = 1; i < step.form->arguments.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (step.arguments[i] == step.arguments[k] && step.form->arguments[i] != 'p') return false;
    }
  }
  return step.form->results.size() < 2 || step.results[0] != step.results[1];
}

std::string line_of(const Step& step) {
  std::vector<std::string> results, arguments;
  for (std::size_t i = 0; i < step.form->results.size(); ++i)
    results.push_back(name_of(step.results[i]));
  for (std::size_t i = 0; i < step.form->arguments.size(); ++i)
    arguments.push_back(name_of(step.arguments[i]));
  std::string guard;
  if (step.guard >= 0)
    guard = std::string(step.guard_inverted ? "@!" : "@") + name_of(step.guard) + " ";
  return guard + written(*step.form, results, arguments) + "\n";
}

}  // namespace

Program random_program(Generator& generator, std::size_t steps) {
  const auto any = [&](const Bank& bank) {
    return bank.first + static_cast<int>(generator() % static_cast<u64>(bank.count));
  };
  Program out;
  while (out.steps.size() < steps) {
    const auto& forms = by_opcode()[generator() % by_opcode().size()];
    Step step{.form = forms[generator() % forms.size()]};
    for (std::size_t i = 0; i < step.form->results.size(); ++i)
      step.results[i] = any(bank_of(step.form->results[i]));
    for (std::size_t i = 0; i < step.form->arguments.size(); ++i)
      step.arguments[i] = any(bank_of(step.form->arguments[i]));
    if (!distinct(step)) continue;
    if (can_be_guarded(*step.form) && generator() % 4 == 0) {
      step.guard = any(banks[0]);
      step.guard_inverted = generator() % 2 == 0;
    }
    out.steps.push_back(step);
  }
  return out;
}

State random_state(Generator& generator) {
  static const std::string kinds =
      "pppp"
      "sebqs"
      "ifEnBtifn"
      "lgllg";
  State out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = random_value(kinds[i], generator);
  return out;
}

void run(const Program& program, State& lane) {
  for (const Step& step : program.steps) {
    if (step.guard >= 0 && (lane[static_cast<std::size_t>(step.guard)] != 0) == step.guard_inverted)
      continue;
    u64 v[5] = {};
    for (std::size_t i = 0; i < step.form->arguments.size(); ++i) {
      v[i] = lane[static_cast<std::size_t>(step.arguments[i])];
      if (step.form->arguments[i] == 'c') v[i] = v[i] != 0 ? 1 : 0;
    }
    const Pair r = evaluate(*step.form, v);
    lane[static_cast<std::size_t>(step.results[0])] = r.first;
    if (step.form->results.size() == 2) lane[static_cast<std::size_t>(step.results[1])] = r.second;
  }
}

std::string module_head() { return ".version 9.0\n.target sm_90a\n.address_size 64\n"; }

std::string entry_of(const Program& program, const std::string& name) {
  std::ostringstream t;
  t << ".visible .entry " << name
    << "(.param .u64 before, .param .u64 after) {\n.reg .b32 %i, %cy;\n.reg .b64 %at, %v;\n";
  for (const Bank& bank : banks) {
    const std::string first = name_of(bank.first);
    t << ".reg ." << type_of(bank) << " " << first.substr(0, 2) << "<" << bank.count << ">;\n";
  }
  t << "mov.u32 %i, %tid.x;\nld.param.u64 %at, [before];\nmad.wide.u32 %at, %i, "
    << 8 * register_count << ", %at;\n";
  for (int i = 0; i < register_count; ++i) {
    const Bank& bank = holder(i);
    t << (bank.bits == 1 ? "ld.global.b64 %v" : "ld.global." + type_of(bank) + " " + name_of(i))
      << ", [%at+" << 8 * i << "];\n";
    if (bank.bits == 1) t << "setp.ne.u64 " << name_of(i) << ", %v, 0;\n";
  }
  t << listing(program) << "ld.param.u64 %at, [after];\nmad.wide.u32 %at, %i, "
    << 8 * register_count << ", %at;\n";
  for (int i = 0; i < register_count; ++i) {
    const Bank& bank = holder(i);
    if (bank.bits == 1) t << "selp.b64 %v, 1, 0, " << name_of(i) << ";\n";
    if (bank.bits == 16 || bank.bits == 32)
      t << "cvt.u64.u" << bank.bits << " %v, " << name_of(i) << ";\n";
    t << "st.global.b64 [%at+" << 8 * i << "], " << (bank.bits == 64 ? name_of(i) : "%v") << ";\n";
  }
  t << "ret;\n}\n";
  return t.str();
}

std::string listing(const Program& program) {
  std::string out;
  for (const Step& step : program.steps) out += line_of(step);
  return out;
}

}  // namespace conformance
