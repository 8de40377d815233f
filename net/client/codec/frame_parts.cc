#include "net/client/codec/frame_parts.h"

#include <cstddef>

namespace cellar::client {

namespace fb = wire::fb;

void mark_entries(Request& request) {
  const auto& body = body_of<fb::MutateRowsRequest>(request);
  if (body.entries()->size() == 0) return;
  const fb::EntryRec& first = *body.entries()->Get(0);
  request.row = part_of(request, body.arena()->data() + first.row().at(), first.row().size());
  // token_issued_us is the first 8-byte field after two spans.
  constexpr size_t kIssuedAt = 2 * sizeof(fb::Span);
  static_assert(sizeof(fb::EntryRec) == kIssuedAt + sizeof(int64_t) + 2 * sizeof(uint32_t));
  request.token_times_at = part_of(request, &first, sizeof first).at + kIssuedAt;
  request.token_times = 0;
  for (const fb::EntryRec* entry : *body.entries()) {
    if (entry->token().size() > 0) request.token_times = body.entries()->size();
  }
  request.token_times_apart = sizeof(fb::EntryRec);
}

std::vector<Bytes> rows_of(const Request& request) {
  const auto& body = body_of<fb::MutateRowsRequest>(request);
  const Bytes arena = wire::bytes_of(body.arena());
  std::vector<Bytes> rows;
  for (const fb::EntryRec* entry : *body.entries()) {
    rows.push_back(arena.substr(entry->row().at(), entry->row().size()));
  }
  return rows;
}

// The arena is not changed: bytes of removed entries remain, which is rare and cheaper than moving
// every span.
void keep_entries(Request& request, const std::vector<uint32_t>& entries) {
  const auto& body = body_of<fb::MutateRowsRequest>(request);
  std::vector<fb::EntryRec> kept;
  std::vector<fb::MutationRec> records;
  size_t next = 0;
  uint32_t record = 0;
  for (uint32_t i = 0; i < body.entries()->size() && next < entries.size(); ++i) {
    const fb::EntryRec& entry = *body.entries()->Get(i);
    if (entries[next] == i) {
      kept.push_back(entry);
      for (uint32_t r = 0; r < entry.mutation_count(); ++r) {
        records.push_back(*body.mutations()->Get(record + r));
      }
      ++next;
    }
    record += entry.mutation_count();
  }
  flatbuffers::FlatBufferBuilder b(request.frame.size());
  const auto entry_vector = b.CreateVectorOfStructs(kept);
  const auto mutations = b.CreateVectorOfStructs(records);
  const auto arena = b.CreateVector(body.arena()->data(), body.arena()->size());
  const Bytes made = wire::finish_body(
      b, fb::CreateMutateRowsRequest(b, 0, entry_vector, mutations, arena, body.durability()));
  wire::FrameHeader header = header_of(request);
  request.frame.resize(wire::kHeaderBytes);
  header.body_bytes = static_cast<uint32_t>(made.size());
  wire::store_header(request.frame.data(), header);
  request.frame.append(made);
  mark_entries(request);
}

}  // namespace cellar::client
