#include "predict/terms.hpp"

#include <algorithm>
#include <string_view>

#include "predict/parts.hpp"

namespace cupilot {
namespace {

using Price = PricedGemm (*)(const Constants&, const GemmShape&, const DeviceSpec&);
struct TemplatePrice {
  std::string_view name;
  Price price;
};
constexpr TemplatePrice template_prices[] = {
    {"gemm_simt", price_simt}, {"gemm_mma", price_mma}, {"gemm_wgmma", price_wgmma}};

std::optional<PricedGemm> priced(const Tunable& tunable, const Constants& constants,
                                 const GemmShape& shape, const DeviceSpec& device) {
  for (const TemplatePrice& row : template_prices) {
    if (row.name == tunable.name) return row.price(constants, shape, device);
  }
  const auto setting = gemm_setting(tunable, constants, shape);
  if (!setting) return std::nullopt;
  return price_tiles(*setting, shape, device);
}

}  // namespace

std::vector<double> knob_places(const Tunable& tunable, const Constants& constants) {
  std::vector<double> places;
  for (const TunableParameter& parameter : tunable.parameters) {
    std::vector<std::int64_t> domain = parameter.domain;
    std::sort(domain.begin(), domain.end());
    const auto found = constants.find(parameter.constant);
    const std::int64_t value = found == constants.end() ? parameter.plain : found->second;
    const auto at = std::lower_bound(domain.begin(), domain.end(), value) - domain.begin();
    places.push_back(
        domain.size() < 2 ? 0 : static_cast<double>(at) / static_cast<double>(domain.size() - 1));
  }
  return places;
}

std::optional<ForecastTerms> forecast_terms(const Tunable& tunable, const Constants& constants,
                                            const Task& task, const DeviceSpec& device) {
  const auto shape = gemm_shape(task);
  if (!shape) return std::nullopt;
  auto price = priced(tunable, constants, *shape, device);
  if (!price) return std::nullopt;
  return ForecastTerms{price->us, {}, std::move(price->resources)};
}

}  // namespace cupilot
