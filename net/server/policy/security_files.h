// SecurityFiles: from the files that an operator writes to the policy that shards go by. Read again
// when one has changed (its time, size or place), or when told to. What cannot be used is left
// alone: the policy of before stays, and a line says why, once for each change.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "io/base/clock.h"
#include "net/server/config/security_options.h"
#include "net/server/policy/shard_security.h"

namespace cellar::server {

// Used by one thread, which may block.
class SecurityFiles {
 public:
  // Session tickets are made with keys that live no longer than this.
  static constexpr int64_t kTicketKeysUs = int64_t{12} * 3600 * 1'000'000;

  // Both outlive it.
  SecurityFiles(const SecurityOptions& options, const Clock& clock)
      : options_(options), clock_(clock) {}

  // At the start: an error names the setting and the file.
  Result<SecurityPolicy> load();
  // Whether there is another policy than before, which is then in `policy`. `force`: looks into the
  // files though nothing seems changed.
  bool refresh(bool force, SecurityPolicy& policy);

 private:
  struct Stamp {
    int64_t changed_ns = 0;
    int64_t size = -1;
    uint64_t inode = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  using TlsStamps = std::array<Stamp, 3>;
  static Stamp stamp_of(const std::string& path);
  TlsStamps tls_stamps() const;
  Result<std::shared_ptr<const TlsContext>> read_tls() const;
  Result<std::shared_ptr<const security::Principals>> read_principals() const;
  bool refresh_tls(bool force);
  bool refresh_principals(bool force);
  void warn_of_key() const;

  const SecurityOptions& options_;
  const Clock& clock_;
  SecurityPolicy now_;
  TlsStamps tls_seen_{};
  Stamp principals_seen_;
  int64_t tls_made_us_ = 0;
};

}  // namespace cellar::server
