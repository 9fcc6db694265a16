#include "backend/wire/orders.hpp"

#include <type_traits>

namespace cupilot {
namespace {

// One walk over a struct's members serves both directions.
struct Out {
  BodyWriter body;
  template <class T>
  void value(const T& member) {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>>) {
      body.put(member);
    } else {
      body.put_raw(member);
    }
  }
  template <class T>
  void plain(const std::vector<T>& member) {
    body.put(member);
  }
  template <class T, class Each>
  void list(const std::vector<T>& member, Each each) {
    body.put(static_cast<std::uint64_t>(member.size()));
    for (const T& entry : member) each(*this, entry);
  }
};
struct In {
  BodyReader body;
  template <class T>
  void value(T& member) {
    if constexpr (std::is_same_v<T, std::string>) {
      member = body.text();
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      member = body.texts();
    } else if constexpr (std::is_same_v<T, bool>) {
      member = body.get<bool>();
    } else {
      member = body.get_raw<T>();
    }
  }
  template <class T>
  void plain(std::vector<T>& member) {
    member = body.values<T>();
  }
  template <class T, class Each>
  void list(std::vector<T>& member, Each each) {
    const auto count = body.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < count && !body.failed(); ++i) each(*this, member.emplace_back());
  }
};

template <class T, class Walk>
std::string packed(const T& value, Walk walk) {
  Out out;
  walk(out, value);
  return out.body.take();
}
template <class T, class Walk>
std::optional<T> unpacked(std::string_view body, Walk walk) {
  In in{BodyReader(body)};
  T value;
  walk(in, value);
  if (!in.body.whole()) return std::nullopt;
  return value;
}

constexpr auto walk_hello = [](auto& io, auto& h) {
  io.value(h.usable), io.value(h.no_device), io.value(h.reason), io.value(h.name), io.value(h.uuid),
      io.value(h.library), io.value(h.cudnn);
  io.value(h.driver_version), io.value(h.devices), io.value(h.compute_major),
      io.value(h.compute_minor), io.value(h.sms);
  io.value(h.clock_khz), io.value(h.memory_clock_khz), io.value(h.bus_bits),
      io.value(h.shared_optin), io.value(h.shared_per_sm);
  io.value(h.shared_reserved), io.value(h.registers_per_sm), io.value(h.threads_per_sm),
      io.value(h.blocks_per_sm);
  io.value(h.threads_per_block), io.value(h.l2_bytes), io.value(h.memory_bytes),
      io.value(h.memory_free);
  io.value(h.pageable_access), io.value(h.host_page_tables), io.value(h.run_time_limit),
      io.value(h.sharing);
  io.value(h.sharing_note), io.value(h.confinement), io.value(h.confinement_to_blame);
};
constexpr auto walk_answer = [](auto& io, auto& a) {
  io.value(a.state), io.value(a.code), io.value(a.what), io.value(a.payload);
};
constexpr auto walk_several = [](auto& io, auto& o) {
  io.list(o.orders, [](auto& inner, auto& one) { inner.value(one.type), inner.value(one.body); });
};
constexpr auto walk_several_answer = [](auto& io, auto& a) { io.value(a.payloads); };
constexpr auto walk_load = [](auto& io, auto& o) {
  io.value(o.name), io.plain(o.image), io.value(o.entries);
  io.list(o.parameter_bytes, [](auto& inner, auto& bytes) { inner.plain(bytes); });
};
constexpr auto walk_give = [](auto& io, auto& o) {
  io.value(o.key), io.value(o.total), io.value(o.at), io.value(o.bytes);
};
constexpr auto walk_slot = [](auto& io, auto& o) {
  io.value(o.slot), io.value(o.bytes), io.value(o.writable), io.plain(o.ipc);
};
constexpr auto walk_stage = [](auto& io, auto& o) {
  io.value(o.entry), io.value(o.from), io.value(o.out), io.value(o.span), io.value(o.parts),
      io.value(o.from_parts), io.value(o.count);
};
constexpr auto walk_oracle = [](auto& io, auto& o) {
  io.value(o.key), io.value(o.image), io.value(o.entry), io.plain(o.pointers), io.plain(o.scalars),
      io.plain(o.axes), io.plain(o.buffers), io.plain(o.stored);
  io.list(o.stages, walk_stage), io.plain(o.begins), io.value(o.slice), io.value(o.elements);
};
constexpr auto walk_prepare = [](auto& io, auto& o) {
  io.plain(o.items), io.list(o.oracles, walk_oracle);
};
constexpr auto walk_prepare_answer = [](auto& io, auto& a) { io.value(a.reference_seconds); };
constexpr auto walk_check = [](auto& io, auto& o) {
  io.plain(o.outputs), io.value(o.oracle_keys), io.plain(o.guards), io.plain(o.zeros),
      io.plain(o.unchanged);
};
constexpr auto walk_check_answer = [](auto& io, auto& a) {
  io.plain(a.outputs), io.plain(a.guards), io.plain(a.nonzero), io.plain(a.changed);
  io.value(a.hashes);
};
constexpr auto walk_field = [](auto& io, auto& a) {
  io.value(a.kind), io.value(a.region), io.value(a.map), io.plain(a.bytes), io.value(a.at);
};
constexpr auto walk_argument = [](auto& io, auto& a) {
  walk_field(io, a);
  io.list(a.fields, walk_field);
};
constexpr auto walk_map = [](auto& io, auto& m) {
  io.value(m.region), io.value(m.type), io.value(m.swizzle), io.plain(m.dims), io.plain(m.pitch),
      io.plain(m.box);
};
constexpr auto walk_texture = [](auto& io, auto& t) {
  io.value(t.region), io.value(t.surface), io.value(t.linear), io.value(t.normalized),
      io.value(t.normalized_read);
  io.value(t.memory), io.value(t.type), io.value(t.channels), io.value(t.address), io.value(t.rank);
  for (int d = 0; d < 3; ++d) io.value(t.sides[d]);
  io.value(t.layers), io.value(t.pitch);
};
constexpr auto walk_launch = [](auto& io, auto& l) {
  io.value(l.name), io.value(l.entry), io.value(l.shared), io.value(l.cooperative);
  for (int d = 0; d < 3; ++d) io.value(l.grid[d]), io.value(l.block[d]), io.value(l.cluster[d]);
  io.list(l.args, walk_argument);
  io.value(l.step);
};
constexpr auto walk_run = [](auto& io, auto& o) {
  io.value(o.image), io.list(o.maps, walk_map), io.list(o.textures, walk_texture),
      io.list(o.launches, walk_launch), io.plain(o.steps), io.plain(o.zeroed), io.plain(o.poison);
  io.value(o.timing);
};
constexpr auto walk_run_answer = [](auto& io, auto& a) {
  io.plain(a.event_us), io.value(a.wall_us), io.value(a.apart);
};
constexpr auto walk_count = [](auto& io, auto& o) { walk_run(io, o.run), io.value(o.counters); };
constexpr auto walk_count_answer = [](auto& io, auto& a) {
  io.value(a.chip), io.value(a.passes), io.value(a.seconds), io.plain(a.launches);
};
constexpr auto walk_sustain = [](auto& io, auto& o) {
  io.value(o.image), io.value(o.entry), io.value(o.bytes), io.value(o.window), io.value(o.rounds),
      io.value(o.blocks);
  io.value(o.threads), io.value(o.shared), io.value(o.repeats), io.value(o.seconds),
      io.value(o.warm_seconds);
};
constexpr auto walk_sustain_answer = [](auto& io, auto& a) { io.plain(a.launch_us); };
constexpr auto walk_probe = [](auto& io, auto& a) {
  io.value(a.value), io.value(a.known_us), io.value(a.empty_us);
};
constexpr auto walk_repeat = [](auto& io, auto& o) {
  io.value(o.first), io.plain(o.outputs), io.plain(o.items);
};
constexpr auto walk_repeat_answer = [](auto& io, auto& a) { io.plain(a.differing); };
constexpr auto walk_read = [](auto& io, auto& o) {
  io.value(o.region), io.value(o.layout), io.value(o.oracle_key), io.plain(o.indices),
      io.plain(o.places);
};
constexpr auto walk_read_answer = [](auto& io, auto& a) {
  io.plain(a.bits), io.plain(a.values), io.plain(a.sums);
};
constexpr auto walk_conditions = [](auto& io, auto& c) {
  io.value(c.note), io.value(c.sm_mhz), io.value(c.memory_mhz), io.value(c.celsius),
      io.value(c.milliwatts);
  io.value(c.throttle), io.plain(c.processes);
};
constexpr auto walk_library = [](auto& io, auto& v) { io.value(v.order), io.plain(v.poison); };

}  // namespace

std::string pack(const DeviceHello& hello) { return packed(hello, walk_hello); }
std::optional<DeviceHello> unpack_device_hello(std::string_view body) {
  return unpacked<DeviceHello>(body, walk_hello);
}
std::string pack(const DeviceAnswer& answer) { return packed(answer, walk_answer); }
std::optional<DeviceAnswer> unpack_device_answer(std::string_view body) {
  return unpacked<DeviceAnswer>(body, walk_answer);
}
std::string pack(const SeveralOrder& order) { return packed(order, walk_several); }
std::optional<SeveralOrder> unpack_several(std::string_view body) {
  return unpacked<SeveralOrder>(body, walk_several);
}
std::string pack(const SeveralAnswer& answer) { return packed(answer, walk_several_answer); }
std::optional<SeveralAnswer> unpack_several_answer(std::string_view body) {
  return unpacked<SeveralAnswer>(body, walk_several_answer);
}
std::string pack(const LoadOrder& order) { return packed(order, walk_load); }
std::optional<LoadOrder> unpack_load(std::string_view body) {
  return unpacked<LoadOrder>(body, walk_load);
}
std::string pack(const GiveOrder& order) { return packed(order, walk_give); }
std::optional<GiveOrder> unpack_give(std::string_view body) {
  return unpacked<GiveOrder>(body, walk_give);
}
std::string pack(const SlotOrder& order) { return packed(order, walk_slot); }
std::optional<SlotOrder> unpack_slot(std::string_view body) {
  return unpacked<SlotOrder>(body, walk_slot);
}
std::string pack(const PrepareOrder& order) { return packed(order, walk_prepare); }
std::optional<PrepareOrder> unpack_prepare(std::string_view body) {
  return unpacked<PrepareOrder>(body, walk_prepare);
}
std::string pack(const PrepareAnswer& answer) { return packed(answer, walk_prepare_answer); }
std::optional<PrepareAnswer> unpack_prepare_answer(std::string_view body) {
  return unpacked<PrepareAnswer>(body, walk_prepare_answer);
}
std::string pack(const CheckOrder& order) { return packed(order, walk_check); }
std::optional<CheckOrder> unpack_check(std::string_view body) {
  return unpacked<CheckOrder>(body, walk_check);
}
std::string pack(const CheckAnswer& answer) { return packed(answer, walk_check_answer); }
std::optional<CheckAnswer> unpack_check_answer(std::string_view body) {
  return unpacked<CheckAnswer>(body, walk_check_answer);
}
std::string pack(const RunOrder& order) { return packed(order, walk_run); }
std::optional<RunOrder> unpack_run(std::string_view body) {
  return unpacked<RunOrder>(body, walk_run);
}
std::string pack(const RunAnswer& answer) { return packed(answer, walk_run_answer); }
std::optional<RunAnswer> unpack_run_answer(std::string_view body) {
  return unpacked<RunAnswer>(body, walk_run_answer);
}
std::string pack(const StepOrder& order, const std::vector<Region>& poison) {
  return packed(LibraryVisit{order, poison}, walk_library);
}
std::optional<LibraryVisit> unpack_library(std::string_view body) {
  return unpacked<LibraryVisit>(body, walk_library);
}
std::string pack(const CountOrder& order) { return packed(order, walk_count); }
std::optional<CountOrder> unpack_count(std::string_view body) {
  return unpacked<CountOrder>(body, walk_count);
}
std::string pack(const CountAnswer& answer) { return packed(answer, walk_count_answer); }
std::optional<CountAnswer> unpack_count_answer(std::string_view body) {
  return unpacked<CountAnswer>(body, walk_count_answer);
}
std::string pack(const SustainOrder& order) { return packed(order, walk_sustain); }
std::optional<SustainOrder> unpack_sustain(std::string_view body) {
  return unpacked<SustainOrder>(body, walk_sustain);
}
std::string pack(const SustainAnswer& answer) { return packed(answer, walk_sustain_answer); }
std::optional<SustainAnswer> unpack_sustain_answer(std::string_view body) {
  return unpacked<SustainAnswer>(body, walk_sustain_answer);
}
std::string pack(const ProbeAnswer& answer) { return packed(answer, walk_probe); }
std::optional<ProbeAnswer> unpack_probe_answer(std::string_view body) {
  return unpacked<ProbeAnswer>(body, walk_probe);
}
std::string pack(const RepeatOrder& order) { return packed(order, walk_repeat); }
std::optional<RepeatOrder> unpack_repeat(std::string_view body) {
  return unpacked<RepeatOrder>(body, walk_repeat);
}
std::string pack(const RepeatAnswer& answer) { return packed(answer, walk_repeat_answer); }
std::optional<RepeatAnswer> unpack_repeat_answer(std::string_view body) {
  return unpacked<RepeatAnswer>(body, walk_repeat_answer);
}
std::string pack(const ReadOrder& order) { return packed(order, walk_read); }
std::optional<ReadOrder> unpack_read(std::string_view body) {
  return unpacked<ReadOrder>(body, walk_read);
}
std::string pack(const ReadAnswer& answer) { return packed(answer, walk_read_answer); }
std::optional<ReadAnswer> unpack_read_answer(std::string_view body) {
  return unpacked<ReadAnswer>(body, walk_read_answer);
}
std::string pack(const CardConditions& conditions) { return packed(conditions, walk_conditions); }
std::optional<CardConditions> unpack_conditions(std::string_view body) {
  return unpacked<CardConditions>(body, walk_conditions);
}

std::uint64_t probe_value() {
  static const std::uint64_t value = [] {
    std::uint64_t all = 0;
    for (std::int64_t i = 0; i < probe_threads; ++i) {
      std::uint64_t x = static_cast<std::uint64_t>(i);
      for (int round = 0; round < probe_rounds; ++round) x = mix64(x);
      all ^= x;
    }
    return all;
  }();
  return value;
}

}  // namespace cupilot
