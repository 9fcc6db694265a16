#include <cupilot/chat.hpp>

namespace cupilot {

std::string_view name_of(ChatFinish finish) {
  switch (finish) {
    case ChatFinish::complete:
      return "complete";
    case ChatFinish::cut:
      return "cut";
    case ChatFinish::refused:
      return "refused";
    case ChatFinish::filtered:
      return "filtered";
    case ChatFinish::invalid:
      return "invalid";
  }
  return "";
}

}  // namespace cupilot
