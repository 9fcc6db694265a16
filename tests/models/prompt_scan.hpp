// What no prompt may hold.
#pragma once

#include <filesystem>
#include <string>

#include <cupilot/chat.hpp>
#include <cupilot/parts/counts.hpp>

namespace cupilot::testing {

// The first thing of this machine or of a counter that stands in the request; "": none.
inline std::string foreign_in(const ChatRequest& request) {
  std::string text;
  for (const ChatMessage& message : request.messages) text += message.text;
  for (const std::string& path :
       {std::filesystem::current_path().string(), std::filesystem::temp_directory_path().string(),
        std::string("/usr/"), std::string("/home/"), std::string("/root")}) {
    if (text.find(path) != std::string::npos) return path;
  }
  for (std::size_t i = 0; i < counter_count; ++i) {
    const std::string name(name_of(static_cast<Counter>(i)));
    if (name.find('_') != std::string::npos && text.find(name) != std::string::npos) return name;
  }
  return "";
}

}  // namespace cupilot::testing
