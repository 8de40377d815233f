// The plans of streams: scans resume behind a row, reads through an index behind a position.
#include <algorithm>

#include "net/client/calls/read_stream.h"

namespace cellar::client {

namespace {

class ScanPlan final : public StreamPlan {
 public:
  ScanPlan(std::string_view table, ReadRows read) : table_(table), read_(std::move(read)) {}

  Request encode(Encoder& encoder, uint32_t credits) const override {
    ReadRows rest = read_;
    rest.credits = credits;
    return encoder.read_rows(table_, rest);
  }
  uint32_t credits() const override { return read_.credits; }
  bool provisional_rows() const override { return read_.provisional_rows; }

  bool note(const CellBlock& block) override {
    for (const RowPart& row : block.rows()) {
      if (!row.complete) continue;
      ++rows_;
      last_row_ = row.key;
    }
    return true;
  }
  uint64_t rows() const override { return rows_; }
  bool resume() override {
    const uint64_t rows = std::exchange(rows_, 0);
    return rows == 0 || read_.resume_after(last_row_, rows);
  }

 private:
  const std::string table_;
  ReadRows read_;
  std::string last_row_;  // last complete row of this attempt
  uint64_t rows_ = 0;     // complete rows of this attempt
};

class IndexPlan final : public StreamPlan {
 public:
  IndexPlan(std::string_view table, ReadIndex read) : table_(table), read_(std::move(read)) {}

  Request encode(Encoder& encoder, uint32_t credits) const override {
    ReadIndex rest = read_;
    rest.credits = credits;
    return encoder.read_index(table_, rest);
  }
  uint32_t credits() const override { return read_.credits; }
  bool provisional_rows() const override { return read_.provisional_rows; }

  bool note(const CellBlock& block) override {
    const auto hits = std::ranges::count_if(block.rows(), &RowPart::complete);
    if (hits > 0 && block.position().empty()) return false;
    hits_ += static_cast<uint64_t>(hits);
    if (!block.position().empty()) position_ = block.position();
    return true;
  }
  uint64_t rows() const override { return hits_; }
  bool resume() override {
    if (position_.empty()) return true;
    return read_.resume_after(std::exchange(position_, {}), std::exchange(hits_, 0));
  }

 private:
  const std::string table_;
  ReadIndex read_;
  std::string position_;  // of the last complete hit of this attempt; empty: none
  uint64_t hits_ = 0;     // complete hits of this attempt
};

}  // namespace

std::unique_ptr<StreamPlan> plan_of(std::string_view table, ReadRows read) {
  return std::make_unique<ScanPlan>(table, std::move(read));
}

std::unique_ptr<StreamPlan> plan_of(std::string_view table, ReadIndex read) {
  return std::make_unique<IndexPlan>(table, std::move(read));
}

}  // namespace cellar::client
