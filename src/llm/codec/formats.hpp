// Wire formats: how a request is written and a reply read. One table of plain functions; another
// format is another row.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cupilot/chat.hpp>
#include <cupilot/parts/models.hpp>

#include "llm/codec/fault.hpp"

namespace cupilot {

// Names the prompts that begin alike, so that a provider can send them to one place.
std::string prefix_key(const ChatRequest& ask);

// Parts of a request that an endpoint was found to refuse; left out from then on.
struct Unwanted {
  bool sampling = false, schema = false, usage_in_stream = false, long_limit_name = false,
       thinking = false, cache = false;
};

struct WireRequest {
  const ChatRequest& ask;
  const ModelSpec& model;
  std::int64_t output_tokens = 0;
  Unwanted unwanted{};
  std::string_view cache{};  // ModelEndpoint::cache, its default resolved by the codec
};

// A reply as far as it was read.
struct WireReply {
  std::string text{}, model{};
  ChatFinish finish = ChatFinish::complete;
  bool closed = false;               // a reason to stop was given
  bool ended = false;                // of a stream: nothing more comes
  std::optional<ChatUsage> usage{};  // as claimed, unchecked
  EndpointFault fault = EndpointFault::none;
  std::string detail{};
};

struct StreamEvent {
  std::string name{}, data{};
};

struct ErrorText {
  std::string type{}, code{}, message{};
};

struct Codec {
  std::string_view name;
  std::string_view path;  // behind the url, which ends in /v1
  std::string_view key_header, key_prefix;
  std::span<const std::pair<std::string_view, std::string_view>> headers;
  std::string (*encode)(const WireRequest& request);
  // A whole reply of status 200.
  WireReply (*decode)(std::string_view body);
  // Adds one event of a stream.
  void (*add)(const StreamEvent& event, WireReply& sum);
};

std::span<const Codec> codecs();
const Codec* find_codec(std::string_view name);

// The error object that a body of any format holds; its own fields are empty where it has none.
ErrorText error_text(std::string_view body);
// Classifies a status other than 200.
EndpointFault fault_of_status(int status, const ErrorText& error);
// Adds the parts that a 400 names; false when nothing new is named.
bool learn_unwanted(const ErrorText& error, Unwanted& unwanted);

// The schema without limits of lengths and counts, which some hosts refuse; answers are checked
// against them here.
std::string schema_for_hosts(std::string_view schema);

// Reasoning that local models put before their answer, "<think>…</think>", is no part of it.
std::string without_reasoning(std::string text);

namespace detail {
extern const Codec chat_codec;
extern const Codec messages_codec;
extern const Codec responses_codec;
extern const Codec tools_codec;
}  // namespace detail

}  // namespace cupilot
