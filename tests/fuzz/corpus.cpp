#include "fuzz/corpus.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/record_file.hpp"

namespace cupilot::fuzz {

namespace fs = std::filesystem;

std::string sources() {
  const char* elsewhere = std::getenv("CUPILOT_SOURCES");
  return elsewhere != nullptr ? elsewhere : CUPILOT_SOURCE_DIR;
}

std::string folder_of(std::string_view target) {
  std::string name(target);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::vector<std::string> kept_texts(std::string_view target) {
  std::vector<fs::path> paths;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(
           fs::path(sources()) / "tests/fuzz/corpus" / folder_of(target), none)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (path.extension() != ".records") {
      texts.push_back(bytes);
      continue;
    }
    for (std::string& text : unpacked(bytes)) texts.push_back(std::move(text));
  }
  return texts;
}

std::string packed(const std::vector<std::string>& texts) {
  std::string bytes;
  for (std::size_t i = 0; i < texts.size(); ++i) bytes += frame(1, i, texts[i]);
  return bytes;
}

std::vector<std::string> unpacked(std::string_view bytes) {
  std::vector<std::string> texts;
  for (FramedRecord& record : read_records(bytes).records)
    texts.push_back(std::move(record.payload));
  return texts;
}

}  // namespace cupilot::fuzz
