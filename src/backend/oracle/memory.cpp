#include "backend/oracle/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include <cupilot/parts/rejection.hpp>

#include "backend/oracle/piecewise_input.hpp"
#include "ptx/machine/tensor_map.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

// Inputs up to so many bytes are made whole, once for all candidates that meet them.
constexpr std::uint64_t shared_content = 4 << 20;

Result<std::size_t> add_buffer(ptx::DeviceMemory& memory, const std::string& name,
                               std::int64_t bytes, ptx::Access access, std::int64_t past) {
  if (bytes == 0) return no_buffer;
  return memory.add(name, static_cast<std::uint64_t>(bytes), access,
                    static_cast<std::uint64_t>(past));
}

// Every byte the same: as fp64, fp32, bf16, fp16 or fp8 a quiet NaN, or a large finite number.
std::uint8_t byte_of(Poison poison) { return poison == Poison::quiet_nan ? 0xff : 0xf5; }
// As cuTensorMapEncodeTiled is told on a device.
ptx::Type element_type(DType type) {
  switch (type) {
    case DType::f64:
      return ptx::Type::f64;
    case DType::f32:
      return ptx::Type::f32;
    case DType::bf16:
      return ptx::Type::bf16;
    case DType::f16:
      return ptx::Type::f16;
    case DType::i64:
      return ptx::Type::s64;
    case DType::i32:
      return ptx::Type::s32;
    case DType::i16:
      return ptx::Type::u16;
    default:
      return ptx::Type::u8;
  }
}

void copy(std::span<const std::byte> from, std::span<std::uint8_t> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), std::min(from.size(), to.size()));
}

// "y[3][5]" of a byte of a tensor's storage; "" of a gap between its strides.
std::string element_name(const std::string& name, const TensorShape& shape, std::int64_t offset) {
  std::vector<std::size_t> sides(shape.extents.size());
  std::iota(sides.begin(), sides.end(), std::size_t{0});
  std::stable_sort(sides.begin(), sides.end(), [&](std::size_t a, std::size_t b) {
    return shape.strides[a] > shape.strides[b];
  });
  std::vector<std::int64_t> at(shape.extents.size());
  for (const std::size_t d : sides) {
    if (shape.extents[d] < 2) continue;
    at[d] = std::min(offset / shape.strides[d], shape.extents[d] - 1);
    offset -= at[d] * shape.strides[d];
  }
  return offset == 0 && !at.empty() ? fmt::format("{}[{}]", name, fmt::join(at, "][")) : "";
}

}  // namespace

Result<std::uint64_t> add_input(ptx::DeviceMemory& memory, const std::string& name,
                                std::span<const std::byte> bytes) {
  Result<std::size_t> index =
      add_buffer(memory, name, static_cast<std::int64_t>(bytes.size()), ptx::Access::read_only, 0);
  if (!index) return index.error();
  if (*index == no_buffer) return std::uint64_t{0};
  copy(bytes, memory.data(*index));
  return memory.address(*index);
}

Result<void> VirtualMemory::add_tensor(std::size_t tensor) {
  const Tensor& what = task_->tensors[tensor];
  const auto source = source_of(task_, tensor, what_.workload, what_.content);
  if (!source) return source.error();
  if (*source != tensor) {
    tensors_.push_back(tensors_[*source]);
    return {};
  }
  const Result<TensorShape> shape = shape_of(task_, what, what_.workload);
  if (!shape) return shape.error();
  const bool written = what.role == Role::out || what.role == Role::in_out;
  // The memory keeps account of whole words.
  const std::int64_t offset = base_offset(what, what_);
  const std::int64_t past = offset == 0 ? 0 : std::max<std::int64_t>(offset, 4);
  Result<std::size_t> index =
      add_buffer(memory_, what.name, shape->span * size_of(what.type),
                 written ? ptx::Access::read_write : ptx::Access::read_only, past);
  if (!index) return index.error();
  tensors_.push_back(*index);
  if (*index == no_buffer) return {};
  memory_.set_access(*index, ptx::Access::read_only);
  name_elements(tensor, *index, *shape);
  return {};
}

Result<VirtualMemory> VirtualMemory::make(const TaskRef& task, const Case& what,
                                          const ResolvedPlan& plan, VirtualInputs& inputs) {
  VirtualMemory made(task, what, plan);
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    if (Result<void> added = made.add_tensor(i); !added) return added.error();
    if (task->tensors[i].role != Role::constant) continue;
    if (Result<void> filled = made.copy_content(i, inputs); !filled) return filled.error();
  }
  for (const ResolvedBuffer& buffer : plan.buffers) {
    Result<std::size_t> index =
        add_buffer(made.memory_, buffer.name, buffer.bytes, ptx::Access::read_write, 0);
    if (!index) return index.error();
    made.buffers_.push_back(*index);
    if (*index == no_buffer) continue;
    if (buffer.content == BufferContent::restored)
      made.clear(*index);
    else
      made.memory_.mark_unwritten(*index);
  }
  return made;
}

void VirtualMemory::name_elements(std::size_t tensor, std::size_t buffer, TensorShape shape) {
  const Tensor& what = task_->tensors[tensor];
  memory_.name_elements(buffer, [name = what.name, size = size_of(what.type),
                                 shape = std::move(shape)](std::uint64_t offset) {
    return element_name(name, shape, static_cast<std::int64_t>(offset) / size);
  });
}

Result<bool> VirtualMemory::add_sparse_tensor(std::size_t tensor, VirtualInputs& inputs,
                                              SmallInputs small) {
  const Tensor& what = task_->tensors[tensor];
  const Result<FillParams> params = fill_params(*task_, tensor, what_.workload, what_.content);
  if (!params) return params.error();
  const Result<TensorShape> shape = shape_of(*task_, what, what_.workload);
  if (!shape) return shape.error();
  const std::int64_t size = size_of(what.type);
  const auto bytes = static_cast<std::uint64_t>(params->span * size);
  if (bytes == 0) {
    tensors_.push_back(no_buffer);
    originals_.push_back(no_buffer);
    return true;
  }
  if (what.role == Role::out) {
    auto index = memory_.add_sparse(what.name, bytes);
    if (!index) return false;
    tensors_.push_back(*index);
    originals_.push_back(*index);
    name_elements(tensor, *index, *shape);
    return true;
  }
  const auto pieces = PiecewiseInput::of(*params);
  if (!pieces) return false;
  ptx::Buffer::Make make = [pieces = *pieces, size](std::uint64_t offset,
                                                    std::span<std::uint8_t> chunk) {
    pieces.make(static_cast<std::int64_t>(offset) / size, std::as_writable_bytes(chunk));
  };
  if (bytes <= shared_content) {
    auto whole = inputs.get(task_, tensor, what_.workload, what_.content);
    if (!whole) return whole.error();
    make = [whole = *whole](std::uint64_t offset, std::span<std::uint8_t> chunk) {
      std::memcpy(chunk.data(), whole->data() + offset, chunk.size());
    };
  }
  for (const bool written : {false, true}) {
    if (written && what.role != Role::in_out) {
      tensors_.push_back(originals_.back());
      continue;
    }
    auto index = memory_.add_later(what.name, bytes, make,
                                   written ? ptx::Access::read_write : ptx::Access::read_only);
    if (!index) return false;
    if (small == SmallInputs::whole && bytes <= shared_content && what.role == Role::in)
      memory_.make_now(*index);
    (written ? tensors_ : originals_).push_back(*index);
    name_elements(tensor, *index, *shape);
  }
  return true;
}

Result<std::optional<VirtualMemory>> VirtualMemory::sparse(const TaskRef& task, const Case& what,
                                                           const ResolvedPlan& plan,
                                                           VirtualInputs& inputs,
                                                           SmallInputs small) {
  constexpr std::int64_t most_cleared = 64 << 20;
  VirtualMemory made(task, what, plan);
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    const Result<bool> added = made.add_sparse_tensor(i, inputs, small);
    if (!added) return added.error();
    if (!*added) return std::optional<VirtualMemory>();
  }
  for (const ResolvedBuffer& buffer : plan.buffers) {
    const bool cleared = buffer.content != BufferContent::scratch;
    if (buffer.content == BufferContent::table || (cleared && buffer.bytes > most_cleared))
      return std::optional<VirtualMemory>();
    if (buffer.bytes == 0) {
      made.buffers_.push_back(no_buffer);
      continue;
    }
    const auto bytes = static_cast<std::uint64_t>(buffer.bytes);
    auto index = cleared ? made.memory_.add(buffer.name, bytes, ptx::Access::read_write)
                         : made.memory_.add_sparse(buffer.name, bytes);
    if (!index) return std::optional<VirtualMemory>();
    if (cleared) made.memory_.mark_written(*index);
    made.buffers_.push_back(*index);
  }
  return std::optional<VirtualMemory>(std::move(made));
}

Result<void> VirtualMemory::copy_content(std::size_t tensor, VirtualInputs& inputs) {
  if (tensors_[tensor] == no_buffer) return {};
  auto bytes = inputs.get(task_, tensor, what_.workload, what_.content);
  if (!bytes) return bytes.error();
  copy(**bytes, memory_.data(tensors_[tensor]));
  return {};
}

void VirtualMemory::clear(std::size_t buffer) {
  const auto data = memory_.data(buffer);
  std::fill(data.begin(), data.end(), std::uint8_t{0});
  memory_.mark_written(buffer);
}

Result<void> VirtualMemory::fill_tensors(VirtualInputs& inputs, Poison poison) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Role role = task_->tensors[i].role;
    if (tensors_[i] == no_buffer || role == Role::constant) continue;
    const bool written = role == Role::out || role == Role::in_out;
    memory_.set_access(tensors_[i], written ? ptx::Access::read_write : ptx::Access::read_only);
    if (role == Role::out) {
      memory_.mark_unwritten(tensors_[i], byte_of(poison));
      continue;
    }
    if (Result<void> copied = copy_content(i, inputs); !copied) return copied;
    if (role == Role::in_out) memory_.mark_written(tensors_[i]);
  }
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i] == no_buffer) continue;
    const BufferContent content = plan_->buffers[i].content;
    if (content == BufferContent::table) memory_.set_access(buffers_[i], ptx::Access::read_only);
    if (content == BufferContent::scratch) memory_.mark_unwritten(buffers_[i], byte_of(poison));
    if (content == BufferContent::zeroed || content == BufferContent::restored) clear(buffers_[i]);
  }
  return {};
}

Result<std::vector<std::uint8_t>> VirtualMemory::parameters(const ResolvedLaunch& launch,
                                                            const ptx::Function& entry) const {
  const ptx::ParameterLayout layout = ptx::parameter_layout(entry);
  if (layout.offsets.size() != launch.args.size()) {
    return Error{ErrorCode::failure,
                 fmt::format("{}: {} arguments for {} parameters", launch.entry, launch.args.size(),
                             layout.offsets.size()),
                 "compile the kernel again"};
  }
  std::vector<std::uint8_t> block(layout.bytes, 0);
  for (std::size_t i = 0; i < launch.args.size(); ++i) {
    const std::vector<std::uint8_t> value = value_of(launch.args[i]);
    const std::size_t at = layout.offsets[i];
    std::copy_n(value.begin(), std::min(value.size(), block.size() - at),
                block.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return block;
}

std::vector<std::uint8_t> VirtualMemory::value_of(const ResolvedArgument& argument) const {
  using Kind = ResolvedArgument::Kind;
  std::vector<std::uint8_t> value = argument.bytes;
  const auto pointer = [&](const std::vector<std::size_t>& list) {
    const std::uint64_t at = address(list[static_cast<std::size_t>(argument.index)]);
    value.resize(8);
    std::memcpy(value.data(), &at, 8);
  };
  if (argument.kind == Kind::tensor) pointer(tensors_);
  if (argument.kind == Kind::buffer) pointer(buffers_);
  if (argument.kind == Kind::null_pointer) value.assign(8, 0);
  if (argument.kind == Kind::texture) {
    const std::uint64_t handle = ptx::handle_of(static_cast<std::size_t>(argument.index));
    value.resize(8);
    std::memcpy(value.data(), &handle, 8);
  }
  if (argument.kind == Kind::map) value = encoded_map(static_cast<std::size_t>(argument.index));
  for (const ResolvedArgument& field : argument.fields) {
    const std::vector<std::uint8_t> inner = value_of(field);
    std::copy(inner.begin(), inner.end(), value.begin() + field.at);
  }
  return value;
}

std::vector<std::uint8_t> VirtualMemory::encoded_map(std::size_t index) const {
  const ResolvedMap& from = plan_->maps[index];
  ptx::TensorMap map;
  map.address =
      address((from.of_buffer ? buffers_ : tensors_)[static_cast<std::size_t>(from.index)]);
  map.type = element_type(from.type);
  map.rank = static_cast<std::uint32_t>(std::min<std::size_t>(from.dims.size(), 5));
  for (std::size_t i = 0; i < map.rank; ++i) {
    map.dims[i] = static_cast<std::uint64_t>(from.dims[i]);
    map.box[i] = static_cast<std::uint32_t>(from.box[i]);
    if (i > 0) map.pitch[i - 1] = static_cast<std::uint64_t>(from.pitch[i - 1]);
  }
  map.swizzle = static_cast<std::uint32_t>(from.swizzle);
  const auto bytes = ptx::encode(map);
  return {bytes.begin(), bytes.end()};
}

std::vector<ptx::TextureObject> VirtualMemory::textures() const {
  constexpr ptx::Type channels[] = {ptx::Type::u8,  ptx::Type::s8,  ptx::Type::u16, ptx::Type::s16,
                                    ptx::Type::u32, ptx::Type::s32, ptx::Type::f16, ptx::Type::f32};
  std::vector<ptx::TextureObject> out;
  for (const ResolvedTexture& from : plan_->textures) {
    const auto index = static_cast<std::size_t>(from.index);
    ptx::TextureObject& to = out.emplace_back();
    to.name = from.of_buffer ? plan_->buffers[index].name : task_->tensors[index].name;
    to.surface = from.state.surface;
    to.memory = static_cast<ptx::TextureObject::Memory>(from.state.memory);
    to.channel = channels[static_cast<std::size_t>(from.state.type)];
    to.channels = static_cast<std::uint32_t>(from.state.channels);
    to.rank = static_cast<std::uint32_t>(from.rank);
    to.sides = from.sides;
    to.layers = from.layers;
    to.address = address((from.of_buffer ? buffers_ : tensors_)[index]);
    to.pitch = static_cast<std::uint64_t>(from.pitch);
    to.mode = static_cast<ptx::TextureObject::Address>(from.state.address);
    to.linear = from.state.linear;
    to.normalized = from.state.normalized;
    to.normalized_read = from.state.normalized_read;
  }
  return out;
}

Result<std::vector<Fault>> VirtualMemory::written_gaps(VirtualInputs& inputs) const {
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = task_->tensors[i];
    if (tensors_[i] == no_buffer || (tensor.role != Role::out && tensor.role != Role::in_out))
      continue;
    Result<FillParams> layout = fill_params(task_, i, what_.workload, what_.content);
    if (!layout) return layout.error();
    if (layout->span == layout->elements) continue;
    std::vector<bool> owned(static_cast<std::size_t>(layout->span));
    for (std::int64_t e = 0; e < layout->elements; ++e)
      owned[static_cast<std::size_t>(storage_offset(*layout, e))] = true;
    std::shared_ptr<const TensorBytes> before;
    if (tensor.role == Role::in_out) {
      auto bytes = inputs.get(task_, i, what_.workload, what_.content);
      if (!bytes) return bytes.error();
      before = *bytes;
    }
    const auto data = memory_.data(tensors_[i]);
    const auto size = static_cast<std::size_t>(size_of(tensor.type));
    for (std::size_t byte = 0; byte < data.size(); ++byte) {
      if (owned[byte / size]) continue;
      const bool changed = before ? data[byte] != std::to_integer<std::uint8_t>((*before)[byte])
                                  : memory_.is_written(tensors_[i], byte);
      if (!changed) continue;
      faults.push_back(
          {"run.guard",
           fmt::format("byte {} of output {} was written, which no element of its strides owns",
                       byte, tensor.name),
           tensor.name});
      break;
    }
  }
  return faults;
}

std::vector<Fault> VirtualMemory::changed_state() const {
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i] == no_buffer || plan_->buffers[i].content != BufferContent::restored) continue;
    const auto data = memory_.data(buffers_[i]);
    const auto found =
        std::find_if(data.begin(), data.end(), [](std::uint8_t byte) { return byte != 0; });
    if (found == data.end()) continue;
    faults.push_back(
        {"run.state",
         fmt::format("buffer {} is promised restored, but byte {} is not zero after the run",
                     plan_->buffers[i].name, found - data.begin()),
         plan_->buffers[i].name});
  }
  return faults;
}

}  // namespace cupilot
