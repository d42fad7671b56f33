#include "probes/kube/certificates.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstddef>
#include <memory>
#include <string>

#include "probes/base/file.h"
#include "probes/kube/exec_authenticator.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kFileLimit = 4u << 20;

struct Deleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Deleter>;
using Certificate = std::unique_ptr<X509, Deleter>;
using Key = std::unique_ptr<EVP_PKEY, Deleter>;

Bio Reader(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// Returns nullptr at the end, and for what isn't one.
Certificate NextCertificate(BIO* pem) {
  return Certificate(PEM_read_bio_X509(pem, nullptr, nullptr, nullptr));
}

// Whether `pem` holds certificates, each of them whole.
bool HoldsCertificates(const std::string& pem) {
  const Bio reader = Reader(pem);
  int count = 0;
  while (NextCertificate(reader.get())) ++count;
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return count > 0 && at_end;
}

// Reads `file`, if there is one, into `pem`.
bool ReadAgain(const std::string& file, std::string& pem) {
  if (file.empty()) return true;
  Result<std::string> content = ReadFileAgain(file, kFileLimit);
  if (!content) return false;
  pem = *std::move(content);
  return true;
}

}  // namespace

bool FitTogether(const std::string& certificate_pem, const std::string& key_pem) {
  const Certificate certificate = NextCertificate(Reader(certificate_pem).get());
  char no_password[] = "";  // prevents a prompt on the terminal
  const Key key(PEM_read_bio_PrivateKey(Reader(key_pem).get(), nullptr, nullptr, no_password));
  const bool fit = certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return fit;
}

bool HasOtherCertificate(const ApiServer& server) {
  if (!server.plugin) return false;
  const ExecCredential& given = server.plugin->credential();
  return given.client_certificate_pem != server.client_certificate_pem ||
         given.client_key_pem != server.client_key_pem;
}

std::optional<ApiServer> WithNewCertificates(const ApiServer& server) {
  ApiServer fresh = server;
  if (!ReadAgain(server.ca_file, fresh.ca_pem) ||
      !ReadAgain(server.client_certificate_file, fresh.client_certificate_pem) ||
      !ReadAgain(server.client_key_file, fresh.client_key_pem)) {
    return std::nullopt;
  }
  if (server.plugin) {
    fresh.client_certificate_pem = server.plugin->credential().client_certificate_pem;
    fresh.client_key_pem = server.plugin->credential().client_key_pem;
  }
  const bool same_authority = fresh.ca_pem == server.ca_pem;
  const bool same_client = fresh.client_certificate_pem == server.client_certificate_pem &&
                           fresh.client_key_pem == server.client_key_pem;
  if (same_authority && same_client) return std::nullopt;
  if (!same_authority && !HoldsCertificates(fresh.ca_pem)) return std::nullopt;
  // A plugin's have been looked at, and there may be none any more.
  if (!same_client && !server.plugin &&
      !FitTogether(fresh.client_certificate_pem, fresh.client_key_pem)) {
    return std::nullopt;
  }
  return fresh;
}

}  // namespace cluster_watcher
