// Reference counts of blobs that several tablets name: the last release removes the blob.
#include <gtest/gtest.h>

#include "engine/files/obsolete_blobs.h"
#include "io/loop/shard.h"
#include "tests/support/table_fixture.h"

namespace cellar::engine {
namespace {

constexpr BlobId kA{1};
constexpr BlobId kB{2};

class Shared : public testing::Test, protected TableFixture {
 protected:
  Shared() {
    for (const BlobId blob : {kA, kB}) write({cell_of("row")}, small_blocks(256, blob));
  }
  void TearDown() override { world.block_on(loop, deleter_.drain()); }
  bool is_there(BlobId blob) {
    world.run_until_idle();
    return world.block_on(loop, store.open(blob)).has_value();
  }

  Mailboxes mailboxes_{1};
  Shard shard_{ShardId{0}, loop, attached(), world.clock(), 1};
  ObsoleteBlobDeleter deleter_{shard_.runtime(), store};
  BlobRefCounts shared_{deleter_, true};

 private:
  Mailbox& attached() {
    mailboxes_.attach(ShardId{0}, loop);
    return mailboxes_.of(ShardId{0});
  }
};

TEST_F(Shared, ABlobThatOnlyOneTabletNamedHasOneHolderWhenOthersCome) {
  shared_.add(kA, 2, true);  // a split: the parent and two children
  EXPECT_EQ(shared_.holders(kA), 3u);
  shared_.release(kA);  // the parent releases it
  shared_.release(kA);
  EXPECT_TRUE(is_there(kA));
  EXPECT_EQ(shared_.holders(kA), 1u);
  shared_.release(kA);
  EXPECT_FALSE(is_there(kA));
  EXPECT_EQ(shared_.holders(kA), 0u);
  EXPECT_EQ(shared_.size(), 0u);
  EXPECT_TRUE(is_there(kB)) << "nobody let go of that one";
}

TEST_F(Shared, WhatTheStartFoundIsCountedAsItStandsInTheManifest) {
  shared_.found(kA, 2);
  shared_.found(kB, 1);
  EXPECT_EQ(shared_.size(), 2u);
  shared_.add(kA, 1, false);  // a move, or a child
  EXPECT_EQ(shared_.holders(kA), 3u);
  for (int i = 0; i < 2; ++i) shared_.release(kA);
  EXPECT_TRUE(is_there(kA));
  shared_.release(kB);
  EXPECT_FALSE(is_there(kB));
  shared_.release(kA);
  EXPECT_FALSE(is_there(kA));
}

// A table of the parent that no child uses: its count does not grow, and the parent's release is
// the last.
TEST_F(Shared, AddingNoHolderMakesItsOnlyOneKnown) {
  shared_.add(kA, 0, false);
  EXPECT_EQ(shared_.holders(kA), 1u);
  EXPECT_TRUE(is_there(kA));
  shared_.release(kA);
  EXPECT_FALSE(is_there(kA));
}

// Other nodes may have tablets that name a blob which the manifest marks.
TEST_F(Shared, WhatIsMarkedStaysIfNotAllTabletsAreSeen) {
  BlobRefCounts of_one_node(deleter_, false);
  of_one_node.add(kA, 1, false);  // a move
  of_one_node.add(kA, 1, true);   // a split
  of_one_node.add(kB, 1, false);
  for (int i = 0; i < 3; ++i) of_one_node.release(kA);
  for (int i = 0; i < 2; ++i) of_one_node.release(kB);
  EXPECT_EQ(of_one_node.size(), 0u);
  EXPECT_TRUE(is_there(kA));
  EXPECT_FALSE(is_there(kB));
  of_one_node.found(kA, 1);
  of_one_node.release(kA);
  EXPECT_TRUE(is_there(kA));
}

TEST_F(Shared, LettingGoMoreOftenThanHeldIsOurOwnBug) {
  shared_.add(kA, 1, false);
  shared_.release(kA);
  shared_.release(kA);
  EXPECT_DEATH(shared_.release(kA), "more often than held");
}

}  // namespace
}  // namespace cellar::engine
