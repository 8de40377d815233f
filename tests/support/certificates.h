// Certificates for tests, generated on demand: an authority, and the certificates that it signs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cellar::test {

struct CertificateRequest {
  std::string name = "node";                // CN
  std::string organisation = "Cellar";      // O
  std::vector<std::string> dns = {"node"};  // subject alternative names
  std::vector<std::string> addresses = {"127.0.0.1"};
  int64_t valid_from_s = -3600;  // from now
  int64_t valid_to_s = 86'400;
};

class Authority {
 public:
  // Writes files to `directory`, which it creates; `name` is the name of the authority and of its
  // file.
  Authority(std::filesystem::path directory, std::string name);
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  std::string ca() const { return directory_ / (name_ + ".ca.pem"); }
  // Writes FILE.cert.pem and FILE.key.pem, replacing existing ones, with a new key each time.
  void issue(const std::string& file, const CertificateRequest& request = {});
  std::string cert(const std::string& file) const { return directory_ / (file + ".cert.pem"); }
  std::string key(const std::string& file) const { return directory_ / (file + ".key.pem"); }

 private:
  struct Pair;
  std::filesystem::path directory_;
  std::string name_;
  std::unique_ptr<Pair> own_;
};

}  // namespace cellar::test
