#include <cupilot/parts/pool.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "base/hash.hpp"
#include "pool/sqlite.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t format = 1;

constexpr const char* schema[] = {
    "CREATE TABLE entry (id INTEGER PRIMARY KEY, identity TEXT UNIQUE NOT NULL, strategy TEXT NOT "
    "NULL, family TEXT NOT NULL, "
    "precision TEXT NOT NULL, device TEXT NOT NULL, zone INTEGER NOT NULL, shape TEXT NOT NULL, "
    "log2_gain REAL NOT NULL, "
    "floor_share REAL NOT NULL, origin TEXT NOT NULL, task TEXT NOT NULL, text TEXT NOT NULL)",
    "CREATE INDEX entry_family ON entry (family)",
    "CREATE TABLE effect (entry INTEGER NOT NULL REFERENCES entry (id), technique TEXT NOT NULL, "
    "gain REAL NOT NULL, "
    "count INTEGER NOT NULL)",
    "CREATE TABLE tag (entry INTEGER NOT NULL REFERENCES entry (id), name TEXT NOT NULL)",
    "CREATE INDEX effect_entry ON effect (entry)",
    "CREATE INDEX tag_entry ON tag (entry)",
    "CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61')",
    "PRAGMA user_version = 1",
};

// In every pool, also in one that a version without them made.
constexpr const char* outcome_table =
    "CREATE TABLE IF NOT EXISTS outcome (id INTEGER PRIMARY KEY, identity TEXT UNIQUE NOT NULL, "
    "kind TEXT NOT NULL, "
    "sizes TEXT NOT NULL, strategy TEXT NOT NULL, time_us REAL NOT NULL)";
constexpr const char* kernel_table =
    "CREATE TABLE IF NOT EXISTS kernel (identity TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL, "
    "computes TEXT NOT NULL)";
constexpr std::int64_t outcomes_kept = 2000;

constexpr std::int64_t no_zone = -1;

// Weights of an entry's likeness. Another chip's settings carry over worse than another zone's,
// those of another type worst.
constexpr double precision_weight = 3, device_weight = 3, arch_weight = 2, zone_weight = 2,
                 shape_weight = 2, text_weight = 1;

const std::string& text_of(const SqlValue& value) {
  static const std::string none;
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? none : *text;
}

double number_of(const SqlValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? 0 : *real;
}

std::string identity_of(const PoolEntry& entry) {
  std::vector<std::string> tags = entry.tags;
  std::sort(tags.begin(), tags.end());
  std::string all =
      strategy_id(entry.strategy) + "\n" + entry.task + "\n" + entry.device + "\n" + entry.origin;
  for (const std::string& tag : tags) all += "\n" + tag;
  return sha256_hex(all);
}

// A full-text query of the words alone, so that no punctuation of a stranger's text is taken for an
// operator.
std::string match_of(const std::string& text) {
  std::string query, word;
  const auto end_word = [&] {
    if (!word.empty()) query += (query.empty() ? "\"" : " OR \"") + word + "\"";
    word.clear();
  };
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
    } else {
      end_word();
    }
  }
  end_word();
  return query;
}

double score_of(const PoolEntry& entry, double relevance, const PoolQuery& query) {
  double score =
      text_weight * relevance / (1 + relevance) + std::clamp(entry.floor_share, 0.0, 1.0);
  if (!query.precision.empty() && entry.precision == query.precision) score += precision_weight;
  if (!query.device.empty() && entry.device == query.device) {
    score += device_weight;
  } else if (!query.arch.empty() && entry.device == query.arch) {
    score += arch_weight;
  }
  if (query.zone && entry.zone == query.zone) score += zone_weight;
  return score + shape_weight * shape_likeness(query.shape, entry.shape);
}

Result<void> make_tables(const Database& database) {
  for (const char* statement : schema) {
    if (auto done = database.run(statement); !done) return done.error();
  }
  return {};
}

Result<void> make_later_tables(const Database& database) {
  for (const char* table : {outcome_table, kernel_table}) {
    if (auto made = database.run(table); !made) return made.error();
  }
  return {};
}

// "k=4096 m=128".
std::string text_of(const std::map<std::string, std::int64_t>& sizes) {
  std::string text;
  for (const auto& [axis, size] : sizes)
    text += (text.empty() ? "" : " ") + axis + "=" + std::to_string(size);
  return text;
}

std::map<std::string, std::int64_t> sizes_in(const std::string& text) {
  std::map<std::string, std::int64_t> sizes;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals != std::string::npos)
      sizes[word.substr(0, equals)] = std::strtoll(word.c_str() + equals + 1, nullptr, 10);
  }
  return sizes;
}

}  // namespace

// Not exported with the class that it belongs to.
struct StrategyPool::State {
  Database database;

  Result<void> insert(const PoolEntry& entry) const;
  Result<void> forget(const std::string& identity) const;
  Result<PoolEntry> read(const SqlRow& row) const;
};

StrategyPool::StrategyPool(std::unique_ptr<State> state) : state_(std::move(state)) {}
StrategyPool::~StrategyPool() = default;
StrategyPool::StrategyPool(StrategyPool&&) noexcept = default;
StrategyPool& StrategyPool::operator=(StrategyPool&&) noexcept = default;

Result<StrategyPool> StrategyPool::open(const std::string& path) {
  auto opened = Database::open(path);
  if (!opened) return opened.error();
  auto state = std::make_unique<State>(State{std::move(*opened)});
  const Database& database = state->database;
  auto made = transaction(database, [&]() -> Result<void> {
    const auto version = database.run("PRAGMA user_version");
    if (!version) return version.error();
    const auto found = static_cast<std::int64_t>(number_of(version->front().front()));
    if (found == format) return make_later_tables(database);
    if (found != 0) {
      return Error{ErrorCode::usage,
                   "strategy pool " + path + " has format " + std::to_string(found) +
                       "; this program reads " + std::to_string(format),
                   "use the version that wrote it, or another file"};
    }
    if (auto tables = make_tables(database); !tables) return tables;
    if (auto made_later = make_later_tables(database); !made_later) return made_later;
    auto practice = shipped_practice();
    if (!practice) return practice.error();
    for (const PoolEntry& entry : *practice) {
      if (auto added = state->insert(entry); !added) return added;
    }
    return {};
  });
  if (!made) return made.error();
  return StrategyPool(std::move(state));
}

Result<void> StrategyPool::State::forget(const std::string& identity) const {
  const auto old = database.run("SELECT id FROM entry WHERE identity = ?", {identity});
  if (!old) return old.error();
  if (auto done = database.run("DELETE FROM kernel WHERE identity = ?", {identity}); !done)
    return done.error();
  for (const SqlRow& row : *old) {
    for (const char* statement :
         {"DELETE FROM effect WHERE entry = ?", "DELETE FROM tag WHERE entry = ?",
          "DELETE FROM words WHERE rowid = ?", "DELETE FROM entry WHERE id = ?"}) {
      if (auto done = database.run(statement, {row[0]}); !done) return done.error();
    }
  }
  return {};
}

Result<void> StrategyPool::State::insert(const PoolEntry& entry) const {
  const std::string identity = identity_of(entry);
  if (auto forgotten = forget(identity); !forgotten) return forgotten;
  const std::int64_t zone = entry.zone ? static_cast<std::int64_t>(*entry.zone) : no_zone;
  auto done = database.run(
      "INSERT INTO entry (identity, strategy, family, precision, device, zone, shape, log2_gain, "
      "floor_share, origin, task, "
      "text) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      {identity, strategy_to_json(entry.strategy), entry.family, entry.precision, entry.device,
       zone, entry.shape, entry.log2_gain, entry.floor_share, entry.origin, entry.task,
       entry.text});
  if (!done) return done.error();
  const std::int64_t id = database.last_row();
  if (!entry.kernel.empty()) {
    done = database.run("INSERT INTO kernel VALUES (?, ?, ?)",
                        {identity, entry.kernel, entry.computes});
    if (!done) return done.error();
  }
  for (const StrategyBrief::Effect& effect : entry.effects) {
    done =
        database.run("INSERT INTO effect VALUES (?, ?, ?, ?)",
                     {id, effect.technique, effect.gain, static_cast<std::int64_t>(effect.count)});
    if (!done) return done.error();
  }
  for (const std::string& tag : entry.tags) {
    if (done = database.run("INSERT INTO tag VALUES (?, ?)", {id, tag}); !done) return done.error();
  }
  done = database.run("INSERT INTO words (rowid, text) VALUES (?, ?)",
                      {id, entry.text + " " + describe(entry.strategy)});
  if (!done) return done.error();
  return {};
}

Result<PoolEntry> StrategyPool::State::read(const SqlRow& row) const {
  auto strategy = strategy_from_json(text_of(row[1]));
  if (!strategy) return strategy.error();
  PoolEntry entry;
  entry.strategy = std::move(*strategy);
  entry.family = text_of(row[2]);
  entry.precision = text_of(row[3]);
  entry.device = text_of(row[4]);
  if (const auto zone = static_cast<int>(number_of(row[5]));
      zone >= 0 && zone <= static_cast<int>(Zone::compute)) {
    entry.zone = static_cast<Zone>(zone);
  }
  entry.shape = text_of(row[6]);
  entry.log2_gain = number_of(row[7]);
  entry.floor_share = number_of(row[8]);
  entry.origin = text_of(row[9]);
  entry.task = text_of(row[10]);
  entry.text = text_of(row[11]);
  const auto effects = database.run(
      "SELECT technique, gain, count FROM effect WHERE entry = ? ORDER BY rowid", {row[0]});
  if (!effects) return effects.error();
  for (const SqlRow& effect : *effects) {
    entry.effects.push_back(
        {text_of(effect[0]), number_of(effect[1]), static_cast<int>(number_of(effect[2]))});
  }
  const auto tags = database.run("SELECT name FROM tag WHERE entry = ? ORDER BY rowid", {row[0]});
  if (!tags) return tags.error();
  for (const SqlRow& tag : *tags) entry.tags.push_back(text_of(tag[0]));
  const auto kernels = database.run(
      "SELECT kernel.text, kernel.computes FROM kernel JOIN entry USING (identity) WHERE entry.id "
      "= ?",
      {row[0]});
  if (!kernels) return kernels.error();
  if (!kernels->empty()) {
    entry.kernel = text_of(kernels->front()[0]);
    entry.computes = text_of(kernels->front()[1]);
  }
  return entry;
}

Result<void> StrategyPool::add(const PoolEntry& entry) {
  return transaction(state_->database, [&] { return state_->insert(entry); });
}

Result<std::vector<PoolMatch>> StrategyPool::find(const PoolQuery& query) const {
  // bm25() is the lower the better; without a text every entry is as relevant.
  const std::string words = match_of(query.text);
  std::string sql =
      "SELECT id, strategy, family, precision, device, zone, shape, log2_gain, floor_share, "
      "origin, task, text, ";
  std::vector<SqlValue> values;
  if (words.empty()) {
    sql += "0.0 FROM entry WHERE ";
  } else {
    sql +=
        "coalesce(found.relevance, 0.0) FROM entry LEFT JOIN (SELECT rowid AS row, -bm25(words) AS "
        "relevance FROM words "
        "WHERE words MATCH ?) AS found ON found.row = entry.id WHERE ";
    values.emplace_back(words);
  }
  sql += query.family.empty() ? "1" : "family = ?";
  if (!query.family.empty()) values.emplace_back(query.family);
  if (query.with_kernel)
    sql += " AND EXISTS (SELECT 1 FROM kernel WHERE kernel.identity = entry.identity)";
  if (!query.without_task.empty()) {
    sql += " AND task <> ?";
    values.emplace_back(query.without_task);
  }
  for (const std::string& tag : query.without_tags) {
    sql += " AND NOT EXISTS (SELECT 1 FROM tag WHERE tag.entry = entry.id AND tag.name = ?)";
    values.emplace_back(tag);
  }
  const auto rows = state_->database.run(sql + " ORDER BY id", values);
  if (!rows) return rows.error();
  std::vector<PoolMatch> matches;
  for (const SqlRow& row : *rows) {
    auto entry = state_->read(row);
    if (!entry) return entry.error();
    const double score = score_of(*entry, std::max(0.0, number_of(row[12])), query);
    matches.push_back({std::move(*entry), score});
  }
  std::stable_sort(matches.begin(), matches.end(),
                   [](const PoolMatch& a, const PoolMatch& b) { return a.score > b.score; });
  if (query.limit >= 0 && matches.size() > static_cast<std::size_t>(query.limit)) {
    matches.resize(static_cast<std::size_t>(query.limit));
  }
  return matches;
}

Result<std::int64_t> StrategyPool::size() const {
  const auto rows = state_->database.run("SELECT count(*) FROM entry");
  if (!rows) return rows.error();
  return static_cast<std::int64_t>(number_of(rows->front().front()));
}

Result<void> StrategyPool::add_outcomes(const std::string& kind,
                                        std::span<const PoolOutcome> outcomes) {
  const Database& database = state_->database;
  return transaction(database, [&]() -> Result<void> {
    for (const PoolOutcome& outcome : outcomes) {
      const std::string sizes = text_of(outcome.sizes);
      auto done = database.run(
          "INSERT OR REPLACE INTO outcome (identity, kind, sizes, strategy, time_us) VALUES (?, ?, "
          "?, ?, ?)",
          {sha256_hex(kind + "\n" + sizes + "\n" + strategy_id(outcome.strategy)), kind, sizes,
           strategy_to_json(outcome.strategy), outcome.time_us});
      if (!done) return done.error();
    }
    auto done = database.run(
        "DELETE FROM outcome WHERE kind = ? AND id NOT IN (SELECT id FROM outcome WHERE kind = ? "
        "ORDER BY id DESC LIMIT ?)",
        {kind, kind, outcomes_kept});
    if (!done) return done.error();
    return {};
  });
}

Result<std::vector<PoolOutcome>> StrategyPool::outcomes(const std::string& kind, int limit) const {
  const auto rows = state_->database.run(
      "SELECT sizes, strategy, time_us FROM outcome WHERE kind = ? ORDER BY id DESC LIMIT ?",
      {kind, static_cast<std::int64_t>(limit)});
  if (!rows) return rows.error();
  std::vector<PoolOutcome> all;
  for (const SqlRow& row : *rows) {
    auto strategy = strategy_from_json(text_of(row[1]));
    if (!strategy) return strategy.error();
    all.push_back({std::move(*strategy), sizes_in(text_of(row[0])), number_of(row[2])});
  }
  return all;
}

}  // namespace cupilot
