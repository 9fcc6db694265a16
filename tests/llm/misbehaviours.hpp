// What endpoints do to a client, and what the client makes of each (docs/formats/endpoint.md holds
// the same rows).
#pragma once

#include <string>
#include <vector>

#include "support/scripted_endpoint.hpp"

namespace cupilot::testing {

struct Misbehaviour {
  std::string name;
  std::string outcome;  // "complete after 2 requests"
  std::vector<ScriptStep> steps;
  std::string format = "chat";
  std::string schema{};  // of the answer
  double seconds = 100;  // for the exchange
  bool stream = false;
  double least_wait = 0;  // virtual seconds between requests
  std::string url{};      // another than the endpoint's
  bool charges_reservation = false;
  double silence = 900;  // ModelSpec::seconds
};

inline constexpr const char* scripted_key = "canary-Key+7/zQ=%42\"end";

std::vector<Misbehaviour> misbehaviours(const ScriptedEndpoint& endpoint);

}  // namespace cupilot::testing
