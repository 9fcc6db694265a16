// The virtual device's global memory: named buffers at 64-bit addresses with unmapped gaps between
// them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/result.hpp>

namespace cupilot::ptx {

enum class Access : std::uint8_t { read_only, read_write };

// Host memory of zeros. `lazy`: pages are taken as they are touched, however many there are.
struct HostFree {
  std::uint64_t mapped = 0;  // bytes; 0: from the heap
  void operator()(void* memory) const;
};
template <class T>
using HostArray = std::unique_ptr<T[], HostFree>;
// Null: there is none.
void* take_host_memory(std::uint64_t bytes, bool lazy);
template <class T>
HostArray<T> host_array(std::uint64_t count, bool lazy) {
  return {static_cast<T*>(take_host_memory(count * sizeof(T), lazy)),
          HostFree{lazy ? count * sizeof(T) : 0}};
}

inline constexpr std::uint32_t whole_word =
    0xf0000000u;  // of a state word: all its bytes were written

// Which thread of a block touched each cell of a buffer last, within one launch: thread_order.hpp.
struct ThreadStamps {
  std::uint32_t shift = 2;  // log2 of a cell's bytes
  std::uint64_t cells = 0;
  // Stamps of the last write, 0 by no thread; they mean something where `state` names the block.
  std::unique_ptr<std::uint32_t[]> writes;
  std::atomic<std::uint64_t*> reads{
      nullptr};              // of reads: `reader` of the block, stamp; made by the first
  std::uint32_t launch = 0;  // tells this launch's reads from those of 15 before

  // `reader` of the block that wrote a cell smaller than a word last. Else empty.
  std::unique_ptr<std::uint32_t[]> owners;

  // Number and one of the block that wrote a cell last in this launch; 0: none.
  std::uint32_t writer(std::uint64_t cell) const {
    const std::uint32_t owner = owners[cell];
    return owner >> 28 == launch ? owner & ~whole_word : 0;
  }
  std::uint32_t reader(std::uint64_t block) const {
    return launch << 28 | (static_cast<std::uint32_t>(block + 1) & ~whole_word);
  }

  ThreadStamps() = default;
  ThreadStamps(const ThreadStamps&) = delete;
  ThreadStamps& operator=(const ThreadStamps&) = delete;
  ~ThreadStamps() { delete[] reads.load(); }
  void forget_reads();
};

// A buffer. `state` holds one word for each 4 bytes (read_write buffers only): bits 28..31 say
// which of the bytes were written, the low bits name the block (index + 1) that wrote last within
// the launch in progress, 0 for none.
struct Buffer {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  Access access = Access::read_write;
  HostArray<std::uint8_t> data;  // bytes rounded up to 16
  HostArray<std::uint32_t> state;
  // False: no word of `state` outside [named_first, named_end) names a block. Several host threads
  // set it at a time.
  bool names_blocks = false;
  std::uint64_t named_first = ~0ull, named_end = 0;
  bool sparse = false;  // takes host memory for what is touched alone
  // Blocks (index + 1; several: all ones) that read each 4 bytes of a launch that several host
  // threads run; else empty.
  std::unique_ptr<std::uint32_t[]> readers;
  std::unique_ptr<ThreadStamps> threads;  // of a launch that checks races; else empty

  // Content that is made chunk by chunk when it is first touched, by launches on one host thread.
  static constexpr std::uint64_t chunk_bytes = 32;
  using Make = std::function<void(std::uint64_t offset, std::span<std::uint8_t> chunk)>;
  struct Later {
    Make make;
    std::vector<bool> made;
    std::uint64_t pieces = 0, end = 0;  // chunks that were made; one past the last of them
  };
  std::unique_ptr<Later> later;

  // Names what lies at an offset, for messages: "y[3][5]". Empty: only the offset is known.
  std::function<std::string(std::uint64_t offset)> element;
  // "y at offset 80 (y[1][4])"
  std::string place(std::uint64_t offset) const;

  // Precedes a block's name in words of `state`.
  void note_names(std::uint64_t first, std::uint64_t count) {
    named_first = std::min(named_first, first);
    named_end = std::max(named_end, first + count);
  }
  // Does the same on one of several host threads, of any word.
  void note_names() {
    const std::atomic_ref<bool> noted(names_blocks);
    if (!noted.load(std::memory_order_relaxed)) noted.store(true, std::memory_order_relaxed);
  }

  // Returns the `count` bytes at `offset`, made by now.
  std::uint8_t* at(std::uint64_t offset, std::uint64_t count) {
    if (later) make_chunks(offset, count);
    return data.get() + offset;
  }

 private:
  void make_chunks(std::uint64_t offset, std::uint64_t count);
};

// Not safe for concurrent changes of the set of buffers.
class DeviceMemory {
 public:
  // At most `limit` bytes in all.
  explicit DeviceMemory(std::uint64_t limit = 4ull << 30,
                        std::uint64_t first_address = 0x0a00'0000'0000ull)
      : limit_(limit), next_(first_address) {}

  // A new buffer, its address `past` bytes (a multiple of 4) beyond a multiple of 512, 1 MiB or
  // more of unmapped space on both sides. A read_only buffer counts as initialised; a read_write
  // one as never written until `mark_written` or a kernel's store. Returns its index.
  Result<std::size_t> add(std::string name, std::uint64_t bytes, Access access,
                          std::uint64_t past = 0);

  // A buffer whose content `make` writes in whole chunks (the last may be short), each once, when a
  // launch touches it. One that may be written counts as initialised.
  Result<std::size_t> add_later(std::string name, std::uint64_t bytes, Buffer::Make make,
                                Access access = Access::read_only);
  // Makes all content of a buffer that add_later added, as a single chunk.
  void make_now(std::size_t index);
  // A read_write buffer of any size that takes host memory for what is touched alone, of zeros that
  // count as never written.
  Result<std::size_t> add_sparse(std::string name, std::uint64_t bytes);

  // A read_write buffer at an address of the caller's choice, behind all others, which counts as
  // initialised. `make`: its content is made as in add_later; else it holds zeros.
  Result<std::size_t> add_at(std::uint64_t address, std::string name, std::uint64_t bytes,
                             Buffer::Make make = {});

  std::size_t size() const { return buffers_.size(); }
  const Buffer& operator[](std::size_t index) const { return buffers_[index]; }
  std::uint64_t address(std::size_t index) const { return buffers_[index].address; }
  std::span<std::uint8_t> data(std::size_t index);
  std::span<const std::uint8_t> data(std::size_t index) const;

  // Notes that the host wrote the buffer: the whole buffer counts as initialised, its bytes as they
  // are.
  void mark_written(std::size_t index);
  // Back to never written, every byte `poison`.
  void mark_unwritten(std::size_t index, std::uint8_t poison = 0xf5);
  void set_access(std::size_t index, Access access);
  void name_elements(std::size_t index, std::function<std::string(std::uint64_t)> element) {
    buffers_[index].element = std::move(element);
  }
  bool is_written(std::size_t index, std::uint64_t byte) const;
  std::uint64_t unwritten_bytes(std::size_t index) const;
  // Which bytes of each touched word were written, by stretches of words.
  struct WrittenWords {
    std::vector<std::uint64_t> first;
    std::vector<std::vector<std::uint8_t>> bytes;  // a mask a word
  };
  WrittenWords written_words(std::size_t index) const;
  // True if the launch in progress, or the last one, wrote to a word of which all that is written
  // was written before.
  bool wrote_over(std::size_t index, const WrittenWords& before) const;
  // Offsets of the written bytes of these ranks among all written ones; ranks ascend and are fewer
  // than there are.
  std::vector<std::uint64_t> written_at(std::size_t index,
                                        std::span<const std::uint64_t> ranks) const;
  std::optional<std::uint64_t> first_unwritten(std::size_t index) const;  // byte offset

  // Forgets which block wrote what; a launch does this when it starts.
  void begin_launch();

  // Holds all that can be written, to go back to it.
  struct Kept {
    std::vector<std::vector<std::uint8_t>> data;
    std::vector<std::vector<std::uint32_t>> state;
  };
  std::uint64_t writable_bytes() const;
  Kept keep() const;
  void restore(const Kept& kept);
  // Begins or ends remembering who reads what can be written.
  void watch_readers(bool on);
  // Begins a launch whose threads are told apart in cells of 2^shift bytes. Nothing is kept of
  // buffers beyond a limit in all.
  void watch_threads(std::uint32_t shift);
  void forget_threads();

  // The buffer that holds [address, address + bytes), or nullptr.
  Buffer* find(std::uint64_t address, std::uint64_t bytes);
  const Buffer* find(std::uint64_t address, std::uint64_t bytes) const;
  // For messages: "16 bytes past the end of B (4096 bytes)" / "in A at 32" / "no buffer near".
  std::string describe(std::uint64_t address) const;

 private:
  Result<std::size_t> add(Buffer buffer, std::uint64_t past);
  Result<std::size_t> add_placed(Buffer buffer);  // its address is set
  std::vector<Buffer> buffers_;
  std::uint64_t limit_ = 0, used_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace cupilot::ptx
