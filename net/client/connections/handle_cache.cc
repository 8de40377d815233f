#include "net/client/connections/handle_cache.h"

#include "net/wire/body.h"

namespace cellar::client {

bool HandleCache::is_last(std::string_view table, uint64_t tablet_id, uint64_t epoch) const {
  if (last_ == 0) return false;
  const Target& target = bound_[last_ - 1];
  return target.tablet_id == tablet_id && target.epoch == epoch && target.table == table;
}

uint32_t HandleCache::name(std::string_view table, uint64_t tablet_id, uint64_t epoch,
                           std::string& out) {
  if (is_last(table, tablet_id, epoch)) return last_;
  Target target{std::string(table), tablet_id, epoch};
  if (const auto at = handles_.find(target); at != handles_.end()) return last_ = at->second;
  newest_ = newest_ % wire::kMaxHandles + 1;
  if (bound_.size() < newest_) bound_.resize(newest_);
  Target& place = bound_[newest_ - 1];
  handles_.erase(place);
  append_bind(out, newest_, target);
  handles_.emplace(target, newest_);
  place = std::move(target);
  return last_ = newest_;
}

void HandleCache::append_bind(std::string& out, uint32_t handle, const Target& target) {
  flatbuffers::FlatBufferBuilder builder(128);
  const auto table = builder.CreateString(target.table);
  const Bytes body = wire::finish_body(
      builder, wire::fb::CreateBind(builder, table, 0, target.tablet_id, target.epoch));
  wire::FrameHeader header;
  header.kind = wire::FrameKind::bind;
  header.handle = handle;
  header.body_bytes = static_cast<uint32_t>(body.size());
  wire::append_header(out, header);
  out.append(body);
}

}  // namespace cellar::client
