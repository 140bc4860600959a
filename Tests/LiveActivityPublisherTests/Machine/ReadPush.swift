import Bus
import Workouts

@testable import LiveActivityPublisher

/// A push as decoded by a phone.
struct ReadPush: Decodable {
    struct Content: Decodable, Equatable {
        var elapsedTime: Double
        var asOf: Double
        var isPaused: Bool
        var isFinished: Bool
        var distance: Double?
        var exercise: String?
        var phase: String?
        var phaseEndsAt: Double?
        var phaseRemaining: Double?
        var round: Int?
        var rounds: Int?
        var set: Int?
        var sets: Int?
        var exercisesDone: Int?
        var exercisesTotal: Int?
    }

    struct Body: Decodable {
        enum Key: String, CodingKey {
            case timestamp, event
            case content = "content-state"
            case stale = "stale-date"
            case dismissal = "dismissal-date"
            case attributesType = "attributes-type"
        }

        var timestamp: Int64
        var event: String
        var content: Content
        var stale: Int64?
        var dismissal: Int64?
        var attributesType: String?

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            timestamp = try container.decode(Int64.self, forKey: .timestamp)
            event = try container.decode(String.self, forKey: .event)
            content = try container.decode(Content.self, forKey: .content)
            stale = try container.decodeIfPresent(Int64.self, forKey: .stale)
            dismissal = try container.decodeIfPresent(Int64.self, forKey: .dismissal)
            attributesType = try container.decodeIfPresent(String.self, forKey: .attributesType)
        }
    }

    var aps: Body
}

extension Push {
    var read: ReadPush.Body {
        guard let read = try? JSONCoding.decode(ReadPush.self, from: payload) else {
            preconditionFailure("not a push: \(String(decoding: payload, as: UTF8.self))")
        }
        return read.aps
    }
}

extension [Push] {
    var events: [String] { map(\.read.event) }
}

extension Push {
    /// The session of a push for a Live Activity.
    var key: SessionKey {
        guard case .session(let key) = owner else { preconditionFailure("not a push of a session") }
        return key
    }
}
