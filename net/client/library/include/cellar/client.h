// Client: access to a node.
//
//   cellar::Client client({.address = "127.0.0.1:7420"});
//   cellar::Mutation m("user7");
//   m.set("click", "page", "/home");
//   if (auto done = client.mutate_row("events", m); !done) std::puts(done.error().message.c_str());
//   client.async_read_row("events", "user7", {}, [](cellar::Result<std::optional<cellar::Row>> row)
//   {
//     if (row && *row) std::puts((*row)->find("click", "page")->value.c_str());
//   });
//
// Threads. A client may be used by any number of threads. It has one thread of its own, on which it
// connects, sends, receives and calls back. A callback must not block and must not throw; a
// blocking call in it fails with FAILED_PRECONDITION.
//
// Requests of all threads are pipelined over few connections, which are opened at the first request
// and opened again when they break. Writes of one row apply in the order of the calls, unless one
// was repeated.
//
// Errors of every call: those of the node; UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED and
// RESOURCE_EXHAUSTED of the client. An error is final: what could be repeated safely has been
// (reads, refusals that changed nothing, writes with tokens).
#pragma once

#include <cellar/data.h>
#include <cellar/indexes.h>
#include <cellar/result.h>
#include <cellar/tables.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cellar {
CELLAR_VERSIONED {
  struct Options {
    std::string address = "127.0.0.1:7420";  // HOST:PORT
    std::size_t connections = 1;             // 1 to 64; requests of one row share one
    std::string client_name = "libcellar";   // in the node's log and audit trail
    // At most 64 bytes: tokens are known to the node by it. Programs that repeat each other's
    // writes state the same. Empty: random, so tokens mean something to this client alone.
    std::string client_id;

    bool tls = false;
    std::string ca;  // PEM file of authorities for the node's certificate; empty: the system's
    std::string certificate;  // PEM file of this client's certificate, if the node asks for one
    std::string key;          // PEM file of its key
    std::string server_name;  // expected in the node's certificate; empty: the host of the address
    // Of a principal: the file wins and is read for every connection. Never sent in plain text to
    // another machine.
    std::string token;
    std::string token_file;
    std::string routing_hint;  // behind a proxy: equal hints lead to the same node

    std::int64_t connect_timeout_us = 5'000'000;
    std::int64_t deadline_us = 10'000'000;         // of data operations; 0: none
    std::int64_t admin_deadline_us = 300'000'000;  // of operations on tables
    bool draw_tokens = false;  // every write gets a token, so that it can be repeated safely
    bool wait_for_connection =
        false;  // requests survive a restart of the node, within their deadline
    std::size_t max_pending = 65'536;            // requests that are not answered
    std::size_t max_pending_bytes = 256u << 20;  // beyond these bounds: RESOURCE_EXHAUSTED
  };

  struct CallOptions {
    std::optional<std::int64_t> deadline_us = {};  // absent: that of Options; 0: none
    std::optional<bool> draw_tokens = {};          // absent: as in Options
  };

  template <class T>
  using Callback = std::function<void(Result<T>)>;

  namespace internal {
  class Core;
  }

  // The rows of a read, in order; a lost connection is made good behind the last whole row. One
  // thread at a time.
  class CELLAR_API Scanner {
   public:
    Scanner(Scanner&&) noexcept;
    Scanner& operator=(Scanner&&) noexcept;
    ~Scanner();  // ends the read

    // The next rows, at least one; none at the end.
    Result<std::vector<Row>> next();
    // REQUIRES: no other call of next() or async_next() is under way.
    void async_next(Callback<std::vector<Row>> done);

   private:
    friend class Client;
    Scanner(std::shared_ptr<internal::Core> core, std::uint64_t number);
    void end();
    std::shared_ptr<internal::Core> core_;
    std::uint64_t number_ = 0;
  };

  class CELLAR_API Client {
   public:
    explicit Client(Options options = {});
    // Requests that are not answered end with CANCELLED before it returns. No other call may be
    // under way, and not in a callback.
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // ---- rows
    Result<Commit> mutate_row(const std::string& table, const Mutation& mutation,
                              const CallOptions& options = {});
    void async_mutate_row(const std::string& table, const Mutation& mutation,
                          const CallOptions& options, Callback<Commit> done);
    // One result for each mutation.
    Result<std::vector<Result<void>>> mutate_rows(const std::string& table,
                                                  const std::vector<Mutation>& mutations,
                                                  const CallOptions& options = {});
    void async_mutate_rows(const std::string& table, const std::vector<Mutation>& mutations,
                           const CallOptions& options, Callback<std::vector<Result<void>>> done);
    // Empty if no cell of the row passes the filter.
    Result<std::optional<Row>> read_row(const std::string& table, const std::string& row,
                                        const std::optional<Filter>& filter = {},
                                        const CallOptions& options = {});
    void async_read_row(const std::string& table, const std::string& row,
                        const std::optional<Filter>& filter, Callback<std::optional<Row>> done,
                        const CallOptions& options = {});
    // Options::deadline_us does not apply to it.
    Scanner read_rows(const std::string& table, const ReadRows& read,
                      const CallOptions& options = {});
    Result<Checked> check_and_mutate(const std::string& table, const CheckAndMutate& check,
                                     const CallOptions& options = {});
    void async_check_and_mutate(const std::string& table, const CheckAndMutate& check,
                                const CallOptions& options, Callback<Checked> done);
    Result<Modified> read_modify_write(const std::string& table, const ReadModifyWrite& modify,
                                       const CallOptions& options = {});
    void async_read_modify_write(const std::string& table, const ReadModifyWrite& modify,
                                 const CallOptions& options, Callback<Modified> done);
    // This cannot be undone.
    Result<Commit> drop_row_range(const std::string& table, const DropRows& drop,
                                  const CallOptions& options = {});
    void async_drop_row_range(const std::string& table, const DropRows& drop,
                              const CallOptions& options, Callback<Commit> done);

    // ---- tables
    Result<Table> create_table(const TableSpec& spec);
    Result<Table> alter_table(const TableChange& change);
    Result<Table> describe_table(const std::string& name);
    Result<std::vector<std::string>> list_tables(const std::string& prefix = "");
    Result<void> drop_table(const std::string& name);
    Result<Table> restore_table(const std::string& name);
    // What the rule would kill now; absent: keep everything.
    Result<Preview> preview_rule(const std::string& table, const std::string& family,
                                 const std::optional<Rule>& rule);
    Result<Table> set_rule(const std::string& table, const std::string& family,
                           const std::optional<Rule>& rule);
    // Reverts the newest change of the family's rule. FAILED_PRECONDITION if none can be undone.
    Result<Table> undo_rule(const std::string& table, const std::string& family);

    // ---- indexes
    // Writes are in it from now on. What is in the table already is entered in the background;
    // reads are refused with FAILED_PRECONDITION until describe_indexes says that it is ready.
    Result<Table> create_index(const std::string& table, const Index& index);
    Result<Table> alter_index(const std::string& table, const IndexChange& change);
    Result<Table> drop_index(const std::string& table, const std::string& name);
    Result<std::vector<IndexState>> describe_indexes(const std::string& table);
    // Options::deadline_us does not apply to it. A lost connection is made good behind the last
    // whole hit.
    Scanner read_index(const std::string& table, const ReadIndex& read,
                       const CallOptions& options = {});

    // ---- the node
    // Its trusted time.
    Result<std::int64_t> ping();

   private:
    std::shared_ptr<internal::Core> core_;
  };

}  // namespace v0
}  // namespace cellar
