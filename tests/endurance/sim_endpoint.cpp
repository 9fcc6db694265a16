#include "endurance/sim_endpoint.hpp"

#include <nlohmann/json.hpp>

#include "base/hash.hpp"

namespace cupilot::testing {
namespace {

using Json = nlohmann::json;

struct Share {
  ReplyTrouble trouble;
  double part;
};
constexpr Share shares[] = {{ReplyTrouble::rate_limit, 0.08}, {ReplyTrouble::server, 0.06},
                            {ReplyTrouble::malformed, 0.05},  {ReplyTrouble::torn, 0.05},
                            {ReplyTrouble::slow, 0.04},       {ReplyTrouble::silent, 0.02},
                            {ReplyTrouble::dead, 0.02},       {ReplyTrouble::refused, 0.02},
                            {ReplyTrouble::nonsense, 0.04}};

bool passes(ReplyTrouble trouble) { return trouble < ReplyTrouble::silent; }

HttpReply status(int code, const std::string& body,
                 std::map<std::string, std::string> headers = {}) {
  HttpReply reply;
  reply.status = code;
  reply.headers = std::move(headers);
  reply.headers["content-type"] = "application/json";
  reply.body = body;
  return reply;
}

Json list_of(Json one) {
  Json list = Json::array();
  list.push_back(std::move(one));
  return list;
}

// Techniques of the worlds' landscapes, now and then one that no landscape has or a value out of
// its domain, and free ones.
Json some_strategy(Rng& rng) {
  Json uses = Json::array();
  for (int variable = 0; variable < 6; ++variable) {
    if (!rng.chance(0.5)) continue;
    const std::int64_t value = rng.chance(0.05) ? 77 : 1 + rng.below(2);
    uses.push_back({{"name", "v" + std::to_string(rng.chance(0.03) ? 40 : variable)},
                    {"settings", list_of({{"name", "value"}, {"value", value}})},
                    {"text", ""}});
  }
  if (rng.chance(0.5)) {
    uses.push_back({{"name", "free"},
                    {"settings", Json::array()},
                    {"text", "idea " + std::to_string(rng.below(1000))}});
  }
  return {{"techniques", uses}, {"rationale", "reason " + std::to_string(rng.below(1000))}};
}

std::string some_strategies(Rng& rng) {
  Json all = Json::array();
  for (std::int64_t count = 1 + rng.below(3); count > 0; --count) all.push_back(some_strategy(rng));
  return Json({{"strategies", all}}).dump();
}

std::string some_kernel(Rng& rng) {
  if (rng.chance(0.1)) return "I would rather explain: a kernel is a function.";
  return "```cuda\n// cupilot: "
         "{\"plan\":{\"launches\":[{\"entry\":\"f\",\"grid\":[\"n\"],\"block\":[32],\"args\":["
         "\"x\",\"y\"]}]}}\n"
         "extern \"C\" __global__ void f(const float* x, float* y) { y[0] = x[0] + " +
         std::to_string(rng.below(400)) + "; }\n```\n";
}

}  // namespace

ReplyTrouble SimEndpoint::trouble_of(const std::string& body) const {
  if (!troubled_) return ReplyTrouble::none;
  double u = Rng::of(seed_, "trouble " + sha256_hex(body)).unit();
  for (const Share& share : shares) {
    if (u < share.part) return share.trouble;
    u -= share.part;
  }
  return ReplyTrouble::none;
}

HttpReply SimEndpoint::carry(const HttpRequest& request) {
  ++asked_;
  const int times = times_[sha256_hex(request.body)]++;
  ReplyTrouble trouble = trouble_of(request.body);
  if (times > 0 && passes(trouble)) trouble = ReplyTrouble::none;
  faults_ += trouble == ReplyTrouble::none ? 0 : 1;
  host_.spend(trouble == ReplyTrouble::slow ? std::min(60.0, request.seconds / 2) : 2);
  HttpReply reply;
  if (host_.dead()) {
    reply.fault = EndpointFault::unreachable;
    return reply;
  }
  switch (trouble) {
    case ReplyTrouble::rate_limit:
      return status(429, R"({"error":{"code":"rate","message":"slow down"}})",
                    {{"retry-after", "7"}});
    case ReplyTrouble::server:
      return status(500, R"({"error":{"message":"oops"}})");
    case ReplyTrouble::dead:
      return status(503, "<html>");
    case ReplyTrouble::malformed:
      return status(200, "{\"choices\": [");
    case ReplyTrouble::silent:
      host_.spend(std::max(0.0, request.seconds - 2));
      reply.fault = EndpointFault::deadline;
      return reply;
    case ReplyTrouble::torn:
      reply = status(200, "");
      reply.fault = EndpointFault::cut;
      return reply;
    default:
      return answered(request);
  }
}

HttpReply SimEndpoint::answered(const HttpRequest& request) {
  const Json asked = Json::parse(request.body);
  Rng rng = Rng::of(seed_, "answer " + sha256_hex(request.body));
  std::string text = asked["model"] == "planner" ? some_strategies(rng) : some_kernel(rng);
  const ReplyTrouble trouble = trouble_of(request.body);
  if (trouble == ReplyTrouble::nonsense) text = "{\"strategies\": 7}";
  const std::int64_t input = static_cast<std::int64_t>(request.body.size()) / 4;
  const std::int64_t output = static_cast<std::int64_t>(text.size()) / 4 + 1;
  billed_tokens_ += input + output;
  const Json usage = {{"prompt_tokens", input}, {"completion_tokens", output}};
  const auto ended = [&](const char* part, const Json& message) {
    return list_of({{part, message}, {"finish_reason", "stop"}});
  };
  if (trouble == ReplyTrouble::refused || !asked.value("stream", false)) {
    Json message = {{"content", text}};
    if (trouble == ReplyTrouble::refused)
      message = {{"content", nullptr}, {"refusal", "I will not"}};
    return status(200, Json({{"choices", ended("message", message)}, {"usage", usage}}).dump());
  }
  HttpReply reply = status(200, "");
  reply.headers["content-type"] = "text/event-stream";
  reply.streamed = true;
  const auto send = [&](const Json& data) {
    return request.events("data: " + data.dump() + "\n\n");
  };
  const std::size_t half = text.size() / 2;
  for (const std::string& part : {text.substr(0, half), text.substr(half)}) {
    send({{"choices", list_of({{"delta", {{"content", part}}}})}});
  }
  send({{"choices", ended("delta", Json::object())}});
  send({{"choices", Json::array()}, {"usage", usage}});
  request.events("data: [DONE]\n\n");
  return reply;
}

}  // namespace cupilot::testing
