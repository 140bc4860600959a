package import MQTT
package import Workouts

extension Topic {
    /// Who publishes on a topic, for the fair queue of a service. It also classifies names that are no topics of the bus:
    /// people may publish on some of those, such as a command below a session that is no UUID.
    package static func queueRule(_ name: String) -> QueueRule {
        let levels = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        // `pacebus/v1/{shard}/{user}/…` and `pacebus/v1/u/{user}/…`.
        guard levels.count > 4, name.hasPrefix("\(root)/"), levels[2] != services else {
            return QueueRule(owner: "", kind: .service)
        }
        guard levels[2] == users else {
            return QueueRule(owner: levels[3], kind: SessionTopic.Kind.match(levels[5...])?.0.row.queue ?? .request)
        }
        let (kind, parameters) = UserTopic.Kind.match(levels[4...]) ?? (.request, [])
        // A viewer's requests wait in the viewer's own queue.
        return QueueRule(owner: kind == .viewerRequest ? parameters[0] : levels[3], kind: kind.row.queue)
    }

    /// The broker that has a topic, of several: that of the topic's user. `nil` for topics of no user, which all brokers have.
    package static func partition(of name: String, among count: Int) -> Int? {
        let levels = name.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false)
        guard levels.count > 4, name.hasPrefix("\(root)/"), levels[2] != services else { return nil }
        return Partition.index(of: levels[3], among: count)
    }

    /// The user who publishes on a topic, or on a name that is none; `nil` if a service does.
    package static func publisher(_ name: String) -> User? {
        let rule = queueRule(name)
        return rule.kind == .service ? nil : User(rule.owner)
    }
}
