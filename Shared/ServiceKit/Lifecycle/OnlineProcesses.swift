package import Bus
package import MQTT
package import Workouts

/// The online processes of one service, by their presences.
///
/// A process renews its presence every 20 s. One that has not done so for a minute counts as offline: a broker that restored an
/// old save has presences of processes that ended since then.
package struct OnlineProcesses {
    /// How long a presence counts after it changed, in seconds.
    package static let lifetime = 60.0

    /// The newest presence of each process, with the time at which this reader first received it.
    private var presences: [ProcessName: (at: Timestamp?, received: Moment)] = [:]

    package init() {}

    package var isEmpty: Bool { presences.isEmpty }

    /// Takes a presence; an empty one was cleared. A repeated delivery of the same presence renews nothing.
    package mutating func receive(
        _ message: MQTTMessage, of process: ProcessName, _ now: Moment
    ) throws(PayloadError) {
        let head = message.payload.isEmpty ? nil : try JSONCoding.decode(Head.self, from: message.payload)
        guard let head, head.status == .online else {
            presences[process] = nil
            return
        }
        if let known = presences[process], known.at == head.at { return }
        presences[process] = (head.at, now)
    }

    /// Removes the processes that did not renew their presence.
    package mutating func expire(_ now: Moment) {
        presences = presences.filter { now.seconds(since: $0.value.received) < Self.lifetime }
    }

    /// The part of a presence that readers need.
    private struct Head: Decodable {
        let status: Presence.Payload.Status
        let at: Timestamp?
    }
}
