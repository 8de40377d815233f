// SecurityFiles: loads the security policy from the operator's files. Reloads it if a file has
// changed (time, size or inode) or on request. If the new files are invalid, the previous policy
// stays in force, and each change is logged once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/base/clock.h"
#include "net/server/config/security_options.h"
#include "net/server/policy/shard_security.h"

namespace cellar::server {

// Single-threaded; may block.
class SecurityFiles {
 public:
  // Longest lifetime of the keys of session tickets.
  static constexpr int64_t kTicketKeysUs = int64_t{12} * 3600 * 1'000'000;

  // Both outlive it.
  SecurityFiles(const SecurityOptions& options, const Clock& clock)
      : options_(options), clock_(clock) {}

  // For the start: an error names the setting and the file.
  Result<SecurityPolicy> load();
  // True if there is a new policy, returned in `policy`. `force`: reads the files even if they seem
  // unchanged.
  bool refresh(bool force, SecurityPolicy& policy);

 private:
  struct Stamp {
    int64_t changed_ns = 0;
    int64_t status_ns = 0;  // of a change of owner or mode too
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
  static void tell_once(std::string& told, std::string_view what, const std::string& error);
  void warn_of_key() const;

  const SecurityOptions& options_;
  const Clock& clock_;
  SecurityPolicy now_;
  TlsStamps tls_seen_{};
  // Of the files that were loaded: what cannot be loaded is tried again at each refresh().
  Stamp principals_seen_;
  std::string tls_told_;  // the last failure, logged once
  std::string principals_told_;
  int64_t tls_made_us_ = 0;
};

}  // namespace cellar::server
