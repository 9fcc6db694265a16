// The judge: owns all shared memory, makes content, computes reference values, compares, times the library. Trusted code only.
#include <chrono>
#include <map>

#include "backend/cuda_visit.hpp"
#include "backend/judge_check.hpp"
#include "backend/judge_conditions.hpp"
#include "backend/judge_cublaslt.hpp"
#include "backend/judge_oracle.hpp"
#include "backend/judge_repeat.hpp"
#include "backend/worker.hpp"
#include "backend/worker_device.hpp"

namespace cupilot {
namespace {

// The content of sealed slots, so that it need not be made again.
class Contents {
 public:
  explicit Contents(CudaSession& session) : session_(session) {}

  void prepare(const PrepareItem& item) {
    if (!item.fill) {
      held_.erase(item.region.slot);
      dress(session_, item.region, item.inside);
      return;
    }
    const std::string recipe = BodyWriter().put(item.region.offset).put(item.region.bytes).put_raw(item.recipe).take();
    if (const auto found = held_.find(item.region.slot); item.sealed && found != held_.end() && found->second == recipe) return;
    // Between the elements of a strided input lies what spoils a sum.
    dress(session_, item.region, item.recipe.span > item.recipe.elements ? Inside::poison : Inside::kept);
    session_.launch(trusted_image, "fill_tensor", item.recipe.elements, session_.address(item.region), item.recipe);
    held_[item.region.slot] = item.sealed ? recipe : std::string();
  }
  void forget() { held_.clear(); }

 private:
  CudaSession& session_;
  std::map<int, std::string> held_;
};

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

// Everything the judge keeps between orders.
struct Judge {
  CudaSession& session;
  Visitor visitor{session};
  OracleStore oracles{session};
  Checker checker{session, oracles};
  LibraryGemm library{session, visitor};
  Contents contents{session};
  Repeats repeats{session};
  CardWatch card{session.hello()};

  template <class Order>
  static const Order& readable(const std::optional<Order>& order) {
    if (!order) throw OrderRefused{0, "an order that cannot be read"};
    return *order;
  }

  std::string prepare(const PrepareOrder& order) {
    for (const PrepareItem& item : order.items) contents.prepare(item);
    session.synchronize();
    const auto begin = std::chrono::steady_clock::now();
    for (const OracleOrder& oracle : order.oracles) oracles.ensure(oracle);
    return pack(PrepareAnswer{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
  }
  std::string check(const CheckOrder& order) {
    if (order.outputs.size() != order.oracle_keys.size()) throw OrderRefused{0, "a check order that cannot be read"};
    return pack(checker.check_all(order));
  }
  std::string repeat(const RepeatOrder& order) {
    const RepeatAnswer answer = repeats.take(order);
    for (const PrepareItem& item : order.items) contents.prepare(item);
    session.synchronize();
    return pack(answer);
  }

  std::string serve(DeviceMessage type, const Frame& frame, std::vector<int>& descriptors) {
    if (type == DeviceMessage::drop_slots) contents.forget();
    if (auto common = serve_common(session, visitor, type, frame)) return *common;
    switch (type) {
      case DeviceMessage::make_slot:
        return make_slot(session, frame, descriptors);
      case DeviceMessage::prepare:
        return prepare(readable(unpack_prepare(frame.body)));
      case DeviceMessage::check:
        return check(readable(unpack_check(frame.body)));
      case DeviceMessage::repeat:
        return repeat(readable(unpack_repeat(frame.body)));
      case DeviceMessage::read:
        return pack(read_elements(session, oracles, readable(unpack_read(frame.body))));
      case DeviceMessage::library:
        return pack(library.visit(readable(unpack_library(frame.body))));
      case DeviceMessage::conditions:
        return pack(card.look());
      default:
        throw OrderRefused{0, "an order the judge does not know"};
    }
  }
};

}  // namespace

int serve_judge(int device, int confinement) {
  ConfinedSession confined(device, confinement);
  Judge judge{confined.session};
  return serve_device(confined, [&](DeviceMessage type, const Frame& frame, std::vector<int>& descriptors) {
    return judge.serve(type, frame, descriptors);
  });
}

}  // namespace cupilot
