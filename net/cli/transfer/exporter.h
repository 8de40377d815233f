// Exporter: writes the rows of a table to a file in key order. An interrupted read resumes after
// the last complete row, so a restart of the node costs only time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "net/cli/text/columns.h"
#include "net/cli/transfer/output_file.h"
#include "net/cli/transfer/row_writer.h"
#include "net/client/sync_client.h"

namespace cellar::cli {

// The completed share of a scan, from the node's byte counts between samples. Between two samples
// it uses the bytes read and may be too high, but never passes the next sample.
class ScanShare {
 public:
  // `begin`, `end`: the rows of the scan; empty: unbounded.
  ScanShare(std::vector<client::SplitPoint> samples, std::string begin, std::string end);
  void seen(Bytes row, uint64_t bytes);
  double share() const;  // 0 to 1

 private:
  std::vector<client::SplitPoint> samples_;  // within the scan; the last one is its end
  uint64_t first_ = 0;                       // bytes before the scan
  uint64_t passed_ = 0;                      // bytes before the last sample passed
  uint64_t since_ = 0;                       // bytes read since then
  size_t next_ = 0;                          // the next sample to pass
};

class Exporter {
 public:
  struct Events {
    std::function<void()> progress;  // called for every block
  };
  Exporter(client::SyncClient& client, std::string table, client::ReadRows request,
           ColumnChoice columns, Events events);

  // `after`: the last row in the file; empty: none.
  Result<void> run(RowWriter& writer, OutputFile& out, const std::string& after, ScanShare& share);

 private:
  Result<void> scan(RowWriter& writer, OutputFile& out, ScanShare& share);
  Result<void> take(const client::RowPart& part, RowWriter& writer, ScanShare& share);

  client::SyncClient& client_;
  const std::string table_;
  client::ReadRows request_;
  const ColumnChoice columns_;
  const Events events_;
  std::string last_;       // last row completely written or skipped
  bool any_cell_ = false;  // in the open row
  uint64_t row_bytes_ = 0;
};

}  // namespace cellar::cli
