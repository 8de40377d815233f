// IndexBed: a node with a table "t" of families f and g, and indexes of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/base/random.h"
#include "tests/net/server/server_bed.h"

namespace cellar::server {

inline std::string drop_index_body(std::string_view table, std::string_view index) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(table.data(), table.size());
  const auto dropped = builder.CreateString(index.data(), index.size());
  return std::string(
      wire::finish_body(builder, wire::fb::CreateDropIndexRequest(builder, name, dropped)));
}
inline std::string drop_table_body(std::string_view table) {
  return wire::table_body(table, wire::fb::CreateDropTableRequest);
}
inline std::string describe_indexes_body(std::string_view table) {
  return wire::table_body(table, wire::fb::CreateDescribeIndexesRequest);
}

class IndexBed {
 public:
  explicit IndexBed(uint32_t shards = 2) : bed(shards) {}

  void create_table(const std::vector<std::string>& splits) {
    CHECK(peer.code_of(wire::fb::Op::CreateTable,
                       wire::create_table_body("t", {"f", "g"}, splits)) == Errc::ok);
  }
  // And waits until it is ready.
  void create_index(std::string_view name, const wire::CreateIndexShape& shape = {}) {
    auto created = peer.ask(wire::fb::Op::CreateIndex, wire::create_index_body("t", name, shape));
    CHECK(created && !created->error(), "no index: {}", created->message());
    for (int tries = 0; !is_ready(name); ++tries) {
      CHECK(tries < 1000, "the index does not become ready");
      bed.world().run_for_us(100'000);
    }
  }
  bool is_ready(std::string_view name) {
    auto answer = peer.ask(wire::fb::Op::DescribeIndexes, describe_indexes_body("t"));
    CHECK(answer && !answer->error(), "no description: {}", answer->message());
    for (const auto* one : *answer->root<wire::fb::DescribeIndexesReply>()->indexes()) {
      if (wire::text(one->index()->name()) == name) return one->ready();
    }
    return false;
  }
  void put(std::string_view row, std::string_view family, std::string_view qualifier,
           std::string_view value, int64_t at_us) {
    CHECK(peer.code_of(wire::fb::Op::MutateRow,
                       wire::set_body("t", row, family, qualifier, value, at_us)) == Errc::ok);
  }
  void set(std::string_view row, std::string_view value, int64_t at_us) {
    put(row, "f", "q", value, at_us);
  }

  // The cells of the answer; "!CODE: message" at the end for an error.
  std::vector<std::string> read(std::string_view index, wire::ReadIndexShape shape = {}) {
    shape.credits = wire::kMaxChunkCredits;
    peer.received.clear();
    end = peer.ask(wire::fb::Op::ReadIndex, wire::read_index_body("t", index, shape));
    std::vector<std::string> out;
    for (Answer& chunk : peer.received) {
      for (std::string& cell : cells_of(chunk)) out.push_back(std::move(cell));
    }
    if (!end) out.push_back("closed");
    if (end && end->error()) {
      out.push_back(fmt::format("!{}: {}", errc_name(end->code()), end->message()));
    }
    return out;
  }
  std::vector<std::string> read(const wire::ReadIndexShape& shape = {}) { return read("i", shape); }
  Errc code(std::string_view table, std::string_view index,
            const wire::ReadIndexShape& shape = {}) {
    return peer.code_of(wire::fb::Op::ReadIndex, wire::read_index_body(table, index, shape));
  }
  // Of the end frame of the last read().
  uint64_t end_rows() { return end->root<wire::fb::ReadEnd>()->rows(); }

  // Of what was received: rows that are complete, and each chunk's position.
  std::vector<std::string> complete_rows() {
    std::vector<std::string> rows;
    for (const wire::fb::ReadChunk* chunk : all_chunks()) {
      for (const wire::fb::RowRec* row : *chunk->rows()) {
        if ((row->flags() & static_cast<uint16_t>(wire::fb::RowFlag::Complete)) == 0) continue;
        rows.emplace_back(
            wire::bytes_of(chunk->arena()).substr(row->key().at(), row->key().size()));
      }
    }
    return rows;
  }
  std::vector<std::string> all_positions() {
    std::vector<std::string> positions;
    for (const wire::fb::ReadChunk* chunk : all_chunks()) {
      positions.emplace_back(wire::bytes_of(chunk->position()));
    }
    return positions;
  }
  std::string last_position() {
    const std::vector<std::string> all = all_positions();
    return all.empty() ? "" : all.back();
  }

  // ---- tablets
  const engine::TabletDescriptor& tablet_of(std::string_view row) {
    return bed.shard(0).tables().find("t")->locate(row);
  }
  void split(Peer& by, std::string_view tablet, std::string_view row) {
    flatbuffers::FlatBufferBuilder builder;
    const auto at = wire::bytes_vector(builder, row);
    const auto body = wire::finish_body(
        builder, wire::fb::CreateSplitTabletRequest(builder, 0, tablet_of(tablet).id.value(), at));
    CHECK(by.code_of(wire::fb::Op::SplitTablet, std::string(body)) == Errc::ok);
  }
  // To the next shard.
  void move(Peer& by, std::string_view tablet) {
    const engine::TabletDescriptor& moved = tablet_of(tablet);
    flatbuffers::FlatBufferBuilder builder;
    const auto body = wire::finish_body(
        builder, wire::fb::CreateMoveTabletRequest(builder, 0, moved.id.value(),
                                                   (moved.shard.value() + 1) % bed.shards()));
    CHECK(by.code_of(wire::fb::Op::MoveTablet, std::string(body)) == Errc::ok);
  }
  // Neighbours; the right one goes to the shard of the left one first.
  void merge(Peer& by, std::string_view left, std::string_view right) {
    while (tablet_of(left).shard != tablet_of(right).shard) move(by, right);
    flatbuffers::FlatBufferBuilder builder;
    const auto body = wire::finish_body(
        builder, wire::fb::CreateMergeTabletsRequest(builder, 0, tablet_of(left).id.value(),
                                                     tablet_of(right).id.value()));
    CHECK(by.code_of(wire::fb::Op::MergeTablets, std::string(body)) == Errc::ok);
  }
  // Changes the tablet of the row in some way.
  void change_tablets(Random& random, const std::string& row) {
    const engine::TabletDescriptor tablet = tablet_of(row);
    if (random.one_in(2)) return move(peer, row);
    if (random.one_in(2) && !tablet.end.empty()) return merge(peer, row, tablet.end);
    if (tablet.start < row) split(peer, row, row);
  }

  uint64_t scans() {
    return sum([](ShardServer& one) { return one.admission().scans(); });
  }
  uint64_t released() {
    return sum([](ShardServer& one) { return one.counters().released_cursors; });
  }
  size_t held_bytes() { return bed.shard(0).memory().answers(); }

  ServerBed bed;
  Peer peer{bed};
  std::optional<Answer> end;

 private:
  template <class Of>
  uint64_t sum(Of of) {
    uint64_t all = 0;
    for (uint32_t i = 0; i < bed.shards(); ++i) all += of(bed.shard(i));
    return all;
  }
  std::vector<const wire::fb::ReadChunk*> all_chunks() {
    std::vector<const wire::fb::ReadChunk*> chunks;
    for (Answer& a : peer.received) {
      if (a.header.kind != wire::FrameKind::chunk) continue;
      const auto* chunk = a.root<wire::fb::ReadChunk>();
      CHECK(chunk != nullptr, "a chunk does not verify");
      chunks.push_back(chunk);
    }
    return chunks;
  }
};

}  // namespace cellar::server
