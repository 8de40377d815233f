#include "engine/catalog/audit_trail.h"

#include <algorithm>
#include <utility>

namespace cellar::engine {

Result<AuditTrail> AuditTrail::decode(const SubjectState& subject) {
  AuditTrail trail;
  trail.version_ = subject.version;
  TRY(trail.state_, decode_audit_state(subject.state));
  for (const auto& [sequence, bytes] : subject.items) {
    TRY(AuditEntry entry, decode_audit_entry(sequence, bytes));
    trail.entries_.push_back({std::move(entry), bytes.size()});
    trail.bytes_ += bytes.size();
  }
  return trail;
}

AuditTrail::Addition AuditTrail::plan(std::vector<AuditEntry> entries) const {
  Addition addition;
  addition.state = state_;
  std::vector<size_t> sizes;
  size_t bytes = bytes_;
  for (AuditEntry& entry : entries) {
    entry.sequence = addition.state.next_sequence++;
    std::string encoded = encode_audit_entry(entry);
    sizes.push_back(encoded.size());
    bytes += encoded.size();
    addition.edit.put_items.emplace_back(entry.sequence, std::move(encoded));
  }
  // The newest stays whatever it takes.
  size_t left = entries_.size() + entries.size();
  while (left > 1 && (left > kMaxAuditEntries || bytes > kMaxAuditBytes)) {
    const size_t i = addition.leaving++;
    const bool old = i < entries_.size();
    bytes -= old ? entries_[i].bytes : sizes[i - entries_.size()];
    if (old) addition.edit.remove_items.push_back(entries_[i].entry.sequence);
    --left;
  }
  // Of a change that alone is too much the first do not even come.
  const size_t skipped = addition.leaving - addition.edit.remove_items.size();
  const auto first = addition.edit.put_items.begin();
  addition.edit.put_items.erase(first, first + static_cast<ptrdiff_t>(skipped));
  addition.edit.subject = kAuditSubject;
  addition.edit.expected_version = version_;
  addition.edit.state = encode_audit_state(addition.state);
  addition.entries = std::move(entries);
  return addition;
}

void AuditTrail::written(Addition addition, uint64_t version) {
  version_ = version;
  state_ = addition.state;
  for (AuditEntry& entry : addition.entries) {
    const size_t bytes = encode_audit_entry(entry).size();
    bytes_ += bytes;
    entries_.push_back({std::move(entry), bytes});
  }
  for (size_t left = addition.leaving; left > 0; --left) {
    bytes_ -= entries_.front().bytes;
    entries_.pop_front();
  }
}

AuditPage AuditTrail::read(const AuditQuery& query) const {
  AuditPage page;
  if (!entries_.empty()) page.oldest = entries_.front().entry.sequence;
  size_t bytes = 0;
  for (auto kept = entries_.rbegin(); kept != entries_.rend(); ++kept) {
    const AuditEntry& entry = kept->entry;
    if (query.before != 0 && entry.sequence >= query.before) continue;
    if (entry.at_us < query.since_us) continue;
    if (!query.table.empty() && entry.table != query.table) continue;
    if (page.entries.size() >= query.limit || bytes > kAuditPageBytes) {
      page.next_before = page.entries.back().sequence;
      break;
    }
    bytes += kept->bytes;
    page.entries.push_back(entry);
  }
  return page;
}

}  // namespace cellar::engine
