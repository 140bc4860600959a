import Foundation

/// TCP sockets on 127.0.0.1 for tests, by file descriptor.
enum LoopbackSocket {
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
    static func freePort() throws -> UInt16 {
        let (descriptor, port) = try listen()
        close(descriptor)
        return port
    }

    static func accepts(port: UInt16) -> Bool {
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

    private static func connect(_ descriptor: Int32, port: UInt16) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return withSocketAddress(&address) {
            Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }

    private static func withSocketAddress<R>(
        _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> R
    ) -> R {
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
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
