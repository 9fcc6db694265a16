// A model endpoint of a simulated machine: HTTP replies that depend on what was asked alone, some
// of them after faults. What it says is strategies of a landscape, kernels of free form, and
// nonsense.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "llm/http.hpp"
#include "support/sim_host.hpp"

namespace cupilot::testing {

// What befalls a question, the first time it is sent unless `always` is said.
enum class ReplyTrouble {
  none,
  rate_limit,  // 429 with a time to wait
  server,      // 500
  malformed,   // 200 that is no reply
  torn,        // a stream, or a body, that ends too early
  slow,        // an answer after a minute
  silent,      // always: nothing until the asker's time is over
  dead,        // always: 503
  refused,     // always: the model will not
  nonsense     // always: an answer that fits no schema
};

class SimEndpoint {
 public:
  // `troubled`: whether questions meet any trouble.
  SimEndpoint(SimHost& host, std::uint64_t seed, bool troubled)
      : host_(host), seed_(seed), troubled_(troubled) {}

  HttpReply carry(const HttpRequest& request);

  // What it would send a bill for.
  std::int64_t billed_tokens() const { return billed_tokens_; }
  std::int64_t asked() const { return asked_; }
  std::int64_t faults() const { return faults_; }

 private:
  ReplyTrouble trouble_of(const std::string& body) const;
  HttpReply answered(const HttpRequest& request);

  SimHost& host_;
  std::uint64_t seed_;
  bool troubled_;
  std::map<std::string, int> times_;  // by digest: sent so far
  std::int64_t billed_tokens_ = 0, asked_ = 0, faults_ = 0;
};

}  // namespace cupilot::testing
