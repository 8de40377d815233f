#include "tests/support/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>

#include "io/base/check.h"

namespace cellar::test {

struct Authority::Pair {
  EVP_PKEY* key = nullptr;
  X509* certificate = nullptr;
  ~Pair() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

namespace {

void add_name(X509_NAME* name, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(value.data()),
                             static_cast<int>(value.size()), -1, 0);
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  CHECK(extension != nullptr, "an extension '{}' cannot be made", value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

std::string alternatives(const CertificateRequest& request) {
  std::string text;
  for (const std::string& name : request.dns) text += (text.empty() ? "DNS:" : ",DNS:") + name;
  for (const std::string& ip : request.addresses) text += (text.empty() ? "IP:" : ",IP:") + ip;
  return text;
}

// A certificate that is not signed yet.
X509* blank(EVP_PKEY* key, const CertificateRequest& request) {
  static long serial = 0;
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), request.valid_from_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate), request.valid_to_s);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  add_name(name, "O", request.organisation);
  add_name(name, "CN", request.name);
  return certificate;
}

void write_certificate(const std::string& path, X509* certificate) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  CHECK(file != nullptr, "cannot write {}", path);
  PEM_write_X509(file, certificate);
  std::fclose(file);
}

void write_key(const std::string& path, EVP_PKEY* key) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  CHECK(file != nullptr, "cannot write {}", path);
  PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
}

}  // namespace

Authority::Authority(std::filesystem::path directory, std::string name)
    : directory_(std::move(directory)), name_(std::move(name)), own_(std::make_unique<Pair>()) {
  std::filesystem::create_directories(directory_);
  CertificateRequest self;
  self.name = name_;
  own_->key = EVP_EC_gen("P-256");
  own_->certificate = blank(own_->key, self);
  X509* own = own_->certificate;
  X509_set_issuer_name(own, X509_get_subject_name(own));
  add_extension(own, own, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(own, own, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(own, own, NID_subject_key_identifier, "hash");
  X509_sign(own, own_->key, EVP_sha256());
  write_certificate(ca(), own);
}

Authority::~Authority() = default;

void Authority::issue(const std::string& file, const CertificateRequest& request) {
  Pair made;
  made.key = EVP_EC_gen("P-256");
  made.certificate = blank(made.key, request);
  X509_set_issuer_name(made.certificate, X509_get_subject_name(own_->certificate));
  add_extension(made.certificate, own_->certificate, NID_basic_constraints, "CA:FALSE");
  const std::string names = alternatives(request);
  if (!names.empty()) {
    add_extension(made.certificate, own_->certificate, NID_subject_alt_name, names);
  }
  X509_sign(made.certificate, own_->key, EVP_sha256());
  write_key(key(file), made.key);
  write_certificate(cert(file), made.certificate);
}

}  // namespace cellar::test
