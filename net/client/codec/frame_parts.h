// Encoded requests: positions of their parts, and changes that are still possible. The frames are
// our own, so they are not verified.
#pragma once

#include <cstdint>
#include <vector>

#include "net/client/codec/call.h"
#include "net/wire/body.h"

namespace cellar::client {

template <class Root>
const Root& body_of(const Request& request) {
  return *flatbuffers::GetRoot<Root>(request.frame.data() + wire::kHeaderBytes);
}

inline wire::FrameHeader header_of(const Request& request) {
  return *wire::parse_header(request.frame, wire::kLargestFrameBytes);
}

inline Request::Part part_of(const Request& request, const void* at, size_t size) {
  return {static_cast<uint32_t>(static_cast<const char*>(at) - request.frame.data()),
          static_cast<uint32_t>(size)};
}

// Records the position of the row in a request for one row.
template <class Root>
void mark_row(Request& request) {
  const Root& body = body_of<Root>(request);
  request.row = part_of(request, body.arena()->data() + body.row()->at(), body.row()->size());
  request.by_row = true;
}

// Also records the position of its token's issue time, which the connection fills in.
template <class Root>
void mark_token(Request& request) {
  const Root& body = body_of<Root>(request);
  if (!body.token()) return;
  const auto* table = reinterpret_cast<const flatbuffers::Table*>(body.token());
  const auto field = table->GetOptionalFieldOffset(wire::fb::Token::VT_ISSUED_US);
  if (field == 0) return;
  const char* at = reinterpret_cast<const char*>(table) + field;
  request.token_times_at = part_of(request, at, sizeof(int64_t)).at;
  request.token_times = 1;
  request.repeat = Repeat::always;
}

// The same for a MutateRows: first row, tokens of all entries.
void mark_entries(Request& request);
// The row of each entry, as views into the frame.
std::vector<Bytes> rows_of(const Request& request);
// Reduces the request to these entries (ascending positions).
void keep_entries(Request& request, const std::vector<uint32_t>& entries);

}  // namespace cellar::client
