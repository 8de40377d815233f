// Exporter: the rows of a table into a file, in the order of their keys. A read that breaks off is
// begun again after the last whole row, so that a node that restarts costs nothing but time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "net/cli/text/columns.h"
#include "net/cli/transfer/output_file.h"
#include "net/cli/transfer/row_writer.h"
#include "net/client/sync_client.h"

namespace cellar::cli {

// How much of a scan is behind it, by the bytes that the node counts between its samples. Between
// two samples it goes by what was read, so it may run ahead there, never past the next sample.
class ScanShare {
 public:
  // `begin`, `end`: the rows of the scan; empty: unbounded.
  ScanShare(std::vector<client::SplitPoint> samples, std::string begin, std::string end);
  void seen(Bytes row, uint64_t bytes);
  double share() const;  // 0 to 1

 private:
  std::vector<client::SplitPoint> samples_;  // within the scan, the last one its end
  uint64_t first_ = 0;                       // bytes before the scan
  uint64_t passed_ = 0;                      // bytes before the last sample that was passed
  uint64_t since_ = 0;                       // bytes read since then
  size_t next_ = 0;                          // sample not yet passed
};

class Exporter {
 public:
  struct Events {
    std::function<void()> progress;  // every block
  };
  Exporter(client::SyncClient& client, std::string table, client::ReadRows request,
           ColumnChoice columns, Events events);

  // `after`: the last row that the file holds; empty: none.
  Result<void> run(RowWriter& writer, OutputFile& out, const std::string& after, ScanShare& share);

 private:
  Result<void> scan(RowWriter& writer, OutputFile& out, ScanShare& share);
  Result<void> take(const client::RowPart& part, RowWriter& writer, ScanShare& share);

  client::SyncClient& client_;
  const std::string table_;
  client::ReadRows request_;
  const ColumnChoice columns_;
  const Events events_;
  std::string last_;       // row that was written whole, or left out
  bool any_cell_ = false;  // of the open row
  uint64_t row_bytes_ = 0;
};

}  // namespace cellar::cli
