// Encoders of requests: header and body of a frame, built in a string that is sent as it is.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/random.h"
#include "net/client/api/admin.h"
#include "net/client/api/operate.h"
#include "net/client/api/options.h"
#include "net/client/codec/call.h"
#include "net/client/codec/requests.h"
#include "net/wire/point_codec.h"

namespace cellar::client {

// Builds frames; reuses its builder and the strings of sent frames. One loop. An absent draw_tokens
// or sole_writer in CallOptions counts as false.
class Encoder {
 public:
  explicit Encoder(uint64_t seed) : random_(seed) {}

  Request mutate_row(std::string_view table, const Mutation& mutation, const CallOptions& options);
  // Encodes the entries at the positions in `chosen`.
  Request mutate_rows(std::string_view table, const std::vector<Mutation>& entries,
                      const std::vector<uint32_t>& chosen, const CallOptions& options);
  Request read_row(std::string_view table, Bytes row, const std::optional<Filter>& filter,
                   const ReadNotes& notes);
  Request read_rows(std::string_view table, const ReadRows& read);
  Request drop_row_range(std::string_view table, const DropRows& drop, const CallOptions& options);
  Request check_and_mutate(std::string_view table, const CheckAndMutate& check,
                           const CallOptions& options);
  Request read_modify_write(std::string_view table, const ReadModifyWrite& modify,
                            const CallOptions& options);
  Request sample_row_keys(std::string_view table);
  Request read_index(std::string_view table, const ReadIndex& read);

  // `shard`: the one that shall serve the connection; empty: any.
  Request hello(const ClientOptions& options, Bytes token, std::optional<uint32_t> shard = {});
  Request ping();
  Request server_info();
  Request create_table(const TableSpec& spec);
  Request alter_table(const TableChange& change);
  Request drop_table(std::string_view name);
  Request restore_table(std::string_view name);
  Request list_tables(const ListTables& list);
  Request describe_table(std::string_view name);
  Request rule_history(std::string_view table, std::string_view family);
  Request undo_rule(const UndoRule& undo);
  Request preview_rule(const PreviewRule& preview, bool progress);
  Request create_index(std::string_view table, const IndexSpec& index);
  Request alter_index(const AlterIndex& change);
  Request drop_index(std::string_view table, std::string_view name);
  Request describe_indexes(std::string_view table);
  Request check_index(const CheckIndex& check, bool progress);
  Request audit_log(const AuditLog& log);
  Request flush_table(std::string_view name);
  Request compact_table(std::string_view name);
  Request split_tablet(const SplitTablet& split);
  Request merge_tablets(std::string_view table, uint64_t left, uint64_t right);
  Request move_tablet(std::string_view table, uint64_t tablet_id, uint32_t shard);
  Request list_tablets(const ListTablets& list);
  Request confirm_time(std::optional<int64_t> max_held_us);  // absent: report only
  Request backup(const BackupCommand& command);
  Request control(ControlAction action);
  Request reclaim_report(const ReclaimQuestion& question);

  Request drop_request(std::string_view table, const DropRows& drop,
                       const std::optional<Token>& token);
  // The given token or, if the options say so, a drawn one.
  std::optional<Token> token_for(const std::optional<Token>& given, const CallOptions& options);

  // Returns the string of a sent frame for reuse.
  void recycle(std::string frame);

 private:
  static constexpr size_t kSpareFrames = 256;
  static constexpr size_t kSpareFrameBytes = 4096;  // larger ones are freed
  static constexpr size_t kKeptBuilderBytes = 1u << 20;

  static bool fits_put(const Mutation& mutation);
  Request put(std::string_view table, const Mutation& mutation, const CallOptions& options);
  Request get(std::string_view table, Bytes row, uint32_t versions);
  Request fixed(std::string_view table, wire::fb::Op op);
  static Request finish_fixed(Request request, Bytes row, size_t row_at);
  flatbuffers::FlatBufferBuilder& fresh();
  template <class Root>
  Request finish(uint16_t op, flatbuffers::Offset<Root> root);
  template <class Root>
  Request named(uint16_t op, std::string_view name);  // requests with only a name
  std::string frame_string();
  static void mark_scan(Request& request, const ReadRows& read);

  Random random_;  // for tokens
  flatbuffers::FlatBufferBuilder builder_;
  size_t builder_bytes_ = 0;  // of the largest body since the builder was created
  std::vector<std::string> spare_;
  std::vector<cellar::Mutation> cells_;  // of one Put
  wire::DecodedGet get_;
};

}  // namespace cellar::client
