#include <algorithm>
#include <array>
#include <cassert>

#include "ptx/syntax/flags.hpp"

namespace cupilot::ptx {
namespace {

constexpr FlagRule rules[] = {
    {"%clock", true,
     "the time of day is no input of any task; a timer serves to recognise the harness"},
    {"%globaltimer", true,
     "the time of day is no input of any task; a timer serves to recognise the harness"},
    {"%gridid", true,
     "it counts launches, which lets a kernel tell a timed launch from a proved one"},
    {"%special", true,
     "performance counters and registers that the driver sets are no input of any task"},
    {"discard", true, "it makes memory hold anything at all"},
    {"%envreg", false,
     "where a cooperative grid meets; refused when the plan launches no such grid"},
    {"%smid", false,
     "persistent schedulers use it; results that depend on it differ between launches"},
    {"%warpid", false,
     "the slot a warp happens to run in; results that depend on it differ between launches"},
    {"nanosleep", false, "back-off in spin loops; timed launches are all counted"},
    {"prefetch", false, "moves lines between caches"},
    {"applypriority", false,
     "moves lines between caches; caches are flushed before a timed launch"},
    {"createpolicy", false,
     "cache policy; caches are flushed by loads of the highest priority before a timed launch"},
    {"evict_last", false,
     "cache policy; caches are flushed by loads of the highest priority before a timed launch"},
    {"griddepcontrol", false,
     "does nothing unless the plan asks for overlapping launches, which it cannot"},
    {"setmaxnreg", false, "moves registers between warps"},
    {"alloca", false, "local memory whose size is known only when it runs"},
    {"atom.*", false, "sums of floats in no fixed order differ between launches"},
    {"red.*", false, "sums of floats in no fixed order differ between launches"},
    {".approx", false, "fast and less exact; proof decides whether it is exact enough"},
    {".ftz", false, "numbers too small for the normal format become 0"},
    {".volatile", false, "memory read and written as if shared with strangers"},
    {".sys", false, "ordered with the whole machine; atomics of that scope are refused"},
};

}  // namespace

std::span<const FlagRule> flag_rules() { return rules; }

const FlagRule& rule_of(std::string_view flag) {
  const auto fits = [&](const FlagRule& rule) {
    const bool any = rule.flag.size() > 2 && rule.flag.substr(rule.flag.size() - 2) == ".*";
    return any ? flag.substr(0, rule.flag.size() - 1) == rule.flag.substr(0, rule.flag.size() - 1)
               : flag == rule.flag;
  };
  const auto* found = std::find_if(std::begin(rules), std::end(rules), fits);
  assert(found != std::end(rules));
  return *found;
}

std::vector<std::string> flags_of(const Form& form) {
  static constexpr std::array whole = {Opcode::op_nanosleep,      Opcode::op_discard,
                                       Opcode::op_applypriority,  Opcode::op_createpolicy,
                                       Opcode::op_griddepcontrol, Opcode::op_prefetch,
                                       Opcode::op_alloca,         Opcode::op_setmaxnreg};
  std::vector<std::string> flags;
  if (std::find(whole.begin(), whole.end(), form.opcode) != whole.end())
    flags.emplace_back(name_of(form.opcode));
  if ((form.opcode == Opcode::op_atom || form.opcode == Opcode::op_red) &&
      std::any_of(form.types.begin(), form.types.end(), is_float)) {
    flags.push_back(std::string(name_of(form.opcode)) + "." +
                    std::string(name_of(form.types.back())));
  }
  for (const std::string& modifier : form.modifiers) {
    if (modifier == "approx" || modifier == "ftz" || modifier == "volatile" || modifier == "sys")
      flags.push_back("." + modifier);
    if (modifier.find("evict_last") != std::string::npos) flags.emplace_back("evict_last");
  }
  return flags;
}

std::string_view flag_of(Special special) {
  switch (special) {
    case Special::clock:
    case Special::clock_hi:
    case Special::clock64:
      return "%clock";
    case Special::globaltimer:
    case Special::globaltimer_lo:
    case Special::globaltimer_hi:
      return "%globaltimer";
    case Special::smid:
    case Special::nsmid:
      return "%smid";
    case Special::warpid:
      return "%warpid";
    case Special::gridid:
    case Special::current_graph_exec:
      return "%gridid";
    case Special::envreg1:
    case Special::envreg2:
      return "%envreg";
    case Special::other:
      return "%special";
    default:
      return "";
  }
}

}  // namespace cupilot::ptx
