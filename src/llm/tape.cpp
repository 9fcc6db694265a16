#include "llm/tape.hpp"

namespace cupilot {
namespace {

Result<void> set_torn_tail_aside(Host& host, const std::string& path, std::string_view tail) {
  int number = 1;
  while (host.exists(path + ".torn-" + std::to_string(number))) ++number;
  return host.write_file_atomically(path + ".torn-" + std::to_string(number), tail, true);
}

Result<TapeLines> read_file(Host& host, const std::string& path) {
  auto bytes = host.read_file(path);
  if (!bytes) return bytes.error();
  return tape_lines_from(*bytes, path);
}

Error not_on_tape(const ChatRequest& request, bool other_question) {
  const std::string reason = other_question ? "the tape's answer to it is of another question"
                                            : "the tape does not hold it";
  return {ErrorCode::endpoint, request.agent + " asks \"" + request.key + "\": " + reason,
          "replay with the seed, options and version that made the tape, or give --models FILE to "
          "ask anew"};
}

}  // namespace

Result<std::unique_ptr<Tape>> Tape::open(Host& host, const std::string& path, int parallel) {
  if (path.empty()) return in_memory({});
  auto lock = host.lock(path + ".lock");
  if (!lock) return lock.error();
  std::unique_ptr<Tape> tape(new Tape);
  tape->lock_ = std::move(*lock);
  std::int64_t truncate_to = -1;
  bool fresh = true;
  if (host.exists(path)) {
    auto bytes = host.read_file(path);
    if (!bytes) return bytes.error();
    auto lines = tape_lines_from(*bytes, path);
    if (!lines) return lines.error();
    if (lines->torn) {
      auto aside =
          set_torn_tail_aside(host, path, std::string_view(*bytes).substr(lines->valid_bytes));
      if (!aside) return aside.error();
      truncate_to = static_cast<std::int64_t>(lines->valid_bytes);
    }
    fresh = lines->valid_bytes == 0;
    tape->learn(std::move(*lines));
  }
  auto file = host.open_append(path, truncate_to);
  if (!file) return file.error();
  tape->file_ = std::move(*file);
  if (fresh) {
    if (auto written = tape->append(tape_header_line("", parallel)); !written)
      return written.error();
  }
  return tape;
}

std::unique_ptr<Tape> Tape::in_memory(TapeLines contents) {
  std::unique_ptr<Tape> tape(new Tape);
  tape->learn(std::move(contents));
  return tape;
}

void Tape::learn(TapeLines lines) {
  for (TapeQuestion& question : lines.questions) {
    const std::string key = question.entry.key;
    entries_[key] = std::make_unique<TapeQuestion>(std::move(question));
  }
  texts_ = std::move(lines.texts);
  before_ = lines.spent;
  unsettled_ = std::move(lines.open);
}

const TapeEntry* Tape::find(const ChatRequest& request) const {
  const std::lock_guard hold(mutex_);
  const auto found = entries_.find(request.key);
  if (found == entries_.end()) return nullptr;
  const TapeQuestion& question = *found->second;
  return question.digest.empty() || question.digest == question_digest(request) ? &question.entry
                                                                                : nullptr;
}

void Tape::each(const std::function<void(const TapeEntry&)>& look) const {
  const std::lock_guard hold(mutex_);
  for (const auto& [key, question] : entries_) look(question->entry);
}

bool Tape::knows_key(const std::string& key) const {
  const std::lock_guard hold(mutex_);
  return entries_.contains(key);
}

Result<void> Tape::append(const std::string& line) {
  if (failed_) return *failed_;
  if (!file_) return {};
  auto done = file_->append(line);
  if (done) done = file_->sync();
  if (!done) failed_ = done.error();
  return done;
}

Result<void> Tape::add(const ChatRequest& request, const Result<ChatReply>& answer,
                       const ModelsSpent& spent) {
  const std::lock_guard hold(mutex_);
  ModelsSpent all = spent;
  if (const auto earlier = unsettled_.extract(request.key)) add_spent(all, earlier.mapped());
  return append(exchange_lines(request, answer, all, texts_));
}

Result<void> Tape::reserve(const std::string& key, const ModelsSpent& amount) {
  const std::lock_guard hold(mutex_);
  return append(reservation_line(key, amount));
}

Result<ChatReply> TapedClient::complete(const ChatRequest& request) {
  const TapeEntry* entry = tape_->find(request);
  // A model that can be asked is asked again for an answer that failed: a run that ended in a
  // silence goes on when it is resumed.
  if (entry != nullptr && !(entry->error && live_)) {
    if (entry->error) return *entry->error;
    return entry->reply;
  }
  if (!live_) return not_on_tape(request, tape_->knows_key(request.key));
  Result<ChatReply> answer = live_->complete(request);
  // One that was given up on its asker's word says nothing of the endpoint: it is asked again after
  // a resume.
  if (!answer && request.cancel != nullptr && request.cancel->load()) return answer;
  if (auto kept = tape_->add(request, answer, bill_(request.key)); !kept)
    return std::move(kept.error()).while_doing("keeping a reply");
  return answer;
}

Result<std::unique_ptr<ChatClient>> open_tape(const std::string& path, Host* host) {
  auto lines = read_file(host != nullptr ? *host : real_host(), path);
  if (!lines) return lines.error();
  return std::unique_ptr<ChatClient>(
      std::make_unique<TapedClient>(Tape::in_memory(std::move(*lines)), nullptr, nullptr));
}

Result<TapeContents> read_tape(const std::string& path, Host* host) {
  auto lines = read_file(host != nullptr ? *host : real_host(), path);
  if (!lines) return lines.error();
  TapeContents contents{lines->note, lines->parallel, {}, lines->spent};
  for (TapeQuestion& question : lines->questions)
    contents.entries.push_back(std::move(question.entry));
  return contents;
}

}  // namespace cupilot
