#include "inject/images.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <span>

#include "inject/driver.hpp"
#include "inject/linked.hpp"
#include "inject/record.hpp"

namespace cupilot::inject {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint32_t wrapper_magic = 0x466243b1, fatbin_magic = 0xba55ed50;
constexpr std::size_t fatbin_header = 16;
constexpr std::uint64_t whole_fatbin = 16ull << 20;  // larger ones keep their PTX alone

struct Image {
  const void* place = nullptr;  // of a program's own data, which stays
  Bytes copy{};                 // of any other
  std::string name{};           // in the folder; empty: not written yet
};

// clang-format off
struct State {
  std::mutex lock;
  std::map<void*, Image> images;              // module or library -> image
  std::map<void*, void*> library_of;          // module -> library
  std::map<void*, Known> functions;
  std::map<void*, std::vector<KnownVariable>> variables;
  std::map<CUdeviceptr, std::uint64_t> asked;
  std::map<std::uint64_t, std::string> ptx;   // hash of a cubin -> PTX
  std::set<std::string> written;
  std::optional<std::string> linked;          // name of the image of all PTX in loaded files
};
// clang-format on
// Lives until the process ends: other threads may launch while it does.
State& state() {
  static State& all = *new State;
  return all;
}

template <class T>
T read_at(const void* from, std::size_t offset = 0) {
  T value{};
  std::memcpy(&value, static_cast<const char*>(from) + offset, sizeof value);
  return value;
}

std::size_t size_of_elf(const void* image) {
  const auto header = read_at<Elf64_Ehdr>(image);
  std::size_t end = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
  end = std::max(end, header.e_phoff + std::size_t{header.e_phnum} * header.e_phentsize);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = read_at<Elf64_Shdr>(image, header.e_shoff + i * header.e_shentsize);
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

// The bytes of an image that says its own size; empty: of an unknown kind.
std::span<const std::uint8_t> bytes_of(const void* image) {
  const auto magic = read_at<std::uint32_t>(image);
  const auto* begin = static_cast<const std::uint8_t*>(image);
  if (magic == wrapper_magic) return bytes_of(read_at<const void*>(image, 8));
  if (magic == fatbin_magic)
    return {begin, fatbin_header + static_cast<std::size_t>(read_at<std::uint64_t>(image, 8))};
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0) return {begin, size_of_elf(image)};
  const char first = read_at<char>(image);
  if (first == '.' || first == '/' || first == '\n' || first == ' ')
    return {begin, std::strlen(static_cast<const char*>(image))};
  return {};
}

// A fat binary without what is no PTX.
Bytes only_ptx(std::span<const std::uint8_t> fatbin) {
  Bytes parts;
  append_ptx(parts, fatbin);
  return fatbin_of(parts);
}

const char* kind_of(std::span<const std::uint8_t> bytes) {
  if (read_at<std::uint32_t>(bytes.data()) == fatbin_magic) return "fatbin";
  return std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0 ? "cubin" : "ptx";
}

// Writes an image and its line; the lock is held.
std::string write_image(State& all, std::span<const std::uint8_t> bytes) {
  const std::uint64_t hash = hash_of(bytes);
  const std::string name = hexadecimal(hash), kind = kind_of(bytes);
  if (!all.written.insert(name).second) return name;
  const std::string file = "modules/" + name + "." + kind;
  Line line("module");
  line.text("module", name).text("kind", kind).text("file", file).number("bytes", bytes.size());
  const bool cut = kind == "fatbin" && bytes.size() > whole_fatbin;
  const Bytes short_one = cut ? only_ptx(bytes) : Bytes();
  if (cut) line.text("kept", "ptx");
  if (!write_file(file, cut ? std::span<const std::uint8_t>(short_one) : bytes)) return name;
  append(line);
  const auto ptx = all.ptx.find(hash);
  if (ptx == all.ptx.end()) return name;
  const std::string text_file = "modules/" + name + ".ptx";
  const auto* text = reinterpret_cast<const std::uint8_t*>(ptx->second.data());
  if (write_file(text_file, {text, ptx->second.size()}))
    append(Line("ptx").text("module", name).text("file", text_file).text("from", "NVRTC"));
  return name;
}

// Runtimes load what is linked with them in a way of their own as well: then the PTX in the files
// stands for the image. The lock is held.
std::string linked_image(State& all) {
  if (!all.linked) {
    const Bytes whole = linked_ptx();
    all.linked = whole.empty() ? "" : write_image(all, whole);
  }
  return *all.linked;
}

}  // namespace

void image_loaded(void* handle, const void* image) {
  if (handle == nullptr || image == nullptr || standing_aside()) return;
  Image one;
  if (read_at<std::uint32_t>(image) == wrapper_magic) {
    one.place = image;
  } else {
    const auto bytes = bytes_of(image);
    one.copy.assign(bytes.begin(), bytes.end());
  }
  const std::scoped_lock held(state().lock);
  state().images[handle] = std::move(one);
}

void file_loaded(void* handle, const char* path) {
  std::ifstream in(path, std::ios::binary);
  Bytes bytes((std::istreambuf_iterator<char>(in)), {});
  const std::size_t size = bytes.size();
  bytes.resize(size + 64);  // a text ends with a zero, a header is whole
  if (size > 0) image_loaded(handle, bytes.data());
}

void module_of_library(CUmodule module, CUlibrary library) {
  const std::scoped_lock held(state().lock);
  state().library_of[module] = library;
}

void function_found(void* function, void* owner, const char* name, bool is_kernel) {
  const std::scoped_lock held(state().lock);
  state().functions[function] = {name != nullptr ? name : "", owner, is_kernel};
}

void function_of_kernel(CUfunction function, CUkernel kernel) {
  const std::scoped_lock held(state().lock);
  const auto found = state().functions.find(kernel);
  if (found == state().functions.end()) return;
  Known known = found->second;
  known.is_kernel = false;
  state().functions[function] = std::move(known);
}

void variable_found(void* owner, const char* name, CUdeviceptr address, std::size_t bytes) {
  if (name == nullptr || address == 0) return;
  const std::scoped_lock held(state().lock);
  std::vector<KnownVariable>& known = state().variables[owner];
  for (const KnownVariable& one : known) {
    if (one.name == name) return;
  }
  known.push_back({name, address, bytes});
}

void allocated(CUdeviceptr address, std::size_t bytes) {
  const std::scoped_lock held(state().lock);
  state().asked[address] = bytes;
}

std::uint64_t asked_bytes(CUdeviceptr address) {
  const std::scoped_lock held(state().lock);
  const auto found = state().asked.find(address);
  return found == state().asked.end() ? 0 : found->second;
}

void ptx_of_cubin(const Bytes& cubin, std::string ptx) {
  const std::scoped_lock held(state().lock);
  state().ptx[hash_of(cubin)] = std::move(ptx);
}

std::optional<Known> known_function(CUfunction function) {
  {
    const std::scoped_lock held(state().lock);
    const auto found = state().functions.find(function);
    if (found != state().functions.end()) return found->second;
  }
  Known known;
  const char* name = nullptr;
  CUmodule module = nullptr;
  if (CUPILOT_CALL(cuFuncGetName, &name, function) == CUDA_SUCCESS && name != nullptr) {
    if (CUPILOT_CALL(cuFuncGetModule, &module, function) == CUDA_SUCCESS) known.owner = module;
  } else {
    const auto kernel = reinterpret_cast<CUkernel>(function);
    CUlibrary library = nullptr;
    if (CUPILOT_CALL(cuKernelGetName, &name, kernel) != CUDA_SUCCESS || name == nullptr)
      return std::nullopt;
    known.is_kernel = true;
    if (CUPILOT_CALL(cuKernelGetLibrary, &library, kernel) == CUDA_SUCCESS) known.owner = library;
  }
  known.name = name;
  function_found(function, known.owner, name, known.is_kernel);
  return known;
}

std::vector<KnownVariable> known_variables(void* owner) {
  const std::scoped_lock held(state().lock);
  State& all = state();
  std::vector<KnownVariable> found = all.variables[owner];
  const auto add = [&](void* other) {
    const std::vector<KnownVariable>& more = all.variables[other];
    found.insert(found.end(), more.begin(), more.end());
  };
  // A program may ask the library for a kernel, and its module for a variable, or the other way.
  for (const auto& [module, library] : all.library_of) {
    if (module == owner) add(library);
    if (library == owner) add(module);
  }
  return found;
}

std::string kept_image(void* owner) {
  State& all = state();
  const std::scoped_lock held(all.lock);
  const auto library = all.library_of.find(owner);
  auto found = all.images.find(library == all.library_of.end() ? owner : library->second);
  if (found == all.images.end()) found = all.images.find(owner);
  if (found == all.images.end()) return linked_image(all);
  Image& image = found->second;
  if (image.name.empty()) {
    const auto bytes =
        image.place != nullptr ? bytes_of(image.place) : std::span<const std::uint8_t>(image.copy);
    if (bytes.size() >= 8) image.name = write_image(all, bytes);
  }
  return image.name;
}

}  // namespace cupilot::inject
