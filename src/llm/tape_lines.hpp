// The lines of a tape as values, and their JSON (docs/formats/tape.md). Text in, text out: JSON
// stays in the .cpp.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/models.hpp>

namespace cupilot {

inline constexpr int tape_format = 1;

struct TapeQuestion {
  TapeEntry entry;
  std::string digest;  // question_digest of what was asked; empty where a person wrote the line: it
                       // answers whatever the key asks
};

struct TapeLines {
  std::string note;
  int parallel = 0;
  std::vector<TapeQuestion> questions;  // in the order of the file
  std::set<std::string> texts;          // digests of long messages that the file holds
  ModelsSpent spent;
  std::map<std::string, ModelsSpent>
      open;                     // by key: reserved, and no exchange followed; part of `spent`
  std::size_t valid_bytes = 0;  // up to the end of the last whole line
  bool torn =
      false;  // something stands behind it: half a line, or one with pages that a crash lost
};

// Identifies a question by messages, schema and the limit of the answer.
std::string question_digest(const ChatRequest& request);

void add_spent(ModelsSpent& sum, const ModelsSpent& more);

std::string tape_header_line(const std::string& note, int parallel = 0);
std::string reservation_line(const std::string& key, const ModelsSpent& amount);
// Lines for one ended exchange; a long message is written where its digest is not in `texts`, which
// learns it.
std::string exchange_lines(const ChatRequest& request, const Result<ChatReply>& answer,
                           const ModelsSpent& spent, std::set<std::string>& texts);

// Error{usage} names the line.
Result<TapeLines> tape_lines_from(std::string_view text, const std::string& origin);

}  // namespace cupilot
