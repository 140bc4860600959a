import Foundation
import Synchronization

/// A network link between a client and a server that breaks on request, at any byte. A client may connect again after a cut.
package final class CuttingLink: Sendable {
    package enum Fault: Sendable {
        /// All connections end after this many bytes from the client.
        case cut(after: Int)
        /// The server's bytes are swallowed after this many, and all connections end once the client has sent nothing for a
        /// moment.
        case swallow(after: Int)
        /// Nothing passes in either direction until ``repair()``.
        case freeze
    }

    private let relay: LoopbackRelay
    private let fault = Mutex<Fault?>(nil)

    package init(to server: UInt16) throws {
        relay = try LoopbackRelay(to: server)
        relay.start { [self] client, server in pump(client, server) }
    }

    /// The port for clients.
    package var port: UInt16 { relay.port }

    package func set(_ fault: Fault) { self.fault.withLock { $0 = fault } }

    /// Ends a fault, and the connections that it hit.
    package func repair() {
        fault.withLock { $0 = nil }
        cut()
    }

    package func cut() { relay.cut() }

    /// Ends all connections and accepts no more.
    package func close() {
        fault.withLock { $0 = nil }
        relay.close()
    }

    private func pump(_ client: Int32, _ upstream: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            var states = [client, upstream].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let ready = poll(&states, 2, 20)
            if case .freeze = fault.withLock(\.self) {
                usleep(5_000)
                continue
            }
            if ready == 0, case .swallow(let left) = fault.withLock(\.self), left <= 0 { repair() }
            for (from, to) in [(client, upstream), (upstream, client)]
            where states[from == client ? 0 : 1].revents != 0 {
                let count = recv(from, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                let passed = pass(count, isClient: from == client)
                guard LoopbackRelay.send(buffer[..<passed], to) else { return }
                if passed < count, from == client {
                    repair()
                    return
                }
            }
        }
    }

    /// How many of the bytes pass.
    private func pass(_ count: Int, isClient: Bool) -> Int {
        fault.withLock { fault in
            switch fault {
            case .cut(let left) where isClient:
                fault = .cut(after: max(0, left - count))
                return min(left, count)
            case .swallow(let left) where !isClient:
                fault = .swallow(after: max(0, left - count))
                return min(left, count)
            default: return count
            }
        }
    }
}
