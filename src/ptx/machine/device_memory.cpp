#include "ptx/machine/device_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

namespace cupilot::ptx {
namespace {

constexpr std::uint32_t all_written = whole_word;
constexpr std::uint64_t most_watched_bytes = 1ull << 30;  // of buffers whose cells remember threads
constexpr std::uint64_t gap = 1ull << 20;
constexpr std::uint64_t wide_gap = 1ull << 36;  // around buffers that may be as large

// Unmapped bytes on both sides.
std::uint64_t gap_around(const Buffer& buffer) { return buffer.sparse ? wide_gap : gap; }

std::uint64_t words_of(const Buffer& buffer) { return (buffer.bytes + 3) / 4; }

// Calls f(begin, end) for stretches of the state's words [from, to) that were touched.
template <class F>
void for_touched_words(const Buffer& b, std::uint64_t from, std::uint64_t to, F f) {
  if (from >= to) return;
  if (!b.sparse) return f(from, to);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t each = page / sizeof(std::uint32_t), start = from / each;
  std::vector<unsigned char> present((to + each - 1) / each - start);
  if (mincore(b.state.get() + start * each, present.size() * page, present.data()) != 0)
    return f(from, to);
  for (std::uint64_t first = 0; first < present.size();) {
    std::uint64_t end = first;
    while (end < present.size() && (present[end] & 1) != 0) ++end;
    if (end > first) f(std::max((start + first) * each, from), std::min((start + end) * each, to));
    first = std::max(end, first + 1);
  }
}

// Content of a buffer of so many bytes that is made chunk by chunk.
std::unique_ptr<Buffer::Later> made_by(Buffer::Make make, std::uint64_t bytes) {
  auto later = std::make_unique<Buffer::Later>();
  later->make = std::move(make);
  later->made.resize((bytes + Buffer::chunk_bytes - 1) / Buffer::chunk_bytes);
  return later;
}

}  // namespace

void HostFree::operator()(void* memory) const {
  if (mapped == 0) return std::free(memory);
  munmap(memory, mapped);
}

void* take_host_memory(std::uint64_t bytes, bool lazy) {
  if (!lazy) return std::calloc(bytes, 1);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, MADV_NOHUGEPAGE);  // touched bytes lie far apart
  return memory;
}

void Buffer::make_chunks(std::uint64_t offset, std::uint64_t count) {
  for (std::uint64_t i = offset / chunk_bytes; i * chunk_bytes < offset + count; ++i) {
    if (later->made[i]) continue;
    later->made[i] = true;
    ++later->pieces;
    later->end = std::max(later->end, i + 1);
    const std::uint64_t begin = i * chunk_bytes;
    later->make(begin, {data.get() + begin, std::min(chunk_bytes, bytes - begin)});
  }
}

std::string Buffer::place(std::uint64_t offset) const {
  const std::string what = element ? element(offset) : "";
  return fmt::format("{} at offset {} ({})", name, offset,
                     what.empty() ? fmt::format("address 0x{:x}", address + offset) : what);
}

void ThreadStamps::forget_reads() {
  launch = (launch + 1) % 16;
  if (launch == 0 && reads.load() != nullptr) std::fill_n(reads.load(), cells, 0u);
  if (launch == 0 && owners) std::fill_n(owners.get(), cells, 0u);
}

Result<std::size_t> DeviceMemory::add(std::string name, std::uint64_t bytes, Access access,
                                      std::uint64_t past) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.bytes = bytes;
  buffer.access = access;
  return add(std::move(buffer), past);
}

Result<std::size_t> DeviceMemory::add_later(std::string name, std::uint64_t bytes,
                                            Buffer::Make make, Access access) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.bytes = bytes;
  buffer.access = access;
  buffer.sparse = true;
  buffer.later = made_by(std::move(make), bytes);
  return add(std::move(buffer), 0);
}

void DeviceMemory::make_now(std::size_t index) {
  Buffer& b = buffers_[index];
  b.later->make(0, {b.data.get(), b.bytes});
  b.later.reset();
}

Result<std::size_t> DeviceMemory::add_sparse(std::string name, std::uint64_t bytes) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.bytes = bytes;
  buffer.sparse = true;
  return add(std::move(buffer), 0);
}

Result<std::size_t> DeviceMemory::add_at(std::uint64_t address, std::string name,
                                         std::uint64_t bytes, Buffer::Make make) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.bytes = bytes;
  buffer.address = address;
  buffer.sparse = make != nullptr;
  if (make) buffer.later = made_by(std::move(make), bytes);
  const Buffer* last = buffers_.empty() ? nullptr : &buffers_.back();
  if (last != nullptr && address < last->address + last->bytes)
    return Error{ErrorCode::not_done,
                 fmt::format("buffer {} at 0x{:x} lies over {}", buffer.name, address, last->name),
                 "give buffers by ascending address"};
  return add_placed(std::move(buffer));
}

Result<std::size_t> DeviceMemory::add(Buffer buffer, std::uint64_t past) {
  buffer.address = next_ + gap_around(buffer) + past;
  return add_placed(std::move(buffer));
}

Result<std::size_t> DeviceMemory::add_placed(Buffer buffer) {
  const bool writable = buffer.access == Access::read_write;
  const std::uint64_t cost = buffer.sparse ? 0 : writable ? 2 * buffer.bytes : buffer.bytes;
  if (!buffer.sparse && (buffer.bytes > limit_ || used_ + cost > limit_)) {
    return Error{
        ErrorCode::not_done,
        fmt::format("buffer {} of {} bytes does not fit the virtual device's memory of {} bytes",
                    buffer.name, buffer.bytes, limit_),
        "use smaller shapes"};
  }
  const std::uint64_t rounded = (buffer.bytes + 31) / 16 * 16;
  buffer.data = host_array<std::uint8_t>(rounded, buffer.sparse);
  if (writable) buffer.state = host_array<std::uint32_t>(words_of(buffer) + 1, buffer.sparse);
  if (!buffer.data || (writable && !buffer.state)) {
    return Error{ErrorCode::failure,
                 fmt::format("no host memory for buffer {} of {} bytes", buffer.name, buffer.bytes),
                 "use smaller shapes"};
  }
  used_ += cost;
  next_ = (buffer.address + buffer.bytes + gap_around(buffer) + 511) / 512 * 512;
  buffers_.push_back(std::move(buffer));
  return buffers_.size() - 1;
}

std::span<std::uint8_t> DeviceMemory::data(std::size_t index) {
  return {buffers_[index].data.get(), buffers_[index].bytes};
}
std::span<const std::uint8_t> DeviceMemory::data(std::size_t index) const {
  return {buffers_[index].data.get(), buffers_[index].bytes};
}

void DeviceMemory::mark_written(std::size_t index) {
  Buffer& b = buffers_[index];
  if (b.state) std::fill_n(b.state.get(), words_of(b), all_written);
}

void DeviceMemory::mark_unwritten(std::size_t index, std::uint8_t poison) {
  Buffer& b = buffers_[index];
  std::memset(b.data.get(), poison, b.bytes);
  if (b.state) std::fill_n(b.state.get(), words_of(b), 0u);
}

void DeviceMemory::set_access(std::size_t index, Access access) {
  Buffer& b = buffers_[index];
  if (access == Access::read_write && !b.state) {
    b.state = host_array<std::uint32_t>(words_of(b) + 1, false);
    std::fill_n(b.state.get(), words_of(b), all_written);
  }
  b.access = access;
}

bool DeviceMemory::is_written(std::size_t index, std::uint64_t byte) const {
  const Buffer& b = buffers_[index];
  return !b.state || ((b.state[byte / 4] >> (28 + byte % 4)) & 1) != 0;
}

std::uint64_t DeviceMemory::unwritten_bytes(std::size_t index) const {
  const Buffer& b = buffers_[index];
  if (!b.state) return 0;
  std::uint64_t written = 0;
  for_touched_words(b, 0, words_of(b), [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t w = first; w < end; ++w)
      written += static_cast<std::uint64_t>(std::popcount(b.state[w] & all_written));
  });
  // The last word may be marked beyond the buffer's end.
  if (const std::uint64_t tail = b.bytes % 4; tail != 0) {
    const std::uint32_t beyond = all_written & (all_written << tail);
    written -= static_cast<std::uint64_t>(std::popcount(b.state[words_of(b) - 1] & beyond));
  }
  return b.bytes - written;
}

DeviceMemory::WrittenWords DeviceMemory::written_words(std::size_t index) const {
  const Buffer& b = buffers_[index];
  WrittenWords words;
  if (!b.state) return words;
  for_touched_words(b, 0, words_of(b), [&](std::uint64_t first, std::uint64_t end) {
    words.first.push_back(first);
    std::vector<std::uint8_t>& bytes = words.bytes.emplace_back(end - first);
    for (std::uint64_t w = first; w < end; ++w)
      bytes[w - first] = static_cast<std::uint8_t>(b.state[w] >> 28);
  });
  return words;
}

bool DeviceMemory::wrote_over(std::size_t index, const WrittenWords& before) const {
  const Buffer& b = buffers_[index];
  if (!b.state) return false;
  const std::uint64_t begin = b.names_blocks ? 0 : b.named_first;
  const std::uint64_t end = b.names_blocks ? words_of(b) : b.named_end;
  bool over = false;
  std::size_t at = 0;  // the stretch of `before` that ends behind the word, where one does
  for_touched_words(b, begin, end, [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t w = first; w < last && !over; ++w) {
      if ((b.state[w] & ~all_written) == 0) continue;
      while (at < before.first.size() && before.first[at] + before.bytes[at].size() <= w) ++at;
      if (at == before.first.size()) return;
      over = w >= before.first[at] && before.bytes[at][w - before.first[at]] != 0 &&
             before.bytes[at][w - before.first[at]] == b.state[w] >> 28;
    }
  });
  return over;
}

std::vector<std::uint64_t> DeviceMemory::written_at(std::size_t index,
                                                    std::span<const std::uint64_t> ranks) const {
  const Buffer& b = buffers_[index];
  if (!b.state) return {ranks.begin(), ranks.end()};
  std::vector<std::uint64_t> found;
  std::uint64_t before = 0;  // written bytes
  for_touched_words(b, 0, words_of(b), [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t w = first; w < end && found.size() < ranks.size(); ++w) {
      if ((b.state[w] & all_written) == 0) continue;
      for (std::uint64_t byte = 4 * w; byte < std::min(b.bytes, 4 * w + 4); ++byte) {
        if (!is_written(index, byte)) continue;
        while (found.size() < ranks.size() && ranks[found.size()] == before) found.push_back(byte);
        ++before;
      }
    }
  });
  return found;
}

std::optional<std::uint64_t> DeviceMemory::first_unwritten(std::size_t index) const {
  const Buffer& b = buffers_[index];
  for (std::uint64_t byte = 0; b.state && byte < b.bytes; ++byte) {
    if (!is_written(index, byte)) return byte;
  }
  return std::nullopt;
}

void DeviceMemory::begin_launch() {
  for (Buffer& b : buffers_) {
    if (!b.state) continue;
    // A step of a loop writes few of many buffers, a few blocks little of one.
    const std::uint64_t from = b.names_blocks ? 0 : b.named_first,
                        to = b.names_blocks ? words_of(b) : b.named_end;
    for_touched_words(b, from, to, [&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t w = first; w < end; ++w) b.state[w] &= all_written;
    });
    b.names_blocks = false;
    b.named_first = ~0ull;
    b.named_end = 0;
  }
}

std::uint64_t DeviceMemory::writable_bytes() const {
  std::uint64_t sum = 0;
  for (const Buffer& b : buffers_) sum += b.state ? b.bytes : 0;
  return sum;
}

DeviceMemory::Kept DeviceMemory::keep() const {
  Kept out;
  for (const Buffer& b : buffers_) {
    out.data.emplace_back();
    out.state.emplace_back();
    if (!b.state) continue;
    out.data.back().assign(b.data.get(), b.data.get() + b.bytes);
    out.state.back().assign(b.state.get(), b.state.get() + words_of(b));
  }
  return out;
}

void DeviceMemory::restore(const Kept& kept) {
  for (std::size_t i = 0; i < kept.data.size(); ++i) {
    std::copy(kept.data[i].begin(), kept.data[i].end(), buffers_[i].data.get());
    if (kept.state[i].empty()) continue;
    std::copy(kept.state[i].begin(), kept.state[i].end(), buffers_[i].state.get());
    buffers_[i].names_blocks = true;  // perhaps
  }
}

void DeviceMemory::watch_readers(bool on) {
  for (Buffer& b : buffers_) {
    b.readers.reset();
    if (on && b.state) b.readers = std::make_unique<std::uint32_t[]>(words_of(b) + 1);
  }
}

void DeviceMemory::watch_threads(std::uint32_t shift) {
  if (writable_bytes() > most_watched_bytes) return forget_threads();
  for (Buffer& b : buffers_) {
    if (!b.state || b.access != Access::read_write) {
      b.threads.reset();
      continue;
    }
    if (b.threads && b.threads->shift == shift) {
      b.threads->forget_reads();
      continue;
    }
    b.threads = std::make_unique<ThreadStamps>();
    b.threads->shift = shift;
    b.threads->cells = (words_of(b) + 1) << (2 - shift);
    b.threads->writes.reset(new std::uint32_t[b.threads->cells]);
    if (shift < 2) b.threads->owners.reset(new std::uint32_t[b.threads->cells]());
  }
}

void DeviceMemory::forget_threads() {
  for (Buffer& b : buffers_) b.threads.reset();
}

const Buffer* DeviceMemory::find(std::uint64_t address, std::uint64_t bytes) const {
  // Addresses ascend with the index.
  const auto after =
      std::upper_bound(buffers_.begin(), buffers_.end(), address,
                       [](std::uint64_t a, const Buffer& b) { return a < b.address; });
  if (after == buffers_.begin()) return nullptr;
  const Buffer& b = *(after - 1);
  const std::uint64_t offset = address - b.address;
  return offset <= b.bytes && bytes <= b.bytes - offset ? &b : nullptr;
}

Buffer* DeviceMemory::find(std::uint64_t address, std::uint64_t bytes) {
  return const_cast<Buffer*>(static_cast<const DeviceMemory*>(this)->find(address, bytes));
}

std::string DeviceMemory::describe(std::uint64_t address) const {
  const Buffer* best = nullptr;
  std::uint64_t distance = ~0ull;
  for (const Buffer& b : buffers_) {
    const std::uint64_t end = b.address + b.bytes;
    const std::uint64_t d = address < b.address ? b.address - address
                            : address < end     ? 0
                                                : address - end + 1;
    if (d < distance) {
      distance = d;
      best = &b;
    }
  }
  if (best == nullptr || distance > (best->sparse ? wide_gap : 64 * gap))
    return "no buffer is near";
  if (address < best->address)
    return fmt::format("{} bytes before {} ({} bytes)", best->address - address, best->name,
                       best->bytes);
  const std::uint64_t offset = address - best->address;
  if (offset < best->bytes)
    return fmt::format("offset {} of {} ({} bytes)", offset, best->name, best->bytes);
  return fmt::format("{} bytes past the end of {} ({} bytes)", offset - best->bytes, best->name,
                     best->bytes);
}

}  // namespace cupilot::ptx
