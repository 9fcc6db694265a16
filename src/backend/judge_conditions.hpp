// Clocks, throttling and other processes on the card, from the driver's management library where it can be opened.
#pragma once

#include <string>

#include "backend/cuda_protocol.hpp"

namespace cupilot {

class CardWatch {
 public:
  // Of the card that `hello` tells of.
  explicit CardWatch(const DeviceHello& hello) : uuid_(hello.uuid), driver_(hello.library) {}
  CardConditions look();

 private:
  void open();
  std::string uuid_, driver_, note_;
  bool opened_ = false;
  void* card_ = nullptr;
};

}  // namespace cupilot
