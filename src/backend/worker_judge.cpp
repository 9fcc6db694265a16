// The judge: owns all shared memory, makes content, computes reference values, compares, times the library. Trusted code only.
#include <map>

#include "backend/cuda_visit.hpp"
#include "backend/judge_check.hpp"
#include "backend/judge_cublaslt.hpp"
#include "backend/judge_oracle.hpp"
#include "backend/worker.hpp"
#include "backend/worker_device.hpp"

namespace cupilot {
namespace {

// The content of sealed slots, so that it need not be made again.
class Contents {
 public:
  explicit Contents(CudaSession& session) : session_(session) {}

  void prepare(const PrepareItem& item) {
    if (item.what != PrepareItem::What::fill) {
      held_.erase(item.region.slot);
      dress(session_, item.region, item.what == PrepareItem::What::zero ? 2 : 1);
      return;
    }
    const std::string recipe = BodyWriter().put(item.region.offset).put(item.region.bytes).put_raw(item.fill).take();
    if (const auto found = held_.find(item.region.slot); item.sealed && found != held_.end() && found->second == recipe) return;
    dress(session_, item.region, 2);
    session_.launch(trusted_image, "fill_tensor", item.fill.elements, session_.address(item.region), item.fill);
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

}  // namespace

int serve_judge(int device) {
  CudaSession session(device);
  Visitor visitor(session);
  OracleStore oracles(session);
  Checker checker(session, oracles);
  LibraryGemm library(session, visitor);
  Contents contents(session);
  return serve_device(session, [&](DeviceMessage type, const Frame& frame, std::vector<int>& descriptors) -> std::string {
    if (type == DeviceMessage::drop_slots) contents.forget();
    if (auto common = serve_common(session, type, frame)) return *common;
    if (type == DeviceMessage::make_slot) return make_slot(session, frame, descriptors);
    if (type == DeviceMessage::prepare) {
      const auto order = unpack_prepare(frame.body);
      if (!order) throw OrderRefused{0, "a prepare order that cannot be read"};
      for (const PrepareItem& item : order->items) contents.prepare(item);
      for (const OracleOrder& oracle : order->oracles) oracles.ensure(oracle);
      session.synchronize();
      return "";
    }
    if (type == DeviceMessage::check) {
      const auto order = unpack_check(frame.body);
      if (!order || order->outputs.size() != order->oracle_keys.size())
        throw OrderRefused{0, "a check order that cannot be read"};
      return pack(checker.check_all(*order));
    }
    if (type == DeviceMessage::library) {
      const auto order = unpack_library(frame.body);
      if (!order) throw OrderRefused{0, "a library order that cannot be read"};
      return pack(library.visit(*order));
    }
    throw OrderRefused{0, "an order the judge does not know"};
  });
}

}  // namespace cupilot
