package import Workouts

/// A message on a user's `rejected`: what a service refused of the user's payloads.
package struct Rejection: Codable, Equatable, Sendable {
    package var topic: String
    /// One of a few constants.
    package var reason: String
    /// The invalid field, its value as JSON, cut short, and the number of the item.
    package var field: String?
    package var value: String?
    package var item: Int?
    /// The error as text for developers.
    package var message: String?

    /// Every reason, for counters that begin at 0.
    package static let reasons = [
        "bad_topic", "flawed_items", "malformed", "session_unknown", "too_large", Topic.uppercaseReason,
        "waiting_for_state",
    ]

    package init(topic: String, reason: String, message: String? = nil) {
        self.topic = PayloadError.cut(topic.utf8, to: 256)
        self.reason = reason
        self.message = message
    }

    private init(badTopic name: String) {
        let reason = Topic.rejectionReason(name)
        let text =
            reason == Topic.uppercaseReason ? "shard and session id of a topic are in lower case" : "no such topic"
        self.init(topic: name, reason: reason, message: text)
    }

    /// The rejection of a name that is no topic; `nil` if another process reports it. The owner of its shard does.
    ///
    /// - Parameter requests: whether the service reports requests, which several services read.
    package init?(badTopic name: String, requests: Bool = false, owns: (Shard) -> Bool) {
        guard owns(Topic.shard(ofBadTopic: name)), requests || !name.hasSuffix("/request") else { return nil }
        self.init(badTopic: name)
    }

    package init(topic: String, error: PayloadError) {
        self.init(topic: topic, reason: error.reason, message: error.text)
        field = error.field
        value = error.value
        item = error.item
    }
}
