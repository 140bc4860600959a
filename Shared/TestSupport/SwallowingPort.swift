import Foundation

/// A port that answers no SYN, like a dead host: a listener that never accepts and whose queue is full.
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
