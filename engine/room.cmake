cellar_library(cellar_engine
  SRCS alter_table.cc blob_reaper.cc catalog.cc commit_queue.cc compact.cc flush.cc install.cc maintenance.cc node.cc
       old_logs.cc open_tablet.cc recovery.cc shard_context.cc shard_engine.cc table_map.cc tablet.cc
       version.cc
  DEPS cellar_wal cellar_manifest cellar_compaction cellar_memtable cellar_sstable cellar_read cellar_store cellar_runtime
       absl::flat_hash_map absl::flat_hash_set)
