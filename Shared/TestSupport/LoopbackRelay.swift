import Foundation
import Synchronization

/// Accepts connections on a loopback port and opens one to a server for each.
package final class LoopbackRelay: Sendable {
    private struct State {
        var descriptors: Set<Int32> = []
        var isOpen = true
    }

    /// The port for clients.
    package let port: UInt16
    private let listener: Int32
    private let server: UInt16
    private let state = Mutex(State())

    package init(to server: UInt16) throws {
        self.server = server
        (listener, port) = try LoopbackSocket.listen()
    }

    /// Accepts connections until ``close()``.
    ///
    /// - Parameter relay: moves bytes between a client and the server on a thread of its own. Both connections end when it
    ///   returns.
    package func start(_ relay: @escaping @Sendable (_ client: Int32, _ server: Int32) -> Void) {
        Thread { [self] in accept(relay) }.start()
    }

    /// Ends all connections; clients may connect again.
    package func cut() {
        // Under the lock: a descriptor that its thread closes meanwhile may be another connection's already.
        state.withLock { Self.end($0.descriptors) }
    }

    /// Ends all connections and accepts no more.
    package func close() {
        state.withLock { state in
            // Once closed, the listener's descriptor may be another test's.
            guard state.isOpen else { return }
            state.isOpen = false
            Self.end(state.descriptors.union([listener]))
        }
    }

    /// Ends connections without closing their descriptors.
    package static func end(_ descriptors: some Sequence<Int32>) {
        for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    /// Sends all bytes. Returns `false` if the connection has ended.
    package static func send(_ bytes: ArraySlice<UInt8>, _ descriptor: Int32) -> Bool {
        var left = bytes
        while !left.isEmpty {
            let count = left.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            left = left.dropFirst(count)
        }
        return true
    }

    private func accept(_ relay: @escaping @Sendable (Int32, Int32) -> Void) {
        while true {
            let client = Foundation.accept(listener, nil, nil)
            let error = errno
            guard client >= 0 else {
                let isOpen = state.withLock { state in
                    defer { state.isOpen = false }
                    Foundation.close(listener)
                    return state.isOpen
                }
                if isOpen { print("The relay on port \(port) accepts no more: error \(error)") }
                return
            }
            guard let upstream = LoopbackSocket.connected(port: server) else {
                Foundation.close(client)
                continue
            }
            let isOpen = state.withLock { state in
                state.descriptors.formUnion([client, upstream])
                return state.isOpen
            }
            if !isOpen { Self.end([client, upstream]) }
            Thread { [self] in
                relay(client, upstream)
                state.withLock { $0.descriptors.subtract([client, upstream]) }
                Foundation.close(client)
                Foundation.close(upstream)
            }.start()
        }
    }
}
