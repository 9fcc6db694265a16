// For a sanitizer's build, which optimises few modules: of the copies of a template's function the
// linker keeps the first it meets, and these are optimised.
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace cupilot {
namespace {

template <class Json>
std::string written_again(std::string_view text) {
  return Json::parse(text, nullptr, false).dump() + Json::parse(std::string(text)).dump(2);
}

}  // namespace

std::string (*const json_optimised[])(std::string_view) = {
    written_again<SortedJson>, written_again<OrderedJson>, written_again<nlohmann::json>};

}  // namespace cupilot
