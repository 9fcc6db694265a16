// Its header and the one that cpp-httplib includes cannot be read together.
#pragma once

#include <cstdint>

namespace cupilot {

// Bytes a TCP socket has received so far; 0 when that is not known.
std::uint64_t received_bytes(int socket);

}  // namespace cupilot
