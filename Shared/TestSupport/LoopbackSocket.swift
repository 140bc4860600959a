import Foundation

/// TCP sockets on 127.0.0.1 for tests, by file descriptor.
package enum LoopbackSocket {
    struct Failure: Error {
        var call: String
        var code = errno
    }

    /// Listens on a free port.
    static func listen(backlog: Int32 = 16) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(call: "socket") }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withSocketAddress(&address) { pointer in
            Foundation.bind(descriptor, pointer, length) == 0 && Foundation.listen(descriptor, backlog) == 0
                && getsockname(descriptor, pointer, &length) == 0
        }
        guard code else {
            defer { close(descriptor) }
            throw Failure(call: "listen")
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// A free port.
    package static func freePort() throws -> UInt16 {
        let (descriptor, port) = try listen()
        close(descriptor)
        return port
    }

    package static func accepts(port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        return connect(descriptor, port: port)
    }

    /// A connection; `nil` if the port is closed.
    static func connected(port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard connect(descriptor, port: port) else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// A socket that connects in the background.
    static func beginConnecting(port: UInt16) -> Int32 {
        let descriptor = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        _ = connect(descriptor, port: port)
        return descriptor
    }

    static func connect(_ descriptor: Int32, port: UInt16) -> Bool {
        var address = address(port: port)
        return withSocketAddress(&address) {
            Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }

    /// Makes an unconnected socket come from 127.0.0.`host`.
    static func bind(_ descriptor: Int32, to host: UInt8) -> Bool {
        var address = address(port: 0, host: host)
        return withSocketAddress(&address) {
            Foundation.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }

    private static func address(port: UInt16, host: UInt8 = 1) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (in_addr_t(0x7F00_0000) + in_addr_t(host)).bigEndian
        return address
    }

    private static func withSocketAddress<R>(
        _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> R
    ) -> R {
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }
}

/// A connection that a test drives byte by byte, as an attacker does.
package final class LoopbackConnection: Sendable {
    private let descriptor: Int32

    /// Connects from 127.0.0.`host`; `nil` if the port is closed.
    package init?(port: UInt16, from host: UInt8 = 1) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard LoopbackSocket.bind(descriptor, to: host), LoopbackSocket.connect(descriptor, port: port) else {
            return nil
        }
    }

    package func send(_ bytes: [UInt8]) {
        _ = Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Whether there are bytes to read.
    package var hasInput: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }

    /// The bytes that can be read at once.
    package func receive() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return Array(bytes.prefix(max(0, count)))
    }

    /// Whether the other side closed the connection.
    package var isClosed: Bool {
        // POLLRDHUP, which Foundation lacks.
        var state = pollfd(fd: descriptor, events: 0x2000, revents: 0)
        return poll(&state, 1, 0) > 0
    }

    package func close() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    deinit {
        Foundation.close(descriptor)
    }
}

/// A port that answers no SYN, like a dead host: its listener never accepts, and its queue is full.
package final class SwallowingPort: Sendable {
    package let port: UInt16
    private let descriptors: [Int32]

    package init() throws {
        let (listener, port) = try LoopbackSocket.listen(backlog: 0)
        self.port = port
        descriptors = [listener] + (0..<4).map { _ in LoopbackSocket.beginConnecting(port: port) }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }
}
