#include "net/server/policy/security_files.h"

#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "io/base/log.h"

namespace cellar::server {
namespace {

// A client certificate is never requested, so none can be matched.
Result<void> refuse_without_ca(const security::Principals& principals) {
  for (const auto& one : principals.all()) {
    if (!one->tokens.empty() || one->certificates.empty()) continue;
    return fail(Errc::failed_precondition,
                "principal '{}' has certificates and no token, and can never log in: no client is "
                "asked for a certificate, because security.client_ca is not set",
                one->name);
  }
  return {};
}

}  // namespace

SecurityFiles::Stamp SecurityFiles::stamp_of(const std::string& path) {
  struct stat found{};
  if (path.empty() || ::stat(path.c_str(), &found) != 0) return {};
  const auto ns = [](const timespec& at) {
    return at.tv_sec * int64_t{1'000'000'000} + at.tv_nsec;
  };
  return {ns(found.st_mtim), ns(found.st_ctim), found.st_size, found.st_ino};
}

SecurityFiles::TlsStamps SecurityFiles::tls_stamps() const {
  return {stamp_of(options_.certificate), stamp_of(options_.key), stamp_of(options_.client_ca)};
}

Result<std::shared_ptr<const TlsContext>> SecurityFiles::read_tls() const {
  return TlsContext::make_server({options_.certificate, options_.key, options_.client_ca});
}

Result<std::shared_ptr<const security::Principals>> SecurityFiles::read_principals() const {
  std::ifstream file(options_.principals, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    return fail(Errc::invalid_argument, "security.principals: cannot read '{}'",
                options_.principals);
  }
  TRY(auto principals, security::Principals::parse(text.str(), options_.principals));
  // An empty file is probably mid-write; accepting it would lock everyone out.
  if (principals->all().empty()) {
    return fail(Errc::invalid_argument, "security.principals: '{}' names no principal",
                options_.principals);
  }
  if (options_.client_ca.empty()) TRY_VOID(refuse_without_ca(*principals));
  return principals;
}

void SecurityFiles::warn_of_key() const {
  struct stat found{};
  if (::stat(options_.key.c_str(), &found) != 0 || (found.st_mode & S_IRWXO) == 0) return;
  log_warn("server", "others can read the key file={}; chmod 600 it", options_.key);
}

Result<SecurityPolicy> SecurityFiles::load() {
  if (options_.tls()) {
    tls_seen_ = tls_stamps();
    auto tls = read_tls();
    if (!tls) return fail(Errc::invalid_argument, "security: {}", tls.error().message);
    now_.tls = std::move(*tls);
    tls_made_us_ = clock_.boot_us();
    warn_of_key();
    if (now_.tls->expires_s() * 1'000'000 < clock_.wall_us()) {
      log_warn("server", "the certificate has expired file={}", options_.certificate);
    }
    log_info("server", "tls certificate={} fingerprint={} client_ca={}", options_.certificate,
             now_.tls->fingerprint(), options_.client_ca);
  }
  if (!options_.principals.empty()) {
    principals_seen_ = stamp_of(options_.principals);
    TRY(now_.principals, read_principals());
    log_info("server", "principals file={} count={}", options_.principals,
             now_.principals->all().size());
  }
  return now_;
}

bool SecurityFiles::refresh(bool force, SecurityPolicy& policy) {
  const bool tls = options_.tls() && refresh_tls(force);
  const bool principals = !options_.principals.empty() && refresh_principals(force);
  if (tls || principals) policy = now_;
  return tls || principals;
}

bool SecurityFiles::refresh_tls(bool force) {
  const TlsStamps found = tls_stamps();
  const bool old_keys = clock_.boot_us() - tls_made_us_ > kTicketKeysUs;
  if (!force && !old_keys && found == tls_seen_) return false;
  auto tls = read_tls();
  if (tls && (*tls)->expires_s() * 1'000'000 < clock_.wall_us()) {
    tls = fail(Errc::invalid_argument, "certificate '{}': it has expired", options_.certificate);
  }
  if (!tls) {
    tell_once(tls_told_, "certificate", tls.error().message);
    return false;
  }
  tls_seen_ = found;
  tls_made_us_ = clock_.boot_us();
  tls_told_.clear();
  log_info("server", "certificate reloaded fingerprint={} before={}", (*tls)->fingerprint(),
           now_.tls->fingerprint());
  now_.tls = std::move(*tls);
  return true;
}

bool SecurityFiles::refresh_principals(bool force) {
  const Stamp found = stamp_of(options_.principals);
  if (!force && found == principals_seen_) return false;
  auto principals = read_principals();
  if (!principals) {
    tell_once(principals_told_, "principals", principals.error().message);
    return false;
  }
  principals_seen_ = found;
  principals_told_.clear();
  log_info("server", "principals reloaded count={}", (*principals)->all().size());
  now_.principals = std::move(*principals);
  return true;
}

void SecurityFiles::tell_once(std::string& told, std::string_view what, const std::string& error) {
  if (error != told) {
    log_error("server", "new {} not used, the previous policy stays error=\"{}\"", what, error);
  }
  told = error;
}

}  // namespace cellar::server
