#include "watcher/admission/server/tls_certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <ctime>
#include <optional>

#include "probes/base/file.h"
#include "probes/base/time_text.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kMostBytes = 1u << 20;

template <typename Type, void (*Free)(Type*)>
struct Freer {
  void operator()(Type* value) const { Free(value); }
};
struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPointer = std::unique_ptr<BIO, FreeBio>;
using X509Pointer = std::unique_ptr<X509, Freer<X509, X509_free>>;
using KeyPointer = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;

// OpenSSL would ask on the terminal for a passphrase.
int NoPassphrase(char*, int, int, void*) { return -1; }

BioPointer BioOf(const std::string& text) {
  return BioPointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::optional<WallTime> TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return NearestTime(std::chrono::sys_seconds(std::chrono::seconds(timegm(&parts))));
}

bool UseChain(SSL_CTX* context, const std::string& pem) {
  const BioPointer bio = BioOf(pem);
  const X509Pointer own(PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr));
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) return false;
  while (X509* issuer = PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, issuer) == 1) continue;
    X509_free(issuer);
    return false;
  }
  // Reading ends with this error at the end of the file; any other one is a broken certificate.
  const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return ended;
}

}  // namespace

Result<TlsCertificate> LoadTlsCertificate(const TlsFiles& files) {
  const auto chain = ReadFileAgain(files.certificate, kMostBytes);
  if (!chain) return Failure("the certificate: " + chain.error().message);
  const auto key_text = ReadFileAgain(files.key, kMostBytes);
  if (!key_text) return Failure("the certificate's key: " + key_text.error().message);
  ERR_clear_error();
  TlsCertificate loaded;
  loaded.context.reset(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX* const context = loaded.context.get();
  if (context == nullptr) return Failure("OpenSSL can make no context");
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_security_level(context, 2);  // as Debian's OpenSSL has it; that of the release: 1
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Frees the 16 KiB buffers of idle connections.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  if (!UseChain(context, *chain)) {
    return Failure(files.certificate + " holds no certificate chain in PEM");
  }
  const BioPointer key_bio = BioOf(*key_text);
  const KeyPointer key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, NoPassphrase, nullptr));
  if (!key) return Failure(files.key + " holds no private key in PEM, or one with a passphrase");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    ERR_clear_error();
    return Failure(files.key + " is not the key of the certificate in " + files.certificate);
  }
  const auto expires = TimeOf(X509_get0_notAfter(SSL_CTX_get0_certificate(context)));
  if (!expires) return Failure(files.certificate + " doesn't say until when it is valid");
  loaded.expires = *expires;
  loaded.source = *chain + *key_text;
  return loaded;
}

}  // namespace cluster_watcher
