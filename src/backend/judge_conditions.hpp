// Clocks, throttling and other processes on the card, from the driver's management library where it can be opened.
#pragma once

#include <string>

#include "backend/cuda_protocol.hpp"

namespace cupilot {

class CardWatch {
 public:
  // `uuid` as the hello spells it.
  explicit CardWatch(std::string uuid) : uuid_(std::move(uuid)) {}
  CardConditions look();

 private:
  void open();
  std::string uuid_, note_;
  bool opened_ = false;
  void* card_ = nullptr;
};

}  // namespace cupilot
