// Files of a question that is handed to a person or a program (docs/models.md).
#pragma once

#include <string>

#include <cupilot/chat.hpp>

namespace cupilot {

struct HandoffFiles {
  std::string question, answer;  // names in the folder
};

// "slot-17-write-0-1a2b3c4d.question.md": the key, and a digest of what is asked, so that an answer
// never meets another question.
HandoffFiles handoff_files(const ChatRequest& request);

// The question as a reader is shown it; its first line says where the answer goes.
std::string handoff_text(const ChatRequest& request);

}  // namespace cupilot
