// Both ends of TCP connections on the loopback, which see the raw bytes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace cluster_watcher {

// One end of a connection. It never waits for longer than 20 s.
class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {
    const timeval patience{20, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Returns false if the other end is gone.
  bool Send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Sends as much as fits without waiting; returns false if the connection broke.
  bool Offer(std::string_view text) {
    return send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
           errno == EAGAIN;
  }

  // Receives once more; returns false if nothing more comes.
  bool Receive() {
    std::array<char, 65536> piece;
    const ssize_t count = recv(socket_, piece.data(), piece.size(), 0);
    broke_ = count < 0;
    if (count <= 0) return false;
    received_.append(piece.data(), static_cast<std::size_t>(count));
    return true;
  }
  bool ReadByte() {
    char byte = 0;
    return recv(socket_, &byte, 1, 0) == 1;
  }
  // Returns everything that comes until the other end closes its side.
  std::string ReadAll() {
    while (Receive()) {
    }
    return std::exchange(received_, "") + (broke_ ? " [the connection broke]" : "");
  }
  // Returns the head of the next request, or "" if the client is gone. body() has its body, if any.
  std::string ReadRequest() {
    std::size_t end = 0;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!Receive()) return "";
    }
    const std::string head = received_.substr(0, end + 4);
    const std::size_t length = head.find("Content-Length: ");
    const std::size_t size = length == std::string::npos ? 0 : std::stoul(head.substr(length + 16));
    while (received_.size() < head.size() + size) {
      if (!Receive()) return "";
    }
    body_ = received_.substr(head.size(), size);
    received_.erase(0, head.size() + size);
    return head;
  }
  const std::string& body() const { return body_; }

  void Shutdown() { shutdown(socket_, SHUT_RDWR); }
  // Closes so that the other side notices at once, whatever is still on its way.
  void Reset() {
    const linger drop{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
    close(std::exchange(socket_, -1));
  }

 protected:
  int socket_;

 private:
  bool broke_ = false;
  std::string received_;
  std::string body_;
};

// Connects to a port of this machine, by IPv6 or from an address of 127.0.0.0/8.
class ClientConnection : public Connection {
 public:
  explicit ClientConnection(std::uint16_t port, int family = AF_INET,
                            const std::string& source = "127.0.0.1", int receive_buffer = 0)
      : Connection(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer != 0) {
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_addr = in6addr_loopback;
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    if (family == AF_INET) {
      inet_pton(AF_INET, source.c_str(), &v4.sin_addr);
      bind(socket_, reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
    }
    v4.sin_port = htons(port);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = (family == AF_INET6
                      ? connect(socket_, reinterpret_cast<const sockaddr*>(&v6), sizeof v6)
                      : connect(socket_, reinterpret_cast<const sockaddr*>(&v4), sizeof v4)) == 0;
  }
  bool connected() const { return connected_; }

 private:
  bool connected_ = false;
};

// Listens on a free port. Runs a script for each connection in a thread of its own, and closes the
// connection when the script ends.
class LoopbackServer {
 public:
  using Script = std::function<void(Connection&)>;

  explicit LoopbackServer(Script script) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, generic, size) != 0 || listen(listener_, 64) != 0 ||
        getsockname(listener_, generic, &size) != 0) {
      std::abort();
    }
    port_ = std::to_string(ntohs(address.sin_port));
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~LoopbackServer() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (Client& client : clients_) client.connection.Shutdown();
    for (Client& client : clients_) client.thread.join();
    close(listener_);
  }

  std::string address() const { return "127.0.0.1:" + port_; }
  int accepted() const { return accepted_; }

 private:
  struct Client {
    explicit Client(int socket) : connection(socket) {}
    Connection connection;
    std::thread thread;
  };

  void Accept() {
    for (int socket = 0; (socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      ++accepted_;
      Client& client = clients_.emplace_back(socket);
      client.thread = std::thread([this, &client] {
        script_(client.connection);
        client.connection.Shutdown();
      });
    }
  }

  const Script script_;
  int listener_ = -1;
  std::string port_;
  std::atomic<int> accepted_{0};
  std::list<Client> clients_;
  std::thread acceptor_;
};

}  // namespace cluster_watcher
