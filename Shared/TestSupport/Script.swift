package import Bus
import Foundation
package import MQTT
package import Workouts

/// A session's life as its messages.
package struct Script {
    package let key: SessionKey
    package var state: SessionState

    package init(_ user: String = "demo", start: Double = 1_700_000_000) {
        key = SessionKey(User(user)!, SessionID(UUID()))
        let at = Timestamp(seconds: start)
        let session = Session(
            key: key, start: SessionStart(activity: .running, countdown: 0), at: at, now: at + 1_000)
        state = session.state(revision: 1)
    }

    package var stateMessage: MQTTMessage { Topic.session(key, .state).message(JSONCoding.encode(state)) }

    /// The state with other segments and status, under the next revision.
    package mutating func change(_ status: SessionStatus, _ segments: [Segment]) -> MQTTMessage {
        state.revision += 1
        state.status = status
        state.segments = segments
        return stateMessage
    }

    /// Somebody asks for the chunks.
    package var chunkRequest: MQTTMessage {
        let request = SessionRequest(id: CommandID(UUID()), client: Client("reader")!, action: .chunks)
        return Topic.session(key, .request).message(JSONCoding.encode(request))
    }

    package func batch(_ device: String, _ first: Int, _ items: [Sample]) -> MQTTMessage {
        Topic.session(key, .samples(Device(device)!)).message(SampleBatch(first: first, items: items).payload)
    }

    package func batch(_ device: String, _ first: Int, _ items: [Location]) -> MQTTMessage {
        Topic.session(key, .locations(Device(device)!)).message(LocationBatch(first: first, items: items).payload)
    }
}

extension [MQTTMessage] {
    package func payloads(_ topic: Topic) -> [[UInt8]] { filter { $0.topic == topic.name }.map { [UInt8]($0.payload) } }

    package func acks(
        _ key: SessionKey, _ device: String, _ kind: StreamName.Kind = .samples
    ) throws -> [Ack] {
        try payloads(.session(key, kind.ack(Device(device)!))).map { try Ack($0) }
    }
}
