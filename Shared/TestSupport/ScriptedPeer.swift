import Foundation
import Synchronization

/// A scripted broker on raw sockets. It refuses, disconnects, repeats and falls silent at chosen points.
///
/// The script runs on a thread of its own, once per connection and one connection at a time. A connection closes when
/// the script returns or throws. Reading times out after a minute.
package final class ScriptedPeer: Sendable {
    package let port: UInt16
    private let listener: Int32
    private let state = Mutex(State())

    private struct State {
        var packets: [Packet] = []
        var connections = 0
        var isStopped = false
        var open: Connection?
    }

    package init(_ script: @escaping @Sendable (Connection) throws -> Void) throws {
        (listener, port) = try LoopbackSocket.listen()
        let thread = Thread { [self] in
            while let connection = accept() {
                try? script(connection)
                finish(connection)
            }
        }
        thread.name = "scripted peer"
        thread.start()
    }

    /// All packets from the client so far, over all connections.
    package var packets: [Packet] { state.withLock { $0.packets } }
    /// The number of connections so far.
    package var connections: Int { state.withLock { $0.connections } }

    /// The current connection, for a test that answers by itself.
    package var connection: Connection? { state.withLock { $0.open } }

    package func packets(_ kind: Packet.Kind) -> [Packet] {
        packets.filter { $0.kind == kind }
    }

    /// Closes the current connection and accepts no more.
    package func stop() {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.isStopped = true
            shutdown(listener, Int32(SHUT_RDWR))
            if let open = state.open { shutdown(open.descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private func accept() -> Connection? {
        let descriptor = Foundation.accept(listener, nil, nil)
        let connection: Connection? = state.withLock { state in
            guard descriptor >= 0, !state.isStopped else { return nil }
            state.connections += 1
            state.open = Connection(descriptor: descriptor, number: state.connections) { [self] packet in
                self.state.withLock { $0.packets.append(packet) }
            }
            return state.open
        }
        if connection == nil {
            if descriptor >= 0 { close(descriptor) }
            close(listener)
        }
        return connection
    }

    private func finish(_ connection: Connection) {
        state.withLock { $0.open = nil }
        close(connection.descriptor)
    }
}
