#include "engine/store/manifest_entries.h"

#include "io/base/coding.h"

namespace cellar::engine {
namespace {

constexpr uint8_t kSnapshotEntry = 1;
constexpr uint8_t kEndEntry = 2;
constexpr uint8_t kEditEntry = 3;
constexpr uint8_t kHasState = 1;

void put_change_head(std::string& out, Subject subject, uint64_t version,
                     const std::string* state) {
  put_u8(out, static_cast<uint8_t>(subject.kind));
  put_varint(out, subject.id);
  put_varint(out, version);
  put_u8(out, state != nullptr ? kHasState : 0);
  if (state != nullptr) put_bytes(out, *state);
}

void put_item(std::string& out, uint64_t item, const std::string& value) {
  put_varint(out, item);
  put_bytes(out, value);
}

void put_edit(std::string& out, const SubjectEdit& edit, uint64_t version) {
  put_change_head(out, edit.subject, version, edit.state ? &*edit.state : nullptr);
  put_varint(out, edit.put_items.size());
  for (const auto& [item, value] : edit.put_items) put_item(out, item, value);
  put_varint(out, edit.remove_items.size());
  for (const uint64_t item : edit.remove_items) put_varint(out, item);
}

void put_subject(std::string& out, Subject subject, const SubjectState& state) {
  put_change_head(out, subject, state.version, &state.state);
  put_varint(out, state.items.size());
  for (const auto& [item, value] : state.items) put_item(out, item, value);
  put_varint(out, 0);
}

void apply_change(Reader& in, ManifestState& state) {
  Subject subject;
  subject.kind = static_cast<Subject::Kind>(in.u8());
  subject.id = in.varint();
  const uint64_t version = in.varint();
  const bool has_state = (in.u8() & kHasState) != 0;
  SubjectState removed;
  SubjectState& to = version == kAbsent ? removed : state.subjects[subject];
  to.version = version;
  if (has_state) to.state = in.bytes();
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const uint64_t item = in.varint();
    to.items[item] = in.bytes();
  }
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) to.items.erase(in.varint());
  if (version == kAbsent) state.subjects.erase(subject);
}

}  // namespace

uint64_t ManifestState::version_of(Subject subject) const {
  const auto it = subjects.find(subject);
  return it == subjects.end() ? kAbsent : it->second.version;
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
  for (const auto& [subject, subject_state] : state.subjects) {
    put_subject(changes, subject, subject_state);
    ++count;
    if (changes.size() >= kSnapshotEntryBytes) flush();
  }
  flush();
  std::string& end = entries.emplace_back();
  put_u8(end, kEndEntry);
  put_varint(end, state.next_version);
  put_varint(end, state.subjects.size());
  return entries;
}

std::string encode_edit(const std::vector<SubjectEdit>& edits,
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
    state.complete = in.varint() == state.subjects.size();
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
