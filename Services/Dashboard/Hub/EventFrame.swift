import Bus
import NIOCore
import Workouts

/// The events of a stream.
enum EventName: String, Sendable {
    case announcements, beat, bus, current, end, metrics, overview, partners, people, positions, profile, ready, reply,
        route, seen, services, state
    case view, weather, workout
}

/// One event of a stream, encoded once and shared by all viewers that receive it.
struct EventFrame: Sendable, Equatable {
    let name: EventName
    /// The revision of the bus payload; 0 if it has none.
    let revision: Int64
    /// The whole event as it is sent.
    let wire: ByteBuffer
    private let payloadRange: Range<Int>

    /// `nil` if the payload has a line break, which would end the event.
    init?(_ name: EventName, _ payload: some Collection<UInt8>, revision: Int64 = 0) {
        guard !payload.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) else { return nil }
        self.name = name
        self.revision = revision
        let head = "event: \(name.rawValue)\ndata: "
        var wire = ByteBufferAllocator().buffer(capacity: head.utf8.count + payload.count + 2)
        wire.writeString(head)
        payloadRange = wire.writerIndex..<wire.writerIndex + payload.count
        wire.writeBytes(payload)
        wire.writeString("\n\n")
        self.wire = wire
    }

    /// The bus payload, unchanged.
    var payload: ByteBufferView {
        wire.viewBytes(at: payloadRange.lowerBound, length: payloadRange.count) ?? ByteBufferView()
    }
}

extension EventFrame {
    /// An event that the dashboard makes.
    static func json(_ name: EventName, _ value: some Encodable) -> EventFrame {
        guard let frame = EventFrame(name, JSONCoding.encode(value)) else {
            preconditionFailure("the encoder writes no line breaks")
        }
        return frame
    }

    /// The same event for streams of several users and sessions: `{"user":…,"session":…,"payload":…}`. It has of a route only
    /// its end, and of a workout its totals, which are all that such a stream shows.
    /// - Returns: `nil` for a payload without them.
    func naming(_ topic: Topic) -> EventFrame? {
        let source: String
        var payload = Array(payload)
        switch topic {
        case .session(let key, _): source = #""user":"\#(key.user)","session":"\#(key.session)""#
        case .user(let user, .virtualRun(let run)): source = #""user":"\#(user)","run":"\#(run)""#
        case .user(let user, _): source = #""user":"\#(user)""#
        case .presence, .rejected, .account, .limited: return self
        }
        switch topic {
        case .session(_, .route):
            guard let end = try? JSONCoding.decode(RouteEnd.self, from: payload) else { return nil }
            payload = JSONCoding.encode(end)
        case .session(_, .workout):
            guard let totals = try? WorkoutTotals(payload) else { return nil }
            payload = JSONCoding.encode(totals)
        default: break
        }
        return EventFrame(
            name, Array("{\(source),\"payload\":".utf8) + payload + [UInt8(ascii: "}")], revision: revision)
    }

    /// A `route` without its line.
    private struct RouteEnd: Codable {
        let s: Int64
        let n: Int64?
        let c, d, la, lo, v: Double?
    }
}
