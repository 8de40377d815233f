// A start removes only what earlier sessions of its own node left: where several nodes keep their
// files together, the files of another one that no tablet here names may be in use there.
#include <gtest/gtest.h>

#include "engine/store/blob/blob_files.h"
#include "engine/store/log/log_files.h"
#include "tests/support/manifest_double.h"
#include "tests/support/manifest_of_disk.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

using engine::NodeState;

class OwnSessions : public testing::Test {
 protected:
  OwnSessions() : node_(options()) {
    EXPECT_TRUE(node_.create_table("t", {"f"}));
    EXPECT_TRUE(node_.set("t", "flushed", "f:q", 5, "1"));
    EXPECT_TRUE(node_.flush("t"));
    EXPECT_TRUE(node_.set("t", "logged", "f:q", 5, "2"));
  }
  TestNodeOptions options() {
    TestNodeOptions options;
    options.shards = 2;
    options.wrap_manifest = [this](std::unique_ptr<engine::ManifestStore> store) {
      auto manifest = std::make_unique<ManifestDouble>(std::move(store));
      manifest->set_has_all_tablets(has_all_tablets_);
      return manifest;
    };
    return options;
  }
  std::string put_blob(uint32_t session, bool sealed = true) {
    const BlobId id = make_blob_id(SessionEpoch{session}, 1, 5);
    return put(sealed ? engine::blob_path(id) : engine::unsealed_blob_path(id));
  }
  std::string put_log(uint32_t session) {
    return put(engine::segment_path(make_log_id(SessionEpoch{session}, 1), 0));
  }
  std::string put(std::string path) {
    EXPECT_TRUE(node_.disk().write_all(path, "content"));
    return path;
  }
  bool is_there(const std::string& path) { return node_.disk().read_all(path).has_value(); }
  std::vector<std::string> logs_of(SessionEpoch session) {
    std::vector<std::string> found;
    for (const std::string& path : node_.disk().all_files()) {
      const std::string begin = fmt::format("log/{:016x}", make_log_id(session, 0).value());
      if (path.starts_with(begin.substr(0, begin.size() - 4))) found.push_back(path);
    }
    return found;
  }

  bool has_all_tablets_ = true;
  TestNode node_;
};

TEST_F(OwnSessions, LeftoversOfTheNodeGoAndThoseOfOthersStay) {
  ASSERT_TRUE(node_.close());
  change_node_state(node_.disk(), [](NodeState& state) {
    state.own_sessions.add(SessionEpoch{40});
    state.own_sessions.add(SessionEpoch{50});
    state.session = SessionEpoch{50};
  });
  const std::vector<std::string> own = {put_blob(40), put_blob(50, false), put_log(40),
                                        put_log(50)};
  const std::vector<std::string> others = {put_blob(39), put_blob(45), put_blob(49, false),
                                           put_blob(60), put_log(39),  put_log(49),
                                           put_log(60)};
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(node_.node().recovery().orphans_removed, 2u);
  EXPECT_EQ(node_.cells("t").size(), 2u);
  ASSERT_TRUE(node_.close());
  for (const std::string& path : own) EXPECT_FALSE(is_there(path)) << path;
  for (const std::string& path : others) EXPECT_TRUE(is_there(path)) << path;
}

// The log of a session of another node is read, and left to others when this node needs it no more.
TEST_F(OwnSessions, ALogOfAnotherNodeIsReadAndStays) {
  for (const bool own : {true, false}) {
    SCOPED_TRACE(own);
    ASSERT_TRUE(node_.set("t", "logged", "f:q", 5, own ? "own" : "other's"));
    node_.kill();
    SessionEpoch wrote;
    change_node_state(node_.disk(), [&](NodeState& state) {
      wrote = state.session;
      if (own) return;
      state.own_sessions = SessionSet();
      state.draw_session();
    });
    ASSERT_FALSE(logs_of(wrote).empty());
    ASSERT_TRUE(node_.reopen());
    const auto cells = node_.cells("t");
    ASSERT_EQ(cells.size(), 2u);
    EXPECT_EQ(cells[1].value, own ? "own" : "other's");
    ASSERT_TRUE(node_.flush("t"));
    ASSERT_TRUE(node_.close());
    EXPECT_EQ(logs_of(wrote).empty(), own);
    ASSERT_TRUE(node_.reopen());
    EXPECT_EQ(logs_of(wrote).empty(), own);
  }
}

// A node that does not see all tablets: those of others may name what it made, sealed blobs and
// logs.
TEST_F(OwnSessions, WhatTabletsElsewhereMayNameStays) {
  ASSERT_TRUE(node_.close());
  change_node_state(node_.disk(), [](NodeState& state) {
    state.own_sessions.add({SessionEpoch{40}, SessionEpoch{41}});
    state.session = SessionEpoch{41};
  });
  const std::string blob = put_blob(40);
  const std::string unsealed = put_blob(41, false);
  const std::string log = put_log(40);
  has_all_tablets_ = false;
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(node_.cells("t").size(), 2u);
  ASSERT_TRUE(node_.close());
  EXPECT_TRUE(is_there(blob));
  EXPECT_TRUE(is_there(log));
  EXPECT_FALSE(is_there(unsealed));
  has_all_tablets_ = true;
  ASSERT_TRUE(node_.reopen());
  ASSERT_TRUE(node_.close());
  EXPECT_FALSE(is_there(blob));
  EXPECT_FALSE(is_there(log));
}

}  // namespace
}  // namespace cellar::support
