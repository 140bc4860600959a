import Bus
import Client
import Formats
import Foundation
import MQTT
import TestSupport
import Workouts

@testable import Pacebus

/// A finished session, with the replies of the exporter.
struct FetchSession {
    static let start = Timestamp(seconds: 1_700_000_000)

    let key = SessionKey(User("ann")!, SessionID(UUID()))

    private var session: Session {
        var session = Session(
            key: key, start: SessionStart(activity: .running, name: "Evening Run", countdown: 0), at: Self.start,
            now: Self.start)
        _ = session.advance(to: Self.start + 1)
        do throws(Refusal) {
            try session.apply(.end(streams: [:]), at: Self.start + 1_200)
        } catch {
            preconditionFailure("\(error)")
        }
        return session
    }

    var record: WorkoutRecord {
        WorkoutRecord(session, metrics: nil, route: nil, isComplete: true, revision: 30)
    }

    func message(_ topic: SessionTopic, _ payload: [UInt8]) -> MQTTMessage {
        Topic.session(key, topic).message(payload)
    }

    func state(_ status: SessionStatus, endReason: String? = nil) -> MQTTMessage {
        var state = session.state(revision: 5)
        state.status = status
        state.endReason = endReason
        return message(.state, JSONCoding.encode(state))
    }

    func status(
        _ target: Target, _ status: ExportStatus.Status, revision: Int64, reason: String? = nil, files: [String]? = nil
    ) -> MQTTMessage {
        var published = ExportStatus(key: key, target: target, revision: revision, status: status, workout: 30)
        published.reason = reason
        published.files = files
        published.mode = target == .healthKit ? .phone : nil
        return message(.export(target), JSONCoding.encode(published))
    }

    func reply(_ request: SessionRequest, _ refusal: Refusal? = nil, file: FilePart? = nil) -> MQTTMessage {
        var reply = Reply(id: request.id, revision: nil, now: Self.start, error: refusal)
        reply.file = file
        return Topic.user(key.user, .replies(request.client!)).message(JSONCoding.encode(reply))
    }

    /// A file of some parts, the last of them with one byte.
    func bytes(_ parts: Int, seed: UInt8 = 0) -> [UInt8] {
        (0..<(parts - 1) * FilePart.size + 1).map { UInt8(truncatingIfNeeded: $0 &* 31) ^ seed }
    }

    /// The replies to a request for a file.
    func parts(_ bytes: [UInt8], _ request: SessionRequest, workout: Int64 = 30) -> [MQTTMessage] {
        guard case .file(let format, let from) = request.action, let format = ExportFormat(rawValue: format) else {
            return []
        }
        let count = (bytes.count + FilePart.size - 1) / FilePart.size
        return FilePart.window(from: from, of: count).map { number in
            let start = number * FilePart.size
            return reply(
                request,
                file: FilePart(
                    n: number, of: count, name: ExportFile(record, format).name, workout: workout, incomplete: nil,
                    x: Data(bytes[start..<min(bytes.count, start + FilePart.size)])))
        }
    }
}

extension Target {
    static let folder = Target("folder")!
    static let upload = Target("upload")!
    static let healthKit = Target("healthkit")!
}
