import NIOCore

/// A stream's side of the hub.
final class Viewer: Sendable {
    /// The next events; `nil` at the end.
    func next() async -> [ByteBuffer]? { nil }

    func leave() {}
}

/// There are too many streams.
enum StreamLimit: Error {
    case ofService
    case ofLogin
}
