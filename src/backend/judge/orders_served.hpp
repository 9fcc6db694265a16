// The judge: owns all memory, makes content, computes reference values, compares, times the
// library. Trusted code only.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/judge/check.hpp"
#include "backend/judge/conditions.hpp"
#include "backend/judge/given.hpp"
#include "backend/judge/oracle.hpp"
#include "backend/judge/peaks.hpp"
#include "backend/judge/repeat.hpp"
#include "backend/wire/frame.hpp"
#include "backend/worker/library.hpp"
#include "backend/worker/library_steps.hpp"
#include "backend/worker/timed_runner.hpp"

namespace cupilot {

// The content of sealed slots, so that it need not be made again.
class Contents {
 public:
  Contents(CudaSession& session, const GivenBytes& given) : session_(session), given_(given) {}
  void prepare(const PrepareItem& item);
  void forget() { held_.clear(); }

 private:
  CudaSession& session_;
  const GivenBytes& given_;
  std::map<int, std::string> held_;
};

// Everything the judge keeps between orders.
class Judge {
 public:
  // As LibrarySteps takes them.
  Judge(CudaSession& session, LibraryPlaces places, std::string cudnn)
      : session_(session), library_(session, visitor_, places, std::move(cudnn)) {}
  // The payload of the answer to one order. Throws CudaFailure, or OrderRefused. A slot's
  // descriptor, to be sent along, is appended to `descriptors`.
  std::string serve(DeviceMessage type, const Frame& frame, std::vector<int>& descriptors);
  TimedRunner& visitor() { return visitor_; }
  LibrarySteps& library() { return library_; }

 private:
  std::string prepare(const PrepareOrder& order);
  std::string check(const CheckOrder& order);
  std::string repeat(const RepeatOrder& order);
  std::string several(SeveralOrder order, const Frame& frame, std::vector<int>& descriptors);

  CudaSession& session_;
  TimedRunner visitor_{session_};
  OracleStore oracles_{session_};
  GivenBytes given_;
  Checker checker_{session_, oracles_, given_};
  LibrarySteps library_;
  Contents contents_{session_, given_};
  Repeats repeats_{session_};
  CardWatch card_{session_.hello()};
  Sustainer sustainer_{session_};
};

}  // namespace cupilot
