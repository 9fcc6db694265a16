// Clocks, throttling and other processes on the card, from the driver's management library where it
// can be opened.
#pragma once

#include <memory>
#include <string>

#include "backend/wire/orders.hpp"

namespace cupilot {

class CardWatch {
 public:
  // Watches the card that `hello` names.
  explicit CardWatch(const DeviceHello& hello);
  ~CardWatch();
  CardConditions look();

 private:
  struct Calls;
  void open();
  std::string uuid_, driver_, note_;
  bool opened_ = false;
  void* card_ = nullptr;
  std::unique_ptr<Calls> calls_;
};

}  // namespace cupilot
