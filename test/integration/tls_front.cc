#include "test/integration/tls_front.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "test/integration/process.h"

namespace cluster_watcher::integration {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool SendAll(int socket, const char* bytes, int size) {
  for (int sent = 0; sent < size;) {
    const auto count =
        send(socket, bytes + sent, static_cast<std::size_t>(size - sent), MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<int>(count);
  }
  return true;
}

// Carries bytes both ways until one side ends.
void Carry(SSL* client, int behind) {
  char buffer[16384];
  pollfd ready[] = {{SSL_get_fd(client), POLLIN, 0}, {behind, POLLIN, 0}};
  while (SSL_pending(client) > 0 || poll(ready, 2, -1) > 0) {
    if (SSL_pending(client) > 0 || ready[0].revents != 0) {
      const int count = SSL_read(client, buffer, sizeof buffer);
      if (count <= 0 || !SendAll(behind, buffer, count)) return;
    }
    if (ready[1].revents != 0) {
      const auto count = recv(behind, buffer, sizeof buffer, 0);
      if (count <= 0 || SSL_write(client, buffer, static_cast<int>(count)) <= 0) return;
    }
    ready[0].revents = ready[1].revents = 0;
  }
}

}  // namespace

TlsFront::TlsFront(ApiServer behind, std::string files)
    : behind_(std::move(behind)),
      files_(std::move(files)),
      listener_([this](int socket) { Serve(socket); }) {
  Rotate();
}

ApiServer TlsFront::Address() const {
  const std::lock_guard lock(mutex_);
  ApiServer address;
  address.url = "https://127.0.0.1:" + std::to_string(listener_.Port());
  address.token = behind_.token;
  address.ca_pem = certificate_;
  return address;
}

void TlsFront::Rotate() {
  const std::string key = files_ + ".key";
  const std::string certificate = files_ + ".crt";
  Process openssl({"/usr/bin/env", "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                   "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=front",
                   "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate},
                  OwnEnvironment(), files_ + ".out", files_ + ".log");
  EXPECT_EQ(openssl.WaitForExit(), 0) << ReadWhole(files_ + ".log");
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  EXPECT_EQ(SSL_CTX_use_certificate_file(context.get(), certificate.c_str(), SSL_FILETYPE_PEM), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM), 1);
  {
    const std::lock_guard lock(mutex_);
    context_ = std::move(context);
    certificate_ = ReadWhole(certificate);
  }
  listener_.CutConnections();
}

void TlsFront::Serve(int socket) {
  std::shared_ptr<SSL_CTX> context;
  {
    const std::lock_guard lock(mutex_);
    context = context_;
  }
  const int behind = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(std::atoi(&behind_.url[behind_.url.rfind(':') + 1]));
  const std::unique_ptr<SSL, void (*)(SSL*)> client(SSL_new(context.get()), SSL_free);
  SSL_set_fd(client.get(), socket);
  if (SSL_accept(client.get()) == 1 &&
      connect(behind, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    Carry(client.get(), behind);
  }
  close(behind);
  shutdown(socket, SHUT_RDWR);
}

}  // namespace cluster_watcher::integration
