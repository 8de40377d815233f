#include "engine/store/manifest/manifest_entries.h"

#include "io/base/coding.h"

namespace cellar::engine {
namespace {

constexpr uint8_t kSnapshotEntry = 1;
constexpr uint8_t kEndEntry = 2;
constexpr uint8_t kEditEntry = 3;
constexpr uint8_t kHasState = 1;

void put_change_head(std::string& out, ManifestKey key, uint64_t version,
                     const std::string* state) {
  put_u8(out, static_cast<uint8_t>(key.kind));
  put_varint(out, key.id);
  put_varint(out, version);
  put_u8(out, state != nullptr ? kHasState : 0);
  if (state != nullptr) put_bytes(out, *state);
}

void put_item(std::string& out, uint64_t item, const std::string& value) {
  put_varint(out, item);
  put_bytes(out, value);
}

void put_edit(std::string& out, const VersionEdit& edit, uint64_t version) {
  put_change_head(out, edit.key, version, edit.state ? &*edit.state : nullptr);
  put_varint(out, edit.put_items.size());
  for (const auto& [item, value] : edit.put_items) put_item(out, item, value);
  put_varint(out, edit.remove_items.size());
  for (const uint64_t item : edit.remove_items) put_varint(out, item);
}

void put_key(std::string& out, ManifestKey key, const ManifestEntry& state) {
  put_change_head(out, key, state.version, &state.state);
  put_varint(out, state.items.size());
  for (const auto& [item, value] : state.items) put_item(out, item, value);
  put_varint(out, 0);
}

void apply_change(Reader& in, ManifestState& state) {
  ManifestKey key;
  key.kind = static_cast<ManifestKey::Kind>(in.u8());
  key.id = in.varint();
  const uint64_t version = in.varint();
  const bool has_state = (in.u8() & kHasState) != 0;
  ManifestEntry removed;
  ManifestEntry& to = version == kAbsent ? removed : state.entries[key];
  to.version = version;
  if (has_state) to.state = in.bytes();
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const uint64_t item = in.varint();
    to.items[item] = in.bytes();
  }
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) to.items.erase(in.varint());
  if (version == kAbsent) state.entries.erase(key);
}

}  // namespace

uint64_t ManifestState::version_of(ManifestKey key) const {
  const auto it = entries.find(key);
  return it == entries.end() ? kAbsent : it->second.version;
}

std::vector<std::string> encode_snapshot(const ManifestState& state) {
  std::vector<std::string> entries;
  std::string changes;
  uint64_t count = 0;
  const auto flush = [&] {
    if (count == 0) return;
    std::string& entry = entries.emplace_back();
    put_u8(entry, kSnapshotEntry);
    put_varint(entry, count);
    entry += changes;
    changes.clear();
    count = 0;
  };
  for (const auto& [key, entry_state] : state.entries) {
    put_key(changes, key, entry_state);
    ++count;
    if (changes.size() >= kSnapshotEntryBytes) flush();
  }
  flush();
  std::string& end = entries.emplace_back();
  put_u8(end, kEndEntry);
  put_varint(end, state.next_version);
  put_varint(end, state.entries.size());
  return entries;
}

std::string encode_edit(const std::vector<VersionEdit>& edits,
                        const std::vector<uint64_t>& versions, uint64_t next_version) {
  std::string out;
  put_u8(out, kEditEntry);
  put_varint(out, next_version);
  put_varint(out, edits.size());
  for (size_t i = 0; i < edits.size(); ++i) put_edit(out, edits[i], versions[i]);
  return out;
}

Result<void> apply_entry(Bytes entry, ManifestState& state) {
  Reader in(entry);
  const uint8_t kind = in.u8();
  bool sensible = kind == kSnapshotEntry || kind == kEndEntry || kind == kEditEntry;
  if (kind == kEndEntry || kind == kEditEntry) state.next_version = in.varint();
  if (kind == kEndEntry) {
    state.complete = in.varint() == state.entries.size();
    sensible = sensible && state.complete;
  } else {
    for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) apply_change(in, state);
  }
  if (!sensible || !in.ok() || !in.at_end()) {
    return fail(Errc::data_loss, "a manifest entry of kind {} and {} bytes makes no sense", kind,
                entry.size());
  }
  return {};
}

}  // namespace cellar::engine
