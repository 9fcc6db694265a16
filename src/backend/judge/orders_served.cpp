#include "backend/judge/orders_served.hpp"

#include <chrono>

#include "backend/worker/serve.hpp"

namespace cupilot {

void Contents::prepare(const PrepareItem& item) {
  if (!item.fill) {
    held_.erase(item.region.slot);
    initialise(session_, item.region, item.inside);
    return;
  }
  const std::string recipe =
      BodyWriter().put(item.region.offset).put(item.region.bytes).put_raw(item.recipe).take();
  if (const auto found = held_.find(item.region.slot);
      item.sealed && found != held_.end() && found->second == recipe)
    return;
  // Between the elements of a strided input lies what spoils a sum.
  initialise(session_, item.region,
             item.recipe.span > item.recipe.elements ? FillState::poison : FillState::kept);
  session_.launch(judge_image, "fill_tensor", item.recipe.elements, session_.address(item.region),
                  given_.found(item.recipe), CUdeviceptr{0});
  held_[item.region.slot] = item.sealed ? recipe : std::string();
}

namespace {

std::string make_slot(CudaSession& session, const Frame& frame, std::vector<int>& descriptors) {
  auto order = unpack_slot(frame.body);
  if (!order) throw OrderRefused{0, "a slot order that cannot be read"};
  int descriptor = -1;
  const MappedSlot slot = session.create(order->bytes, descriptor, order->ipc);
  session.slots[order->slot] = slot;
  order->bytes = slot.bytes;
  if (descriptor >= 0) descriptors.push_back(descriptor);
  return pack(*order);
}

std::string take_given(GivenBytes& given, const std::optional<GiveOrder>& piece) {
  if (!piece) throw OrderRefused{0, "an order that cannot be read"};
  given.take(*piece);
  return "";
}

template <class Order>
const Order& readable(const std::optional<Order>& order) {
  if (!order) throw OrderRefused{0, "an order that cannot be read"};
  return *order;
}

}  // namespace

std::string Judge::prepare(const PrepareOrder& order) {
  for (const PrepareItem& item : order.items) contents_.prepare(item);
  session_.synchronize();
  const auto begin = std::chrono::steady_clock::now();
  for (const OracleOrder& oracle : order.oracles) oracles_.ensure(oracle);
  return pack(PrepareAnswer{
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
}

std::string Judge::check(const CheckOrder& order) {
  if (order.outputs.size() != order.oracle_keys.size())
    throw OrderRefused{0, "a check order that cannot be read"};
  return pack(checker_.check_all(order));
}

std::string Judge::repeat(const RepeatOrder& order) {
  const RepeatAnswer answer = repeats_.take(order);
  for (const PrepareItem& item : order.items) contents_.prepare(item);
  session_.synchronize();
  return pack(answer);
}

std::string Judge::several(SeveralOrder order, const Frame& frame, std::vector<int>& descriptors) {
  SeveralAnswer answer;
  for (DeviceOrder& one : order.orders) {
    if (one.type == DeviceMessage::several) throw OrderRefused{0, "several orders within several"};
    const Frame alone{static_cast<std::uint32_t>(one.type), frame.id, std::move(one.body), {}};
    answer.payloads.push_back(serve(one.type, alone, descriptors));
  }
  return pack(answer);
}

std::string Judge::serve(DeviceMessage type, const Frame& frame, std::vector<int>& descriptors) {
  if (type == DeviceMessage::drop_slots) contents_.forget();
  if (auto common = serve_common(session_, visitor_, type, frame)) return *common;
  switch (type) {
    case DeviceMessage::make_slot:
      return make_slot(session_, frame, descriptors);
    case DeviceMessage::give:
      return take_given(given_, unpack_give(frame.body));
    case DeviceMessage::prepare:
      return prepare(readable(unpack_prepare(frame.body)));
    case DeviceMessage::check:
      return check(readable(unpack_check(frame.body)));
    case DeviceMessage::repeat:
      return repeat(readable(unpack_repeat(frame.body)));
    case DeviceMessage::read:
      return pack(read_elements(session_, oracles_, readable(unpack_read(frame.body))));
    case DeviceMessage::library:
      return pack(library_.visit(readable(unpack_library(frame.body))));
    case DeviceMessage::sustain:
      return pack(sustainer_.run(readable(unpack_sustain(frame.body))));
    case DeviceMessage::conditions:
      return pack(card_.look());
    case DeviceMessage::several:
      return several(readable(unpack_several(frame.body)), frame, descriptors);
    default:
      throw OrderRefused{0, "an order the judge does not know"};
  }
}

}  // namespace cupilot
