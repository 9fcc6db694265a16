#include "evolution/journal/kept_families.hpp"

#include <fmt/core.h>

#include "base/json.hpp"

namespace cupilot {
namespace {

constexpr int families_version = 1;

std::string families_path(const std::string& run_dir) { return run_dir + "/families.json"; }

}  // namespace

Result<void> keep_families(Host& host, const std::string& run_dir, const Families& families) {
  OrderedJson kept = OrderedJson::array();
  for (const Family& family : families) {
    if (!family.built_in)
      kept.push_back({{"name", family.name}, {"origin", family.origin}, {"texts", family.texts}});
  }
  if (kept.empty()) return {};
  const OrderedJson json = {{"cupilot_families", families_version}, {"families", std::move(kept)}};
  const std::string text = json.dump(1, ' ', false, OrderedJson::error_handler_t::replace);
  return host.write_file_atomically(families_path(run_dir), text + "\n", true);
}

Result<Families> kept_families(Host& host, const std::string& run_dir, const Families& given) {
  if (!given.empty()) return given;
  Families families = builtin_families();
  const std::string path = families_path(run_dir);
  if (!host.exists(path)) return families;
  const auto text = host.read_file(path);
  if (!text) return text.error();
  try {
    const OrderedJson whole = OrderedJson::parse(*text);
    if (const int of = whole.at("cupilot_families").get<int>(); of != families_version)
      return Error{ErrorCode::usage,
                   fmt::format("{}: version {}, not {}", path, of, families_version),
                   "give the families again, or begin a new run"};
    for (const OrderedJson& one : whole.at("families")) {
      auto family = family_from(one.at("name").get<std::string>(),
                                one.at("texts").get<std::map<std::string, std::string>>());
      if (!family) return std::move(family.error()).while_doing(path);
      family->origin = one.at("origin").get<std::string>();
      if (auto added = add_family(std::move(*family), families); !added)
        return std::move(added.error()).while_doing(path);
    }
  } catch (const OrderedJson::exception& fault) {
    return Error{ErrorCode::usage, path + ": " + fault.what(),
                 "give the families again, or begin a new run"};
  }
  return families;
}

}  // namespace cupilot
